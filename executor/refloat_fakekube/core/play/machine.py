"""The state of one pod on one node while it is played, and the few things that every moment of it does."""

import heapq
from dataclasses import dataclass

from refloat_fakekube.core.objects import Json, number, section, text
from refloat_fakekube.core.play.containers import Container, containers_of
from refloat_fakekube.core.play.effects import Effect, Record, WriteStatus
from refloat_fakekube.core.play.script import Outcome
from refloat_fakekube.core.play.status import PodRun, pod_status, status_patch

_TERMINAL = ("Failed", "Succeeded")


@dataclass(frozen=True, slots=True)
class Latencies:
    """How long a kubelet takes, in seconds: to admit a pod, start a container, notice, clean up, restart, pull again.

    Waits before a restart and before another pull double each time.
    """

    admit_s: float = 0.005
    start_s: float = 0.010
    sync_s: float = 0.010
    finish_s: float = 0.010
    restart_s: float = 0.050
    pull_s: float = 1.0


class Machine:
    """One pod on one node: its run, what is planned, and the effects asked for so far."""

    def __init__(self, pod: Json, outcome: Outcome, latencies: Latencies) -> None:
        inits, mains = containers_of(pod)
        self.outcome, self.latencies = outcome, latencies
        self.uid = text(pod, "metadata", "uid")
        self.name = f"{text(pod, 'metadata', 'name')}_{text(pod, 'metadata', 'namespace')}({self.uid})"
        self.grace_s = float(number(pod, "spec", "terminationGracePeriodSeconds") or 0)
        self.deadline_s = number(pod, "spec", "activeDeadlineSeconds")
        self.host_network = bool(section(pod, "spec").get("hostNetwork"))
        generation = number(pod, "metadata", "generation") or 1
        self.run = PodRun(inits, mains, generation, text(pod, "spec", "restartPolicy"))
        self.run.quality = text(pod, "status", "qosClass")
        self.deleting = self.over = self.stopping = False
        self.effects: list[Effect] = []
        self._written: Json = section(pod, "status")
        self._moments: list[tuple[float, int, str, str]] = []
        self._count = 0
        self._syncing = False

    @property
    def next_s(self) -> float | None:
        """When the next moment is, in seconds since 1970."""
        return self._moments[0][0] if self._moments else None

    def at(self, when_s: float, what: str, container: str = "") -> None:
        """Plan a moment."""
        self._count += 1
        heapq.heappush(self._moments, (when_s, self._count, what, container))

    def pop(self, now_s: float) -> tuple[str, str] | None:
        """The next moment that has come: what, and for which container."""
        if not self._moments or self._moments[0][0] > now_s:
            return None
        _, _, what, container = heapq.heappop(self._moments)
        if what == "sync":
            self._syncing = False
        return what, container

    def cancel(self) -> None:
        """Nothing planned happens any more."""
        self._moments.clear()
        self._syncing = False

    def record(self, kind: str, reason: str, message: str, container: Container | None = None) -> None:
        """Record an event, about one container or the pod."""
        self.effects.append(Record(kind, reason, message, container.path if container else ""))

    def sync(self, now_s: float) -> None:
        """Show the state soon; what changes until then is shown with it."""
        if not self._syncing:
            self._syncing = True
            self.at(now_s + self.latencies.sync_s, "sync")

    def show(self, now_s: float) -> None:
        """Write the status as it is now, if it says anything new."""
        self.write(pod_status(self.run, now_s))

    def write(self, status: Json) -> None:
        """Write a status, if it says anything new."""
        if status != self._written:
            self.effects.append(WriteStatus(status_patch(status, self._written, self.uid)))
            self._written = status

    def conclude(self, now_s: float) -> None:
        """Nothing is left of the pod on the node: show the final phase; a pod being deleted is then removed."""
        self.cancel()
        self.over = True
        phase = self.run.computed_phase()
        self.run.phase = phase if phase in _TERMINAL else "Failed"
        self.run.ready_to_start = False
        self.show(now_s)
        if self.run.initialized and any(one.state != "terminated" for one in self.run.mains):
            self.at(now_s + self.latencies.sync_s, "lose")
        if self.deleting:
            self.at(now_s + self.latencies.finish_s, "remove")

    def find(self, name: str) -> Container:
        """A container by name."""
        return next(one for one in self.run.all if one.name == name)
