"""Decides when a pod's progress is news: the first time that it is pending, and the first time that it runs."""

from refloat_executor.core.detectors.sighting import Sighting
from refloat_executor.core.ledger.values.entry import Progress
from refloat_executor.core.ledger.values.news import News, PodPending, PodRunning


def pending(sighting: Sighting) -> News | None:
    """`status.phase` Pending; a pod that has no status yet is pending too."""
    pod = sighting.after
    if pod is None or pod.status.phase not in ("Pending", "") or sighting.entry.progress is not Progress.NONE:
        return None
    return PodPending(pod)


def running(sighting: Sighting) -> News | None:
    """`status.phase` Running."""
    pod = sighting.after
    if pod is None or pod.status.phase != "Running" or sighting.entry.progress is Progress.RUNNING:
        return None
    return PodRunning(pod)
