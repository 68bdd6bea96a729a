"""The store without HTTP: bounded history, past versions, watches, what a simulation asks of it."""

from typing import Any

import pytest

from refloat_fakekube.core.refusals import ExpiredError
from refloat_fakekube.core.resources import CONFIG_MAPS, NODES, PODS
from refloat_fakekube.core.selectors import Selector, parse_labels
from refloat_fakekube.core.store.answers import Page
from refloat_fakekube.core.store.requests import Create, Delete, Get, List, Patch, Replace, Target, Watch, WriteOptions
from refloat_fakekube.core.store.store import Store
from refloat_fakekube.core.store.tables import HistoryLimits
from testkit.fakekube_world import World

MAPS = Target(CONFIG_MAPS, "default")


def config_map(name: str, value: str = "", **labels: str) -> Any:
    return {"metadata": {"name": name, "labels": labels}, "data": {"value": value}}


def put(world: World, name: str, value: str) -> None:
    world.do(Replace(Target(CONFIG_MAPS, "default", name), config_map(name, value)))


def page(world: World, **options: Any) -> Page:
    answer = world.do(List(MAPS, **options))
    assert isinstance(answer, Page)
    return answer


def shown(found: Page) -> list[str]:
    return [stored.name for stored in found.items]


def test_versions_rise_by_one_with_every_change_of_anything() -> None:
    world = World()
    start = world.store.version
    world.do(Create(MAPS, config_map("a")))
    world.do(Create(Target(NODES), {"metadata": {"name": "n"}}))
    put(world, "a", "1")
    put(world, "a", "1")
    assert world.store.version == start + 3


def test_a_refused_request_changes_nothing() -> None:
    world = World()
    start = world.store.version
    world.ask(Create(Target(PODS, "default"), {"metadata": {"name": "Bad"}, "spec": {}}))
    world.ask(Delete(Target(PODS, "default", "no-such")))
    assert world.store.version == start


def test_a_dry_run_shows_the_object_and_keeps_nothing() -> None:
    world = World()
    start = world.store.version
    world.do(Create(MAPS, config_map("a"), WriteOptions(dry_run=True)))
    assert (world.store.version, shown(page(world))) == (start, [])


def test_a_past_version_can_be_read_while_it_is_kept() -> None:
    world = World()
    for name in ("a", "b"):
        world.do(Create(MAPS, config_map(name)))
    then = str(world.store.version)
    put(world, "a", "new")
    world.do(Delete(Target(CONFIG_MAPS, "default", "b")))
    world.do(Create(MAPS, config_map("c")))
    past = page(world, version=then, match="Exact")
    assert shown(past) == ["a", "b"]
    assert past.items[0].read()["data"] == {"value": ""}
    assert shown(page(world)) == ["a", "c"]


def test_history_is_bounded_by_count() -> None:
    world = World(store=Store(HistoryLimits(changes=3)))
    world.do(Create(MAPS, config_map("a")))
    then = world.store.version
    for value in "123":
        put(world, "a", value)
    assert [len(world.store.watch(Watch(MAPS, version=str(then))).missed)] == [3]
    put(world, "a", "4")
    with pytest.raises(ExpiredError):
        world.store.watch(Watch(MAPS, version=str(then)))


def test_history_is_bounded_by_size() -> None:
    world = World(store=Store(HistoryLimits(size_bytes=3000)))
    world.do(Create(MAPS, config_map("a")))
    then = world.store.version
    for value in "123":
        put(world, "a", value * 1000)
    with pytest.raises(ExpiredError):
        world.store.watch(Watch(MAPS, version=str(then)))
    assert len(world.store.watch(Watch(MAPS, version=str(world.store.version - 1))).missed) == 1


def test_compaction_spares_other_resources() -> None:
    world = World()
    world.do(Create(Target(NODES), {"metadata": {"name": "n"}}))
    then = str(world.store.version)
    world.do(Create(MAPS, config_map("a")))
    world.store.compact(CONFIG_MAPS)
    assert world.store.watch(Watch(Target(NODES), version=then)).missed == ()
    with pytest.raises(ExpiredError):
        world.store.watch(Watch(MAPS, version=then))


def test_a_watch_from_nowhere_shows_what_is_picked() -> None:
    world = World()
    world.do(Create(MAPS, config_map("a", mine="yes")))
    world.do(Create(MAPS, config_map("b", mine="no")))
    opened = world.store.watch(Watch(MAPS, Selector("default", parse_labels("mine=yes"))))
    assert ([one.name for one in opened.shown], opened.missed, opened.marked) == (["a"], (), False)


def test_an_object_is_encoded_once_for_all_watchers() -> None:
    world = World()
    applied = world.store.apply(Create(MAPS, config_map("a")), world.now_s, world.ids)
    change = applied.changes[0]
    assert change.line("ADDED") is change.line("ADDED")


def test_time_and_ids_come_in_as_arguments() -> None:
    def made() -> Any:
        world = World(now_s=0.0)
        world.do(Create(MAPS, config_map("a")))
        world.do(Patch(Target(CONFIG_MAPS, "default", "a"), "merge", {"data": {"value": "1"}}))
        return world.do(Get(Target(CONFIG_MAPS, "default", "a")))

    assert made() == made()
    assert b'"creationTimestamp":"1970-01-01T00:00:00Z"' in made().data
