"""Leasing, whatever the queues, the jobs and the executors: fair, complete, and the same for every size of page."""

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from refloat_common.core.ids import ExecutorId, JobId
from refloat_host.core.leasing import Assignment, Line, Waiting, assign

EXECUTORS = tuple(map(ExecutorId, ("east", "north", "west")))
KINDS = ("small", "large", "gpu", "impossible")

Table = Mapping[str, frozenset[ExecutorId]]

tables = st.fixed_dictionaries(
    {
        "small": st.just(frozenset(EXECUTORS)),
        "large": st.frozensets(st.sampled_from(EXECUTORS)),
        "gpu": st.frozensets(st.sampled_from(EXECUTORS), max_size=1),
        "impossible": st.just(frozenset[ExecutorId]()),
    }
)
slot_counts = st.dictionaries(st.sampled_from(EXECUTORS), st.integers(0, 6))
factors = st.sampled_from((1.0, 1.5, 2.0, 10.0))


@st.composite
def all_lines(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS) -> tuple[Line, ...]:
    """Up to four queues, each whole: nothing more in the store."""
    lines = []
    for queue in "abcd"[: draw(st.integers(0, 4))]:
        asks = draw(st.lists(st.sampled_from(kinds), max_size=10))
        heads = tuple(Waiting(JobId(f"{queue}{n}"), 0, n, kind) for n, kind in enumerate(asks))
        lines.append(Line(queue=queue, priority_factor=draw(factors), runs=draw(st.integers(0, 5)), heads=heads))
    return tuple(lines)


def in_pages(
    lines: tuple[Line, ...], slots: Mapping[ExecutorId, int], table: Table, limit: int, page: int
) -> tuple[list[Assignment], dict[str, Line], Mapping[ExecutorId, int]]:
    """Run a round as the service does: each queue's jobs a page at a time. Also what is left at the end."""
    whole = {line.queue: line.heads for line in lines}
    read = {line.queue: page for line in lines}
    now = {line.queue: replace(line, heads=line.heads[:page], more=len(line.heads) > page) for line in lines}
    made: list[Assignment] = []
    while True:
        step = assign(list(now.values()), slots, lambda asks, name: name in table[asks], limit - len(made))
        made += step.assignments
        slots = step.slots
        now = {line.queue: line for line in step.lines}
        if step.hungry is None:
            return made, now, slots
        queue, start = step.hungry, read[step.hungry]
        read[queue] += page
        more = len(whole[queue]) > read[queue]
        now[queue] = replace(now[queue], heads=(*now[queue].heads, *whole[queue][start : start + page]), more=more)


@given(all_lines(), slot_counts, tables, st.integers(0, 12), st.integers(1, 11))
def test_pages_change_nothing(
    lines: tuple[Line, ...], slots: dict[ExecutorId, int], table: Table, limit: int, page: int
) -> None:
    whole, _, left = in_pages(lines, slots, table, limit, 100)
    paged, _, left_of_paged = in_pages(lines, slots, table, limit, page)
    assert (paged, left_of_paged) == (whole, left)


@given(all_lines(), slot_counts, tables, st.integers(0, 12))
def test_nobody_gets_more_than_there_is_and_only_what_fits(
    lines: tuple[Line, ...], slots: dict[ExecutorId, int], table: Table, limit: int
) -> None:
    made, _, left = in_pages(lines, slots, table, limit, 3)
    asks = {head.job_id: head.asks for line in lines for head in line.heads}
    assert len({assignment.job_id for assignment in made}) == len(made) <= limit
    for assignment in made:
        assert assignment.executor in table[asks[assignment.job_id]]
    for executor in EXECUTORS:
        used = sum(assignment.executor == executor for assignment in made)
        assert used + left.get(executor, 0) == slots.get(executor, 0)
        assert left.get(executor, 0) >= 0


@given(all_lines(), slot_counts, tables)
def test_nothing_that_could_run_is_left_waiting(
    lines: tuple[Line, ...], slots: dict[ExecutorId, int], table: Table
) -> None:
    made, _, left = in_pages(lines, slots, table, 100, 3)
    taken = {assignment.job_id for assignment in made}
    free = {executor for executor, count in left.items() if count > 0}
    for line in lines:
        for head in line.heads:
            assert head.job_id in taken or not free & table[head.asks], head


@given(all_lines(kinds=("small",)), slot_counts, tables, st.integers(0, 12))
def test_a_queue_gets_its_jobs_in_order_and_no_queue_runs_ahead_of_its_share(
    lines: tuple[Line, ...], slots: dict[ExecutorId, int], table: Table, limit: int
) -> None:
    made, _, _ = in_pages(lines, slots, table, limit, 3)
    runs, taken = {}, {}
    for line in lines:
        mine = [assignment.job_id for assignment in made if assignment.queue == line.queue]
        assert mine == [head.job_id for head in line.heads[: len(mine)]]
        runs[line.queue], taken[line.queue] = line.runs + len(mine), len(mine)
    for ahead in lines:
        for behind in lines:
            if taken[ahead.queue] and taken[behind.queue] < len(behind.heads):
                held = runs[ahead.queue] * ahead.priority_factor
                assert held <= (runs[behind.queue] + 1) * behind.priority_factor
