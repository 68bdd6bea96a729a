"""What concerns more than one run: sequences, names, timers, retention."""

from dataclasses import replace as changed

import pytest
from msgspec.structs import replace

from refloat_common.core.messages import Lease, ReportKind, RunStatus
from refloat_executor.core.cluster.answers import Conflict
from refloat_executor.core.ledger.book import Book
from refloat_executor.core.ledger.fold import Books
from refloat_executor.core.ledger.handlers.step import Limits, Moment
from refloat_executor.core.ledger.values.effects import DeletePod, Effect
from refloat_executor.core.ledger.values.entry import Doing, Entry, State
from refloat_executor.core.ledger.values.news import (
    Confirmed,
    CreateRefused,
    KillOrdered,
    PodCreated,
    PodRead,
    PodSucceeded,
)
from refloat_executor.core.ledger.values.records import (
    Accepted,
    Adopted,
    Closed,
    Creating,
    Killing,
    Record,
    Reported,
    Retiring,
)
from testkit.executor.ledger import CREATE, DELETE, JOB, LEASE, NAME, READ, REMOVE, RUN, UID, context, entry, pod

AT = Moment(100.0, 1000, 0.5)
LEASE_2 = Lease(run="r2", job=JOB, queue="q", job_set="s", namespace="jobs", pod_spec=b"{}")


def book_of(*entries: Entry, **books: object) -> Book:
    known = {"entries": {one.run: one for one in entries}}
    return Book(Books(**(known | books)), Limits(), context().judge, str)  # type: ignore[arg-type]  # fields of the books


def taken(book: Book) -> tuple[list[Record], list[Effect]]:
    output = book.take()
    return output.records, output.effects


def later(seconds: float) -> Moment:
    return changed(AT, now_s=AT.now_s + seconds)


def test_a_lease_is_taken_once() -> None:
    book = book_of()
    assert book.accept(LEASE, AT)
    assert taken(book) == ([Accepted(LEASE)], [])
    assert not book.accept(LEASE, AT)
    assert not book_of(ended={RUN}).accept(LEASE, AT)
    assert not book.take()


def test_reports_are_numbered_without_a_gap() -> None:
    book = book_of(next_seq=5)
    book.accept(LEASE, AT)
    book.accept(LEASE_2, AT)
    book.tell("r2", KillOrdered(), AT)
    book.tell(RUN, KillOrdered(), AT)
    reports = [record for record in book.take().records if isinstance(record, Reported)]
    assert [(record.seq, record.run) for record in reports] == [(5, "r2"), (6, RUN)]
    assert book.next_seq == 7


def test_a_run_waits_for_the_older_run_of_its_job() -> None:
    book = book_of(entry(State.KILLING, run="r0", uid="u0", doing=Doing.READ))
    book.accept(LEASE, AT)
    book.tell(RUN, Confirmed(), AT)
    assert taken(book) == ([Accepted(LEASE)], [])
    book.tell("r0", PodRead(None), AT)
    records, effects = taken(book)
    assert [type(record) for record in records] == [type(records[0]), Reported, Creating]
    assert effects == [CREATE]


def test_runs_of_other_jobs_and_namespaces_are_not_waited_for() -> None:
    book = book_of(
        entry(State.KILLING, run="r0", job="j0"),
        entry(State.KILLING, run="r9", namespace="other"),
        entry(State.ACTIVE, run="r8"),
    )
    book.accept(LEASE, AT)
    book.tell(RUN, Confirmed(), AT)
    assert taken(book)[1] == [CREATE]


def test_a_collision_frees_the_name_of_an_ended_run() -> None:
    old = entry(State.MARKED, run="r0", uid="u0", seq=1, acked=True)
    book = book_of(old, next_seq=2, acked_seq=1)
    book.accept(LEASE, AT)
    book.tell(RUN, Confirmed(), AT)
    book.tell(RUN, CreateRefused(Conflict("exists", already_exists=True), fatal=False), AT)
    book.take()
    book.tell(RUN, PodRead(pod(uid="u0", run="r0")), AT)
    records, effects = taken(book)
    assert records[1:] == [Retiring("r0", JOB, "jobs", NAME, "u0")]
    assert effects == [DeletePod("r0", "jobs", NAME, "u0")]


@pytest.mark.parametrize("state", [State.ACTIVE, State.KILLING])
def test_a_collision_never_ends_a_run_that_lives(state: State) -> None:
    book = book_of(entry(state, run="r0", uid="u0"), entry(State.CREATING, doing=Doing.READ))
    book.tell(RUN, PodRead(pod(uid="u0", run="r0")), AT)
    assert taken(book)[1] == []


def test_acknowledgements_are_cumulative() -> None:
    runs = [entry(State.REPORTED, run=f"r{n}", job=f"j{n}", seq=n, gone=True) for n in (3, 1, 2)]
    book = book_of(*runs, next_seq=4)
    book.acknowledge(2, AT)
    assert taken(book)[0] == [Closed("r1"), Closed("r2")]
    book.acknowledge(3, AT)
    assert taken(book)[0] == [Closed("r3")]
    assert (len(book), book.acked_seq) == (0, 3)


def test_a_scheduler_that_went_back_is_believed() -> None:
    book = book_of(next_seq=9, acked_seq=8)
    book.acknowledge(5, AT)
    assert book.acked_seq == 5


def test_timers_run_out_in_order_and_called_off_ones_do_not() -> None:
    book = book_of()
    for lease in (LEASE, replace(LEASE_2, job="j2")):
        book.accept(lease, AT)
        book.tell(lease.run, Confirmed(), AT)
        book.tell(lease.run, CreateRefused(Conflict("exists", already_exists=True), fatal=False), AT)
        book.tell(lease.run, PodRead(None), AT)
    book.take()
    due_s = book.due_s()
    assert due_s is not None
    assert due_s > AT.now_s
    book.tell("r2", KillOrdered(), AT)
    book.tick(changed(AT, now_s=due_s))
    records, effects = taken(book)
    assert effects == [CREATE]
    assert [type(record) for record in records] == [Killing, Reported]


def test_a_standstill_of_ours_makes_no_pod_stuck() -> None:
    deleting = entry(State.DELETING, judgement=DELETE, doing=Doing.READ, accepted_s=95.0, terminal=True)
    book = book_of(deleting)
    book.tick(AT)
    book.tick(later(120.0))
    book.tell(RUN, PodRead(pod(phase="Failed", deleted=True)), later(120.0))
    assert taken(book) == ([], [])
    found = book.get(RUN)
    assert found is not None
    assert found.accepted_s == 215.0


def test_the_oldest_kept_pods_go_first() -> None:
    kept = [
        entry(State.MARKED, run=f"r{n}", uid=f"u{n}", job=f"j{n}", acked=True, marked_s=float(n)) for n in (3, 1, 2)
    ]
    book = book_of(*kept)
    book.drop_oldest(3, AT)
    assert not book.take()
    book.drop_oldest(1, AT)
    assert taken(book)[1] == [DeletePod(f"r{n}", "jobs", NAME, f"u{n}") for n in (1, 2)]


def test_a_pod_of_a_closed_run_is_a_stray() -> None:
    book = book_of(ended={RUN})
    book.stray(RUN, JOB, pod(uid="u9"), AT)
    assert taken(book) == (
        [Retiring(RUN, JOB, "jobs", NAME, "u9")],
        [DeletePod(RUN, "jobs", NAME, "u9")],
    )
    book_of().stray(RUN, JOB, pod(), AT)


def test_adoption_is_for_runs_that_nobody_knows() -> None:
    book = book_of(ended={"r9"})
    book.adopt(RUN, JOB, pod(), AT)
    book.adopt("r9", JOB, pod(), AT)
    assert taken(book)[0] == [Adopted(RUN, JOB, "jobs", NAME, UID)]


RESUMED: dict[str, tuple[Entry, list[Effect], Doing]] = {
    "accepted": (entry(State.ACCEPTED), [], Doing.NOTHING),
    "creating": (entry(State.CREATING), [READ], Doing.READ),
    "active": (entry(State.ACTIVE), [], Doing.NOTHING),
    "classified": (entry(State.CLASSIFIED, judgement=DELETE), [REMOVE], Doing.DELETE),
    "stuck": (entry(State.STUCK, seq=1), [REMOVE], Doing.DELETE),
    "killing": (entry(State.KILLING, kill=True), [REMOVE], Doing.DELETE),
    "retiring": (entry(State.RETIRING, acked=True), [REMOVE], Doing.DELETE),
    "reported": (entry(State.REPORTED, seq=1), [], Doing.NOTHING),
    "marked": (entry(State.MARKED, seq=1, acked=True), [], Doing.NOTHING),
}


@pytest.mark.parametrize(("left", "effects", "doing"), RESUMED.values(), ids=RESUMED.keys())
def test_what_a_new_process_takes_up(left: Entry, effects: list[Effect], doing: Doing) -> None:
    book = book_of(left, next_seq=2)
    book.resume(AT)
    assert taken(book) == ([], effects)
    found = book.get(RUN)
    assert found is not None
    assert found.doing is doing
    assert (found.create_open_until_s > 0) is (left.state is State.CREATING)


def test_a_run_acknowledged_and_gone_is_closed_at_the_start() -> None:
    book = book_of(entry(State.REPORTED, seq=1, gone=True, acked=True), next_seq=2, acked_seq=1)
    book.resume(AT)
    assert taken(book) == ([Closed(RUN)], [])


def test_what_is_told_of_the_runs() -> None:
    book = book_of()
    book.accept(LEASE, AT)
    assert list(book.take().changed) == [RUN]
    book.tell(RUN, Confirmed(), AT)
    book.tell(RUN, PodCreated(pod()), AT)
    found = book.get(RUN)
    assert found is not None
    assert found.status is RunStatus.ACTIVE
    book.tell(RUN, PodSucceeded(pod(phase="Succeeded")), AT)
    output = book.take()
    assert list(output.changed) == [RUN]
    ends = [record.report.kind for record in output.records if isinstance(record, Reported)]
    assert ends == [ReportKind.SUCCEEDED]
    assert book.census() == {("q", "reported"): 1}
    assert (book.count(State.REPORTED), book.count(State.ACTIVE)) == (1, 0)


def test_how_long_pods_outlived_their_grace_is_told() -> None:
    book = book_of(entry(State.KILLING, accepted_s=90.0, grace_s=4, doing=Doing.READ))
    book.tell(RUN, PodRead(None), AT)
    assert book.take().overdue_s == [6.0]


def test_news_of_runs_that_are_not_held_mean_nothing() -> None:
    book = book_of()
    book.tell("r7", KillOrdered(), AT)
    assert not book.take()
