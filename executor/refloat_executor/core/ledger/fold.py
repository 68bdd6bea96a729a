"""Decides what a record means for its run: the only way in which what is journaled of an entry ever changes.

The live machine and the replay after a start both go through `written`, so they cannot differ. Within a process an
entry may stand in a state that rests on nothing more than its predecessor (HELD on ACTIVE, DELETING on CLASSIFIED);
`durable` says what would be left of it after a crash.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from refloat_common.core.ids import JobId, pod_name
from refloat_common.core.messages import ReportKind
from refloat_common.core.taxonomy import Disposition
from refloat_executor.core.ledger.values.entry import Entry, Progress, State
from refloat_executor.core.ledger.values.records import (
    Accepted,
    Acked,
    Adopted,
    Closed,
    Created,
    Creating,
    Gone,
    Judged,
    Killing,
    Record,
    Reported,
    Retiring,
    RunRecord,
    Session,
)

_DURABLE_STATE = {
    State.WAITING: State.ACCEPTED,
    State.HELD: State.ACTIVE,
    State.VANISHED: State.ACTIVE,
    State.DELETING: State.CLASSIFIED,
}
"""Which state a crash leaves of those that rest on their predecessor's records."""


class DisorderedRecordsError(Exception):
    """A record about a run that none has begun, or that begins one a second time: the journal is damaged."""

    def __init__(self, record: RunRecord) -> None:
        super().__init__(f"a record of kind {type(record).__name__.lower()} out of order, for run {record.run!r}")


def written(entry: Entry | None, record: RunRecord) -> Entry | None:
    """The entry once `record` counts; None once nothing is left to do for the run.

    Raises:
        DisorderedRecordsError: the record needs an entry and there is none, or the reverse.
    """
    if entry is None:
        return _begun(record)
    match record:
        case Reported():
            return _reported(entry, record)
        case Judged(_, _, judgement):
            judged = State.CLASSIFIED if judgement.disposition == Disposition.DELETE else entry.state
            return replace(entry, judgement=judgement, state=judged)
        case Gone():
            retired = entry.state is State.RETIRING
            return replace(entry, gone=True, state=State.REPORTED if retired else entry.state)
        case Creating():
            return replace(entry, state=State.CREATING)
        case Created(_, uid):
            return replace(entry, state=State.KILLING if entry.kill else State.ACTIVE, uid=uid, lease=None)
        case Killing():
            return replace(entry, kill=True, state=State.KILLING if entry.uid else entry.state)
        case Retiring():
            return replace(entry, state=State.RETIRING, uid=record.uid, gone=False, lease=None, judgement=None)
        case Closed():
            return None
        case Accepted() | Adopted():
            raise DisorderedRecordsError(record)


def _begun(record: RunRecord) -> Entry:
    """The entry that begins with this record."""
    match record:
        case Accepted(lease):
            return Entry(
                run=lease.run,
                job=lease.job,
                namespace=lease.namespace,
                name=pod_name(JobId(lease.job)),
                state=State.ACCEPTED,
                queue=sys.intern(lease.queue),
                lease=lease,
            )
        case Adopted(run, job, namespace, name, uid):
            return Entry(run=run, job=job, namespace=namespace, name=name, state=State.ACTIVE, uid=uid)
        case Retiring(run, job, namespace, name, uid):
            # Its other records were pruned, so it was acknowledged.
            return Entry(run=run, job=job, namespace=namespace, name=name, uid=uid, state=State.RETIRING, acked=True)
        case _:
            raise DisorderedRecordsError(record)


def _reported(entry: Entry, record: Reported) -> Entry:
    report = record.report
    match report.kind:
        case ReportKind.PENDING:
            return replace(entry, progress=Progress.PENDING)
        case ReportKind.RUNNING:
            return replace(entry, progress=Progress.RUNNING)
    ended = replace(
        entry, seq=record.seq, judgement=None, lease=None, failed=report.kind is ReportKind.FAILED, acked=False
    )
    if _DURABLE_STATE.get(entry.state, entry.state) is State.CLASSIFIED and not report.pod_gone:
        return replace(ended, state=State.STUCK)
    return replace(ended, state=State.REPORTED, gone=entry.gone or report.pod_gone or not entry.uid)


@dataclass(frozen=True, slots=True)
class Books:
    """Everything that a journal says. `ended` are the runs whose end was ever reported, as far as it is kept."""

    entries: dict[str, Entry] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    next_seq: int = 1
    acked_seq: int = 0
    last_epoch: int = 0


def fold(records: Iterable[Record], pruned_seq: int = 0) -> Books:
    """The state that a journal leaves, from all its records in order; reports up to `pruned_seq` are pruned.

    Raises:
        DisorderedRecordsError: the records can't be those of one journal.
    """
    entries: dict[str, Entry] = {}
    ended: set[str] = set()
    next_seq, acked_seq, last_epoch = pruned_seq + 1, 0, 0
    for record in records:
        match record:
            case Acked(seq):
                acked_seq = seq
            case Session(epoch):
                last_epoch = max(last_epoch, epoch)
            case _:
                if isinstance(record, Reported):
                    next_seq = max(next_seq, record.seq + 1)
                    if record.report.kind.ends_run:
                        ended.add(record.run)
                    if record.run not in entries:
                        continue  # its other records were pruned: the run is closed, the report is only kept
                after = written(entries.get(record.run), record)
                if after is None:
                    entries.pop(record.run, None)
                else:
                    entries[record.run] = after
    for run, entry in entries.items():
        if entry.state in (State.REPORTED, State.RETIRING) and 0 < entry.seq <= acked_seq:
            entries[run] = acknowledged(entry)
    return Books(entries, ended, max(next_seq, acked_seq + 1), acked_seq, last_epoch)


def acknowledged(entry: Entry) -> Entry:
    """The entry once the scheduler has its last report: a pod that is still there is kept for its retention."""
    kept = entry.state is State.REPORTED and not entry.gone
    return replace(entry, acked=True, state=State.MARKED if kept else entry.state)


def durable(entry: Entry) -> Entry:
    """What a crash would leave of the entry, were the acknowledgements all journaled."""
    return Entry(
        run=entry.run,
        job=entry.job,
        namespace=entry.namespace,
        name=entry.name,
        state=_DURABLE_STATE.get(entry.state, entry.state),
        queue=entry.queue,
        lease=entry.lease,
        uid=entry.uid,
        progress=entry.progress,
        judgement=entry.judgement,
        seq=entry.seq,
        failed=entry.failed,
        gone=entry.gone,
        kill=entry.kill,
        acked=entry.acked,
    )
