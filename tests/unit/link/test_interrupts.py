"""At every single thing that an end does it dies once; afterwards nothing is lost, doubled or started twice."""

from collections.abc import Callable

import pytest

from testkit.link.pair import CrashError, Pair

Story = Callable[[Pair], None]


def reports_flow(pair: Pair) -> None:
    pair.next_timer()
    pair.settle()
    for i in range(20):
        pair.report(f"r{i}")
    pair.settle()


def runs_come_and_go(pair: Pair) -> None:
    pair.next_timer()
    pair.settle()
    for run in ("a", "b", "c"):
        pair.lease(run)
    pair.settle()
    pair.cancel("b")
    pair.settle()
    pair.end("a")
    pair.settle()


def the_scheduler_restarts(pair: Pair) -> None:
    reports_flow(pair)
    pair.start_scheduler()
    runs_come_and_go(pair)


STORIES: dict[str, Story] = {
    "reports flow": reports_flow,
    "runs come and go": runs_come_and_go,
    "the scheduler restarts": the_scheduler_restarts,
}


def effects_of(story: Story) -> int:
    pair = Pair()
    story(pair)
    return pair.effects_done


@pytest.mark.parametrize("story", STORIES)
def test_a_crash_at_any_effect_is_survived(story: str) -> None:
    total = effects_of(STORIES[story])
    assert total > 30
    for crash_at in range(1, total + 1):
        pair = Pair()
        pair.crash_at = crash_at
        try:
            STORIES[story](pair)
        except CrashError as crash:
            pair.start_again(crash.who)
        pair.heal()
        assert pair.journal.acked == len(pair.journal.reports), crash_at
        assert list(pair.applied_seqs()) == list(range(1, len(pair.journal.reports) + 1)), crash_at
        assert len(pair.journal.started) == len(set(pair.journal.started)), crash_at
        living = pair.store.leased - pair.store.ended
        assert all(pair.journal.held[run].status == "active" for run in living), crash_at
        assert set(pair.journal.held) == living, crash_at
