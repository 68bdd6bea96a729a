"""Decides what becomes of a run that was reported: acknowledged, kept for a while, and removed without a trace."""

from msgspec.structs import replace

from refloat_common.core.pods import Pod
from refloat_executor.core.ledger.fold import acknowledged, written
from refloat_executor.core.ledger.handlers.step import Context, Limits, Step, again, then, write
from refloat_executor.core.ledger.values.effects import ConfirmGone, DeletePod
from refloat_executor.core.ledger.values.entry import Doing, Entry, State
from refloat_executor.core.ledger.values.news import (
    Acknowledged,
    Due,
    PodListed,
    PodRead,
    PodUnseen,
    ReadFailed,
    StrayFound,
    Unwanted,
)
from refloat_executor.core.ledger.values.records import Closed, Gone, Retiring


def acked(entry: Entry, _news: Acknowledged, context: Context) -> Step:
    """The scheduler has the end of the run: nothing more is said of it."""
    if entry.gone:
        return write(entry, Closed(entry.run))
    return Step(keep(acknowledged(entry), context.limits, context.at.now_s))


def acked_removing(entry: Entry, _news: Acknowledged, _context: Context) -> Step:
    """The same while its pod is on its way out: what is under way goes on."""
    return Step(acknowledged(entry))


def acked_stuck(entry: Entry, _news: Acknowledged, _context: Context) -> Step:
    """The stuck report is known; the run is held until its pod is gone and that is reported too."""
    return Step(entry)


def keep(entry: Entry, limits: Limits, now_s: float) -> Entry:
    """The entry with the timer of its retention."""
    keep_s = max(limits.minimum_pod_age_s, limits.failed_pod_expiry_s if entry.failed else 0.0)
    return replace(entry, doing=Doing.NOTHING, due_s=now_s + keep_s, marked_s=now_s, failures=0)


def unseen(entry: Entry, _news: PodUnseen, _context: Context) -> Step:
    """Somebody may have removed the kept pod."""
    under_way = entry.doing is Doing.READ and entry.due_s is None
    return Step(entry) if entry.gone or under_way else _confirm(entry)


def kept_read(entry: Entry, news: PodRead, context: Context) -> Step:
    """Whether the kept pod is still there."""
    if entry.gone:
        return Step(entry)
    if news.pod is not None and news.pod.metadata.uid == entry.uid:
        return _still_kept(entry, context)
    gone = Gone(entry.run, entry.uid, context.at.utc_ms)
    return write(entry, gone, Closed(entry.run)) if entry.acked else write(entry, gone)


def kept_listed(entry: Entry, _news: PodListed, context: Context) -> Step:
    """A complete list still holds it."""
    return Step(entry) if entry.gone else _still_kept(entry, context)


def kept_unread(entry: Entry, _news: ReadFailed, context: Context) -> Step:
    """Nothing is known yet."""
    return Step(entry) if entry.gone else again(entry, Doing.READ, context)


def kept_due(entry: Entry, _news: Due, context: Context) -> Step:
    """Time for the read that was put off, or the end of retention."""
    if entry.doing is Doing.READ:
        return _confirm(entry)
    if entry.state is State.MARKED:
        return unwanted(entry, Unwanted(), context)
    return Step(replace(entry, due_s=None))


def unwanted(entry: Entry, _news: Unwanted, _context: Context) -> Step:
    """The kept pod goes: its time is over, or a newer run of the job needs its name."""
    return Step(entry) if entry.gone else retire(entry, entry.uid)


def stray(entry: Entry, news: StrayFound, _context: Context) -> Step:
    """A create without an answer landed after all, or the pod has come back: the run is over, so it goes."""
    return retire(entry, news.pod.metadata.uid)


def retire(entry: Entry, uid: str) -> Step:
    """Remove the pod of an ended run."""
    step = write(entry, Retiring(entry.run, entry.job, entry.namespace, entry.name, uid))
    delete = DeletePod(entry.run, entry.namespace, entry.name, uid)
    return then(step, delete, doing=Doing.DELETE, accepted_s=None, forced=False, create_open_until_s=0.0)


def adopt_stray(run: str, job: str, pod: Pod) -> Step:
    """The same for a run whose other records are pruned."""
    meta = pod.metadata
    record = Retiring(run, job, meta.namespace, meta.name, meta.uid)
    step = Step(written(None, record), (record,))
    return then(step, DeletePod(run, meta.namespace, meta.name, meta.uid), doing=Doing.DELETE)


def _still_kept(entry: Entry, context: Context) -> Step:
    """It is: only the watch lost sight of it. Its retention runs on."""
    if entry.state is not State.MARKED:
        return Step(replace(entry, doing=Doing.NOTHING, due_s=None, failures=0))
    marked_s = entry.marked_s
    kept = keep(entry, context.limits, context.at.now_s)
    assert kept.due_s is not None
    return Step(replace(kept, marked_s=marked_s, due_s=kept.due_s - (context.at.now_s - marked_s)))


def _confirm(entry: Entry) -> Step:
    look = replace(entry, doing=Doing.READ, due_s=None)
    return Step(look, effects=(ConfirmGone(entry.run, entry.namespace, entry.name, entry.uid),))
