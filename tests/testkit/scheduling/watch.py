"""A registry of executors on a clock that the test moves."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from refloat_common.core.ids import BootId, ExecutorId
from refloat_scheduler.core.effects import ExecutorRecord
from refloat_scheduler.core.leases import machine
from refloat_scheduler.core.leases.placement import placement
from refloat_scheduler.core.leases.registry import Answer, LeaseEffect, LeaseSettings, Lost, Registry, Said
from refloat_scheduler.core.leases.states import OperatorAction
from refloat_scheduler.core.leases.ticking import tick
from refloat_scheduler.core.signals import Level

A, B, C = (ExecutorId(name) for name in "abc")
HOUR = 3600.0
SETTINGS = LeaseSettings()


@dataclass(slots=True)
class Watch:
    """A registry and its clock; `keep` names the executors whose heartbeats go on while time passes."""

    registry: Registry
    now_s: float = 0.0
    said: list[LeaseEffect] = field(default_factory=list)

    def do(self, step: Callable[[Registry], Answer]) -> None:
        self.registry, effects = step(self.registry)
        self.said += effects

    def hello(self, name: ExecutorId, last: int = 0, have: int = 0, boot: str = "boot", **flags: bool) -> None:
        record = replace(ExecutorRecord(executor=name), **flags)  # type: ignore[arg-type]  # flags of a record
        self.do(lambda r: machine.greeted(r, record, BootId(boot), last, have, self.now_s, SETTINGS))

    def beat(self, *names: ExecutorId) -> None:
        for name in names:
            self.do(lambda r, name=name: machine.heard(r, name, self.now_s, SETTINGS))  # type: ignore[misc]  # a default

    def tick(self) -> None:
        self.do(lambda r: tick(r, self.now_s, SETTINGS))

    def wait(self, seconds: float, *keep: ExecutorId) -> None:
        """Let time pass in ticks; heartbeats come every five seconds."""
        for passed in range(1, round(seconds) + 1):
            self.now_s += 1.0
            if passed % 5 == 0:
                self.beat(*keep)
            self.tick()

    def operate(self, name: ExecutorId, action: OperatorAction) -> None:
        self.do(lambda r: machine.operated(r, name, action, self.now_s, SETTINGS))

    def states(self) -> str:
        return " ".join(f"{name}:{member.state.value}" for name, member in sorted(self.registry.members.items()))

    def preserving(self) -> bool:
        return self.registry.preserving_since_s is not None

    def lost(self) -> list[ExecutorId]:
        return [effect.executor for effect in self.said if isinstance(effect, Lost)]

    def alerts(self) -> list[str]:
        return [
            note.text
            for effect in self.said
            if isinstance(effect, Said)
            for note in effect.notes
            if note.level is Level.ALERT
        ]

    def why_not(self, name: ExecutorId) -> str:
        return placement(self.registry, self.registry.members[name], self.now_s, SETTINGS).why_not


def watching(*names: ExecutorId, active: dict[ExecutorId, int] | None = None) -> Watch:
    """A scheduler that has just started and knows these executors."""
    records = [ExecutorRecord(executor=name) for name in names]
    return Watch(machine.started(records, active or {}, 0.0, SETTINGS))


def live(*names: ExecutorId) -> Watch:
    """A scheduler whose executors have all said HELLO."""
    watch = watching(*names)
    for name in names:
        watch.hello(name)
    watch.tick()
    watch.said.clear()
    return watch
