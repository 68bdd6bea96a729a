"""The scheduler's end of the link: sessions, identity, heartbeats, nodes, errors; one rule a test."""

import pytest

from refloat_common.core.link.frames import FromExecutor, Refusal
from refloat_common.core.link.scheduler.values import (
    BeatAnswered,
    BeatHeard,
    BeatUnanswered,
    Departed,
    Fault,
    Garbled,
    Heard,
    KillsOrdered,
    LeasesOrdered,
    NodesSettled,
    NodesTold,
    OpenSession,
    Phase,
    Reply,
    SessionDenied,
    SessionGranted,
)
from refloat_common.core.link.scheduler_side import TABLE, is_muted
from refloat_common.core.messages import (
    Bye,
    Hello,
    Kill,
    Lease,
    Leases,
    NodeFacts,
    Nodes,
    Refused,
    Reports,
    Welcome,
)
from testkit.link.scheduler_end import (
    KEPT,
    RUN,
    TIMING,
    C,
    End,
    R,
    answered,
    beat,
    delivered,
    hello,
    reports,
    stale,
)

# ---- sessions


def test_a_hello_asks_the_store_and_its_answer_is_a_welcome() -> None:
    end = End()
    assert end.got(hello()) == (OpenSession("E1", hello(), (RUN,)),)
    assert end.on(SessionGranted("E1", "b1", 1, 7, 3, (KEPT,))) == (
        Reply(
            C,
            b"c1",
            Welcome(scheduler_boot="s1", attempt=1, epoch=7, have=3, verdicts=[KEPT], credits=100, timing=TIMING),
        ),
    )


def test_a_hello_in_parts_counts_with_its_last_part() -> None:
    end = End()
    parts = [hello().model_copy(update={"part": i, "more": i < 2}) for i in range(3)]
    assert [end.got(part) for part in parts[:2]] == [(), ()]
    assert end.got(parts[2]) == (OpenSession("E1", parts[0], (RUN, RUN, RUN)),)


def test_a_hello_that_misses_a_part_opens_nothing() -> None:
    end = End()
    end.got(hello().model_copy(update={"more": True}))
    assert end.got(hello().model_copy(update={"part": 2})) == ()
    assert end.got(hello().model_copy(update={"part": 1})) == ()


def test_a_late_hello_of_the_same_process_opens_nothing_over_a_newer_one() -> None:
    end = End()
    end.got(hello(attempt=3))
    end.on(SessionGranted("E1", "b1", 3, 7, 0))
    assert end.got(hello(attempt=2)) == end.got(hello(attempt=3)) == ()
    assert end.got(hello(attempt=4)) == (OpenSession("E1", hello(attempt=4), (RUN,)),)


def test_an_executor_without_a_common_version_is_turned_away() -> None:
    end = End()
    assert end.got(hello().model_copy(update={"versions": (2, 3)})) == (stale(0, "version"),)


def test_a_session_that_the_store_denies_is_asked_for_again() -> None:
    end = End()
    end.got(hello())
    assert end.on(SessionDenied("E1", "b1", 1)) == ()
    assert end.got(hello(attempt=2)) == (OpenSession("E1", hello(attempt=2), (RUN,)),)


def test_a_newer_process_takes_over_and_the_older_one_is_told_whenever_it_speaks() -> None:
    end = End().opened()
    newer = hello(boot="b2")
    assert end.got(newer, peer=b"c2") == (stale(7, "superseded"), OpenSession("E1", newer, (RUN,)))
    end.on(SessionGranted("E1", "b2", 1, 8, 0))
    assert end.got(beat(1)) == (stale(7, "unknown"),)
    fault = Fault("E1", "superseded", "an older process of this executor is still there")
    assert end.got(hello(attempt=2)) == (stale(0, "superseded"), fault)


def test_a_newer_process_that_comes_while_an_older_one_is_being_opened_goes_first() -> None:
    end = End()
    end.got(hello(boot="b1"))
    assert end.got(hello(boot="b2"), peer=b"c2") == ()
    assert end.on(SessionGranted("E1", "b1", 1, 7, 0)) == (OpenSession("E1", hello(boot="b2"), (RUN,)),)
    assert end.server.sessions["E1"].superseded == ("b1",)


def test_the_same_process_asking_again_while_it_is_being_opened_gets_one_welcome() -> None:
    end = End()
    end.got(hello())
    assert end.got(hello(attempt=2), peer=b"c2") == ()
    (welcome,) = end.on(SessionGranted("E1", "b1", 1, 7, 0))
    assert isinstance(welcome, Reply)
    assert welcome.peer == b"c2"
    assert end.got(hello(attempt=2)) == ()


@pytest.mark.parametrize(
    "message", [beat(1), reports(1, 1), Nodes(epoch=7, revision=1)], ids=["beat", "reports", "nodes"]
)
def test_after_a_start_everybody_must_say_hello(message: FromExecutor) -> None:
    channel = R if isinstance(message, Reports) else C
    assert End().got(message) == (stale(7, "restarted", channel=channel),)


@pytest.mark.parametrize(
    "message",
    [beat(1, epoch=6), reports(1, 1, epoch=8), Nodes(epoch=6, revision=1)],
    ids=["beat", "reports", "nodes"],
)
def test_a_message_of_another_session_changes_nothing(message: FromExecutor) -> None:
    end = End().opened()
    before = end.server
    channel = R if isinstance(message, Reports) else C
    epoch = message.epoch if not isinstance(message, Hello) else 0
    assert end.got(message) == (stale(epoch, "unknown", channel=channel),)
    assert end.server == before


def test_bye_ends_the_session() -> None:
    end = End().opened()
    assert end.got(Bye(epoch=7)) == (Departed("E1"),)
    assert end.got(beat(1)) == (stale(7, "restarted"),)


# ---- identity


def test_a_key_cannot_speak_for_another_executor() -> None:
    end = End().opened()
    before = end.server.sessions
    refused = "this key does not speak for E1"
    assert end.got(hello(boot="b9"), peer=b"x", executor="E2") == (
        Fault("E2", "identity", refused),
        Reply(C, b"x", Refused(code="identity", detail=refused)),
    )
    assert end.server.sessions == before


def test_another_executors_reports_are_taken_for_ones_of_the_keys_owner() -> None:
    end = End().opened()
    before = end.server.sessions
    assert end.got(reports(1, 1), peer=b"x", executor="E2") == (stale(7, "restarted", b"x", R),)
    assert end.server.sessions["E1"] == before["E1"]


@pytest.mark.parametrize("executor", ["", None], ids=["a key that was taken off the list", "no key at all"])
def test_without_a_listed_key_nothing_is_taken(executor: str | None) -> None:
    end = End().opened()
    before = end.server.sessions
    assert end.got(beat(1), executor=executor) == (stale(7, "revoked"), Fault("", "revoked"))
    assert end.server.sessions == before


def test_an_insecure_link_goes_by_the_hello_of_the_connection_and_by_the_journal() -> None:
    end = End(secure=False)
    end.got(hello(), executor=None)
    end.on(SessionGranted("E1", "b1", 1, 7, 0))
    assert end.got(beat(1), executor=None) == (Heard("E1"), BeatHeard("E1", 7, beat(1)))
    assert end.got(reports(1, 1), peer=b"r1", executor=None) == (Heard("E1"), delivered(1, 1))
    assert end.got(beat(2), peer=b"c9", executor=None) == (stale(7, "restarted", b"c9"),)


# ---- heartbeats and leases


def test_a_beat_is_answered_after_the_leases_were_asked() -> None:
    end = End().opened()
    listing = beat(1, listed=("r1",))
    assert end.got(listing) == (Heard("E1"), BeatHeard("E1", 7, listing))
    assert end.on(BeatAnswered("E1", 7, 1, ("r1",))) == (answered(1, kills=("r1",)),)


def test_an_old_or_repeated_beat_is_not_answered() -> None:
    end = End().opened()
    end.got(beat(2))
    assert end.got(beat(2)) == end.got(beat(1)) == ()


def test_of_the_beats_that_come_before_an_answer_the_newest_waits() -> None:
    end = End().opened()
    end.got(beat(1))
    assert end.got(beat(2)) == end.got(beat(3)) == (Heard("E1"),)
    assert end.on(BeatAnswered("E1", 7, 1)) == (answered(1), BeatHeard("E1", 7, beat(3)))
    assert end.on(BeatUnanswered("E1", 7, 3)) == ()
    assert end.got(beat(4)) == (Heard("E1"), BeatHeard("E1", 7, beat(4)))


def test_leases_and_kills_reach_an_open_session_only() -> None:
    lease = Lease(run="r", job="j", queue="q", job_set="s", namespace="n", pod_spec=b"{}")
    end = End()
    assert end.on(LeasesOrdered("E1", (lease,))) == end.on(KillsOrdered("E1", ("r",), "cancelled")) == ()
    end.opened()
    assert end.on(LeasesOrdered("E1", (lease,))) == (Reply(C, b"c1", Leases(7, [lease])),)
    told = Kill(epoch=7, runs=["r"], reason="cancelled")
    assert end.on(KillsOrdered("E1", ("r",), "cancelled")) == (Reply(C, b"c1", told),)


def test_a_lease_that_fits_no_frame_is_a_fault_and_keeps_no_other_back() -> None:
    end = End().opened()
    big = Lease(run="big", job="j", queue="q", job_set="s", namespace="n", pod_spec=b"x" * (1 << 20))
    small = Lease(run="small", job="j", queue="q", job_set="s", namespace="n", pod_spec=b"{}")
    assert end.on(LeasesOrdered("E1", (big, small))) == (
        Reply(C, b"c1", Leases(7, [small])),
        Fault("E1", "lease-too-large", "run big: 1048576 bytes of pod spec"),
    )


# ---- nodes


def test_nodes_are_passed_on_in_order_and_asked_for_again_where_one_is_missing() -> None:
    end = End().opened()
    node = NodeFacts(name="n1")
    assert end.got(Nodes(epoch=7, revision=1, upserted=[node])) == (NodesTold("E1", (node,), (), full=False),)
    end.on(NodesSettled("E1", stored=True))
    assert end.got(Nodes(epoch=7, revision=3, removed=["n1"])) == ()
    end.got(beat(1, nodes_revision=3))
    assert end.on(BeatAnswered("E1", 7, 1)) == (answered(1, want_nodes=True),)
    whole = [Nodes(epoch=7, revision=3, full=True, part=i, more=i == 0, upserted=[node]) for i in range(2)]
    assert end.got(whole[0]) == ()
    assert end.got(whole[1]) == (NodesTold("E1", (node, node), (), full=True),)
    end.on(NodesSettled("E1", stored=True))
    end.got(beat(2, nodes_revision=3))
    assert end.on(BeatAnswered("E1", 7, 2)) == (answered(2),)


def test_node_facts_that_come_while_others_are_being_stored_are_asked_for_later() -> None:
    end = End().opened()
    end.got(Nodes(epoch=7, revision=1, upserted=[NodeFacts(name="n1")]))
    assert end.got(Nodes(epoch=7, revision=2, upserted=[NodeFacts(name="n2")])) == ()
    assert end.got(Nodes(epoch=7, revision=2, full=True)) == ()
    end.on(NodesSettled("E1", stored=True))
    end.got(beat(1, nodes_revision=2))
    assert end.on(BeatAnswered("E1", 7, 1)) == (answered(1, want_nodes=True),)


def test_nodes_that_could_not_be_stored_are_asked_for_again() -> None:
    end = End().opened()
    end.got(Nodes(epoch=7, revision=1, full=True))
    end.got(beat(1, nodes_revision=1))
    assert end.on(BeatAnswered("E1", 7, 1)) == (answered(1),)
    end.on(NodesSettled("E1", stored=False))
    end.got(beat(2, nodes_revision=1))
    assert end.on(BeatAnswered("E1", 7, 2)) == (answered(2, want_nodes=True),)


# ---- errors


def garbled(peer: bytes = b"c1") -> Garbled:
    return Garbled(C, peer, "E1", Refusal("malformed", "what"))


def test_garbage_is_answered_and_counted_until_its_connection_is_muted() -> None:
    end = End().opened()
    answers = [len(end.on(garbled())) for _ in range(20)]
    assert answers == [2] * 16 + [0] * 4
    assert is_muted(end.server, (C, b"c1"), 59.0)
    assert not is_muted(end.server, (C, b"c1"), 60.0)
    assert end.got(beat(1)) == ()
    assert not is_muted(end.server, (C, b"other"), 0.0)
    assert end.got(beat(1), peer=b"other")[0] == Heard("E1")


def test_a_few_errors_over_a_long_time_mute_nobody() -> None:
    end = End().opened()
    for _ in range(100):
        end.now_s += 5.0
        end.on(garbled())
    assert not is_muted(end.server, (C, b"c1"), end.now_s)


def test_errors_of_many_connections_are_remembered_within_bounds() -> None:
    end = End().opened()
    for i in range(3000):
        end.on(garbled(b"%d" % i))
    assert len(end.server.budgets) == 1024


def test_every_phase_knows_every_event() -> None:
    kinds = {kind for _phase, kind in TABLE}
    assert {(phase, kind) for phase in Phase for kind in kinds} == set(TABLE)
