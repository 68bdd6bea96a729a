"""Who is leased next, and where to."""

from collections.abc import Mapping

import pytest

from refloat_common.core.ids import ExecutorId, JobId
from refloat_host.core.leasing import Assignment, Line, Step, Waiting, assign

EAST, WEST = ExecutorId("east"), ExecutorId("west")


def waiting(name: str, asks: str = "any", priority: int = 0, submitted_at_ms: int = 0) -> Waiting:
    return Waiting(JobId(name), priority, submitted_at_ms, asks)


def line(queue: str, *heads: str | Waiting, factor: float = 1.0, runs: int = 0, more: bool = False) -> Line:
    made = tuple(waiting(head) if isinstance(head, str) else head for head in heads)
    return Line(queue=queue, priority_factor=factor, runs=runs, heads=made, more=more)


def fits_by(table: Mapping[str, set[ExecutorId]], asks: str, executor: ExecutorId) -> bool:
    return asks not in table or executor in table[asks]


def step(*lines: Line, slots: Mapping[ExecutorId, int], limit: int = 100, **fits: set[ExecutorId]) -> Step:
    return assign(lines, slots, lambda asks, executor: fits_by(fits, asks, executor), limit)


def order(result: Step) -> str:
    return " ".join(assignment.job_id for assignment in result.assignments)


def test_one_job_goes_to_the_roomiest_executor() -> None:
    result = step(line("q", "a"), slots={EAST: 1, WEST: 2})
    assert result == Step(
        assignments=(Assignment(JobId("a"), "q", WEST),),
        lines=(line("q", runs=1),),
        slots={EAST: 1, WEST: 1},
    )


def test_equal_queues_take_turns() -> None:
    result = step(line("a", "a1", "a2", "a3"), line("b", "b1", "b2", "b3"), slots={EAST: 5})
    assert order(result) == "a1 b1 a2 b2 a3"


def test_a_queue_that_holds_runs_waits_until_the_other_has_caught_up() -> None:
    result = step(line("a", "a1", "a2", runs=2), line("b", "b1", "b2", "b3"), slots={EAST: 4})
    assert order(result) == "b1 b2 a1 b3"


def test_shares_go_by_the_inverse_of_the_factor() -> None:
    a, b = [[f"{queue}{n}" for n in range(12)] for queue in "ab"]
    result = step(line("a", *a, factor=1), line("b", *b, factor=3), slots={EAST: 12})
    taken = [assignment.queue for assignment in result.assignments]
    assert (taken.count("a"), taken.count("b")) == (9, 3)


def test_a_job_that_fits_nowhere_is_passed_over_and_the_next_one_taken() -> None:
    result = step(line("q", waiting("huge", "huge"), "small"), slots={EAST: 1}, huge=set())
    assert (order(result), result.passed) == ("small", 1)


def test_an_executor_without_a_fitting_node_is_not_chosen() -> None:
    result = step(line("q", waiting("gpu", "gpu")), slots={EAST: 1, WEST: 9}, gpu={EAST})
    assert result.assignments == (Assignment(JobId("gpu"), "q", EAST),)


def test_a_job_waits_for_its_only_executor_while_that_is_full() -> None:
    result = step(line("q", waiting("gpu", "gpu"), "plain"), slots={EAST: 0, WEST: 1}, gpu={EAST})
    assert result.assignments == (Assignment(JobId("plain"), "q", WEST),)


def test_executors_fill_evenly() -> None:
    result = step(line("q", *"abcd"), slots={EAST: 2, WEST: 2})
    assert [assignment.executor for assignment in result.assignments] == [EAST, WEST, EAST, WEST]


def test_the_limit_holds_whatever_room_there_is() -> None:
    assert order(step(line("q", *"abcd"), slots={EAST: 9}, limit=2)) == "a b"


@pytest.mark.parametrize("slots", [{}, {EAST: 0}])
def test_without_room_nothing_happens(slots: Mapping[ExecutorId, int]) -> None:
    before = line("q", "a", more=True)
    assert step(before, slots=slots) == Step((), (before,), slots)


def test_a_queue_whose_turn_it_is_asks_for_its_next_page() -> None:
    result = step(line("a", "a1", more=True), line("b", "b1", "b2", "b3", runs=5), slots={EAST: 9})
    assert result == Step(
        assignments=(Assignment(JobId("a1"), "a", EAST),),
        lines=(line("a", runs=1, more=True), line("b", "b1", "b2", "b3", runs=5)),
        slots={EAST: 8},
        hungry="a",
    )


def test_a_queue_without_jobs_leaves_its_turn_to_the_others() -> None:
    result = step(line("a", "a1"), line("b", "b1", "b2", runs=5), slots={EAST: 9})
    assert (order(result), result.hungry) == ("a1 b1 b2", None)


def test_a_page_of_jobs_that_fit_nowhere_asks_for_the_next() -> None:
    result = step(line("a", waiting("x", "huge"), waiting("y", "huge"), more=True), slots={EAST: 1}, huge=set())
    assert (result.hungry, result.passed, result.assignments) == ("a", 2, ())
