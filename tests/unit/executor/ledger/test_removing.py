"""How a pod is removed, and when it counts as gone."""

import pytest
from msgspec.structs import replace

from refloat_common.core.messages import Report, ReportKind
from refloat_executor.core.cluster.answers import Broken, Conflict, Denied, Missing, Refusal, Silent, Throttled, Unsent
from refloat_executor.core.ledger.values.effects import DeletePod
from refloat_executor.core.ledger.values.entry import Doing, Entry, State
from refloat_executor.core.ledger.values.news import (
    Acknowledged,
    DeleteAccepted,
    DeleteRefused,
    Due,
    KillOrdered,
    PodFailed,
    PodListed,
    PodRead,
    PodUnseen,
    ReadFailed,
)
from refloat_executor.core.ledger.values.records import Closed, Gone, Reported
from testkit.executor.ledger import (
    CONFIRM,
    DELETE,
    JOB,
    NAME,
    NOW_MS,
    NOW_S,
    READ,
    REMOVE,
    RUN,
    SEQ,
    UID,
    after,
    entry,
    pod,
    tell,
)

CLASSIFIED = entry(State.CLASSIFIED, judgement=DELETE, doing=Doing.DELETE, version="5", terminal=True)
DELETING = entry(State.DELETING, judgement=DELETE, doing=Doing.READ, version="5", terminal=True, accepted_s=NOW_S - 10)
KILLING = entry(State.KILLING, kill=True, doing=Doing.READ, accepted_s=NOW_S - 10)
STUCK = entry(State.STUCK, seq=3, failed=True, doing=Doing.READ, accepted_s=NOW_S - 70, forced=True)
RETIRING = entry(State.RETIRING, seq=3, acked=True, doing=Doing.READ, accepted_s=NOW_S - 10)
GOING = pod(phase="Failed", deleted=True)
FORCE = DeletePod(RUN, "jobs", NAME, UID, "5", 0)
STUCK_TEXT = "The failed pod could not be deleted, so the job is failed rather than retried."


def failure(**more: object) -> Reported:
    known: dict[str, object] = {
        "kind": ReportKind.FAILED,
        "run": RUN,
        "job": JOB,
        "uid": UID,
        "node": "n1",
        "pod_name": NAME,
        "namespace": "jobs",
        "category": "oom",
        "disposition": "Delete",
        "message": "out of memory",
    }
    return Reported(SEQ, Report(**(known | more)))  # type: ignore[arg-type]  # fields of a report


def end(kind: ReportKind, **more: object) -> Reported:
    known: dict[str, object] = {"kind": kind, "run": RUN, "job": JOB, "uid": UID, "pod_name": NAME, "namespace": "jobs"}
    return Reported(SEQ, Report(**(known | more)))  # type: ignore[arg-type]  # fields of a report


GONE = Gone(RUN, UID, NOW_MS)


def test_an_accepted_delete_is_confirmed_at_once() -> None:
    done = tell(CLASSIFIED, DeleteAccepted())
    assert (done.records, done.effects) == ((), (CONFIRM,))
    assert after(done) == replace(DELETING, accepted_s=NOW_S)


def test_the_stuck_timer_runs_from_the_first_accepted_delete() -> None:
    assert after(tell(DELETING, DeleteAccepted())).accepted_s == NOW_S - 10


@pytest.mark.parametrize("found", [None, pod(uid="u2")])
@pytest.mark.parametrize("before", [CLASSIFIED, DELETING])
def test_a_failed_pod_that_is_gone_is_reported(before: Entry, found: object) -> None:
    done = tell(before, PodRead(found))  # type: ignore[arg-type]  # a pod or none
    assert done.records == (GONE, failure(pod_gone=True, gone_at_ms=NOW_MS))
    assert after(done).state is State.REPORTED
    assert after(done).judgement is None


def test_a_killed_run_is_reported_when_its_pod_is_gone() -> None:
    done = tell(KILLING, PodRead(None))
    assert done.records == (GONE, end(ReportKind.KILLED, pod_gone=True, gone_at_ms=NOW_MS))


def test_a_killed_pod_that_was_forced_while_it_ran_may_run_on_unseen() -> None:
    done = tell(replace(KILLING, forced=True), PodRead(None))
    said = end(
        ReportKind.KILLED, pod_gone=True, gone_at_ms=NOW_MS, category="internal", subcategory="stuck-terminating"
    )
    assert done.records == (GONE, said)
    ended = after(tell(replace(KILLING, forced=True), PodFailed(pod(phase="Failed"))))
    assert tell(ended, PodRead(None)).records == (GONE, end(ReportKind.KILLED, pod_gone=True, gone_at_ms=NOW_MS))


def test_a_stuck_pod_that_goes_at_last_is_told() -> None:
    done = tell(STUCK, PodRead(None))
    assert done.records == (GONE, end(ReportKind.GONE, pod_gone=True, gone_at_ms=NOW_MS))
    assert (after(done).state, after(done).seq) == (State.REPORTED, SEQ)
    assert tell(STUCK, Acknowledged()).entry == STUCK


def test_a_retired_pod_that_is_gone_closes_the_run() -> None:
    assert tell(RETIRING, PodRead(None)).records == (GONE, Closed(RUN))
    unacked = tell(replace(RETIRING, acked=False), PodRead(None))
    assert (unacked.records, after(unacked).state, after(unacked).gone) == ((GONE,), State.REPORTED, True)


def test_nothing_is_called_gone_while_a_create_may_still_land() -> None:
    open_still = replace(DELETING, create_open_until_s=NOW_S + 5)
    wait = tell(open_still, PodRead(None))
    assert (wait.records, after(wait).due_s) == ((), NOW_S + 5)
    assert tell(after(wait), Due(), now_s=NOW_S + 5).effects == (CONFIRM,)


def test_a_pod_that_is_not_gone_is_looked_at_again() -> None:
    for news in (PodRead(GOING), PodListed()):
        wait = tell(DELETING, news)
        assert (wait.records, wait.effects, after(wait).doing) == ((), (), Doing.READ)
        assert after(wait).due_s == pytest.approx(NOW_S + 0.1875)
        assert tell(after(wait), Due()).effects == (CONFIRM,)


def test_the_watch_prompts_the_read() -> None:
    waiting = replace(DELETING, due_s=NOW_S + 3)
    assert tell(waiting, PodUnseen(None)).effects == (CONFIRM,)
    reading = tell(DELETING, PodUnseen(None))
    assert reading.effects == ()
    assert tell(after(reading), PodRead(GOING)).effects == (CONFIRM,)
    assert tell(CLASSIFIED, PodUnseen(None)).effects == ()


@pytest.mark.parametrize("answer", [Throttled(2.0), Broken(503, "busy"), Unsent("refused"), Silent("timeout")])
def test_a_delete_is_never_given_up(answer: Refusal) -> None:
    before = CLASSIFIED
    for failures in range(1, 30):
        later = tell(before, DeleteRefused(answer))
        assert (later.records, after(later).doing, after(later).failures) == ((), Doing.DELETE, failures)
        again = tell(after(later), Due())
        assert again.effects == (DeletePod(RUN, "jobs", NAME, UID, "5"),)
        before = after(again)


def test_a_pod_that_changed_since_it_was_judged_is_read_and_deleted_as_it_is() -> None:
    changed = tell(CLASSIFIED, DeleteRefused(Conflict("precondition", already_exists=False)))
    assert changed.effects == (READ,)
    again = tell(after(changed), PodRead(pod(phase="Failed", version="9")))
    assert again.effects == (DeletePod(RUN, "jobs", NAME, UID, "9"),)
    once_more = tell(after(again), DeleteRefused(Conflict("precondition", already_exists=False)))
    slower = tell(after(once_more), PodRead(pod(phase="Failed", version="10")))
    assert (slower.effects, after(slower).doing, after(slower).version) == ((), Doing.DELETE, "10")


def test_a_name_that_another_pod_has_proves_that_ours_is_gone() -> None:
    changed = tell(CLASSIFIED, DeleteRefused(Conflict("uid", already_exists=False)))
    assert tell(after(changed), PodRead(pod(uid="u2"))).records[0] == GONE


def test_a_pod_that_is_not_there_to_delete_is_confirmed() -> None:
    assert tell(CLASSIFIED, DeleteRefused(Missing())).effects == (CONFIRM,)


def test_a_pod_that_does_not_go_is_forced_and_then_reported_and_forced_on() -> None:
    forced = tell(replace(DELETING, accepted_s=NOW_S - 30), PodRead(GOING))
    assert (forced.records, forced.effects) == ((), (FORCE,))
    assert after(forced).forced
    accepted = after(tell(after(forced), DeleteAccepted()))
    waiting = tell(accepted, PodRead(GOING))
    assert (waiting.effects, after(waiting).doing) == ((), Doing.DELETE)
    assert after(waiting).due_s == NOW_S + 5, "the stuck report is due before the next attempt"
    late = tell(replace(after(waiting), doing=Doing.READ), PodRead(GOING), now_s=NOW_S + 5)
    stuck = failure(category="internal", subcategory="stuck-terminating", message=f"out of memory\n\n{STUCK_TEXT}")
    assert late.records == (stuck,)
    assert after(late).state is State.STUCK
    assert tell(after(late), Due(), now_s=NOW_S + 30).effects == (replace_version(FORCE, ""),)


def replace_version(effect: DeletePod, version: str) -> DeletePod:
    return DeletePod(effect.run, effect.namespace, effect.name, effect.uid, version, effect.grace_s)


def test_a_pods_own_grace_comes_on_top() -> None:
    going = pod(deleted=True, grace_s=20)
    patient = tell(replace(KILLING, accepted_s=NOW_S - 45), PodRead(going))
    assert (patient.effects, after(patient).grace_s) == ((), 20)
    forced = tell(replace(KILLING, accepted_s=NOW_S - 50), PodRead(going))
    assert forced.effects == (DeletePod(RUN, "jobs", NAME, UID, "", 0),)


def test_a_killed_pod_is_never_reported_as_stuck() -> None:
    late = tell(replace(KILLING, accepted_s=NOW_S - 500, forced=True), PodRead(pod(deleted=True)))
    assert (late.records, after(late).state, after(late).doing) == ((), State.KILLING, Doing.DELETE)


def test_a_delete_that_is_forbidden_is_reported_after_the_same_time() -> None:
    denied = Denied(403, "Forbidden", "pods is forbidden")
    first = after(tell(CLASSIFIED, DeleteRefused(denied)))
    assert (first.state, first.denied_s) == (State.CLASSIFIED, NOW_S)
    late = tell(replace(first, denied_s=NOW_S - 35), DeleteRefused(denied))
    (record,) = late.records
    assert isinstance(record, Reported)
    assert record.report.message == f"out of memory\n\n{STUCK_TEXT} 403 Forbidden: pods is forbidden"
    assert (after(late).state, after(late).doing) == (State.STUCK, Doing.DELETE)
    assert after(tell(first, DeleteAccepted())).denied_s is None


def test_time_in_which_no_delete_was_accepted_does_not_make_a_pod_stuck() -> None:
    later = tell(replace(CLASSIFIED, doing=Doing.READ), PodListed(), now_s=NOW_S + 1000)
    assert (later.records, after(later).doing) == ((), Doing.DELETE)


def test_a_read_that_fails_says_nothing() -> None:
    later = tell(replace(DELETING, accepted_s=NOW_S - 500), ReadFailed(Unsent("refused")))
    assert (later.records, after(later).doing, after(later).state) == ((), Doing.READ, State.DELETING)


def test_a_delete_that_left_no_mark_is_sent_again() -> None:
    assert tell(KILLING, PodRead(pod())).effects == (REMOVE,)


@pytest.mark.parametrize("before", [CLASSIFIED, DELETING, STUCK, KILLING, RETIRING])
def test_an_order_to_kill_what_is_being_removed_changes_nothing(before: Entry) -> None:
    done = tell(before, KillOrdered())
    assert (done.entry, done.records, done.effects) == (before, (), ())
