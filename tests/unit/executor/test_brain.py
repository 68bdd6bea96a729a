"""From what the cluster and the scheduler say to what the ledger is told."""

from dataclasses import replace as changed

import pytest

from refloat_common.core.categories import ErrorCategories, compile_categories
from refloat_common.core.pods import Pod
from refloat_executor.core.brain import SWEEP_EVERY_S, Brain
from refloat_executor.core.cluster.answers import Conflict
from refloat_executor.core.cluster.wire import WatchEvent
from refloat_executor.core.ledger.fold import Books
from refloat_executor.core.ledger.handlers.step import Limits, Moment
from refloat_executor.core.ledger.values.effects import ConfirmGone, DeletePod, Effect
from refloat_executor.core.ledger.values.entry import Doing, Entry, State
from refloat_executor.core.ledger.values.news import CreateRefused, EventsRead, PodCreated, PodRead
from refloat_executor.core.ledger.values.records import Record, Reported
from testkit.executor.ledger import CONFIRM, CREATE, JOB, LEASE, NAME, READ, REMOVE, RUN, UID, entry, pod

AT = Moment(100.0, 1000, 0.5)
CATEGORIES = compile_categories(ErrorCategories())


def brain_of(*entries: Entry, adopts: bool = False, limits: Limits = Limits(), **books: object) -> Brain:  # noqa: B008  frozen
    known: dict[str, object] = {"entries": {one.run: one for one in entries}, "next_seq": 10, "acked_seq": 9}
    return Brain(Books(**(known | books)), limits, CATEGORIES, str, adopts=adopts)  # type: ignore[arg-type]  # fields of the books


def kinds(brain: Brain) -> tuple[list[str], list[Effect]]:
    """Reports by their kind, other records by their type; and the effects."""
    output = brain.take()
    return [_kind(record) for record in output.records], output.effects


def _kind(record: Record) -> str:
    return record.report.kind.value if isinstance(record, Reported) else type(record).__name__


def added(shown: Pod) -> WatchEvent[Pod]:
    return WatchEvent("ADDED", shown)


def test_a_run_from_its_lease_to_success() -> None:
    brain = brain_of()
    brain.leased([LEASE, LEASE], AT)
    brain.may_start([RUN, "unknown"], AT)
    assert kinds(brain) == (["Accepted", "Creating"], [CREATE])
    brain.answered(RUN, PodCreated(pod(phase="Pending")), AT)
    assert kinds(brain) == (["Created", "pending"], [])
    brain.watched([added(pod(phase="Pending")), WatchEvent("MODIFIED", pod())], AT)
    assert kinds(brain) == (["running"], [])
    brain.watched([WatchEvent("MODIFIED", pod(phase="Succeeded"))], AT)
    assert kinds(brain) == (["succeeded"], [])
    brain.acknowledged(12, AT)
    assert kinds(brain) == ([], [])


def test_a_pod_that_ended_before_its_create_was_answered_is_not_missed() -> None:
    brain = brain_of(entry(State.CREATING, doing=Doing.CREATE))
    brain.watched([added(pod(phase="Pending")), WatchEvent("MODIFIED", pod(phase="Succeeded"))], AT)
    assert kinds(brain) == ([], [])
    brain.answered(RUN, PodCreated(pod(phase="Pending")), AT)
    assert kinds(brain) == (["Created", "pending", "succeeded"], [])


def test_a_list_at_the_start_shows_what_happened_meanwhile() -> None:
    gone, done = entry(State.ACTIVE, run="r0", job="j0", name="armada-j0-0", uid="u0"), entry(State.ACTIVE)
    brain = brain_of(gone, done)
    brain.listed("jobs", [pod(phase="Succeeded")], AT)
    assert kinds(brain) == (["succeeded"], [ConfirmGone("r0", "jobs", "armada-j0-0", "u0")])
    brain.answered("r0", PodRead(None), AT)
    assert kinds(brain) == (["Judged", "Gone", "failed"], [])


def test_lists_of_other_namespaces_say_nothing() -> None:
    brain = brain_of(entry(State.ACTIVE))
    brain.listed("other", [], AT)
    assert kinds(brain) == ([], [])
    brain.listed("", [], AT)
    assert kinds(brain) == ([], [CONFIRM])


def test_a_pod_that_was_read_again_is_looked_at() -> None:
    brain = brain_of(entry(State.VANISHED, doing=Doing.READ))
    brain.answered(RUN, PodRead(pod(phase="Succeeded")), AT)
    assert kinds(brain) == (["succeeded"], [])


def test_another_pod_under_the_name_ends_the_run_only_after_a_read() -> None:
    brain = brain_of(entry(State.ACTIVE))
    brain.watched([added(pod()), added(pod(uid="u2", run="r7"))], AT)
    assert kinds(brain) == (["running"], [CONFIRM])


def test_a_deletion_prompts_the_read_that_waits() -> None:
    brain = brain_of(entry(State.KILLING, doing=Doing.READ, due_s=103.0, accepted_s=99.0))
    brain.watched([added(pod(phase="Failed")), WatchEvent("DELETED", pod(phase="Failed"))], AT)
    assert kinds(brain) == ([], [CONFIRM])


@pytest.mark.parametrize("phase", ["Pending", "Running", "Failed"])
def test_pods_of_runs_that_nobody_knows_are_counted_and_left_alone(phase: str) -> None:
    brain = brain_of()
    brain.watched([added(pod(run="r7", phase=phase)), WatchEvent("MODIFIED", pod(run="r7", phase=phase))], AT)
    assert kinds(brain) == ([], [])
    assert brain.foreign_pods == 1


def test_a_label_alone_makes_no_pod_the_run_s() -> None:
    brain = brain_of(entry(State.ACTIVE))
    brain.watched([added(pod(uid="u2", phase="Failed"))], AT)
    assert kinds(brain) == ([], [])


def test_pods_of_ended_runs_go() -> None:
    brain = brain_of(entry(State.REPORTED, seq=1, gone=True, uid=""), ended={RUN, "r5"})
    brain.watched([added(pod(uid="u9"))], AT)
    assert kinds(brain) == (["Retiring"], [DeletePod(RUN, "jobs", NAME, "u9")])
    closed = brain_of(ended={"r5"})
    closed.watched([added(pod(uid="u8", run="r5"))], AT)
    assert kinds(closed) == (["Retiring"], [DeletePod("r5", "jobs", NAME, "u8")])


def test_a_stray_that_came_at_a_bad_time_is_found_by_the_sweep() -> None:
    retiring = entry(State.RETIRING, seq=1, acked=True, doing=Doing.READ)
    brain = brain_of(retiring, ended={RUN})
    brain.watched([added(pod(uid="u9"))], AT)
    assert kinds(brain) == ([], [])
    brain.answered(RUN, PodRead(pod(uid="u9")), AT)
    assert kinds(brain) == (["Gone", "Closed"], [])
    brain.tick(changed(AT, now_s=AT.now_s + SWEEP_EVERY_S))
    assert kinds(brain) == (["Retiring"], [DeletePod(RUN, "jobs", NAME, "u9")])


def test_a_new_journal_adopts_what_its_first_list_shows() -> None:
    brain = brain_of(adopts=True)
    brain.listed("jobs", [pod()], AT)
    assert kinds(brain) == (["Adopted", "running"], [])
    adopted = brain.book.get(RUN)
    assert adopted is not None
    assert (adopted.state, adopted.uid, adopted.job) == (State.ACTIVE, UID, JOB)
    brain.watched([added(pod(uid="u7", run="r7"))], AT)
    assert kinds(brain) == ([], [CONFIRM])


def test_an_old_journal_adopts_nothing() -> None:
    brain = brain_of()
    brain.listed("jobs", [pod()], AT)
    assert kinds(brain) == ([], [])


def test_a_collision_is_looked_up_and_the_lease_returned() -> None:
    brain = brain_of(entry(State.CREATING, doing=Doing.CREATE))
    brain.answered(RUN, CreateRefused(Conflict("exists", already_exists=True), fatal=False), AT)
    assert kinds(brain) == ([], [READ])
    brain.answered(RUN, PodRead(pod(uid="u2", run="r7")), AT)
    assert kinds(brain) == (["returned"], [])


def test_kept_pods_are_bounded() -> None:
    kept = [entry(State.MARKED, run=f"r{n}", uid=f"u{n}", job=f"j{n}", acked=True, marked_s=float(n)) for n in range(3)]
    brain = Brain(Books(entries={one.run: one for one in kept}), Limits(), CATEGORIES, str, max_kept_pods=2)
    brain.tick(AT)
    assert kinds(brain) == (["Retiring"], [DeletePod("r0", "jobs", NAME, "u0")])


def test_kills_of_runs_that_are_not_ours_mean_nothing() -> None:
    brain = brain_of(entry(State.ACTIVE))
    brain.killed(["r7", RUN], AT)
    assert kinds(brain) == (["Killing"], [REMOVE])


@pytest.mark.parametrize("late", [False, True])
def test_events_are_awaited_until_they_are_here_or_it_is_too_late(*, late: bool) -> None:
    brain = brain_of(entry(State.ACTIVE), limits=Limits(reads_events=True))
    assert not brain.awaits_events(RUN)
    assert not brain.awaits_events("unknown")
    brain.watched([added(pod(phase="Failed"))], AT)
    assert brain.awaits_events(RUN)
    if late:
        brain.tick(changed(AT, now_s=AT.now_s + 5))
    else:
        brain.answered(RUN, EventsRead(()), AT)
    assert not brain.awaits_events(RUN)
