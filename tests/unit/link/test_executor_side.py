"""The executor's end of the link: sessions, heartbeats, leases, nodes; one rule a test."""

from dataclasses import replace

import pytest
from msgspec import structs

from refloat_common.core.link.executor.values import (
    Acknowledged,
    CapacityChanged,
    Journaled,
    KillRuns,
    LeasesOffered,
    Leave,
    Left,
    MayStart,
    NodesObserved,
    NotSent,
    Phase,
    ReportsFetched,
    RunsChanged,
    Send,
    SessionLost,
    SessionOpened,
    Tick,
    Unexpected,
    WentPassive,
)
from refloat_common.core.link.executor_side import TABLE, deadline_s, lease_is_fresh, may_start, step
from refloat_common.core.link.frames import Channel, FromScheduler
from refloat_common.core.messages import (
    Ack,
    Bye,
    Heartbeat,
    HeartbeatAck,
    Hello,
    Kill,
    Leases,
    Nack,
    NodeFacts,
    Nodes,
    Refused,
    RunEntry,
    RunStatus,
    RunVerdict,
    Stale,
    Verdict,
    Welcome,
)
from testkit.link.executor_end import ACCEPTED, LEASE, REPORT, End, ack, answer, welcome


def test_the_first_tick_says_hello_with_everything_held() -> None:
    end = End(next_seq=8, acked=5, runs=(ACCEPTED,))
    assert end.at(0.0, Tick()) == (
        Send(
            Channel.CONTROL,
            Hello(
                executor="E1",
                boot="b1",
                journal="j1",
                attempt=1,
                versions=(1, 1),
                last_epoch=4,
                next_seq=8,
                acked_seq=5,
                runs=[ACCEPTED],
                capabilities=["delete_action"],
                pool="gpu",
            ),
        ),
    )
    assert deadline_s(end.link) == 0.75


def test_hello_is_repeated_at_growing_intervals_up_to_half_a_minute() -> None:
    end = End()
    waits = []
    for _ in range(8):
        due_s = deadline_s(end.link)
        assert due_s is not None
        assert end.said(due_s, Tick())
        waits.append(round((deadline_s(end.link) or 0) - due_s, 2))
    assert waits == [0.75, 1.5, 3.0, 6.0, 12.0, 22.5, 22.5, 22.5]


def test_hello_is_split_where_the_runs_do_not_fit_one_message() -> None:
    runs = tuple(RunEntry(run=f"r{i}", job="j", status=RunStatus.ACTIVE) for i in range(9000))
    said = End(runs=runs).said(0.0, Tick())
    hellos = [message for message in said if isinstance(message, Hello)]
    assert [(hello.part, hello.more, len(hello.runs)) for hello in hellos] == [
        (0, True, 4096),
        (1, True, 4096),
        (2, False, 808),
    ]
    assert [entry for hello in hellos for entry in hello.runs] == list(runs)


def test_welcome_opens_the_session_and_is_answered_by_nodes_and_a_heartbeat() -> None:
    end = End()
    end.at(0.0, NodesObserved(upserted=(NodeFacts(name="n1"),)))
    end.at(0.0, CapacityChanged(free_slots=7, journal_free_bytes=99))
    end.at(1.0, Tick())
    assert end.at(1.5, welcome()) == (
        SessionOpened(5, "s1"),
        Send(Channel.CONTROL, Nodes(epoch=5, revision=1, full=True, upserted=[NodeFacts(name="n1")])),
        Send(
            Channel.CONTROL,
            Heartbeat(
                epoch=5,
                n=1,
                acked_seq=0,
                next_seq=1,
                runs_count=0,
                runs_hash="0" * 16,
                free_slots=7,
                journal_free_bytes=99,
                nodes_revision=1,
            ),
        ),
    )
    assert end.link.beating.fresh_from_s == 1.0
    assert deadline_s(end.link) == 6.5


@pytest.mark.parametrize(("chance", "due_s"), [(0.0, 4.0), (0.5, 5.0), (1.0, 6.0)])
def test_the_next_heartbeat_is_due_after_the_interval_a_fifth_more_or_less(chance: float, due_s: float) -> None:
    end = End().opened()
    link, _ = step(replace(end.link, beating=replace(end.link.beating, due_s=0.0)), Tick(), 10.0, chance)
    assert deadline_s(link) == 10.0 + due_s


@pytest.mark.parametrize(
    "late",
    [welcome(epoch=4), welcome(attempt=7), welcome(epoch=3, attempt=1)],
    ids=["an epoch that was had before", "a hello that was never sent", "an older epoch"],
)
def test_a_welcome_that_is_not_for_this_hello_is_ignored(late: Welcome) -> None:
    end = End()
    end.at(0.0, Tick())
    before = end.link
    assert end.at(0.1, late) == ()
    assert end.link == before


def test_a_welcome_in_parts_counts_with_its_last_part_only() -> None:
    end = End()
    end.at(0.0, Tick())
    first = welcome(verdicts=(RunVerdict(run="a", verdict=Verdict.KILL),)).model_copy(update={"more": True})
    last = welcome(verdicts=(RunVerdict(run="b", verdict=Verdict.UNKNOWN),)).model_copy(update={"part": 1})
    assert end.at(0.1, last) == ()
    assert end.at(0.2, first) == ()
    assert end.at(0.3, last)[:2] == (SessionOpened(5, "s1", ("b",)), KillRuns(("a",), "ended at the scheduler"))


def test_verdicts_kill_confirm_and_leave_alone() -> None:
    runs = tuple(RunEntry(run=run, job="j", status=RunStatus.ACCEPTED) for run in ("keep", "kill", "unknown"))
    end = End(runs=runs)
    verdicts = (("keep", Verdict.KEEP), ("kill", Verdict.KILL), ("unknown", Verdict.UNKNOWN))
    end.opened(verdicts=tuple(RunVerdict(run=run, verdict=verdict) for run, verdict in verdicts))
    assert [run for run, _ in verdicts if may_start(end.link, run, 0.2)] == ["keep"]
    assert tuple(end.link.held.unconfirmed) == ("unknown",)


def test_an_accepted_run_is_listed_at_once_and_starts_after_the_answer() -> None:
    end = End().opened()
    (beat,) = end.said(1.0, RunsChanged(changed=(ACCEPTED,)))
    assert isinstance(beat, Heartbeat)
    assert (beat.n, beat.listed, beat.runs_count) == (2, ["r1"], 1)
    assert not may_start(end.link, "r1", 1.0)
    assert end.at(1.1, answer(2)) == (MayStart(("r1",)),)
    assert may_start(end.link, "r1", 1.1)


def test_a_beat_that_did_not_list_the_run_confirms_nothing() -> None:
    end = End().opened()
    end.at(1.0, RunsChanged(changed=(ACCEPTED,)))
    assert end.at(1.1, answer(1)) == ()
    assert not may_start(end.link, "r1", 1.1)


def test_a_listed_run_that_is_killed_in_the_answer_never_starts() -> None:
    end = End().opened()
    end.at(1.0, RunsChanged(changed=(ACCEPTED,)))
    assert end.at(1.1, answer(2, kills=("r1",))) == (KillRuns(("r1",), "ended at the scheduler"),)
    end.at(6.0, Tick())
    end.at(6.1, answer(3))
    assert not may_start(end.link, "r1", 6.1)


def test_a_kill_takes_back_that_a_run_may_start() -> None:
    end = End().opened()
    end.at(1.0, RunsChanged(changed=(ACCEPTED,)))
    end.at(1.1, answer(2))
    assert end.at(1.2, Kill(epoch=5, runs=["r1"], reason="cancelled")) == (KillRuns(("r1",), "cancelled"),)
    assert not may_start(end.link, "r1", 1.2)


def test_an_unanswered_listing_is_repeated_in_the_next_beat() -> None:
    end = End().opened()
    end.at(1.0, RunsChanged(changed=(ACCEPTED,)))
    (beat,) = end.said(6.0, Tick())
    assert isinstance(beat, Heartbeat)
    assert beat.listed == ["r1"]


def test_a_burst_of_accepted_runs_makes_few_beats() -> None:
    end = End().opened()
    entries = [RunEntry(run=f"r{i}", job="j", status=RunStatus.ACCEPTED) for i in range(100)]
    beats = [end.said(1.0 + i * 0.001, RunsChanged(changed=(entry,))) for i, entry in enumerate(entries)]
    assert len([beat for beat in beats if beat]) == 2
    assert deadline_s(end.link) == pytest.approx(1.1)


def test_the_lease_is_as_old_as_the_sending_of_the_answered_beat() -> None:
    end = End().opened()
    end.at(1.0, RunsChanged(changed=(ACCEPTED,)))
    end.at(20.0, answer(2))
    assert may_start(end.link, "r1", 30.9)
    assert not may_start(end.link, "r1", 31.0)
    assert not lease_is_fresh(end.link, 31.0)


def test_an_answer_after_a_long_silence_lets_confirmed_runs_start_again() -> None:
    end = End().opened()
    end.at(1.0, RunsChanged(changed=(ACCEPTED,)))
    end.at(1.1, answer(2))
    end.at(60.0, Tick())
    assert end.at(60.1, answer(3)) == (MayStart(("r1",)),)


@pytest.mark.parametrize(
    "message",
    [
        HeartbeatAck(epoch=4, n=2, credits=1),
        answer(9),
        Ack(epoch=4, journal="j1", have=1, credits=1),
        Ack(epoch=5, journal="other", have=1, credits=1),
        Nack(epoch=4, journal="j1", seq=1, permanent=True, code="x"),
        Nack(epoch=5, journal="j1", seq=1, permanent=False, code="x"),
        Kill(epoch=4, runs=["r1"]),
        Leases(epoch=4, leases=[LEASE]),
        Stale(boot="s0", epoch=4, reason="unknown"),
    ],
    ids=lambda message: f"{type(message).__name__}",
)
def test_words_of_another_session_or_journal_change_nothing(message: FromScheduler) -> None:
    end = End(next_seq=2).opened()
    end.at(0.2, ReportsFetched(1, (REPORT,)))
    end.at(1.0, RunsChanged(changed=(ACCEPTED,)))
    before = end.link
    assert end.at(1.1, message) == ()
    assert end.link == before


def test_a_beat_that_the_transport_did_not_take_is_tried_again_soon() -> None:
    end = End().opened()
    end.at(0.2, NotSent(Channel.CONTROL))
    assert deadline_s(end.link) == 1.2


def test_new_leases_are_offered_and_held_ones_are_not() -> None:
    end = End().opened()
    assert end.at(1.0, Leases(epoch=5, leases=[LEASE])) == (LeasesOffered((LEASE,)),)
    end.at(1.0, RunsChanged(changed=(ACCEPTED,)))
    assert end.at(1.1, Leases(epoch=5, leases=[LEASE])) == ()


def test_a_restarted_scheduler_gets_a_hello_at_once() -> None:
    end = End().opened()
    effects = end.at(3.0, Stale(boot="s2", epoch=5, reason="restarted"))
    assert effects[0] == SessionLost("restarted")
    (hello,) = (effect.message for effect in effects[1:] if isinstance(effect, Send))
    assert isinstance(hello, Hello)
    assert (hello.attempt, hello.last_epoch) == (2, 5)


def test_in_a_new_session_confirmed_runs_ask_again_unless_kept() -> None:
    end = End().opened()
    end.at(1.0, RunsChanged(changed=(ACCEPTED,)))
    end.at(1.1, answer(2))
    end.at(2.0, Stale(boot="s2", epoch=5, reason="restarted"))
    assert not may_start(end.link, "r1", 2.0)
    end.at(2.1, welcome(epoch=6, attempt=2))
    assert not may_start(end.link, "r1", 2.1)
    assert tuple(end.link.held.unconfirmed) == ("r1",)


def test_a_superseded_process_goes_passive_for_good() -> None:
    end = End(next_seq=2).opened()
    assert end.at(1.0, Stale(boot="s1", epoch=5, reason="superseded")) == (SessionLost("superseded"), WentPassive())
    assert deadline_s(end.link) is None
    assert end.at(2.0, Tick()) == end.at(2.0, Journaled(next_seq=9)) == end.at(2.0, welcome(epoch=9)) == ()
    assert end.at(2.0, Leave()) == ()
    assert end.link.phase is Phase.PASSIVE


@pytest.mark.parametrize("reason", ["version", "revoked"])
def test_one_that_is_turned_away_asks_about_once_a_minute(reason: str) -> None:
    end = End()
    end.at(0.0, Tick())
    stale = Stale.model_validate({"boot": "s1", "epoch": 0, "reason": reason})
    assert end.at(0.1, stale) == (SessionLost(reason),)
    assert deadline_s(end.link) == 45.1
    assert len(end.said(45.1, Tick())) == 1
    assert deadline_s(end.link) == 90.1
    end.at(90.2, welcome(attempt=2))
    assert end.link.phase is Phase.OPEN


def test_leaving_waits_for_the_last_acknowledgement_and_starts_nothing() -> None:
    end = End(next_seq=2).opened()
    end.at(0.1, ReportsFetched(1, (REPORT,)))
    end.at(1.0, RunsChanged(changed=(ACCEPTED,)))
    end.at(1.1, answer(2))
    assert end.at(1.2, Leave()) == ()
    assert not may_start(end.link, "r1", 1.2)
    assert end.at(1.3, Leases(epoch=5, leases=[structs.replace(LEASE, run="r2")])) == ()
    assert end.at(2.0, ack(1)) == (Acknowledged(1), Send(Channel.CONTROL, Bye(epoch=5)), Left())


def test_leaving_without_a_session_is_over_at_once_and_leaves_reports_to_the_next_start() -> None:
    assert End().at(0.0, Leave()) == (Left(),)
    assert End(next_seq=2).at(0.0, Leave()) == (Left(),)


def test_a_session_that_is_lost_while_leaving_is_not_opened_again() -> None:
    end = End(next_seq=2).opened()
    assert end.at(1.0, Leave()) == ()
    assert end.at(2.0, Stale(boot="s2", epoch=5, reason="restarted")) == (SessionLost("restarted"), Left())
    assert end.at(2.1, welcome(epoch=6, attempt=2)) == ()


def test_nodes_are_told_when_they_change_and_only_then() -> None:
    end = End().opened()
    node = NodeFacts(name="n1", labels={"zone": "a"})
    told = Nodes(epoch=5, revision=1, upserted=[node])
    assert end.at(1.0, NodesObserved(upserted=(node,))) == (Send(Channel.CONTROL, told),)
    assert end.at(1.1, NodesObserved(upserted=(node,))) == ()
    gone = Nodes(epoch=5, revision=2, removed=["n1"])
    assert end.at(1.2, NodesObserved(removed=("n1",))) == (Send(Channel.CONTROL, gone),)


def test_all_nodes_are_told_when_asked_for() -> None:
    end = End().opened()
    end.at(1.0, NodesObserved(upserted=(NodeFacts(name="n1"),)))
    wanted = HeartbeatAck(epoch=5, n=1, credits=100, want_nodes=True)
    assert end.said(1.1, wanted) == [Nodes(epoch=5, revision=1, full=True, upserted=[NodeFacts(name="n1")])]


def test_every_twelfth_beat_and_the_one_after_a_mismatch_list_all_runs() -> None:
    end = End().opened()
    end.at(0.2, RunsChanged(changed=(RunEntry(run="r1", job="j", status=RunStatus.ACTIVE),)))
    full = []
    for _ in range(24):
        (beat,) = end.said(deadline_s(end.link) or 0, Tick())
        assert isinstance(beat, Heartbeat)
        full.append(beat.runs is not None)
    assert [n for n, is_full in enumerate(full, 2) if is_full] == [12, 24]
    end.at(end.now_s, answer(25, want_runs=True))
    (beat,) = end.said(deadline_s(end.link) or 0, Tick())
    assert isinstance(beat, Heartbeat)
    assert beat.runs == [RunEntry(run="r1", job="j", status=RunStatus.ACTIVE)]


def test_the_first_room_and_the_last_are_told_at_once() -> None:
    end = End().opened()
    assert len(end.said(1.0, CapacityChanged(free_slots=3, journal_free_bytes=1))) == 1
    assert end.said(2.0, CapacityChanged(free_slots=2, journal_free_bytes=1)) == []
    assert len(end.said(3.0, CapacityChanged(free_slots=0, journal_free_bytes=1))) == 1


def test_a_refusal_of_ours_is_told() -> None:
    end = End().opened()
    assert end.at(1.0, Refused(code="invalid", detail="epoch")) == (Unexpected("refused-invalid", "epoch"),)


def test_every_phase_knows_every_event() -> None:
    kinds = {kind for _phase, kind in TABLE}
    assert {(phase, kind) for phase in Phase for kind in kinds} == set(TABLE)
