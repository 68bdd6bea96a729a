"""What the demo came to, as a person or a program reads it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from refloat_cli.demo.judge import Tally
from refloat_common.core.jsontypes import JsonObject


@dataclass(frozen=True, slots=True)
class ExecutorResult:
    """One executor: how often it was started and killed, its last exit code, the failures that its journal tells."""

    starts: int
    kills: int
    exit_code: int
    failures: int


@dataclass(frozen=True, slots=True)
class Result:
    """The whole demo. It is good if nothing was unexpected."""

    seconds: float
    succeeded: int
    failed: int
    events: int
    categories: Mapping[str, Tally]
    executors: Mapping[str, ExecutorResult]
    unexpected: Sequence[Mapping[str, str]]
    explanations: Sequence[JsonObject] = field(default=())

    @property
    def ok(self) -> bool:
        """Whether every job ended as its script says, and every process as it should."""
        return not self.unexpected

    def to_json(self) -> JsonObject:
        """The stable form."""
        body: dict[str, object] = {
            "ok": self.ok,
            "seconds": round(self.seconds, 2),
            "jobs": {"succeeded": self.succeeded, "failed": self.failed},
            "unexpected": [dict(one) for one in self.unexpected],
            "categories": {
                name: {
                    "failures": tally.failures,
                    "deleted": tally.deleted,
                    "confirmed_gone": tally.confirmed_gone,
                    "retries": tally.retries,
                    "terminal": tally.terminal,
                }
                for name, tally in self.categories.items()
            },
            "executors": {
                name: {
                    "starts": one.starts,
                    "kills": one.kills,
                    "exit_code": one.exit_code,
                    "failures": one.failures,
                }
                for name, one in self.executors.items()
            },
            "events": self.events,
        }
        if self.explanations:
            body["explanations"] = list(self.explanations)
        return body  # type: ignore[return-value]  # nested dicts of plain values are JSON

    def to_text(self) -> str:
        """A summary for people."""
        ended = f"{self.succeeded} jobs succeeded, {self.failed} failed for good"
        lines = [
            f"{ended}, {self.events} events, {self.seconds:.1f} s",
            "",
            f"{'category':16}{'failures':>9}{'deleted':>9}{'gone':>6}{'retries':>9}{'terminal':>10}",
        ]
        lines += [
            f"{name:16}{one.failures:>9}{one.deleted:>9}{one.confirmed_gone:>6}{one.retries:>9}{one.terminal:>10}"
            for name, one in self.categories.items()
        ]
        lines += ["", *(_executor_line(name, one) for name, one in self.executors.items()), ""]
        lines += [line for one in self.explanations for line in explanation_lines(one)]
        if self.ok:
            lines.append("every job ended as its script says")
        lines += [f"UNEXPECTED {one.get('job') or 'system'}: {one.get('what')}" for one in self.unexpected]
        return "\n".join(lines)


def _executor_line(name: str, one: ExecutorResult) -> str:
    killed = f", killed {one.kills} times and back" if one.kills > 1 else ", killed once and back" if one.kills else ""
    return f"executor {name}: {one.failures} failures journaled{killed}"


def explanation_lines(one: JsonObject) -> list[str]:
    """A verdict's explanation for people."""
    name = "/".join(str(part) for part in (one.get("category"), one.get("subcategory")) if part) or "no category"
    decision = one.get("decision") or one.get("gate")
    verdict = "retry" if one.get("retry") else "fail"
    lines = [f"run {one.get('run_id')}: {name} -> {verdict} ({decision}) {one.get('reason')}"]
    lines.append(
        f"  policy {one.get('policy') or 'none'}, gate {one.get('gate')}, failures {one.get('failures')}, "
        f"retries {one.get('retries_used')} -> {one.get('retries_after')} of {one.get('retry_limit')}"
        f" (globally {one.get('global_max_retries')})"
    )
    for rule in _objects(one.get("rules")):
        on = "/".join(str(part) for part in (rule.get("on_category"), rule.get("on_subcategory")) if part) or "anything"
        lines.append(f"  rule {rule.get('index')}: {rule.get('action')} on {on}: {rule.get('why') or 'matches'}")
    for change in _objects(one.get("mutations")):
        what = change.get("skipped") or f"{change.get('before') or 'nothing'} -> {change.get('after')}"
        lines.append(f"  {change.get('kind')}: {what}")
    return [*lines, ""]


def _objects(value: object) -> list[Mapping[str, object]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
