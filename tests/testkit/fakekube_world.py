"""A fake cluster under virtual time, without sockets: the pure store, pods played on it, what a watcher would see."""

from collections.abc import Callable
from dataclasses import dataclass, field

from refloat_fakekube.core.objects import Json, decode, encode, section, text
from refloat_fakekube.core.play.effects import (
    Disrupt,
    Effect,
    Hold,
    LoseNode,
    Record,
    Remove,
    WriteStatus,
    disruption_target,
)
from refloat_fakekube.core.play.events import about, kubelet_event, scheduler_event
from refloat_fakekube.core.play.machine import Latencies
from refloat_fakekube.core.play.player import PodPlay
from refloat_fakekube.core.play.script import Outcome
from refloat_fakekube.core.refusals import RefusalError
from refloat_fakekube.core.resources import EVENTS, PODS
from refloat_fakekube.core.selectors import EVERYTHING
from refloat_fakekube.core.store.answers import Answer
from refloat_fakekube.core.store.requests import Bind, Create, Delete, DeleteOptions, Patch, Request, Target
from refloat_fakekube.core.store.store import Store


class CountingIds:
    """Ids in order: u-1, u-2, ..."""

    def __init__(self) -> None:
        self._count = 0

    def uid(self) -> str:
        self._count += 1
        return f"u-{self._count}"

    def suffix(self) -> str:
        self._count += 1
        return f"{self._count:05d}"


@dataclass
class World:
    """The store, the time, and the watch lines so far, pods and events apart."""

    now_s: float = 1_800_000_000.0
    store: Store = field(default_factory=Store)
    ids: CountingIds = field(default_factory=CountingIds)
    pods: list[Json] = field(default_factory=list)
    events: list[Json] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store.begin(self.now_s, self.ids)

    def ask(self, request: Request) -> Answer:
        """Carry out a request; a refusal is the answer."""
        applied = self.store.apply(request, self.now_s, self.ids)
        for change in applied.changes:
            seen = change.seen_by(EVERYTHING)
            if seen is not None and change.table in {"pods", "events"}:
                line = decode(change.line(seen[0]))
                (self.pods if change.table == "pods" else self.events).append(line)
        return applied.answer

    def do(self, request: Request) -> Answer:
        """Carry out a request that must not be refused."""
        answer = self.ask(request)
        if isinstance(answer, RefusalError):
            raise answer
        return answer

    def create_pod(self, pod: Json) -> Target:
        """Create a pod, and its namespace if need be."""
        namespace = text(pod, "metadata", "namespace") or "default"
        self.ask(Create(_namespace(), {"metadata": {"name": namespace}}))
        self.do(Create(Target(PODS, namespace), pod))
        return Target(PODS, namespace, text(pod, "metadata", "name"))

    def get(self, target: Target) -> Json:
        """The pod as it is."""
        return section(self.pods[-1], "object") if target.name else {}

    def bind(self, target: Target, node: str) -> None:
        """Do what the scheduler does."""
        pod = section(self.pods[-1], "object")
        body: Json = {"metadata": {"name": target.name}, "target": {"name": node}}
        self.do(Bind(target, body))
        words = f"Successfully assigned {target.namespace}/{target.name} to {node}"
        event = scheduler_event(about(pod), Record("Normal", "Scheduled", words), self.now_s)
        self.do(Create(Target(EVENTS, target.namespace), event))

    def play(
        self,
        target: Target,
        outcome: Outcome,
        latencies: Latencies,
        *,
        until: Callable[["World"], bool],
        limit_s: float,
    ) -> PodPlay:
        """Play a pod until something holds or time is up."""
        play = PodPlay(section(self.pods[-1], "object"), outcome, latencies, self.now_s)
        self.go_on(play, target, until=until, limit_s=limit_s)
        return play

    def go_on(self, play: PodPlay, target: Target, *, until: Callable[["World"], bool], limit_s: float) -> None:
        """Let a play go on, showing it every change of its pod."""
        ends_s = self.now_s + limit_s
        while not until(self) and play.wakes_s is not None and play.wakes_s <= ends_s:
            self.now_s = max(self.now_s, play.wakes_s)
            self.carry_out(play, target, play.due(self.now_s))

    def show(self, play: PodPlay, target: Target) -> None:
        """Show a play its pod as the watch would."""
        self.carry_out(play, target, play.seen(section(self.pods[-1], "object"), self.now_s))

    def carry_out(self, play: PodPlay, target: Target, effects: list[Effect]) -> None:
        """Do what a kubelet does with effects, as long as there is a pod."""
        for effect in effects:
            if self.pods[-1]["type"] == "DELETED":
                return
            before = len(self.pods)
            self._one(target, effect)
            if len(self.pods) > before and self.pods[-1]["type"] != "DELETED":
                self.show(play, target)

    def _one(self, target: Target, effect: Effect) -> None:
        pod = section(self.pods[-1], "object")
        match effect:
            case WriteStatus(patch):
                self.do(Patch(target, "strategic", patch, "status"))
            case Record():
                event = kubelet_event(about(pod, effect.path), effect, "kubelet", "n1", self.now_s, len(self.events))
                self.do(Create(Target(EVENTS, target.namespace), event))
            case Remove():
                self.do(Delete(target, DeleteOptions(0, text(pod, "metadata", "uid"))))
            case Disrupt(reason, message):
                condition = disruption_target(reason, message, 1, self.now_s)
                self.do(Patch(target, "strategic", {"status": {"conditions": [condition]}}, "status"))
                self.do(Delete(target))
            case Hold(finalizer, _):
                self.do(Patch(target, "strategic", {"metadata": {"finalizers": [finalizer]}}))
            case LoseNode():
                return


def _namespace() -> Target:
    from refloat_fakekube.core.resources import NAMESPACES  # noqa: PLC0415  # used here alone

    return Target(NAMESPACES)


def same(value: Json) -> bytes:
    """An object as bytes, for comparison."""
    return encode(value)
