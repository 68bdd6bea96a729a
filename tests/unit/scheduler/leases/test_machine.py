"""Executors falling silent and coming back, on a clock that the test moves."""

import pytest

from refloat_common.core.ids import ExecutorId
from refloat_common.core.messages import NodeFacts
from refloat_scheduler.core.effects import ExecutorRecord
from refloat_scheduler.core.leases import machine
from refloat_scheduler.core.leases.placement import placement
from refloat_scheduler.core.leases.registry import Lost, RoomOpened, Said
from refloat_scheduler.core.leases.states import ExecutorState, OperatorAction
from refloat_scheduler.core.signals import Level, Note
from testkit.scheduling.watch import HOUR, SETTINGS, A, B, C, live, watching


def test_a_start_knows_nobody_yet() -> None:
    watch = watching(A, B)
    watch.wait(200, *())
    assert watch.states() == "a:unknown b:unknown"
    watch.wait(200)
    assert watch.states() == "a:suspect b:suspect"
    assert watch.lost() == []


def test_silence_shows_before_anything_is_destroyed() -> None:
    watch = live(A)
    assert watch.states() == "a:live"
    watch.wait(61)
    assert watch.states() == "a:silent"
    watch.wait(240)
    assert watch.states() == "a:suspect"
    watch.beat(A)
    assert watch.states() == "a:live"
    assert RoomOpened(A) in watch.said


def test_one_of_three_is_lost_when_its_lease_has_run_out() -> None:
    watch = live(A, B, C)
    watch.wait(HOUR - 1, A, B)
    assert watch.lost() == []
    watch.wait(1, A, B)
    assert watch.lost() == [C]
    assert watch.states() == "a:live b:live c:lost"
    assert Lost(C, HOUR, by_operator=False) in watch.said
    watch.wait(HOUR, A, B)
    assert watch.lost() == [C]


def test_the_lost_one_comes_back_over_hello_and_drains_first() -> None:
    watch = live(A, B, C)
    watch.wait(HOUR, A, B)
    watch.hello(C, last=9, have=4)
    assert watch.states() == "a:live b:live c:returning"
    watch.do(lambda r: machine.committed(r, C, 8, watch.now_s, SETTINGS))
    assert watch.states() == "a:live b:live c:returning"
    watch.do(lambda r: machine.committed(r, C, 9, watch.now_s, SETTINGS))
    assert watch.states() == "a:live b:live c:live"


def test_the_lost_one_that_goes_on_as_if_nothing_had_been_is_looked_through_first() -> None:
    watch = live(A, B, C)
    watch.wait(HOUR, A, B)
    watch.beat(C)
    assert watch.states() == "a:live b:live c:returning"
    assert watch.why_not(C) == "returning"
    watch.do(lambda r: machine.judged(r, C, watch.now_s, SETTINGS))
    assert watch.states() == "a:live b:live c:live"


def test_two_of_three_silent_is_self_preservation() -> None:
    watch = live(A, B, C)
    watch.wait(61, A)
    assert watch.alerts() == ["self-preservation: 2 of 3 executors are silent; no lease expires"]
    watch.wait(2 * HOUR, A)
    assert watch.lost() == []
    assert len(watch.alerts()) == 1 + 2 + 2, "an alert an hour, and one for each suspect"


def test_leaving_self_preservation_gives_everybody_a_fresh_lease() -> None:
    watch = live(A, B, C)
    watch.wait(2 * HOUR, A)
    watch.beat(B)
    watch.wait(59, A, B)
    assert watch.preserving()
    watch.beat(C)
    watch.wait(60, A, B, C)
    assert watch.preserving()
    watch.wait(1, A, B, C)
    assert not watch.preserving()
    watch.wait(HOUR - 1, A, B)
    assert watch.lost() == []


def test_two_lost_one_after_the_other_are_two() -> None:
    watch = live(A, B, C)
    watch.wait(30, A, B)
    watch.wait(HOUR + 600, A)
    assert watch.lost() == []


def test_within_the_mass_window_no_second_one_is_lost() -> None:
    watch = live(*(ExecutorId(f"e{i}") for i in range(6)))
    kept = [ExecutorId(f"e{i}") for i in range(4)]
    watch.wait(HOUR, *kept)
    assert watch.lost() == ["e4"]
    watch.wait(59, *kept)
    assert watch.lost() == ["e4"]
    watch.wait(1, *kept)
    assert watch.lost() == ["e4", "e5"], "two of six may go, a minute apart"


def test_alone_and_silent_is_lost_if_our_own_probe_works() -> None:
    watch = live(A)
    watch.wait(HOUR)
    assert watch.lost() == [A]


def test_alone_and_silent_is_kept_if_our_own_probe_fails() -> None:
    watch = live(A)
    watch.registry = machine.probed(watch.registry, ok=False)
    watch.wait(2 * HOUR)
    assert watch.lost() == []
    watch.registry = machine.probed(watch.registry, ok=True)
    watch.wait(HOUR + 61)
    assert watch.lost() == [A]


def test_both_of_two_silent_are_lost_a_mass_window_apart() -> None:
    watch = live(A, B)
    watch.wait(HOUR)
    assert watch.lost() == [A]
    watch.wait(600)
    assert watch.lost() == [A]
    watch.wait(1)
    assert watch.lost() == [A, B]


def test_both_of_two_silent_are_kept_after_the_store_was_down() -> None:
    watch = live(A, B)
    watch.registry = machine.store_changed(watch.registry, up=False, now_s=watch.now_s, settings=SETTINGS)
    watch.wait(10)
    watch.registry = machine.store_changed(watch.registry, up=True, now_s=watch.now_s, settings=SETTINGS)
    watch.wait(HOUR)
    assert watch.lost() == []


def test_a_pause_of_the_scheduler_is_not_the_executors_silence() -> None:
    watch = live(A, B, C)
    watch.wait(HOUR - 10, A, B)
    watch.now_s += 2 * HOUR
    watch.tick()
    assert (watch.lost(), watch.states()) == ([], "a:live b:live c:suspect")
    watch.wait(14, A, B)
    assert watch.lost() == []
    watch.wait(1, A, B)
    assert watch.lost() == [C]


def test_nobody_is_lost_while_the_store_is_down_nor_for_three_heartbeats_after() -> None:
    watch = live(A, B, C)
    watch.registry = machine.store_changed(watch.registry, up=False, now_s=0.0, settings=SETTINGS)
    assert watch.why_not(A) == "the store is down"
    watch.wait(2 * HOUR, A, B)
    assert watch.lost() == []
    watch.registry = machine.store_changed(watch.registry, up=True, now_s=watch.now_s, settings=SETTINGS)
    watch.wait(14, A, B)
    assert watch.lost() == []
    watch.wait(1, A, B)
    assert watch.lost() == [C]


def test_the_start_barrier_waits_for_those_with_runs() -> None:
    watch = watching(A, B, C, active={A: 3, B: 1})
    watch.hello(C)
    assert watch.why_not(C).startswith("start barrier")
    watch.hello(A, last=5, have=2)
    watch.hello(B)
    assert watch.why_not(C).startswith("start barrier")
    watch.do(lambda r: machine.committed(r, A, 5, watch.now_s, SETTINGS))
    assert [watch.why_not(name) for name in (A, B, C)] == ["", "", ""]
    assert [effect for effect in watch.said if isinstance(effect, RoomOpened)][-3:] == [
        RoomOpened(A),
        RoomOpened(B),
        RoomOpened(C),
    ]


def test_the_start_barrier_has_an_end() -> None:
    watch = watching(A, B, active={A: 3})
    watch.hello(B)
    watch.wait(119, B)
    assert watch.why_not(B).startswith("start barrier")
    watch.wait(1, B)
    assert watch.why_not(B) == ""
    assert watch.why_not(A) == "unknown"


def test_an_executor_is_full_with_too_many_unacknowledged_leases() -> None:
    watch = live(A)
    watch.do(lambda r: machine.slots(r, A, 1000))
    watch.registry = machine.offered(watch.registry, A, 499)
    member = watch.registry.members[A]
    assert placement(watch.registry, member, 0.0, SETTINGS).free_slots == 501
    assert watch.why_not(A) == ""
    watch.registry = machine.offered(watch.registry, A, 500)
    assert watch.why_not(A) == "too many unacknowledged leases"


def test_more_free_slots_wake_the_host_and_fewer_do_not() -> None:
    watch = live(A)
    for free in (3, 3, 2, 5):
        watch.do(lambda r, free=free: machine.slots(r, A, free))  # type: ignore[misc]  # a default
    assert watch.said == [RoomOpened(A), RoomOpened(A)]


def test_two_processes_of_one_id_are_quarantined() -> None:
    watch = live(A)
    for boot in ("one", "two", "three"):
        watch.hello(A, boot=boot)
    assert watch.why_not(A) == ""
    watch.hello(A, boot="four")
    assert watch.alerts() == ["executor a: 4 takeovers in 60 s; quarantined"]
    assert watch.why_not(A) == "two processes fight for this id"
    watch.wait(600, A)
    assert watch.why_not(A) == ""


def test_an_operator_cordons_and_uncordons() -> None:
    watch = live(A, B, C)
    watch.operate(A, OperatorAction.CORDON)
    assert watch.why_not(A) == "cordoned"
    watch.wait(61)
    assert watch.alerts() == [], "of two that count, all silent, nothing says that it is our fault"
    watch.operate(A, OperatorAction.UNCORDON)
    watch.tick()
    assert watch.alerts() == ["self-preservation: 3 of 3 executors are silent; no lease expires"]


def test_an_operator_expires_in_spite_of_self_preservation() -> None:
    watch = live(A, B, C)
    watch.wait(100)
    watch.operate(B, OperatorAction.EXPIRE)
    assert watch.lost() == [B]
    assert watch.registry.expired_s == ()
    assert watch.states() == "a:silent b:lost c:silent"


def test_an_operator_releases_one_executor_from_self_preservation() -> None:
    watch = live(A, B, C)
    watch.wait(HOUR + 100)
    assert watch.lost() == []
    watch.operate(B, OperatorAction.RELEASE)
    watch.tick()
    assert watch.lost() == [B]
    watch.beat(B)
    assert not watch.registry.members[B].released


def test_a_decommissioned_executor_counts_nowhere() -> None:
    watch = live(A, B, C)
    watch.operate(C, OperatorAction.DECOMMISSION)
    assert watch.lost() == [C]
    assert watch.why_not(C) == "decommissioned"
    watch.wait(HOUR, A)
    assert watch.lost() == [C, B]


def test_orders_about_nobody_are_refused() -> None:
    with pytest.raises(KeyError):
        live(A).operate(B, OperatorAction.CORDON)


@pytest.mark.parametrize(
    ("action", "record"),
    [
        (OperatorAction.CORDON, ExecutorRecord(executor=A, cordoned=True, decommissioned=True)),
        (OperatorAction.UNCORDON, ExecutorRecord(executor=A)),
        (OperatorAction.DECOMMISSION, ExecutorRecord(executor=A, decommissioned=True)),
        (OperatorAction.EXPIRE, ExecutorRecord(executor=A, decommissioned=True)),
        (OperatorAction.RELEASE, ExecutorRecord(executor=A, decommissioned=True)),
    ],
)
def test_what_is_stored_of_an_order(action: OperatorAction, record: ExecutorRecord) -> None:
    assert machine.operated_record(ExecutorRecord(executor=A, decommissioned=True), action) == record


def test_nodes_without_the_node_id_label_are_warned_about_once_per_executor() -> None:
    watch = live(A, B)
    bare, labelled = NodeFacts(name="n1"), NodeFacts(name="n2", labels={"zone": "z"})
    for name, node in ((A, labelled), (A, bare), (A, bare), (B, bare)):
        watch.do(lambda r, name=name, node=node: machine.nodes_told(r, name, [node], "zone"))  # type: ignore[misc]  # defaults
    text = (
        'reports nodes without the node id label "zone": retry node anti-affinity cannot work; '
        "add the label to the executor's trackedNodeLabels"
    )
    assert watch.said == [Said((Note(Level.WARNING, f"executor {name} {text}"),)) for name in (A, B)]


def test_an_executor_that_does_not_remove_pods_is_warned_about_once_and_only_with_the_engine_on() -> None:
    watch = live(A)
    old, new = ExecutorRecord(executor=A), ExecutorRecord(executor=A, capabilities=("delete_action",))
    for record, engine in ((old, False), (new, True), (old, True), (old, True)):
        watch.do(lambda r, record=record, engine=engine: machine.capability_told(r, record, engine=engine))  # type: ignore[misc]  # defaults
    text = (
        "executor a does not remove failed pods before it reports them (no delete_action): "
        "the retry engine decides none of its failures; upgrade it"
    )
    assert watch.said == [Said((Note(Level.WARNING, text),))]


def test_what_is_stored_of_a_loss() -> None:
    assert machine.lost_record(ExecutorRecord(executor=A), 5) == ExecutorRecord(executor=A, runs_expired_at_ms=5)


def test_words_of_an_executor_that_nobody_knows_change_nothing() -> None:
    watch = live(A)
    before = watch.registry
    watch.beat(B)
    watch.do(lambda r: machine.committed(r, B, 5, 0.0, SETTINGS))
    watch.do(lambda r: machine.judged(r, B, 0.0, SETTINGS))
    watch.do(lambda r: machine.slots(r, B, 5))
    watch.do(lambda r: machine.nodes_told(r, B, [], "zone"))
    watch.registry = machine.offered(watch.registry, B, 5)
    assert watch.registry == before


def test_a_new_executor_is_live_at_once() -> None:
    watch = live(A)
    watch.hello(B)
    assert watch.states() == "a:live b:live"
    assert watch.registry.members[B].state is ExecutorState.LIVE
