"""Ports of an executor in virtual time: a cluster that answers as it is told, a journal that may be full or broken."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from refloat_common.core.messages import Report
from refloat_executor.adapters.journal import JournalFullError
from refloat_executor.core.cluster.answers import Answer, Done, Missing, Refusal
from refloat_executor.core.cluster.reflector import WatchClosed
from refloat_executor.core.cluster.wire import Lines
from refloat_executor.core.ledger.fold import Books
from refloat_executor.core.ledger.values.records import Record, Reported
from refloat_executor.daemon.ports import Ports
from testkit.executor.scheduler import PlayedScheduler
from testkit.virtual.clock import SimChance, SimClock
from testkit.virtual.run import World

EMPTY_LIST = b'{"metadata":{"resourceVersion":"1"},"items":[]}'


@dataclass
class CountingMeters:
    """Meters that remember what was counted, by method and first argument."""

    counts: dict[str, int] = field(default_factory=dict)

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def failure(self, category: str, subcategory: str) -> None:
        self._count(f"failure {category}/{subcategory}")

    def forced_delete(self) -> None:
        self._count("forced")

    def pod_gone(self, overdue_s: float) -> None:
        self._count("in grace" if overdue_s <= 0 else "overdue")

    def kube_call(self, verb: str, outcome: str, seconds: float) -> None:
        del seconds
        self._count(f"{verb} {outcome}")

    def commit(self, records: int, seconds: float) -> None:
        del records, seconds
        self._count("commit")

    def relist(self, what: str) -> None:
        self._count(f"list of {what}")

    def gauges(self, values: Mapping[str, float]) -> None:
        self.counts |= {name: int(value) for name, value in values.items()}

    def phases(self, counts: Mapping[tuple[str, str], int]) -> None:
        del counts

    def unexpected(self, what: str) -> None:
        self._count(f"unexpected {what}")


@dataclass(frozen=True)
class Loaded:
    """What a journal held at the start."""

    journal_id: str = "jid"
    books: Books = field(default_factory=Books)
    fresh: bool = False
    oldest_seq: int = 1


@dataclass
class ToldJournal:
    """A journal in memory. `full`: it has no room; `slow_s`: how long a commit takes."""

    loaded: Loaded = field(default_factory=Loaded)
    batches: list[list[Record]] = field(default_factory=list)
    full: bool = False
    slow_s: float = 0.0
    used_bytes: int = 0
    pruned: list[tuple[int, int, int]] = field(default_factory=list)
    aside: bool = False

    @property
    def records(self) -> list[Record]:
        return [record for batch in self.batches for record in batch]

    async def append(self, records: Sequence[Record], at_ms: int) -> None:
        del at_ms
        await anyio.sleep(self.slow_s)
        if self.full:
            raise JournalFullError("no room")
        self.batches.append(list(records))

    async def reports(self, first_seq: int, max_count: int, max_bytes: int) -> list[Report]:
        del max_bytes
        by_seq = {record.seq: record.report for record in self.records if isinstance(record, Reported)}
        return [by_seq[seq] for seq in range(first_seq, first_seq + max_count) if seq in by_seq]

    async def prune(self, keep_from_ms: int, keep_bytes: int, acked_seq: int) -> None:
        self.pruned.append((keep_from_ms, keep_bytes, acked_seq))

    async def sizes(self) -> tuple[int, int]:
        return self.used_bytes, 1

    async def set_aside(self) -> None:
        self.aside = True


@dataclass
class ToldWatch:
    """A watch that shows what it is given, and then nothing."""

    blocks: deque[Lines | WatchClosed] = field(default_factory=deque)
    closed: bool = False

    async def next_block(self) -> Lines | WatchClosed:
        if self.blocks:
            return self.blocks.popleft()
        await anyio.sleep_forever()
        raise AssertionError

    def close(self) -> None:
        self.closed = True


@dataclass
class ToldCluster:
    """An API server that answers what it is told, in order, and otherwise that nothing is there.

    `slow_s`: how long each answer takes. `calls` are the requests, as text.
    """

    answers: dict[str, deque[Answer]] = field(default_factory=dict)
    watches: deque[ToldWatch | Refusal] = field(default_factory=deque)
    calls: list[str] = field(default_factory=list)
    slow_s: float = 0.0
    under_way: int = 0
    most_under_way: int = 0

    def tell(self, verb: str, *answers: Answer) -> None:
        """What the next requests of a verb are answered with."""
        self.answers.setdefault(verb, deque()).extend(answers)

    async def _answer(self, verb: str, about: str, otherwise: Answer) -> Answer:
        self.calls.append(f"{verb} {about}".strip())
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await anyio.sleep(self.slow_s)
        self.under_way -= 1
        told = self.answers.get(verb)
        return told.popleft() if told else otherwise

    async def create_pod(self, namespace: str, body: bytes) -> Answer:
        return await self._answer("create", namespace, Done(body))

    async def read_pod(self, namespace: str, name: str) -> Answer:
        return await self._answer("get", f"{namespace}/{name}", Missing())

    async def delete_pod(self, namespace: str, name: str, uid: str, version: str, grace_s: int | None) -> Answer:
        del uid, version
        forced = " now" if grace_s == 0 else ""
        return await self._answer("delete", f"{namespace}/{name}{forced}", Done(b"{}"))

    async def list_pods(self, namespace: str, limit: int, token: str, *, managed_only: bool) -> Answer:
        del limit
        which = "managed " if managed_only else ""
        return await self._answer("list", f"{which}{namespace} {token}".strip(), Done(EMPTY_LIST))

    async def list_nodes(self, limit: int, token: str) -> Answer:
        del limit, token
        return await self._answer("list-nodes", "", Done(EMPTY_LIST))

    async def list_events(self, namespace: str, uid: str, limit: int, token: str) -> Answer:
        del limit
        return await self._answer("list-events", f"{namespace} {uid or 'all'} {token}".strip(), Done(EMPTY_LIST))

    async def watch_pods(self, namespace: str, version: str, timeout_s: float) -> ToldWatch | Refusal:
        del timeout_s
        self.calls.append(f"watch {namespace} {version}")
        return self.watches.popleft() if self.watches else ToldWatch()

    async def watch_nodes(self, version: str, timeout_s: float) -> ToldWatch | Refusal:
        del version, timeout_s
        return ToldWatch()


@dataclass
class Outside:
    """Everything outside an executor, and what it said about itself."""

    world: World
    kube: ToldCluster = field(default_factory=ToldCluster)
    journal: ToldJournal = field(default_factory=ToldJournal)
    scheduler: PlayedScheduler = field(default_factory=PlayedScheduler)
    meters: CountingMeters = field(default_factory=CountingMeters)
    log: list[tuple[str, str]] = field(default_factory=list)
    dead: list[tuple[int, str]] = field(default_factory=list)
    failpoint: Callable[[str], None] = lambda _: None

    def ports(self) -> Ports:
        clock = SimClock(self.world.loop)
        return Ports(
            kube=self.kube,
            journal=self.journal,
            transport=self.scheduler,
            clock=clock,
            chance=SimChance(self.world.streams, "E1", clock),
            meters=self.meters,
            trace=lambda _what, _values: None,
            log=lambda level, sentence, _values: self.log.append((level, sentence)),
            failpoint=self.failpoint,
            dead_letter=lambda seq, code, _report: self.dead.append((seq, code)),
        )
