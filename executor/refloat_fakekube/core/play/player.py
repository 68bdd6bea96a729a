"""Plays one pod on one node: `seen` takes news from the watch, `due` lets time pass; both give the kubelet's effects.

The order of the lines a watcher sees and their content are those of a kubelet 1.34 (`tests/data/real_node.jsonl`):
admitted, sandbox up, containers as they start and end, one line with the end, one with the final phase.
"""

from collections.abc import Callable

from refloat_fakekube.core.objects import Json, number, objects, text
from refloat_fakekube.core.play import ending, starting
from refloat_fakekube.core.play.effects import Effect
from refloat_fakekube.core.play.machine import Latencies, Machine
from refloat_fakekube.core.play.script import Outcome
from refloat_fakekube.core.play.status import OWNED

_MOMENTS: dict[str, Callable[[Machine, float, str], None]] = {
    "admit": starting.admit,
    "back-off-pull": starting.back_off_pull,
    "crash-loop": ending.crash_loop,
    "deadline": ending.deadline,
    "disrupt": ending.disrupt,
    "end-sidecar": ending.end_sidecar,
    "evict": ending.evict,
    "exit": ending.exited,
    "finish": ending.finish,
    "lose": ending.lose,
    "lose-node": ending.lose_node,
    "next": starting.start_next,
    "pull": starting.pull,
    "remove": ending.remove,
    "restart": ending.restart,
    "set-up": starting.set_up,
    "start-error": ending.start_error,
    "stopped": ending.stopped,
    "sync": ending.sync,
}


class PodPlay:
    """One pod on one node, from the moment its kubelet hears of it at `now_s` (seconds since 1970)."""

    def __init__(self, pod: Json, outcome: Outcome, latencies: Latencies, now_s: float) -> None:
        self._machine = Machine(pod, outcome, latencies)
        if text(pod, "status", "startTime"):
            starting.resume(self._machine, pod, now_s)
        else:
            self._machine.at(now_s + latencies.admit_s, "admit")

    @property
    def wakes_s(self) -> float | None:
        """When `due` must be called next; None: not before there is news."""
        return self._machine.next_s

    @property
    def over(self) -> bool:
        """Whether the pod has its final phase."""
        return self._machine.over

    def seen(self, pod: Json, now_s: float) -> list[Effect]:
        """The watch shows the pod: its deletion matters here, and conditions that others set."""
        machine = self._machine
        foreign = [one for one in objects(pod, "status", "conditions") if text(one, "type") not in OWNED]
        if foreign != machine.run.foreign and not machine.run.disruption[0]:
            machine.run.foreign = foreign
            if not machine.over:
                machine.sync(now_s)
        if text(pod, "metadata", "deletionTimestamp") and not machine.deleting and not machine.over:
            machine.deleting = True
            machine.run.generation = number(pod, "metadata", "generation") or machine.run.generation
            asked_s = number(pod, "metadata", "deletionGracePeriodSeconds")
            machine.grace_s = float(asked_s if asked_s is not None else machine.grace_s)
            ending.terminate(machine, now_s)
        return self._taken()

    def due(self, now_s: float) -> list[Effect]:
        """Time has passed."""
        while (moment := self._machine.pop(now_s)) is not None:
            what, container = moment
            _MOMENTS[what](self._machine, now_s, container)
        return self._taken()

    def _taken(self) -> list[Effect]:
        effects, self._machine.effects = self._machine.effects, []
        return effects
