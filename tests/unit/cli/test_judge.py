"""The judge believes the event stream and the journals, and says what differs from the script."""

from dataclasses import replace

import pytest

from refloat_cli.demo.judge import Cleared, Course, Tally, complaints, follow, tallies
from refloat_cli.demo.scenario import Expectation, PlannedJob
from refloat_common.core.ids import JobId, RunId
from refloat_scheduler.core.events import Event, JobFailed, JobLeased, JobRunning, JobSucceeded


def _expect(state: str, failures: tuple[str, ...] = (), then_any: str = "", *, moves: bool = False) -> Expectation:
    return Expectation.model_validate({"state": state, "failures": failures, "thenAny": then_any, "moves": moves})


def _leased(run: str) -> Event:
    return JobLeased(job_id=JobId("j"), job_set_id="s", queue="q", created_ms=1, run_id=RunId(run))


def _running(run: str, node: str) -> Event:
    return JobRunning(job_id=JobId("j"), job_set_id="s", queue="q", created_ms=1, run_id=RunId(run), node_name=node)


def _failed(run: str, category: str = "oom", subcategory: str = "", *, retryable: bool = False) -> Event:
    return JobFailed(
        job_id=JobId("j"),
        job_set_id="s",
        queue="q",
        created_ms=1,
        run_id=RunId(run),
        failure_category=category,
        failure_subcategory=subcategory,
        retryable=retryable,
    )


def _succeeded(run: str) -> Event:
    return JobSucceeded(job_id=JobId("j"), job_set_id="s", queue="q", created_ms=1, run_id=RunId(run))


RETRIED = [
    _leased("r1"),
    _running("r1", "n1"),
    _failed("r1", retryable=True),
    _leased("r2"),
    _running("r2", "n2"),
    _succeeded("r2"),
]
CLEARED = Cleared("r1", "oom", deleted=True, gone=True)


def _told(events: list[Event]) -> Course:
    course = Course()
    for event in events:
        follow(course, event)
    return course


def _complaints(expect: Expectation, events: list[Event], *cleared: Cleared) -> list[str]:
    job = PlannedJob("job-1", "q", {}, "1Mi", expect)
    return [finding["what"] for finding in complaints([job], {"job-1": _told(events)}, cleared)]


def test_a_job_that_went_as_its_script_says_is_no_complaint() -> None:
    assert _complaints(_expect("succeeded", failures=("oom",)), RETRIED, CLEARED) == []
    assert _complaints(_expect("succeeded", then_any="oom", moves=True), RETRIED, CLEARED) == []


@pytest.mark.parametrize(
    ("expect", "events", "what"),
    [
        (_expect("failed", failures=("oom",)), RETRIED, "ended as succeeded, not failed"),
        (_expect("succeeded"), RETRIED, "failed with ['oom'], not []"),
        (_expect("succeeded", then_any="gpu"), RETRIED, "failed with ['oom'], not ['gpu …']"),
        (_expect("succeeded", failures=("oom", "oom")), RETRIED, "failed with ['oom'], not ['oom', 'oom']"),
        (_expect("succeeded", failures=("oom",)), [*RETRIED, _succeeded("r2")], "ended 2 times"),
        (_expect("succeeded", failures=("oom",)), [_leased("r0"), *RETRIED], "had 3 runs for 1 failures"),
        (
            _expect("succeeded", failures=("oom",), moves=True),
            [*RETRIED[:4], _running("r2", "n1"), _succeeded("r2")],
            "ran twice on one node: ['n1', 'n1']",
        ),
    ],
)
def test_each_departure_is_a_complaint(expect: Expectation, events: list[Event], what: str) -> None:
    assert _complaints(expect, events, CLEARED) == [what]


def test_a_job_that_nobody_heard_of_is_a_complaint() -> None:
    job = PlannedJob("job-1", "q", {}, "1Mi", _expect("succeeded"))
    assert complaints([job], {}, []) == [{"job": "job-1", "what": "ended as waiting, not succeeded"}]


def test_pods_that_were_cleared_twice_or_never_confirmed_are_complaints() -> None:
    expect = _expect("succeeded", failures=("oom",))
    assert _complaints(expect, RETRIED, CLEARED, CLEARED) == ["run r1 stands twice in the journals"]
    assert _complaints(expect, RETRIED, replace(CLEARED, gone=False)) == [
        "the pod of run r1 was deleted but never confirmed gone"
    ]


def test_tallies_count_events_and_journals_by_category() -> None:
    events = [*RETRIED, _failed("r3", "user-error", "command")]
    assert tallies(events, [CLEARED, Cleared("r3", "user-error", deleted=False, gone=False)]) == {
        "oom": Tally(failures=1, deleted=1, confirmed_gone=1, retries=1, terminal=0),
        "user-error": Tally(failures=1, deleted=0, confirmed_gone=0, retries=0, terminal=1),
    }
