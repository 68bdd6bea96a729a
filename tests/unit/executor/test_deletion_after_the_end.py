"""A deletion that comes after a pod has failed changes nothing about why it failed, however close behind it is."""

import pytest

from refloat_common.core.pods import Pod
from refloat_executor.core.detectors import Sighting, detect
from refloat_executor.core.ledger.values.entry import Entry, State
from refloat_executor.core.ledger.values.news import PodFailed
from testkit.pod_makers import ended, pod, running

SECOND = "2026-11-30T12:00:00Z"
FAILED = pod(ended("main", 1, finished_at=SECOND))
DELETED_SINCE = pod(ended("main", 1, finished_at=SECOND), deleted_at=SECOND, grace_s=0)
RUNNING = pod(running("main"), phase="Running")
ON_ITS_WAY_OUT = pod(running("main"), phase="Running", deleted_at=SECOND, grace_s=0)
ENTRY = Entry(
    run="run", job="job", namespace="batch", name="armada-job-a-0", state=State.ACTIVE, uid=FAILED.metadata.uid
)


@pytest.mark.parametrize(
    ("before", "after", "by_others"),
    [
        pytest.param(RUNNING, FAILED, False, id="failed"),
        pytest.param(FAILED, DELETED_SINCE, False, id="failed-then-deleted-in-the-same-second"),
        pytest.param(RUNNING, DELETED_SINCE, True, id="both-in-the-same-second-and-neither-seen-first"),
        pytest.param(None, DELETED_SINCE, True, id="seen-for-the-first-time"),
        pytest.param(ON_ITS_WAY_OUT, DELETED_SINCE, True, id="seen-on-its-way-out"),
    ],
)
def test_who_ended_the_pod(before: Pod | None, after: Pod, *, by_others: bool) -> None:
    assert detect(Sighting(before, after, None, ENTRY, 0.0)) == PodFailed(after, by_others, 0.0)
