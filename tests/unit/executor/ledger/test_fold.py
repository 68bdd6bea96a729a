"""What a journal's records add up to."""

import pytest
from msgspec.structs import replace

from refloat_common.core.messages import Report, ReportKind
from refloat_executor.core.ledger.fold import Books, DisorderedRecordsError, fold
from refloat_executor.core.ledger.values.entry import Entry, Progress, State
from refloat_executor.core.ledger.values.records import (
    RECORD_VERSION,
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
    Session,
    UnknownRecordError,
    decode_record,
    encode_record,
    kind_of,
)
from testkit.executor.ledger import DELETE, JOB, LEASE, NAME, RETAIN, RUN, UID, entry

ACCEPT, CREATING, CREATED = Accepted(LEASE), Creating(RUN), Created(RUN, UID)
STARTED: tuple[Record, ...] = (ACCEPT, CREATING, CREATED)


def reported(seq: int, kind: ReportKind, *, gone: bool = False) -> Reported:
    return Reported(seq, Report(kind=kind, run=RUN, job=JOB, pod_gone=gone))


STORIES: dict[str, tuple[tuple[Record, ...], Entry]] = {
    "accepted": ((ACCEPT,), entry(State.ACCEPTED)),
    "creating": ((ACCEPT, CREATING), entry(State.CREATING)),
    "active": (STARTED, entry(State.ACTIVE)),
    "adopted": ((Adopted(RUN, JOB, "jobs", NAME, UID),), replace(entry(State.ACTIVE), queue="")),
    "pending": ((*STARTED, reported(1, ReportKind.PENDING)), entry(State.ACTIVE, progress=Progress.PENDING)),
    "running": ((*STARTED, reported(1, ReportKind.RUNNING)), entry(State.ACTIVE, progress=Progress.RUNNING)),
    "judged, Delete": ((*STARTED, Judged(RUN, UID, DELETE)), entry(State.CLASSIFIED, judgement=DELETE)),
    "judged, gone and reported": (
        (*STARTED, Judged(RUN, UID, DELETE), Gone(RUN, UID, 1), reported(1, ReportKind.FAILED, gone=True)),
        entry(State.REPORTED, seq=1, failed=True, gone=True),
    ),
    "stuck": (
        (*STARTED, Judged(RUN, UID, DELETE), reported(1, ReportKind.FAILED)),
        entry(State.STUCK, seq=1, failed=True),
    ),
    "stuck, and gone at last": (
        (
            *STARTED,
            Judged(RUN, UID, DELETE),
            reported(1, ReportKind.FAILED),
            Gone(RUN, UID, 1),
            reported(2, ReportKind.GONE, gone=True),
        ),
        entry(State.REPORTED, seq=2, gone=True),
    ),
    "stuck and acknowledged is stuck": (
        (*STARTED, Judged(RUN, UID, DELETE), reported(1, ReportKind.FAILED), Acked(1)),
        entry(State.STUCK, seq=1, failed=True),
    ),
    "retained": (
        (*STARTED, Judged(RUN, UID, RETAIN), reported(1, ReportKind.FAILED)),
        entry(State.REPORTED, seq=1, failed=True),
    ),
    "retained and acknowledged": (
        (*STARTED, Judged(RUN, UID, RETAIN), reported(1, ReportKind.FAILED), Acked(1)),
        entry(State.MARKED, seq=1, failed=True, acked=True),
    ),
    "returned": (
        (ACCEPT, CREATING, reported(1, ReportKind.RETURNED)),
        entry(State.REPORTED, uid="", seq=1, gone=True),
    ),
    "killed before its create was answered": (
        (ACCEPT, CREATING, Killing(RUN), CREATED),
        entry(State.KILLING, kill=True),
    ),
    "killed while it ran": ((*STARTED, Killing(RUN)), entry(State.KILLING, kill=True)),
    "retiring": (
        (*STARTED, reported(1, ReportKind.SUCCEEDED), Acked(1), Retiring(RUN, JOB, "jobs", NAME, UID)),
        entry(State.RETIRING, seq=1, acked=True),
    ),
    "a stray of a closed run": (
        (reported(1, ReportKind.SUCCEEDED), Retiring(RUN, JOB, "jobs", NAME, "u9")),
        entry(State.RETIRING, uid="u9", acked=True, queue=""),
    ),
}


@pytest.mark.parametrize(("records", "left"), STORIES.values(), ids=STORIES.keys())
def test_what_is_left_of_a_run(records: tuple[Record, ...], left: Entry) -> None:
    through_bytes = [decode_record(RECORD_VERSION, encode_record(record)) for record in records]
    assert fold(through_bytes).entries == {RUN: left}


def test_a_closed_run_is_only_remembered() -> None:
    books = fold([*STARTED, reported(1, ReportKind.SUCCEEDED), Acked(1), Gone(RUN, UID, 1), Closed(RUN)])
    assert books == Books(entries={}, ended={RUN}, next_seq=2, acked_seq=1)


def test_sequences_and_epochs() -> None:
    assert fold([Session(4, "b"), Session(6, "c")]).last_epoch == 6
    assert fold([], pruned_seq=9) == Books(next_seq=10)
    assert fold([reported(11, ReportKind.SUCCEEDED), Acked(12)], pruned_seq=10).next_seq == 13


def test_a_scheduler_that_went_back_has_acknowledged_less() -> None:
    books = fold([*STARTED, reported(1, ReportKind.SUCCEEDED), Acked(1), Acked(0)])
    assert (books.acked_seq, books.next_seq) == (0, 2)
    assert books.entries[RUN].state is State.REPORTED


@pytest.mark.parametrize("records", [[CREATING], [ACCEPT, ACCEPT], [Judged(RUN, UID, DELETE)]])
def test_records_out_of_order_are_no_journal(records: list[Record]) -> None:
    with pytest.raises(DisorderedRecordsError, match="out of order, for run 'r1'"):
        fold(records)


def test_records_of_another_version_or_of_none_are_named() -> None:
    with pytest.raises(UnknownRecordError, match=r"version 2 \(this program reads 1\): the version is not known"):
        decode_record(2, b"")
    with pytest.raises(UnknownRecordError, match="version 1"):
        decode_record(1, b"\x80")
    assert [kind_of(record) for record in (ACCEPT, CREATING, CREATED, Acked(1))] == [
        "accept",
        "creating",
        "created",
        "acked",
    ]
