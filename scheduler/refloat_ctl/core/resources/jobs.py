"""Decides what a job file says: Armada's format of `submit`, a queue, a job set and its jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_ctl.core.resources.fields import (
    FieldError,
    join,
    kind_of,
    list_of,
    number_of,
    spelt,
    text_map_of,
    text_of,
)

_FILE: Final = ("queue", "jobSetId", "jobs")
_TEXTS: Final = ("namespace", "clientId", "scheduler", "externalJobUri")
_TEXT_MAPS: Final = ("labels", "annotations", "requiredNodeLabels")
_MESSAGES: Final = ("ingress", "services")
_JOB: Final = ("priority", *_TEXTS, *_TEXT_MAPS, "podSpec", "podSpecs", *_MESSAGES)


@dataclass(frozen=True, slots=True)
class JobItem:
    """One job. `fields` are those of Armada's message apart from the pods; `pods` is Kubernetes JSON by its path."""

    fields: JsonObject
    pods: Mapping[str, JsonObject]


@dataclass(frozen=True, slots=True)
class JobFile:
    """A whole file."""

    queue: str
    job_set: str
    jobs: Sequence[JobItem]


def read_job_file(value: JsonValue) -> JobFile:
    """The jobs of a file's value.

    Raises:
        FieldError: it can't be submitted.
    """
    found = spelt({} if value is None else value, _FILE)
    for key in ("queue", "jobSetId"):
        if not text_of(found, key):
            raise FieldError(key, "is required")
    jobs = [_job(item, f"jobs[{i}]") for i, item in enumerate(list_of(found, "jobs"))]
    if not jobs:
        raise FieldError("jobs", "must hold at least one job")
    return JobFile(text_of(found, "queue"), text_of(found, "jobSetId"), jobs)


def _job(value: JsonValue, path: str) -> JobItem:
    found = spelt(value, _JOB, path)
    fields: dict[str, JsonValue] = {
        "priority": number_of(found, "priority", path),
        **{key: text_of(found, key, path) for key in _TEXTS},
        **{key: text_map_of(found, key, path) for key in _TEXT_MAPS},
        **{key: list_of(found, key, path) for key in _MESSAGES},
    }
    return JobItem({key: item for key, item in fields.items() if item}, _pods(found, path))


def _pods(found: JsonObject, path: str) -> Mapping[str, JsonObject]:
    pods = {f"{path}.podSpecs[{i}]": pod for i, pod in enumerate(list_of(found, "podSpecs", path))}
    if found.get("podSpec") is not None:
        if pods:
            raise FieldError(join(path, "podSpec"), "is given beside podSpecs: one of the two is meant")
        pods = {f"{path}.podSpec": found["podSpec"]}
    if not pods:
        raise FieldError(join(path, "podSpec"), "is required")
    maps = {at: pod for at, pod in pods.items() if isinstance(pod, Mapping)}
    for at, pod in pods.items():
        if at not in maps:
            raise FieldError(at, f"must be a map, not {kind_of(pod)}")
    return maps
