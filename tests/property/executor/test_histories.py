"""Long random histories of the executor's brain, weighted so that runs get far; and short ones with a crash anywhere.

A history is a function of its seed. At its end the world turns kind, and every run must come to an end of its own.
"""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from testkit.executor.cluster import ENDS
from testkit.executor.world import LIMITS, BrainWorld

Deed = Callable[[BrainWorld, random.Random], None]


def _any_pod(deed: Callable[[BrainWorld, random.Random, str], None]) -> Deed:
    def do(world: BrainWorld, chance: random.Random) -> None:
        if world.cluster.pods:
            deed(world, chance, chance.choice(list(world.cluster.pods)))

    return do


def _lease(world: BrainWorld, chance: random.Random) -> None:
    if len(world.leased) < 8:
        world.lease(chance.choice(("j1", "j2", "j3")))


def _offer(world: BrainWorld, chance: random.Random) -> None:
    if world.leased:
        world.offer(chance.choice(list(world.leased)))


def _kill(world: BrainWorld, chance: random.Random) -> None:
    if world.leased:
        world.kill(chance.choice(list(world.leased)))


def _answer(worst: int) -> Deed:
    def do(world: BrainWorld, chance: random.Random) -> None:
        if world.asked:
            world.answer(chance.randrange(99), chance.randint(0, worst))

    return do


def _acknowledge(world: BrainWorld, chance: random.Random) -> None:
    if world.reports:
        world.acknowledge(chance.randint(world.brain.book.acked_seq, len(world.reports)))


DEEDS: tuple[tuple[float, Deed], ...] = (
    (3, _lease),
    (1, _offer),
    (4, lambda world, _: world.confirm()),
    (0.5, _kill),
    (14, lambda world, _: world.commit()),
    (12, _answer(0)),
    (4, _answer(12)),
    (10, _any_pod(lambda world, chance, name: world.cluster.advance(world.cluster.pods[name], chance.randrange(99)))),
    (0.6, _any_pod(lambda world, chance, name: world.delete_from_outside(name, at_once=chance.random() < 0.3))),
    (0.8, _any_pod(lambda world, chance, _: world.hold(chance.randrange(99)))),
    (0.5, _any_pod(lambda world, _, name: world.cluster.blink(world.cluster.pods[name]))),
    (12, lambda world, chance: world.watch(chance.randint(1, 4))),
    (1, lambda world, _: world.relist()),
    (1, lambda world, _: world.land()),
    (3, _acknowledge),
    (2, lambda world, chance: world.pass_time(chance.choice((0.1, 1.0, 4.0, 20.0, 61.0)))),
    (0.4, lambda world, chance: world.stand_still(chance.choice((6.0, 40.0, 120.0)))),
    (3, lambda world, _: world.next_timer()),
    (0.7, lambda world, _: world.crash()),
)


def play(seed: int, steps: int = 120) -> BrainWorld:
    chance = random.Random(seed)
    world = BrainWorld(limits=replace(LIMITS, reads_events=chance.random() < 0.3))
    for _ in range(steps):
        world.dice = chance.random()
        deed = chance.choices([deed for _, deed in DEEDS], [weight for weight, _ in DEEDS])[0]
        deed(world, chance)
        world.check_journal()
    world.heal()
    return world


@pytest.mark.parametrize("hundred", range(6))
def test_random_histories(hundred: int) -> None:
    for seed in range(hundred * 100, hundred * 100 + 100):
        play(seed)


def _run_to_its_end(crash_at: int, outcome: int, kill: bool, stuck: bool, deleted: bool) -> BrainWorld:  # noqa: FBT001  a row
    """Two runs of one job, one after the other, in a kind world; the process dies once."""
    world = BrainWorld(outcome=outcome, crash_at=crash_at)
    world.lease("j1")
    world.heal(until=lambda: bool(world.cluster.pods))
    if stuck and world.cluster.pods:
        world.hold(0)
    if deleted and world.cluster.pods:
        world.delete_from_outside("armada-j1-0", at_once=False)
    if kill:
        world.kill("r1")
    world.heal()
    world.lease("j1")
    world.heal()
    return world


STORIES = [
    *((outcome, False, False, False) for outcome in range(len(ENDS))),
    (0, True, False, False),
    (1, True, True, False),
    (0, False, False, True),
    (1, False, True, True),
]
"""How the pod ends; whether the run is killed, its pod held by a finalizer, its pod deleted by somebody."""


@pytest.mark.parametrize("story", STORIES)
def test_a_crash_at_every_point(story: tuple[int, bool, bool, bool]) -> None:
    whole = _run_to_its_end(0, *story)
    for crash_at in range(1, whole.points + 1):
        world = _run_to_its_end(crash_at, *story)
        assert world.crashes == 1
