"""Names what the ledger wants done: a closed union, carried out by the daemon once the records of the step are synced.

No more than one request to the cluster is under way for a run, so answers need no number.
"""

from dataclasses import dataclass
from typing import TypeAlias

from refloat_common.core.messages import Lease


@dataclass(frozen=True, slots=True)
class CreatePod:
    """Create the pod of this lease, if the lease is still fresh at that moment."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class ReadPod:
    """Read the pod that has this name, consistently."""

    run: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class ConfirmGone:
    """Find out, consistently, whether this uid still exists: by its name, or by a complete list that many share."""

    run: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Delete this uid and no other. `version` is a second precondition where the pod must be as it was judged.

    `grace_s` None leaves the pod its own grace; 0 removes it from the API at once.
    """

    run: str
    namespace: str
    name: str
    uid: str
    version: str = ""
    grace_s: int | None = None


@dataclass(frozen=True, slots=True)
class ReadEvents:
    """Read the events of a failed pod: a rule may look at them."""

    run: str
    namespace: str
    name: str
    uid: str


Effect: TypeAlias = CreatePod | ReadPod | ConfirmGone | DeletePod | ReadEvents
"""Everything that the ledger can ask for. Reports need no effect: the link takes them from the journal."""
