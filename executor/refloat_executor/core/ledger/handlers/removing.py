"""Decides how a pod is removed, and when it counts as gone.

    DELETE accepted ─► read ─► gone
                        │ ▲
                        ▼ │ a poll, or the watch no longer shows it
                   still there ─► grace 0 after `podKillTimeout` ─► reported as stuck, and deletion goes on

*Gone* is a consistent read begun after the DELETE that finds no pod, or one of another uid. A failed pod is deleted as
it was judged (uid and resourceVersion); one whose run was ended by order is deleted whatever it does (uid only).
"""

from msgspec.structs import replace

from refloat_executor.core.backoff import backoff_s
from refloat_executor.core.cluster.answers import Conflict, Denied, Missing, Throttled, describe
from refloat_executor.core.ledger.handlers.reports import failed_report, gone_report, killed_report, stuck_report
from refloat_executor.core.ledger.handlers.step import Context, Step, again, report_record, write
from refloat_executor.core.ledger.values.effects import ConfirmGone, DeletePod, ReadPod
from refloat_executor.core.ledger.values.entry import Doing, Entry, State
from refloat_executor.core.ledger.values.news import (
    DeleteAccepted,
    DeleteRefused,
    Due,
    PodFailed,
    PodListed,
    PodRead,
    PodSucceeded,
    PodUnseen,
    ReadFailed,
)
from refloat_executor.core.ledger.values.records import Closed, Gone, RunRecord

JUDGED = frozenset({State.CLASSIFIED, State.DELETING})


def delete_accepted(entry: Entry, _news: DeleteAccepted, context: Context) -> Step:
    """Find out at once whether that was all: a pod whose containers have ended goes with the DELETE."""
    since_s = context.at.now_s if entry.accepted_s is None else entry.accepted_s
    state = State.DELETING if entry.state is State.CLASSIFIED else entry.state
    return _confirm(replace(entry, state=state, accepted_s=since_s, denied_s=None, failures=0))


def delete_refused(entry: Entry, news: DeleteRefused, context: Context) -> Step:
    """Nothing was deleted by this request; it is never given up."""
    match news.answer:
        case Missing():
            return _confirm(entry)
        case Conflict():
            look = replace(entry, doing=Doing.READ, due_s=None, prompted=False, failures=entry.failures + 1)
            return Step(look, effects=(ReadPod(entry.run, entry.namespace, entry.name),))
        case Throttled(retry_after_s):
            return again(entry, Doing.DELETE, context, retry_after_s)
        case Denied() as answer:
            since_s = context.at.now_s if entry.denied_s is None else entry.denied_s
            denied = replace(entry, denied_s=since_s)
            if entry.state in JUDGED and context.at.now_s - since_s >= _patience_s(entry, context):
                return _stuck(denied, context, describe(answer))
            return again(denied, Doing.DELETE, context)
        case _:
            return again(entry, Doing.DELETE, context)


def removal_read(entry: Entry, news: PodRead, context: Context) -> Step:
    """Gone, or not yet."""
    pod = news.pod
    if pod is None or pod.metadata.uid != entry.uid:
        return _gone(entry, context)
    grace_s = pod.metadata.deletion_grace_period_seconds
    seen = replace(entry, version=pod.metadata.resource_version, grace_s=grace_s or 0)
    if pod.metadata.deletion_timestamp is None or entry.accepted_s is None:
        # Our DELETE met another state of the pod: at once with the new version, then with growing pauses.
        return _delete(seen, context) if entry.failures <= 1 else again(seen, Doing.DELETE, context)
    return _not_yet(seen, context)


def removal_listed(entry: Entry, _news: PodListed, context: Context) -> Step:
    """Not yet."""
    return _not_yet(entry, context)


def removal_unread(entry: Entry, _news: ReadFailed, context: Context) -> Step:
    """Nothing is known yet."""
    return again(entry, Doing.READ, context)


def removal_prompted(entry: Entry, _news: PodUnseen, _context: Context) -> Step:
    """The watch no longer shows the pod. If a request is under way its answer is awaited; else read at once."""
    if entry.doing is Doing.DELETE and entry.due_s is None:
        return Step(entry)
    if entry.doing is Doing.READ and entry.due_s is None:
        return Step(replace(entry, prompted=True))
    return _confirm(entry)


def removal_due(entry: Entry, _news: Due, context: Context) -> Step:
    """Time for what was put off."""
    return _delete(entry, context) if entry.doing is Doing.DELETE else _confirm(entry)


def ended_while_killed(entry: Entry, news: PodSucceeded | PodFailed, _context: Context) -> Step:
    """Its containers have ended, so that removing the pod from the API hides nothing."""
    return Step(replace(entry, terminal=True, version=news.pod.metadata.resource_version))


def _confirm(entry: Entry) -> Step:
    look = replace(entry, doing=Doing.READ, due_s=None, prompted=False)
    return Step(look, effects=(ConfirmGone(entry.run, entry.namespace, entry.name, entry.uid),))


def _delete(entry: Entry, context: Context) -> Step:
    forced = _force_is_due(entry, context)
    request = DeletePod(
        entry.run,
        entry.namespace,
        entry.name,
        entry.uid,
        entry.version if entry.state in JUDGED else "",
        0 if forced else None,
    )
    return Step(replace(entry, doing=Doing.DELETE, due_s=None, forced=entry.forced or forced), effects=(request,))


def _force_is_due(entry: Entry, context: Context) -> bool:
    if entry.accepted_s is None:
        return False
    return context.at.now_s - entry.accepted_s >= entry.grace_s + context.limits.pod_kill_timeout_s


def _patience_s(entry: Entry, context: Context) -> float:
    """How long after the first DELETE a failed pod is reported as stuck: its own grace comes on top."""
    own_s = entry.judgement.grace_s if entry.judgement is not None else 0
    return context.limits.stuck_expiry_s + own_s


def _not_yet(entry: Entry, context: Context) -> Step:
    """The pod was there when it was read."""
    if entry.prompted:
        return _confirm(entry)
    now_s = context.at.now_s
    if entry.accepted_s is None:
        return again(entry, Doing.DELETE, context)
    if entry.state in JUDGED and now_s - entry.accepted_s >= _patience_s(entry, context):
        return _stuck(entry, context, "")
    if _force_is_due(entry, context) and not entry.forced:
        return _delete(entry, context)
    return _poll(entry, context)


def _poll(entry: Entry, context: Context) -> Step:
    """Read again after a pause; where the last DELETE was the strongest there is, send it again after a longer one."""
    limits, now_s = context.limits, context.at.now_s
    doing, failures = Doing.READ, entry.failures + 1
    due_s = now_s + backoff_s(failures, context.at.dice, first_s=limits.poll_first_s, longest_s=limits.poll_longest_s)
    if entry.state is State.STUCK or entry.forced:
        doing, due_s = Doing.DELETE, now_s + limits.stuck_poll_s * (0.5 + context.at.dice / 2)
    if entry.accepted_s is not None and not entry.forced:
        due_s = min(due_s, entry.accepted_s + entry.grace_s + limits.pod_kill_timeout_s)
    if entry.accepted_s is not None and entry.state in JUDGED:
        due_s = min(due_s, entry.accepted_s + _patience_s(entry, context))
    return Step(replace(entry, doing=doing, failures=failures, due_s=due_s))


def _stuck(entry: Entry, context: Context, why: str) -> Step:
    """Report that the pod will not go. Its deletion goes on."""
    assert entry.judgement is not None
    step = write(entry, report_record(context, stuck_report(entry, entry.judgement, why)))
    assert step.entry is not None
    return replace(step, entry=_poll(step.entry, context).entry)


def _gone(entry: Entry, context: Context) -> Step:
    """The pod is no more, unless a create without an answer may still bring it back."""
    if context.at.now_s < entry.create_open_until_s:
        return Step(replace(entry, doing=Doing.READ, due_s=entry.create_open_until_s))
    gone_at_ms = context.at.utc_ms
    records: list[RunRecord] = [Gone(entry.run, entry.uid, gone_at_ms)]
    match entry.state:
        case State.CLASSIFIED | State.DELETING:
            assert entry.judgement is not None
            report = failed_report(entry, entry.judgement, gone_at_ms=gone_at_ms)
            records.append(report_record(context, report))
        case State.STUCK:
            records.append(report_record(context, gone_report(entry, gone_at_ms)))
        case State.KILLING:
            records.append(report_record(context, killed_report(entry, attempted=True, gone_at_ms=gone_at_ms)))
        case _:
            if entry.acked:
                records.append(Closed(entry.run))
    return write(entry, *records)
