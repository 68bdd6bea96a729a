"""Reads the recorded scenarios: what was asked of Armada, what its users were told, and what each pod did."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from refloat_common.core.jsontypes import JsonObject
from refloat_fakekube.core.objects import Json
from testkit.style.tree import ROOT

FOLDER = ROOT / "tests/data/armada_live/scenarios"
DELETION_MARK = "deletion_requested"
"""The annotation by which Armada's executor marks a pod that it is about to delete."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The pod was assigned to a node."""

    node: str


@dataclass(frozen=True, slots=True)
class Status:
    """The kubelet, or whoever evicted the pod, wrote this status."""

    status: Json


@dataclass(frozen=True, slots=True)
class DeletedByOther:
    """Somebody outside asked for the pod's deletion, with this grace."""

    grace_s: int


@dataclass(frozen=True, slots=True)
class DeletedByExecutor:
    """Armada's executor asked for the pod's deletion."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The kubelet let the pod go: its deletion with no grace left."""


@dataclass(frozen=True, slots=True)
class Finalizers:
    """Somebody outside set the pod's finalizers."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """A Kubernetes event about the pod, new or counted again."""

    event: Json


Deed: TypeAlias = Bound | Status | DeletedByOther | DeletedByExecutor | Ended | Finalizers | Told


@dataclass(frozen=True, slots=True)
class Step:
    """What happened to a pod, `t` seconds after the scenario's start."""

    t: float
    deed: Deed


@dataclass(frozen=True, slots=True)
class PodHistory:
    """One pod: `born_t` is when it was created as `made`, and then what happened to it, in order."""

    born_t: float
    made: Json
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class PublicEvent:
    """One message of the public stream. `job` counts the scenario's jobs from 0."""

    t: float
    job: int
    name: str
    body: JsonObject


@dataclass(frozen=True, slots=True)
class Action:
    """Something done from outside; what was done to pods alone is in their histories."""

    t: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One scenario. `pods` has for each job its pods in order; `start_s` is in seconds since 1970."""

    name: str
    engine: str
    categories: bool
    queue: str
    policies: tuple[str, ...]
    start_s: float
    submitted: tuple[JsonObject, ...]
    job_ids: tuple[str, ...]
    events: tuple[PublicEvent, ...]
    pods: tuple[tuple[PodHistory, ...], ...]
    actions: tuple[Action, ...]


@dataclass(slots=True)
class _Watched:
    """The watch lines of one pod, and the events about it."""

    job_id: str
    lines: list[tuple[float, Json]] = field(default_factory=list)
    told: list[Step] = field(default_factory=list)


def names() -> Sequence[str]:
    """Every scenario, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.jsonl"))


def public_lines(folder: Path = FOLDER) -> Iterator[dict[str, Any]]:
    """Every message of the public streams as it was recorded, with its `id`, scenario by scenario."""
    for path in sorted(folder.glob("*.jsonl")):
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        yield from (line for line in lines if line["kind"] == "event")


def load(name: str, folder: Path = FOLDER) -> Recording:
    """One scenario."""
    head, *lines = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    told = [(line["t"], *next(iter(line["message"].items()))) for line in lines if line["kind"] == "event"]
    jobs = [body["jobId"] for _, kind, body in told if kind == "submitted"]
    pods = _histories(lines)
    return Recording(
        name=name,
        engine=head["engine"],
        categories=head["errorCategories"] == "on",
        queue=head["queue"],
        policies=tuple(head["retryPolicies"] or ()),
        start_s=head["start"],
        submitted=tuple(head["submitted"]),
        job_ids=tuple(jobs),
        events=tuple(PublicEvent(t, jobs.index(body["jobId"]), kind, body) for t, kind, body in told),
        pods=tuple(tuple(history for job_id, history in pods if job_id == job) for job in jobs),
        actions=tuple(Action(line["t"], line["text"]) for line in lines if line["kind"] == "action"),
    )


def _histories(lines: Sequence[dict[str, Any]]) -> list[tuple[str, PodHistory]]:
    """The pods in order of their creation, each with its job's id."""
    watched: dict[str, _Watched] = {}
    for line in lines:
        if line["kind"] == "pod" and line["type"] != "DELETED":
            metadata = line["object"]["metadata"]
            pod = watched.setdefault(metadata["uid"], _Watched(metadata["labels"]["armada_job_id"]))
            pod.lines.append((line["t"], line["object"]))
        elif line["kind"] == "kube-event" and line["object"]["involvedObject"]["uid"] in watched:
            pod = watched[line["object"]["involvedObject"]["uid"]]
            pod.told.append(Step(line["t"], Told(line["object"])))
    return [(pod.job_id, _history(pod)) for pod in watched.values()]


def _history(pod: _Watched) -> PodHistory:
    steps = list(pod.told)
    before = pod.lines[0][1]
    for t, after in pod.lines[1:]:
        steps += [Step(t, deed) for deed in _deeds(before, after)]
        before = after
    return PodHistory(*pod.lines[0], tuple(sorted(steps, key=lambda step: step.t)))


def _deeds(before: Json, after: Json) -> list[Deed]:
    """What turned one state of a pod into the next; Armada's own marks are left out."""
    old: Any = before
    new: Any = after
    deeds: list[Deed] = []
    if new["spec"].get("nodeName") != old["spec"].get("nodeName"):
        deeds.append(Bound(new["spec"]["nodeName"]))
    elif new["status"] != old["status"]:
        deeds.append(Status(new["status"]))
    if new["metadata"].get("finalizers") != old["metadata"].get("finalizers"):
        deeds.append(Finalizers(tuple(new["metadata"].get("finalizers", ()))))
    grace_s = new["metadata"].get("deletionGracePeriodSeconds")
    if grace_s != old["metadata"].get("deletionGracePeriodSeconds"):
        if "deletionTimestamp" in old["metadata"]:
            deeds.append(Ended())
        elif DELETION_MARK in new["metadata"]["annotations"]:
            deeds.append(DeletedByExecutor())
        else:
            deeds.append(DeletedByOther(grace_s))
    return deeds
