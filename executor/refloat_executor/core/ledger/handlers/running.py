"""Decides what the states of a run's pod mean while it lives, and when its failure is judged.

A failure is judged once, with everything that is known then, and journaled before anything else happens. The only
reasons to wait are exit code 137 without a reason (the kubelet may say OOMKilled a moment later) and the events of
the pod, where a rule looks at events.
"""

from msgspec.structs import replace

from refloat_common.core.messages import ReportKind
from refloat_common.core.pods import Event, Pod
from refloat_common.core.taxonomy import Disposition
from refloat_executor.core.ledger.handlers.reports import failed_report, phase_report
from refloat_executor.core.ledger.handlers.step import Context, Step, again, report_record, then, write
from refloat_executor.core.ledger.values.effects import ConfirmGone, DeletePod, ReadEvents
from refloat_executor.core.ledger.values.entry import Doing, Entry, Held, Progress, State
from refloat_executor.core.ledger.values.news import (
    Due,
    EventsRead,
    KillOrdered,
    PodFailed,
    PodListed,
    PodPending,
    PodRead,
    PodRunning,
    PodSucceeded,
    PodUnseen,
    ReadFailed,
)
from refloat_executor.core.ledger.values.records import Gone, Judged, Killing

UNSEEN_POLL_S = 15.0
"""A pod that exists but is not shown by the watch (somebody took its label off) is read this often."""

FULL_JOURNAL_S = 5.0
"""How long a failure waits for room in the journal before it is judged again."""


# ---- ACTIVE


def pending(entry: Entry, news: PodPending, context: Context) -> Step:
    """Reported once."""
    if entry.progress is not Progress.NONE:
        return Step(entry)
    return write(entry, report_record(context, phase_report(entry, ReportKind.PENDING, news.pod)))


def running(entry: Entry, news: PodRunning, context: Context) -> Step:
    """Reported once, with the node."""
    if entry.progress is Progress.RUNNING:
        return Step(entry)
    label = context.node_label(news.pod.spec.node_name)
    return write(entry, report_record(context, phase_report(entry, ReportKind.RUNNING, news.pod, label)))


def succeeded(entry: Entry, news: PodSucceeded, context: Context) -> Step:
    """The run is over; its pod is kept for a while."""
    label = context.node_label(news.pod.spec.node_name)
    return write(entry, report_record(context, phase_report(entry, ReportKind.SUCCEEDED, news.pod, label)))


def failed(entry: Entry, news: PodFailed, context: Context) -> Step:
    """Judge, or hold for what may still come."""
    reads_events = context.limits.reads_events
    if not reads_events and news.wait_s <= 0:
        return judged(entry, news.pod, (), context, foreign_delete=news.foreign_delete)
    wait_s = max(news.wait_s, context.limits.events_wait_s if reads_events else 0.0)
    held = Held(news.pod, context.at.now_s + news.wait_s, None if reads_events else (), news.foreign_delete)
    after = replace(entry, state=State.HELD, held=held, due_s=context.at.now_s + wait_s)
    if not reads_events:
        return Step(after)
    ask = ReadEvents(entry.run, entry.namespace, entry.name, entry.uid)
    return Step(replace(after, doing=Doing.READ), effects=(ask,))


def unseen(entry: Entry, news: PodUnseen, _context: Context) -> Step:
    """The pod may be gone. A watch also drops a pod whose label was taken off, so a read must say."""
    after = replace(entry, state=State.VANISHED, last=news.last, doing=Doing.READ, due_s=None, failures=0)
    return Step(after, effects=(_confirm(entry),))


def kill(entry: Entry, _news: KillOrdered, _context: Context) -> Step:
    """End it, whatever it does now."""
    step = write(entry, Killing(entry.run))
    delete = DeletePod(entry.run, entry.namespace, entry.name, entry.uid)
    return then(step, delete, doing=Doing.DELETE, held=None, last=None)


def active_read(entry: Entry, news: PodRead, context: Context) -> Step:
    """A read that was begun before the watch showed the pod again; if it found none, that is looked into."""
    if news.pod is not None and news.pod.metadata.uid == entry.uid:
        return Step(entry)
    return unseen(entry, PodUnseen(None), context)


def look_again(entry: Entry, _news: Due, _context: Context) -> Step:
    """The watch does not show this pod: read it now and then."""
    return Step(replace(entry, state=State.VANISHED, doing=Doing.READ, due_s=None), effects=(_confirm(entry),))


# ---- HELD


def failed_still(entry: Entry, news: PodFailed, context: Context) -> Step:
    """A newer state of the failed pod: what was waited for may be in it."""
    held = entry.held
    assert held is not None
    until_s = held.until_s if news.wait_s > 0 else context.at.now_s
    newer = replace(held, pod=news.pod, until_s=until_s, foreign_delete=held.foreign_delete or news.foreign_delete)
    return _judge_if_known(replace(entry, held=newer), context)


def events_read(entry: Entry, news: EventsRead, context: Context) -> Step:
    """The events are here, or can't be had: a failure is judged without them then."""
    held = entry.held
    assert held is not None
    after = replace(entry, held=replace(held, events=news.events or ()), doing=Doing.NOTHING)
    return _judge_if_known(after, context)


def hold_over(entry: Entry, _news: Due, context: Context) -> Step:
    """Nothing more is waited for."""
    return _judge_held(entry, context)


def unseen_held(entry: Entry, _news: PodUnseen, context: Context) -> Step:
    """The failed pod is gone already; nothing more can come."""
    return _judge_held(entry, context)


def _judge_if_known(entry: Entry, context: Context) -> Step:
    held = entry.held
    assert held is not None
    if held.events is None:
        return Step(entry)
    if context.at.now_s < held.until_s:
        return Step(replace(entry, due_s=held.until_s))
    return _judge_held(entry, context)


def _judge_held(entry: Entry, context: Context) -> Step:
    held = entry.held
    assert held is not None
    return judged(entry, held.pod, held.events or (), context, foreign_delete=held.foreign_delete)


def judged(entry: Entry, pod: Pod, events: tuple[Event, ...], context: Context, *, foreign_delete: bool) -> Step:
    """The failure has its name. A Delete category's pod is removed first; any other is reported at once."""
    judgement = context.judge(pod, events, foreign_delete=foreign_delete, detected_at_ms=context.at.utc_ms)
    if context.limits.holds_deletes and judgement.disposition == Disposition.DELETE:
        held = Held(pod, context.at.now_s, events, foreign_delete)
        return Step(replace(entry, state=State.HELD, held=held, due_s=context.at.now_s + FULL_JOURNAL_S))
    record = Judged(entry.run, entry.uid, judgement)
    clear = entry if entry.held is None and entry.last is None else replace(entry, held=None, last=None)
    if judgement.disposition != Disposition.DELETE:
        return write(clear, record, report_record(context, failed_report(entry, judgement)))
    version = pod.metadata.resource_version
    delete = DeletePod(entry.run, entry.namespace, entry.name, entry.uid, version)
    return then(write(clear, record), delete, doing=Doing.DELETE, version=version, terminal=True)


# ---- VANISHED


def vanished_read(entry: Entry, news: PodRead, context: Context) -> Step:
    """Gone, or only not shown. The daemon looks at a pod that was found as at any other state of it."""
    if news.pod is not None and news.pod.metadata.uid == entry.uid:
        return _still_there(entry, context)
    judgement = context.judge(entry.last, (), foreign_delete=True, detected_at_ms=context.at.utc_ms)
    gone_at_ms = context.at.utc_ms
    return write(
        replace(entry, last=None),
        Judged(entry.run, entry.uid, judgement),
        Gone(entry.run, entry.uid, gone_at_ms),
        report_record(context, failed_report(entry, judgement, gone_at_ms=gone_at_ms)),
    )


def vanished_listed(entry: Entry, _news: PodListed, context: Context) -> Step:
    """A complete list still holds it."""
    return _still_there(entry, context)


def vanished_unread(entry: Entry, _news: ReadFailed, context: Context) -> Step:
    """Nothing is known yet."""
    return again(entry, Doing.READ, context)


def vanished_due(entry: Entry, _news: Due, _context: Context) -> Step:
    """Time for the read that was put off."""
    return Step(replace(entry, due_s=None), effects=(_confirm(entry),))


def seen_again(entry: Entry) -> Entry:
    """A pod that was missed is shown again."""
    return replace(entry, state=State.ACTIVE, doing=Doing.NOTHING, due_s=None, failures=0, last=None)


def _still_there(entry: Entry, context: Context) -> Step:
    due_s = context.at.now_s + UNSEEN_POLL_S * (0.5 + context.at.dice / 2)
    return Step(replace(seen_again(entry), due_s=due_s))


def _confirm(entry: Entry) -> ConfirmGone:
    return ConfirmGone(entry.run, entry.namespace, entry.name, entry.uid)
