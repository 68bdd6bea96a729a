"""Decides what is shown of each thing: the columns of tables, and the text of `describe job`."""

from collections.abc import Mapping, Sequence
from typing import Final

from refloat_common.core.admin import ExecutorLine, JobLine, JobStory, RunStory
from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_ctl.core.text.tables import clean, table
from refloat_scheduler.core.policies.document import PolicyBody

MAX_REASON_CHARACTERS: Final = 60
"""Of a reason in a table; `describe job` shows it whole."""


def policy_table(policies: Sequence[PolicyBody]) -> str:
    """Retry policies as a table."""
    rows = [
        (policy.name, str(policy.retry_limit), policy.default_action.value, str(len(policy.rules)))
        for policy in policies
    ]
    return table(("NAME", "RETRY-LIMIT", "DEFAULT", "RULES"), rows)


def queue_table(queues: Sequence[JsonObject]) -> str:
    """Queues as a table."""
    rows = [
        (
            str(queue.get("name", "")),
            str(queue.get("priorityFactor", "")),
            _yes(queue.get("cordoned") is True),
            _joined(queue.get("retryPolicies")),
        )
        for queue in queues
    ]
    return table(("NAME", "PRIORITY-FACTOR", "CORDONED", "RETRY-POLICIES"), rows)


def job_table(jobs: Sequence[JobLine]) -> str:
    """Jobs as a table."""
    rows = [
        (
            *(job.job_id, job.job_set, job.state, str(job.attempts), job.executor, job.node),
            *(_category(job.category, job.subcategory), _cut(job.reason)),
        )
        for job in jobs
    ]
    return table(("JOB", "JOB-SET", "STATE", "ATTEMPTS", "EXECUTOR", "NODE", "LAST-FAILURE", "REASON"), rows)


def executor_table(executors: Sequence[ExecutorLine]) -> str:
    """Executors as a table."""
    rows = [
        (
            *(line.executor, line.state, _yes(line.may_lease), line.pool, str(line.runs)),
            *(str(line.unacknowledged), str(line.free_slots), _silence(line.silent_for_s), _notes(line)),
        )
        for line in executors
    ]
    head = ("NAME", "STATE", "LEASES", "POOL", "RUNS", "UNACKNOWLEDGED", "FREE", "SILENT", "NOTES")
    return table(head, rows)


def job_text(job: JobStory) -> str:
    """One job, whole, for a reader."""
    facts = [
        *(("Job", job.job_id), ("Queue", job.queue), ("Job set", job.job_set), ("State", job.state)),
        *(("Waits for", job.waits_for), ("Because", job.rejected_because)),
        *(("Owner", job.owner), ("Namespace", job.namespace)),
        *(("Priority", str(job.priority)), ("Submitted", job.submitted_at), ("Ended", job.ended_at)),
        *(("Requests", _pairs(job.requests)), ("Limits", _pairs(job.limits))),
        *(("Labels", _pairs(job.labels)), ("Annotations", _pairs(job.annotations))),
        *(("Memory grown", _growth(job)), ("Nodes avoided", ", ".join(job.avoided_nodes))),
    ]
    return _lines(facts) + "".join(_run_text(run) for run in job.runs)


def _run_text(run: RunStory) -> str:
    flags = [name for name in ("preempted", "returned") if getattr(run, name)]
    facts = [
        *(("Run", run.run_id), ("State", ", ".join([run.state, *flags])), ("Executor", run.executor)),
        *(("Pool", run.pool), ("Node", run.node), ("Pod uid", run.pod_uid)),
        *(("Leased", run.leased_at), ("Running", run.running_at), ("Ended", run.ended_at)),
        *(("Failure", _category(run.category, run.subcategory)), ("Reason", run.reason)),
        *_verdict(run.verdict),
        *(("Late report", f"{late.kind} from {late.executor}: {late.why}") for late in run.late_reports),
    ]
    return f"\nAttempt {run.ordinal}\n" + _lines(facts, "  ")


def _verdict(verdict: JsonObject | None) -> list[tuple[str, str]]:
    """What was decided and why, from the stored explanation."""
    if verdict is None:
        return []
    word = "Retry" if verdict.get("retry") else "Fail"
    decision, gate = _text(verdict, "decision"), _text(verdict, "gate")
    how = decision or f"legacy behaviour ({gate})"
    facts = [("Verdict", f"{word}: {how}"), ("Because", _text(verdict, "reason"))]
    if not decision:
        return facts
    limit = verdict.get("retry_limit")
    used = f"{verdict.get('retries_after')} of {'-' if limit is None else limit} (policy)"
    facts += [
        ("Policy", f"{_text(verdict, 'policy')} {_text(verdict, 'policy_hash')[:12]}".strip()),
        ("Retries", f"{used}, at most {verdict.get('global_max_retries')} (globalMaxRetries)"),
    ]
    facts += [("Rule", _rule(rule)) for rule in _objects(verdict.get("rules"))]
    return facts + [("Change", _change(change)) for change in _objects(verdict.get("mutations"))]


def _rule(rule: JsonObject) -> str:
    on = _category(_text(rule, "on_category"), _text(rule, "on_subcategory"))
    return f"{rule.get('index')} {_text(rule, 'action')} {on}: {_text(rule, 'why') or 'matches'}"


def _change(change: JsonObject) -> str:
    skipped = _text(change, "skipped")
    if skipped:
        return f"{_text(change, 'kind')}: none, {skipped}"
    return f"{_text(change, 'kind')}: {_text(change, 'before') or '-'} → {_text(change, 'after')}"


def _growth(job: JobStory) -> str:
    if job.memory_factor:
        return f"by the factor {job.memory_factor:g}"
    return f"by {job.memory_static}" if job.memory_static else ""


def _lines(facts: Sequence[tuple[str, str]], indent: str = "") -> str:
    """One line per fact that is known; further lines of a long text stand under its first."""
    width = max(len(name) for name, _ in facts) + 2
    lines: list[str] = []
    for name, value in facts:
        for i, line in enumerate(clean(value).rstrip().splitlines()):
            lines.append(f"{indent}{'' if i else name + ':':{width}}{line}".rstrip() + "\n")
    return "".join(lines)


def _notes(line: ExecutorLine) -> str:
    said = [name for name in ("cordoned", "decommissioned") if getattr(line, name)]
    return "; ".join([*said, line.why_not] if line.why_not and line.why_not not in said else said)


def _silence(seconds: float | None) -> str:
    return "never heard" if seconds is None else f"{seconds:.1f}s"


def _category(category: str, subcategory: str) -> str:
    return f"{category}/{subcategory}" if subcategory else category


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_REASON_CHARACTERS else line[: MAX_REASON_CHARACTERS - 1] + "…"


def _pairs(values: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(values.items()))


def _joined(value: JsonValue) -> str:
    return ",".join(str(item) for item in value) if isinstance(value, Sequence) else ""


def _objects(value: JsonValue) -> list[JsonObject]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, Sequence) else []


def _text(values: JsonObject, key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


def _yes(value: bool) -> str:  # noqa: FBT001  the only argument
    return "yes" if value else "no"
