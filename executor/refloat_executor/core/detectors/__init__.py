"""Detectors: what a change of a run's pod means for the run.

A detector is a pure function (pod before, pod after, ledger entry, now) → finding or None, and a finding is news for
the ledger. They are asked in the order of `DETECTORS`; the first finding counts.
"""

from refloat_executor.core.detectors.ends import failed, succeeded, unseen
from refloat_executor.core.detectors.phases import pending, running
from refloat_executor.core.detectors.sighting import Detector, Sighting
from refloat_executor.core.ledger.values.news import News

DETECTORS: tuple[Detector, ...] = (unseen, failed, succeeded, running, pending)
"""All of them. One that is added beside them needs no other change."""


def detect(sighting: Sighting) -> News | None:
    """The first finding, if there is any."""
    for detector in DETECTORS:
        finding = detector(sighting)
        if finding is not None:
            return finding
    return None


__all__ = ["DETECTORS", "Detector", "Sighting", "detect"]
