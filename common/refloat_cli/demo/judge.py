"""Decides what the demo came to, from the event stream and the executors' journals alone; the script is only compared.

Pure: what the parts of the system wrote goes in, counts and complaints come out.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from refloat_cli.demo.scenario import Expectation, PlannedJob
from refloat_scheduler.core.events import Event, JobFailed, JobLeased, JobRunning, JobSucceeded, is_terminal


@dataclass(slots=True)
class Course:
    """One job as the event stream tells it. `failures` are categories in order, `nodes` those of its runs."""

    state: str = "waiting"
    failures: list[str] = field(default_factory=list)
    nodes: dict[str, str] = field(default_factory=dict)
    runs: dict[str, None] = field(default_factory=dict)
    retries: int = 0
    endings: int = 0


@dataclass(frozen=True, slots=True)
class Cleared:
    """One failed run in an executor's journal: its category, whether its pod was deleted, and was confirmed gone."""

    run: str
    category: str
    deleted: bool
    gone: bool


@dataclass(slots=True)
class Tally:
    """Counts of one category."""

    failures: int = 0
    deleted: int = 0
    confirmed_gone: int = 0
    retries: int = 0
    terminal: int = 0


def full_category(event: JobFailed) -> str:
    """`category/subcategory`, or the category alone."""
    parts = (event.failure_category, event.failure_subcategory)
    return "/".join(part for part in parts if part)


def follow(course: Course, event: Event) -> None:
    """Take one event of the job into its course."""
    if is_terminal(event):
        course.endings += 1
    match event:
        case JobLeased():
            course.state = "leased"
            course.runs[event.run_id] = None
        case JobRunning():
            course.state = "running"
            course.nodes[event.run_id] = event.node_name
        case JobSucceeded():
            course.state = "succeeded"
        case JobFailed():
            course.failures.append(full_category(event))
            course.retries += event.retryable
            course.state = "retrying" if event.retryable else "failed"
            if event.node_name:
                course.nodes[event.run_id] = event.node_name
        case _:
            pass


def tallies(events: Iterable[Event], cleared: Iterable[Cleared]) -> dict[str, Tally]:
    """Counts by category, in order of name."""
    counts: dict[str, Tally] = {}
    for event in events:
        if isinstance(event, JobFailed):
            tally = counts.setdefault(event.failure_category or "none", Tally())
            tally.failures += 1
            tally.retries += event.retryable
            tally.terminal += not event.retryable
    for run in cleared:
        tally = counts.setdefault(run.category or "none", Tally())
        tally.deleted += run.deleted
        tally.confirmed_gone += run.gone
    return dict(sorted(counts.items()))


def complaints(
    planned: Sequence[PlannedJob], courses: Mapping[str, Course], cleared: Sequence[Cleared]
) -> list[dict[str, str]]:
    """Every job that did not end as its script says, and whatever was done twice; empty where all is well."""
    found = [
        {"job": job.name, "what": what}
        for job in planned
        for what in _against(job.expect, courses.get(job.name, Course()))
    ]
    twice = [run for run, times in Counter(entry.run for entry in cleared).items() if times > 1]
    found += [{"job": "", "what": f"run {run} stands twice in the journals"} for run in twice]
    found += [
        {"job": "", "what": f"the pod of run {entry.run} was deleted but never confirmed gone"}
        for entry in cleared
        if entry.deleted and not entry.gone
    ]
    return found


def _against(expect: Expectation, course: Course) -> Iterable[str]:
    if course.state != expect.state:
        yield f"ended as {course.state}, not {expect.state}"
    if course.endings > 1:
        yield f"ended {course.endings} times"
    fixed, rest = course.failures[: len(expect.failures)], course.failures[len(expect.failures) :]
    if tuple(fixed) != expect.failures or any(category != expect.then_any for category in rest):
        wanted = [*expect.failures, *([f"{expect.then_any} …"] if expect.then_any else [])]
        yield f"failed with {course.failures}, not {wanted}"
    if len(course.runs) != len(course.failures) + (course.state == "succeeded"):
        yield f"had {len(course.runs)} runs for {len(course.failures)} failures"
    if expect.moves and len(set(course.nodes.values())) != len(course.nodes):
        yield f"ran twice on one node: {list(course.nodes.values())}"
