"""Remembers the leases that were offered and not acknowledged yet, so that they are sent again until they are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from refloat_common.core.ids import ExecutorId
from refloat_common.core.link.scheduler.values import LeasesOrdered
from refloat_common.core.messages import Lease
from refloat_scheduler.core.leases import machine
from refloat_scheduler.service.office import Office

SEND_AGAIN_S: Final = 4.0


@dataclass(slots=True)
class _Offer:
    lease: Lease
    sent_s: float


@dataclass(slots=True)
class Offers:
    """Per executor, by run id: bounded by the limit on unacknowledged leases, which the host obeys."""

    office: Office
    _open: dict[ExecutorId, dict[str, _Offer]] = field(default_factory=dict)

    def offer(self, executor: ExecutorId, leases: Sequence[Lease]) -> None:
        """Send leases now, and again until they are acknowledged."""
        now_s = self.office.now_s()
        known = self._open.setdefault(executor, {})
        for lease in leases:
            known[lease.run] = _Offer(lease, now_s)
        self._count(executor)
        self.office.happen(LeasesOrdered(executor, tuple(leases)))

    def settled(self, executor: ExecutorId, runs: Iterable[str]) -> None:
        """These runs were listed by the executor, or have ended: they are offered no more."""
        known = self._open.get(executor)
        if known is None:
            return
        for run in runs:
            known.pop(run, None)
        self._count(executor)

    def forget(self, executor: ExecutorId) -> None:
        """A new session or a lost executor: what is still to be offered is found in the store."""
        if self._open.pop(executor, None) is not None:
            self._count(executor)

    def is_open(self, executor: ExecutorId, run: str) -> bool:
        """Whether this lease is under way."""
        return run in self._open.get(executor, ())

    def remind(self) -> None:
        """Send again what has gone unanswered for a while."""
        now_s = self.office.now_s()
        for executor, known in self._open.items():
            due = [offer for offer in known.values() if now_s - offer.sent_s >= SEND_AGAIN_S]
            for offer in due:
                offer.sent_s = now_s
            if due:
                self.office.happen(LeasesOrdered(executor, tuple(offer.lease for offer in due)))

    def _count(self, executor: ExecutorId) -> None:
        waiting = len(self._open.get(executor, ()))
        self.office.registry = machine.offered(self.office.registry, executor, waiting)
