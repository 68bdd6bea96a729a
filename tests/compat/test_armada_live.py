"""Every recorded scenario of a running Armada, played to Refloat: users are told the same, but for what is listed."""

from itertools import takewhile

import pytest

from refloat_fakekube.core.objects import Json, objects, section
from testkit.armada_live.compare import told_by_armada, told_by_refloat
from testkit.armada_live.departures import complaints, read
from testkit.armada_live.page import PAGE, event_section, replaced
from testkit.armada_live.recordings import DeletedByExecutor, Status, load, names
from testkit.armada_live.stage import play

NAMES = names()
LISTED = read()
SEVERAL_SEEDS = ["on-exit-1", "on-deleted-exit-0", "on-exit-9-retain", "on-lease-retry", "off-gang-2"]
"""Scenarios of each kind: retried, deleted by somebody, collided, lost, of two jobs."""


def asked(pod: Json) -> list[Json]:
    """What each container of a pod asks for: what a retry changes."""
    return [section(container, "resources") for container in objects(pod, "spec", "containers")]


def test_every_scenario_is_here() -> None:
    engines = {name: load(name).engine for name in NAMES}
    on = [name for name, engine in engines.items() if engine != "off"]
    assert (len(NAMES) - len(on), len(on)) == (34, 20)
    assert all(name.startswith("on-") for name in on)


@pytest.mark.parametrize("name", NAMES)
def test_refloat_tells_what_armada_told(name: str) -> None:
    recording = load(name)
    played = play(recording)
    assert complaints(LISTED, name, told_by_armada(recording), told_by_refloat(played)) == []
    if LISTED.is_later(name) is None:
        assert played.not_done == ()
    for ours, theirs in zip(played.pods, recording.pods, strict=True):
        both = min(len(ours), len(theirs))
        assert [asked(pod) for pod in ours[:both]] == [asked(pod.made) for pod in theirs[:both]]


@pytest.mark.parametrize("name", SEVERAL_SEEDS)
def test_chance_changes_nothing_in_it(name: str) -> None:
    recording = load(name)
    first, *others = [told_by_refloat(play(recording, seed)) for seed in range(4)]
    assert others == [first] * 3


def test_every_listed_departure_is_about_events_that_were_recorded() -> None:
    told = {name: told_by_armada(load(name)) for name in NAMES}
    places = [(name, at, event.name) for name in NAMES for job in told[name] for at, event in enumerate(job)]
    for case in LISTED.field_cases():
        for pattern in case.scenarios:
            alone = type(case)(scenarios=(pattern,), event=case.event, at=case.at)
            assert any(alone.covers(*place) for place in places), (pattern, case.event)
    for ending in LISTED.ending_cases():
        assert ending.scenario in NAMES
    for later in LISTED.later:
        assert set(later.scenarios) <= set(NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if LISTED.is_later(name)])
def test_what_is_left_for_later_shows_itself_only_in_time_spent_pending(name: str) -> None:
    for pod in load(name).pods[0]:
        by_itself = takewhile(lambda step: not isinstance(step.deed, DeletedByExecutor), pod.steps)
        phases = {step.deed.status["phase"] for step in by_itself if isinstance(step.deed, Status)}
        assert phases == {"Pending"}


def test_each_departure_has_its_own_name_and_gives_a_reason() -> None:
    ids = [departure.id for departure in LISTED.departures]
    assert len(set(ids)) == len(ids)
    assert all(d.reason and d.source and (d.fields or d.endings) for d in LISTED.departures)


def test_the_page_shows_the_list() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == replaced(page, event_section(LISTED))
