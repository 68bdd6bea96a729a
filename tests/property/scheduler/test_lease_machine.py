"""No history of silence, pauses and store failures makes the registry lose whom it may not lose."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from refloat_common.core.ids import BootId, ExecutorId
from refloat_scheduler.core.effects import ExecutorRecord
from refloat_scheduler.core.leases import machine
from refloat_scheduler.core.leases.placement import placement
from refloat_scheduler.core.leases.registry import LeaseSettings, Lost, Registry
from refloat_scheduler.core.leases.ticking import tick

SETTINGS = LeaseSettings(
    heartbeat_interval_s=1.0,
    placement_timeout_s=6.0,
    suspect_after_s=12.0,
    lease_timeout_s=24.0,
    startup_grace_s=24.0,
    start_barrier_s=10.0,
    tick_s=1.0,
    tick_gap_s=2.0,
    preservation_leave_s=5.0,
    alert_every_s=60.0,
    mass_window_s=40.0,
    expiry_interval_s=4.0,
)


@dataclass(slots=True)
class Fleet:
    """Executors that beat once a second unless they are cut off, and a scheduler that may be paused.

    `healthy_s`: since when an executor has been alive and reachable without a break; None while it is cut off.
    """

    names: list[ExecutorId]
    registry: Registry
    now_s: float = 0.0
    healthy_s: dict[ExecutorId, float | None] = field(default_factory=dict)
    losses_s: list[float] = field(default_factory=list)

    def talk(self, talking: frozenset[int]) -> None:
        """From now on these executors are reachable, and no others."""
        for index, name in enumerate(self.names):
            if index not in talking:
                self.healthy_s[name] = None
            elif self.healthy_s.get(name) is None:
                self.healthy_s[name] = self.now_s

    def beat(self) -> None:
        """The heartbeats of whoever is reachable are handled."""
        for name in self.names:
            if self.healthy_s.get(name) is not None:
                self.registry, _ = machine.heard(self.registry, name, self.now_s, SETTINGS)
                self.registry, _ = machine.judged(self.registry, name, self.now_s, SETTINGS)

    def tick(self) -> None:
        """A tick; whoever is lost must have been out of reach within the last lease."""
        self.registry, effects = tick(self.registry, self.now_s, SETTINGS)
        for effect in effects:
            if isinstance(effect, Lost):
                since_s = self.healthy_s.get(effect.executor)
                assert since_s is None or since_s > self.now_s - SETTINGS.lease_timeout_s, f"{effect} was well"
                self.losses_s.append(self.now_s)

    def live(self, seconds: int) -> None:
        """Time passes in the ordinary way."""
        for _ in range(seconds):
            self.now_s += 1.0
            self.beat()
            self.tick()

    def pause(self, seconds: int, *, beats_first: bool) -> None:
        """The scheduler stands still; on waking it meets the waiting heartbeats and the tick in either order."""
        self.now_s += seconds
        if beats_first:
            self.beat()
        self.tick()
        self.beat()


@st.composite
def histories(draw: st.DrawFn) -> tuple[int, list[tuple[str, int, frozenset[int], bool]]]:
    """So many executors, and what happens: for how long, who is reachable, and a choice."""
    count = draw(st.integers(1, 7))
    reachable = st.frozensets(st.integers(0, count - 1))
    step = st.tuples(
        st.sampled_from(["live", "live", "live", "pause", "store", "probe"]),
        st.integers(1, 40),
        reachable,
        st.booleans(),
    )
    return count, draw(st.lists(step, min_size=1, max_size=12))


def play(count: int, steps: list[tuple[str, int, frozenset[int], bool]]) -> Fleet:
    """Let a history happen."""
    names = [ExecutorId(f"e{i}") for i in range(count)]
    records = [ExecutorRecord(executor=name) for name in names]
    fleet = Fleet(names, machine.started(records, {}, 0.0, SETTINGS))
    for record in records:
        fleet.registry, _ = machine.greeted(fleet.registry, record, BootId("b"), 0, 0, 0.0, SETTINGS)
    fleet.talk(frozenset(range(count)))
    for kind, seconds, talking, choice in steps:
        fleet.talk(talking)
        if kind == "live":
            fleet.live(seconds)
        elif kind == "pause":
            fleet.pause(seconds, beats_first=choice)
        elif kind == "probe":
            fleet.registry = machine.probed(fleet.registry, ok=choice)
        else:
            fleet.registry = machine.store_changed(fleet.registry, up=choice, now_s=fleet.now_s, settings=SETTINGS)
    return fleet


@settings(max_examples=300, deadline=None)
@given(histories())
def test_nobody_who_is_well_is_lost_and_never_too_many(
    history: tuple[int, list[tuple[str, int, frozenset[int], bool]]],
) -> None:
    count, steps = history
    fleet = play(count, steps)
    for start_s in fleet.losses_s:
        window = [at_s for at_s in fleet.losses_s if start_s <= at_s <= start_s + SETTINGS.mass_window_s]
        assert len(window) <= max(1, count // 3), f"lost at {window}"


@settings(max_examples=100, deadline=None)
@given(histories())
def test_after_the_last_fault_everybody_who_speaks_may_be_leased_to(
    history: tuple[int, list[tuple[str, int, frozenset[int], bool]]],
) -> None:
    count, steps = history
    fleet = play(count, steps)
    fleet.registry = machine.store_changed(fleet.registry, up=True, now_s=fleet.now_s, settings=SETTINGS)
    fleet.talk(frozenset(range(count)))
    fleet.live(60)
    assert fleet.registry.preserving_since_s is None
    for member in fleet.registry.members.values():
        assert placement(fleet.registry, member, fleet.now_s, SETTINGS).may_lease


@settings(max_examples=100, deadline=None)
@given(histories())
def test_whoever_stays_silent_is_lost_in_the_end_if_the_others_speak(
    history: tuple[int, list[tuple[str, int, frozenset[int], bool]]],
) -> None:
    count, steps = history
    fleet = play(max(count, 3), steps)
    fleet.registry = machine.store_changed(fleet.registry, up=True, now_s=fleet.now_s, settings=SETTINGS)
    fleet.talk(frozenset(range(max(count, 3))))
    fleet.live(60)
    fleet.talk(frozenset(range(1, max(count, 3))))
    fleet.live(80)
    assert fleet.registry.members[ExecutorId("e0")].lost
