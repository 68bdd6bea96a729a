"""What the states of a run's pod mean while it lives."""

import pytest
from msgspec.structs import replace

from refloat_common.core.messages import Report, ReportKind
from refloat_common.core.pods import Event
from refloat_executor.core.cluster.answers import Silent
from refloat_executor.core.ledger.handlers.step import Limits
from refloat_executor.core.ledger.values.effects import DeletePod, ReadEvents
from refloat_executor.core.ledger.values.entry import Doing, Held, Progress, State
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
from refloat_executor.core.ledger.values.records import Gone, Judged, Killing, Reported
from testkit.executor.ledger import (
    CONFIRM,
    DELETE,
    JOB,
    NAME,
    NOW_MS,
    NOW_S,
    REMOVE,
    RETAIN,
    RUN,
    SEQ,
    UID,
    after,
    entry,
    pod,
    tell,
)

ACTIVE = entry(State.ACTIVE)
FAILED = pod(phase="Failed")
LOOKING = Limits(reads_events=True)
ASK_EVENTS = ReadEvents(RUN, "jobs", NAME, UID)


def report(kind: ReportKind, **more: object) -> Reported:
    known: dict[str, object] = {"kind": kind, "run": RUN, "job": JOB, "uid": UID, "node": "n1"}
    known |= {"pod_name": NAME, "namespace": "jobs"}
    return Reported(SEQ, Report(**(known | more)))  # type: ignore[arg-type]  # fields of a report


def failure(**more: object) -> Reported:
    known: dict[str, object] = {"category": "user", "message": "exit 3", "disposition": "Retain"}
    return report(ReportKind.FAILED, **(known | more))


def test_phases_are_reported_once() -> None:
    waits = tell(ACTIVE, PodPending(pod(phase="Pending")))
    assert waits.records == (report(ReportKind.PENDING),)
    assert tell(after(waits), PodPending(pod(phase="Pending"))).records == ()
    runs = tell(after(waits), PodRunning(pod()))
    assert runs.records == (report(ReportKind.RUNNING, node_label="label-n1"),)
    assert tell(after(runs), PodRunning(pod())).records == ()
    assert tell(after(runs), PodPending(pod(phase="Pending"))).records == ()
    done = tell(after(runs), PodSucceeded(pod(phase="Succeeded")))
    assert done.records == (report(ReportKind.SUCCEEDED, node_label="label-n1"),)
    assert (after(done).state, after(done).gone, after(done).failed) == (State.REPORTED, False, False)


def test_a_delete_category_is_journaled_and_the_pod_removed_as_it_was_judged() -> None:
    done = tell(ACTIVE, PodFailed(FAILED))
    assert done.records == (Judged(RUN, UID, DELETE),)
    assert done.effects == (DeletePod(RUN, "jobs", NAME, UID, "5"),)
    assert after(done) == entry(State.CLASSIFIED, judgement=DELETE, doing=Doing.DELETE, version="5", terminal=True)


def test_any_other_category_is_reported_at_once() -> None:
    done = tell(ACTIVE, PodFailed(FAILED), judgement=RETAIN)
    assert done.records == (Judged(RUN, UID, RETAIN), failure())
    assert done.effects == ()
    assert after(done) == entry(State.REPORTED, seq=SEQ, failed=True)


def test_what_may_still_be_told_is_waited_for() -> None:
    held = tell(ACTIVE, PodFailed(FAILED, wait_s=1.0))
    assert (held.records, held.effects) == ((), ())
    assert after(held) == entry(State.HELD, held=Held(FAILED, NOW_S + 1, ()), due_s=NOW_S + 1)
    told = pod(phase="Failed", version="6")
    assert tell(after(held), PodFailed(told)).effects == (DeletePod(RUN, "jobs", NAME, UID, "6"),)
    still = tell(after(held), PodFailed(told, wait_s=1.0))
    assert after(still).held == Held(told, NOW_S + 1, ())
    assert tell(after(held), Due()).records == (Judged(RUN, UID, DELETE),)
    assert tell(after(held), PodUnseen(None)).records == (Judged(RUN, UID, DELETE),)


def test_events_are_read_where_a_rule_looks_at_them() -> None:
    held = tell(ACTIVE, PodFailed(FAILED), limits=LOOKING)
    assert held.effects == (ASK_EVENTS,)
    assert after(held).due_s == NOW_S + 1
    assert tell(after(held), PodFailed(FAILED)).records == ()
    for events in ((Event(reason="x"),), (), None):
        assert tell(after(held), EventsRead(events)).records == (Judged(RUN, UID, DELETE),)
    assert tell(after(held), Due()).records == (Judged(RUN, UID, DELETE),)


def test_events_do_not_cut_the_hold_short() -> None:
    held = tell(ACTIVE, PodFailed(FAILED, wait_s=3.0), limits=LOOKING)
    still = tell(after(held), EventsRead(()))
    assert (still.records, after(still).due_s) == ((), NOW_S + 3)


def test_no_deletion_is_begun_while_the_journal_is_full() -> None:
    full = Limits(holds_deletes=True)
    held = tell(ACTIVE, PodFailed(FAILED), limits=full)
    assert (held.records, held.effects, after(held).state) == ((), (), State.HELD)
    assert tell(after(held), Due(), limits=full).records == ()
    assert tell(after(held), Due()).records == (Judged(RUN, UID, DELETE),)
    assert len(tell(ACTIVE, PodFailed(FAILED), limits=full, judgement=RETAIN).records) == 2


def test_a_pod_that_is_no_longer_shown_is_read_before_that_is_believed() -> None:
    done = tell(replace(ACTIVE, due_s=1.0, failures=3), PodUnseen(pod()))
    assert (done.records, done.effects) == ((), (CONFIRM,))
    assert after(done) == entry(State.VANISHED, last=pod(), doing=Doing.READ)


@pytest.mark.parametrize("found", [None, pod(uid="u2")])
@pytest.mark.parametrize("judgement", [DELETE, RETAIN])
def test_a_pod_that_is_gone_is_reported_with_what_was_last_seen(found: object, judgement: object) -> None:
    vanished = entry(State.VANISHED, last=pod(), doing=Doing.READ)
    done = tell(vanished, PodRead(found), judgement=judgement)  # type: ignore[arg-type]  # a pod or none
    kinds = [type(record) for record in done.records]
    assert kinds == [Judged, Gone, Reported]
    told = done.records[2]
    assert isinstance(told, Reported)
    assert (told.report.kind, told.report.pod_gone, told.report.gone_at_ms) == (ReportKind.FAILED, True, NOW_MS)
    assert after(done) == entry(State.REPORTED, seq=SEQ, failed=True, gone=True)


def test_a_pod_that_only_hid_lives_on_and_is_looked_at_now_and_then() -> None:
    vanished = entry(State.VANISHED, doing=Doing.READ)
    for news in (PodRead(pod()), PodListed()):
        back = tell(vanished, news)
        assert (back.records, after(back).state) == ((), State.ACTIVE)
        assert after(back).due_s == NOW_S + 11.25
        assert tell(after(back), Due()).effects == (CONFIRM,)
    shown = tell(vanished, PodRunning(pod()))
    assert (after(shown).state, after(shown).progress) == (State.ACTIVE, Progress.RUNNING)


def test_a_read_that_was_overtaken_is_not_lost() -> None:
    assert tell(ACTIVE, PodRead(pod())).entry == ACTIVE
    assert tell(ACTIVE, PodRead(None)).effects == (CONFIRM,)


def test_a_read_that_fails_is_tried_again() -> None:
    later = tell(entry(State.VANISHED, doing=Doing.READ), ReadFailed(Silent("timeout")))
    assert (after(later).doing, after(later).failures, later.effects) == (Doing.READ, 1, ())
    assert tell(after(later), Due()).effects == (CONFIRM,)


@pytest.mark.parametrize("state", [State.ACTIVE, State.HELD, State.VANISHED])
def test_a_kill_is_journaled_before_the_pod_is_deleted(state: State) -> None:
    held = Held(FAILED, 101.0) if state is State.HELD else None
    done = tell(entry(state, held=held, due_s=101.0), KillOrdered())
    assert (done.records, done.effects) == ((Killing(RUN),), (REMOVE,))
    assert after(done) == entry(State.KILLING, kill=True, doing=Doing.DELETE)
