"""Names what a detector is given."""

from collections.abc import Callable

import msgspec

from refloat_common.core.pods import Pod
from refloat_executor.core.ledger.values.entry import Entry
from refloat_executor.core.ledger.values.news import News


class Sighting(msgspec.Struct, frozen=True, gc=False):
    """A change of a run's pod as it was seen.

    `before` is None for the first sight, `after` is None where the pod is no longer shown; `last` is then the newest
    state that was shown of it. `entry` is the run's, whose `uid` is the pod's.
    """

    before: Pod | None
    after: Pod | None
    last: Pod | None
    entry: Entry
    now_s: float


Detector = Callable[[Sighting], News | None]
"""Decides one kind of finding."""
