"""Laws of a played pod, whatever its script and whenever it is deleted: every write is taken, and it ends."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from refloat_fakekube.core.objects import Json, section, text
from refloat_fakekube.core.play.machine import Latencies
from refloat_fakekube.core.play.script import OUTCOMES, End, OnTerm, Outcome
from refloat_fakekube.core.store.requests import Delete, DeleteOptions
from testkit.fakekube_world import World

LATENCIES = Latencies()
ENDLESS = {"run", "image-pull-fails", "image-name-invalid", "config-error", "waiting", "node-dies", "disrupted"}
TERMINAL = {"Failed", "Succeeded"}
seconds = st.sampled_from([0.0, 0.005, 0.02, 0.1, 1.0])
ends = st.builds(End, seconds, st.sampled_from([0, 1, 137]))
on_terms = st.builds(OnTerm, st.sampled_from([0, 143]), seconds, ignore=st.booleans())
outcomes = st.builds(
    Outcome,
    kind=st.sampled_from(OUTCOMES),
    container=st.sampled_from(["main", "helper", "prep"]),
    after_s=seconds,
    code=st.sampled_from([0, 1, 137]),
    ends=st.dictionaries(st.sampled_from(["helper", "proxy"]), ends, max_size=2),
    on_term=on_terms,
)


@st.composite
def pods(draw: st.DrawFn) -> Json:
    def container(name: str, **more: Any) -> Any:
        return {"name": name, "image": "none:1", **more}

    spec: Any = {"containers": [container("main")], "restartPolicy": draw(st.sampled_from(["Never", "OnFailure"]))}
    spec["terminationGracePeriodSeconds"] = draw(st.sampled_from([0, 1, 30]))
    if draw(st.booleans()):
        spec["containers"].append(container("helper"))
    inits = []
    if draw(st.booleans()):
        inits.append(container("prep"))
    if draw(st.booleans()):
        inits.append(container("proxy", restartPolicy="Always"))
    if inits:
        spec["initContainers"] = inits
    if draw(st.booleans()):
        spec["activeDeadlineSeconds"] = draw(st.sampled_from([1, 2]))
    return {"metadata": {"name": "a", "namespace": "default"}, "spec": spec}


def phases(world: World) -> list[str]:
    return [text(section(line, "object"), "status", "phase") for line in world.pods]


@given(pods(), outcomes)
@settings(max_examples=300, deadline=None)
def test_a_pod_left_alone_ends_once_if_its_script_lets_it(pod: Json, outcome: Outcome) -> None:
    world = World()
    target = world.create_pod(pod)
    world.bind(target, "n1")
    world.play(target, outcome, LATENCIES, until=lambda w: w.pods[-1]["type"] == "DELETED", limit_s=100.0)
    seen = phases(world)
    ended = [phase in TERMINAL for phase in seen]
    assert ended == sorted(ended), "a phase came back from its end"
    if must_end(pod, outcome):
        assert gone(world) or seen[-1] in TERMINAL


def must_end(pod: Json, outcome: Outcome) -> bool:
    never_restarts = text(pod, "spec", "restartPolicy") == "Never"
    bounded = outcome.kind not in ENDLESS or "activeDeadlineSeconds" in section(pod, "spec")
    targeted = outcome.container == "main" or outcome.kind in {"reject", "deadline", "evicted"}
    return never_restarts and bounded and targeted


@given(pods(), outcomes, st.lists(st.sampled_from([0.004, 0.012, 0.02, 0.03, 0.05, 0.2]), min_size=1, max_size=3))
@settings(max_examples=300, deadline=None)
def test_a_pod_ends_though_its_kubelet_is_started_anew(pod: Json, outcome: Outcome, pieces_s: list[float]) -> None:
    world = World()
    target = world.create_pod(pod)
    world.bind(target, "n1")
    for piece_s in [*pieces_s, 100.0]:
        if phases(world)[-1] not in TERMINAL and not gone(world):
            world.play(target, outcome, LATENCIES, until=gone, limit_s=piece_s)
    ended = [phase in TERMINAL for phase in phases(world)]
    assert ended == sorted(ended)
    if must_end(pod, outcome):
        assert gone(world) or ended[-1]


@given(pods(), outcomes, st.sampled_from([0.0, 0.004, 0.012, 0.03, 0.2, 1.5]))
@settings(max_examples=300, deadline=None)
def test_a_pod_that_is_deleted_goes(pod: Json, outcome: Outcome, after_s: float) -> None:
    world = World()
    target = world.create_pod(pod)
    world.bind(target, "n1")
    play = world.play(target, outcome, LATENCIES, until=gone, limit_s=after_s)
    if not gone(world):
        world.do(Delete(target, DeleteOptions()))
        if not gone(world):
            world.show(play, target)
            world.go_on(play, target, until=gone, limit_s=100.0)
    assert gone(world)


def gone(world: World) -> bool:
    return world.pods[-1]["type"] == "DELETED"
