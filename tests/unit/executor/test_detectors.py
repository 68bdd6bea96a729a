"""What a change of a run's pod means."""

import msgspec
import pytest

from refloat_common.core.pods import ContainerState, ContainerStatus, Pod, PodStatus, StateTerminated
from refloat_executor.core.detectors import Sighting, detect
from refloat_executor.core.ledger.values.entry import Entry, Progress, State
from refloat_executor.core.ledger.values.news import (
    News,
    PodFailed,
    PodPending,
    PodRunning,
    PodSucceeded,
    PodUnseen,
)
from testkit.pod_makers import UID, ended, pod, running

EARLY, ASKED, LATE = "2026-11-30T12:00:00Z", "2026-11-30T12:00:05Z", "2026-11-30T12:00:07Z"
DEADLINE = "2026-11-30T12:00:35Z"
"""The deletion timestamp of a pod with 30 s of grace whose deletion was asked for at ASKED."""

PENDING = pod(phase="Pending")
NEW = msgspec.structs.replace(pod(), status=PodStatus())
RUNNING = pod(running("main"), phase="Running")
LEAVING = pod(running("main"), phase="Running", deleted_at=DEADLINE, grace_s=30)
DONE = pod(ended("main", 0, "Completed", finished_at=EARLY), phase="Succeeded")
FAILED = pod(ended("main", 1, finished_at=EARLY))


def with_deletion(code: int, finished_at: str, phase: str) -> Pod:
    return pod(ended("main", code, finished_at=finished_at), phase=phase, deleted_at=DEADLINE, grace_s=30)


def run(progress: Progress = Progress.NONE) -> Entry:
    return Entry(
        run="r", job="j", namespace="batch", name="armada-job-a-0", state=State.ACTIVE, uid=UID, progress=progress
    )


CASES: dict[str, tuple[Pod | None, Pod | None, Progress, News | None]] = {
    "pending": (None, PENDING, Progress.NONE, PodPending(PENDING)),
    "without a status yet": (None, NEW, Progress.NONE, PodPending(NEW)),
    "pending again": (PENDING, PENDING, Progress.PENDING, None),
    "running": (PENDING, RUNNING, Progress.PENDING, PodRunning(RUNNING)),
    "running at first sight": (None, RUNNING, Progress.NONE, PodRunning(RUNNING)),
    "running again": (RUNNING, RUNNING, Progress.RUNNING, None),
    "on its way out": (RUNNING, LEAVING, Progress.RUNNING, None),
    "succeeded": (RUNNING, DONE, Progress.RUNNING, PodSucceeded(DONE)),
    "failed": (RUNNING, FAILED, Progress.RUNNING, PodFailed(FAILED)),
    "failed at first sight": (None, FAILED, Progress.NONE, PodFailed(FAILED)),
    "of an unknown phase": (RUNNING, pod(phase="Unknown"), Progress.RUNNING, None),
    "deleted, then ended with 0": (
        LEAVING,
        with_deletion(0, LATE, "Succeeded"),
        Progress.RUNNING,
        PodFailed(with_deletion(0, LATE, "Succeeded"), foreign_delete=True),
    ),
    "ended with 0 after a deletion that was not seen": (
        RUNNING,
        with_deletion(0, LATE, "Succeeded"),
        Progress.RUNNING,
        PodFailed(with_deletion(0, LATE, "Succeeded"), foreign_delete=True),
    ),
    "ended with 0 in the second of the deletion": (
        RUNNING,
        with_deletion(0, ASKED, "Succeeded"),
        Progress.RUNNING,
        PodFailed(with_deletion(0, ASKED, "Succeeded"), foreign_delete=True),
    ),
    "ended with 0 before its deletion": (
        RUNNING,
        with_deletion(0, EARLY, "Succeeded"),
        Progress.RUNNING,
        PodSucceeded(with_deletion(0, EARLY, "Succeeded")),
    ),
    "deleted, then ended with 143": (
        LEAVING,
        with_deletion(143, LATE, "Failed"),
        Progress.RUNNING,
        PodFailed(with_deletion(143, LATE, "Failed"), foreign_delete=True),
    ),
    "no longer shown": (RUNNING, None, Progress.RUNNING, PodUnseen(LEAVING)),
}


@pytest.mark.parametrize(("before", "after", "progress", "finding"), CASES.values(), ids=CASES.keys())
def test_findings(before: Pod | None, after: Pod | None, progress: Progress, finding: News | None) -> None:
    last = LEAVING if after is None else None
    assert detect(Sighting(before, after, last, run(progress), 0.0)) == finding


WAITS = {
    "137 without a reason": (pod(ended("main", 137)), 1.0),
    "137 of a second container": (pod(ended("main", 1), ended("side", 137)), 1.0),
    "137 of an init container": (pod(init=(ended("prep", 137),)), 1.0),
    "out of memory": (pod(ended("main", 137, "OOMKilled")), 0.0),
    "137 beside one that ran out of memory": (pod(ended("main", 137), ended("side", 137, "OOMKilled")), 0.0),
    "137 of an evicted pod": (pod(ended("main", 137), reason="Evicted"), 0.0),
    "any other code": (pod(ended("main", 1)), 0.0),
    "nothing ended": (pod(), 0.0),
    "no state": (pod(ContainerStatus("main")), 0.0),
}


@pytest.mark.parametrize(("failed", "wait_s"), WAITS.values(), ids=WAITS.keys())
def test_only_137_without_a_reason_is_waited_for(failed: Pod, wait_s: float) -> None:
    finding = detect(Sighting(None, failed, None, run(), 0.0))
    assert isinstance(finding, PodFailed)
    assert finding.wait_s == wait_s


@pytest.mark.parametrize("finished_at", [None, "yesterday"])
def test_times_that_can_not_be_read_excuse_nobody(finished_at: str | None) -> None:
    state = ContainerState(terminated=StateTerminated(finished_at=finished_at))
    strange = pod(ContainerStatus("main", state), phase="Succeeded", deleted_at=DEADLINE, grace_s=30)
    assert isinstance(detect(Sighting(RUNNING, strange, None, run(), 0.0)), PodFailed)
