"""Compares the events of a scenario as Armada told them with those that Refloat tells, one job after the other.

Everything in an event is compared but for times. Ids, which differ in every run, become words: `<job>`, `<pod 1>` for
the job's first pod, `<run>`, `<client>`, and `<uuid>` inside of texts.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from refloat_common.core.jsontypes import JsonObject, JsonValue
from testkit.armada_live.recordings import Recording
from testkit.armada_live.stage import Played, PublicEvents

_UUID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_NOT_COMPARED = frozenset({"created", "job.created"})


@dataclass(frozen=True, slots=True)
class Event:
    """One event without what differs in every run; `fields` are flat, those of a submitted job begin with `job.`."""

    name: str
    fields: JsonObject


@dataclass(frozen=True, slots=True)
class Difference:
    """A field of an event that is at the same place in both sequences. None is a field that is not set."""

    scenario: str
    job: int
    at: int
    event: str
    field: str
    armada: JsonValue
    refloat: JsonValue


@dataclass(frozen=True, slots=True)
class Parting:
    """From this place on the two sequences have not even the same names."""

    scenario: str
    job: int
    at: int
    armada: tuple[Event, ...]
    refloat: tuple[Event, ...]


def told_by_armada(recording: Recording) -> tuple[tuple[Event, ...], ...]:
    """The recorded events of each job."""
    return tuple(
        plain([(event.name, event.body) for event in recording.events if event.job == job], job_id)
        for job, job_id in enumerate(recording.job_ids)
    )


def told_by_refloat(played: Played) -> tuple[tuple[Event, ...], ...]:
    """Our events of each job."""
    return tuple(plain(events, job_id) for events, job_id in zip(played.events, played.job_ids, strict=True))


def differences(
    scenario: str, armada: Sequence[Sequence[Event]], refloat: Sequence[Sequence[Event]]
) -> Iterator[Difference | Parting]:
    """All differences of a scenario."""
    for job, (theirs, ours) in enumerate(zip(armada, refloat, strict=True)):
        for at, (told, own) in enumerate(zip_longest(theirs, ours)):
            if told is None or own is None or told.name != own.name:
                yield Parting(scenario, job, at, tuple(theirs[at:]), tuple(ours[at:]))
                break
            for field in sorted(told.fields.keys() | own.fields.keys()):
                values = told.fields.get(field), own.fields.get(field)
                if values[0] != values[1]:
                    yield Difference(scenario, job, at, told.name, field, *values)


def plain(events: PublicEvents, job_id: str) -> tuple[Event, ...]:
    """Events without what differs in every run."""
    pods: dict[str, int] = {}
    found = []
    for name, body in events:
        pod = body.get("kubernetesId")
        if isinstance(pod, str):
            pods.setdefault(pod, len(pods) + 1)
        fields = {
            key: _plain(key, value, job_id, pods) for key, value in _flat(body).items() if key not in _NOT_COMPARED
        }
        found.append(Event(name, fields))
    return tuple(found)


def _flat(body: JsonObject) -> dict[str, JsonValue]:
    job: Any = body.get("job", {})
    return {key: value for key, value in body.items() if key != "job"} | {f"job.{key}": job[key] for key in job}


def _plain(key: str, value: JsonValue, job_id: str, pods: dict[str, int]) -> JsonValue:
    if key == "kubernetesId":
        return f"<pod {pods[str(value)]}>"
    if key == "runId":
        return "<run>"
    if key == "job.clientId":
        return "<client>"
    if isinstance(value, str):
        return _UUID.sub("<uuid>", value.replace(job_id, "<job>"))
    return value
