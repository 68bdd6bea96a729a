"""The list of where Refloat's events differ from Armada's on purpose, and the judgement over one scenario by it.

A listed departure must be there wherever it is listed: on every event that it names, with exactly these values. So a
difference that nobody listed is a complaint, and so is a listed one that is gone.
"""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from testkit.armada_live.compare import Difference, Event, Parting, differences
from testkit.style.tree import ROOT

FILE = ROOT / "tests/data/armada_departures.yaml"
ANYTHING = "<anything>"
"""Stands in the list for a value that differs from scenario to scenario."""
PLACE = ("jobId", "jobSetId", "queue")
"""Fields of every event; the list leaves them out of whole events."""


class FieldCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Fields that differ on every event of this name, or on the one at place `at`, in these scenarios.

    A field that is in one of the two maps only is not set on the other side.
    """

    scenarios: tuple[str, ...]
    event: str
    at: int | None = None
    armada: Mapping[str, Any] = {}
    refloat: Mapping[str, Any] = {}

    @property
    def fields(self) -> frozenset[str]:
        """The fields that it is about."""
        return frozenset(self.armada) | frozenset(self.refloat)

    def covers(self, scenario: str, at: int, event: str) -> bool:
        """Whether it is about this event."""
        named = any(fnmatchcase(scenario, pattern) for pattern in self.scenarios)
        return named and event == self.event and self.at in (None, at)


class EndingCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A scenario that goes on otherwise from the event at place `at` on: Armada's names, and our events whole."""

    scenario: str
    at: int
    armada: tuple[str, ...]
    refloat: tuple[Mapping[str, Mapping[str, Any]], ...]


class Departure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that is otherwise on purpose. `source` says which rule wants it so."""

    id: str
    title: str
    reason: str
    source: str
    fields: tuple[FieldCase, ...] = ()
    endings: tuple[EndingCase, ...] = ()


class Later(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Scenarios whose failure the executor can't see yet: after `told` events nothing more is told."""

    scenarios: tuple[str, ...]
    awaits: str
    told: int


class Departures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole list."""

    departures: tuple[Departure, ...] = ()
    later: tuple[Later, ...] = ()

    def field_cases(self) -> Iterator[FieldCase]:
        """All departures in single fields."""
        return (case for departure in self.departures for case in departure.fields)

    def ending_cases(self) -> Iterator[EndingCase]:
        """All departures in the sequence."""
        return (case for departure in self.departures for case in departure.endings)

    def is_later(self, scenario: str) -> Later | None:
        """What the scenario waits for, if it does."""
        return next((later for later in self.later if scenario in later.scenarios), None)


def read(path: Path = FILE) -> Departures:
    """The list as it stands."""
    return msgspec.yaml.decode(path.read_bytes(), type=Departures)


def complaints(
    listed: Departures, scenario: str, armada: Sequence[Sequence[Event]], refloat: Sequence[Sequence[Event]]
) -> list[str]:
    """What is wrong with a scenario: unlisted differences, and listed ones that are not there."""
    found = list(differences(scenario, armada, refloat))
    partings = [parting for parting in found if isinstance(parting, Parting)]
    unlisted = {(d.job, d.at, d.field): d for d in found if isinstance(d, Difference)}
    wrong: list[str] = []
    for case in listed.field_cases():
        for job, at in _places(case, scenario, armada, refloat):
            for field in sorted(case.fields):
                difference = unlisted.pop((job, at, field), None)
                if difference is None:
                    wrong.append(f"listed, but not there: job {job}, {at} {case.event}.{field}")
                elif not _is_as_listed(case, difference):
                    wrong.append(f"not as listed: {_shown(difference)}")
    wrong += [f"not listed: {_shown(difference)}" for difference in unlisted.values()]
    return wrong + list(_sequences(listed, scenario, armada, partings))


def _places(
    case: FieldCase, scenario: str, armada: Sequence[Sequence[Event]], refloat: Sequence[Sequence[Event]]
) -> Iterator[tuple[int, int]]:
    """The events that a case is about, as far as both sides told them."""
    for job, (theirs, ours) in enumerate(zip(armada, refloat, strict=True)):
        for at, (told, own) in enumerate(zip(theirs, ours, strict=False)):
            if told.name != own.name:
                break
            if case.covers(scenario, at, told.name):
                yield job, at


def _is_as_listed(case: FieldCase, difference: Difference) -> bool:
    sides = (case.armada, difference.armada), (case.refloat, difference.refloat)
    return all(_is(listed.get(difference.field), value) for listed, value in sides)


def _is(listed: object, value: object) -> bool:
    return value is not None if listed == ANYTHING else listed == value


def _sequences(
    listed: Departures, scenario: str, armada: Sequence[Sequence[Event]], partings: Sequence[Parting]
) -> Iterator[str]:
    """Where the sequences part, and where they should and do not."""
    endings = {case.at: case for case in listed.ending_cases() if case.scenario == scenario}
    later = listed.is_later(scenario)
    for parting in partings:
        told = tuple(event.name for event in parting.armada)
        case = endings.pop(parting.at, None)
        if later is not None and parting.at == later.told and told and not parting.refloat:
            later = None
        elif case is None:
            yield f"not listed: job {parting.job}, from {parting.at} on: {told} | {_named(parting.refloat)}"
        elif told != case.armada or _whole(parting.refloat) != [dict(one) for one in case.refloat]:
            yield f"not as listed: job {parting.job}, from {parting.at} on: {told} | {_whole(parting.refloat)}"
    for at in endings:
        yield f"listed, but not there: another ending from {at} on"
    if later is not None:
        yield f"marked as later, but told: {[_named(events) for events in armada]}"


def _named(events: Sequence[Event]) -> tuple[str, ...]:
    return tuple(event.name for event in events)


def _whole(events: Sequence[Event]) -> list[dict[str, dict[str, Any]]]:
    return [{event.name: {key: value for key, value in event.fields.items() if key not in PLACE}} for event in events]


def _shown(difference: Difference) -> str:
    place = f"job {difference.job}, {difference.at} {difference.event}.{difference.field}"
    return f"{place}: {difference.armada!r} | {difference.refloat!r}"
