"""Names what the daemon asks of the world outside it. A simulator answers with its own.

Every method of a port may take time and may be cancelled; what it was asked to do may have happened all the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from refloat_common.core.clock import Chance, Clock
from refloat_common.core.link.transport import ClientTransport
from refloat_common.core.messages import Report
from refloat_executor.core.cluster.answers import Answer, Refusal
from refloat_executor.core.cluster.reflector import WatchClosed
from refloat_executor.core.cluster.wire import Lines
from refloat_executor.core.ledger.fold import Books
from refloat_executor.core.ledger.values.records import Record


class WatchStream(Protocol):
    """An open watch."""

    async def next_block(self) -> Lines | WatchClosed:
        """At least one whole line of JSON; or how the watch ended."""

    def close(self) -> None:
        """End the watch."""


class KubeApi(Protocol):
    """The Kubernetes API. Reads are consistent: they answer from storage, not from a cache."""

    async def create_pod(self, namespace: str, body: bytes) -> Answer:
        """POST a pod."""

    async def read_pod(self, namespace: str, name: str) -> Answer:
        """GET a pod."""

    async def delete_pod(self, namespace: str, name: str, uid: str, version: str, grace_s: int | None) -> Answer:
        """DELETE a pod of this uid; also of this resourceVersion, unless that is empty."""

    async def list_pods(self, namespace: str, limit: int, token: str, *, managed_only: bool) -> Answer:
        """One page of the pods of a namespace (empty: of all)."""

    async def list_nodes(self, limit: int, token: str) -> Answer:
        """One page of the nodes."""

    async def list_events(self, namespace: str, uid: str, limit: int, token: str) -> Answer:
        """One page of the events of a pod (empty: of all pods of the namespace)."""

    async def watch_pods(self, namespace: str, version: str, timeout_s: float) -> WatchStream | Refusal:
        """Watch the managed pods of a namespace (empty: of all)."""

    async def watch_nodes(self, version: str, timeout_s: float) -> WatchStream | Refusal:
        """Watch the nodes."""


class LoadedJournal(Protocol):
    """What the journal held at the start of this process."""

    @property
    def journal_id(self) -> str:
        """The journal's own id."""

    @property
    def books(self) -> Books:
        """The fold of its records."""

    @property
    def fresh(self) -> bool:
        """Whether it was only just made."""

    @property
    def oldest_seq(self) -> int:
        """The oldest report that it still holds."""


class Journal(Protocol):
    """The executor's memory."""

    @property
    def loaded(self) -> LoadedJournal:
        """What it held at the start."""

    async def append(self, records: Sequence[Record], at_ms: int) -> None:
        """Write records; they are synced when this returns."""

    async def reports(self, first_seq: int, max_count: int, max_bytes: int) -> list[Report]:
        """Reports from `first_seq` on, without a gap."""

    async def prune(self, keep_from_ms: int, keep_bytes: int, acked_seq: int) -> None:
        """Drop what no start needs."""

    async def sizes(self) -> tuple[int, int]:
        """Bytes in use, and the oldest sequence that is kept."""

    async def set_aside(self) -> None:
        """Move the file away, so that the next start begins a new journal."""


class Meters(Protocol):
    """Counters and gauges; see `adapters.metrics`."""

    def failure(self, category: str, subcategory: str) -> None:
        """The report of a failure with a category is journaled."""

    def forced_delete(self) -> None:
        """A pod was deleted with grace 0."""

    def pod_gone(self, overdue_s: float) -> None:
        """A pod that we deleted is gone, so long after its grace; 0 or less within it."""

    def kube_call(self, verb: str, outcome: str, seconds: float) -> None:
        """A request to the cluster was answered."""

    def commit(self, records: int, seconds: float) -> None:
        """Records were synced."""

    def relist(self, what: str) -> None:
        """A list was begun because a watch could not go on."""

    def gauges(self, values: Mapping[str, float]) -> None:
        """Readings, by name."""

    def phases(self, counts: Mapping[tuple[str, str], int]) -> None:
        """How many runs there are, by queue and state; all that there are."""

    def unexpected(self, what: str) -> None:
        """Something came that should not; by a word of ours."""


Trace = Callable[[str, Mapping[str, object]], None]
"""Takes what happened, and named values: for invariants that are checked over what was recorded."""

Log = Callable[[str, str, Mapping[str, object]], None]
"""Takes a level (debug, info, warning, error), a sentence, and named values."""

DeadLetter = Callable[[int, str, Report], None]
"""Keeps aside a report that the scheduler can never apply: its sequence, the scheduler's code, the report."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything outside the daemon."""

    kube: KubeApi
    journal: Journal
    transport: ClientTransport
    clock: Clock
    chance: Chance
    meters: Meters
    trace: Trace
    log: Log
    failpoint: Callable[[str], None]
    dead_letter: DeadLetter
