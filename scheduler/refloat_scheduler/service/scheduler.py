"""The running plugin: starts from the store, opens the link, and owns the tasks. Implements `contract.Scheduler`."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, TypeAlias

import anyio
import anyio.lowlevel

from refloat_common.core.ids import ExecutorId, RunId
from refloat_common.core.link import frames, scheduler_side
from refloat_common.core.link.scheduler.values import Garbled, KillsOrdered, Received, Server
from refloat_common.core.link.transport import Arrival, SelfProbing, ServerTransport
from refloat_common.core.messages import Lease, NodeFacts, Timing
from refloat_scheduler.core.effects import ExecutorRecord, ExecutorSaved
from refloat_scheduler.core.leases import machine
from refloat_scheduler.core.leases.placement import placement
from refloat_scheduler.core.leases.states import ExecutorState, OperatorAction
from refloat_scheduler.service.contract import ExecutorView, StoreUnavailable, Transaction
from refloat_scheduler.service.desk import Desk
from refloat_scheduler.service.intake import Intake
from refloat_scheduler.service.lapses import Lapses
from refloat_scheduler.service.missing import MissingRuns
from refloat_scheduler.service.offers import Offers
from refloat_scheduler.service.office import REPORT_CREDITS, Means, Office
from refloat_scheduler.service.rulebook import Rulebook

YIELD_EVERY_FRAMES: Final = 64
Listen: TypeAlias = Callable[[], AbstractAsyncContextManager[ServerTransport]]
"""Opens the link's sockets, or whatever stands for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Periods:
    """What the tasks go by, besides the lease."""

    policy_refresh_s: float
    missing_run_grace_s: float
    timing: Timing


@dataclass(frozen=True, slots=True)
class _Known:
    """What the store knows at a start."""

    records: Sequence[ExecutorRecord]
    counts: dict[ExecutorId, int]
    nodes: dict[ExecutorId, Sequence[NodeFacts]]


class SchedulerService:
    """One start of the plugin. Its methods may be called before `run`, and are answered from what is known then."""

    def __init__(self, means: Means, periods: Periods, boot: str, listen: Listen, *, secure: bool) -> None:
        server = Server(boot=boot, timing=periods.timing, secure=secure, credits=REPORT_CREDITS)
        self._office = Office(means, server, machine.started((), {}, means.clock.monotonic_s(), means.lease))
        self._offers = Offers(self._office)
        self._missing = MissingRuns(self._office, self._offers, periods.missing_run_grace_s)
        self._desk = Desk(self._office, self._offers, self._missing)
        self._rulebook = Rulebook(self._office, periods.policy_refresh_s)
        self._listen = listen
        self.listening = anyio.Event()
        """Set once executors can connect."""

    async def run(self) -> None:
        """Serve until cancelled.

        Raises:
            ExceptionGroup: the link can't be opened, or a defect.
        """
        await self._start()
        lapses = Lapses(self._office, self._offers, self._missing)
        async with self._listen() as transport, anyio.create_task_group() as tasks:
            tasks.start_soon(self._receive, transport, name="link receiver")
            tasks.start_soon(self._send, transport, name="link sender")
            tasks.start_soon(self._desk.run, name="desk")
            tasks.start_soon(Intake(self._office).run, name="intake")
            tasks.start_soon(lapses.keep_time, name="lease ticks")
            tasks.start_soon(lapses.run, name="lease expiry")
            tasks.start_soon(self._rulebook.run, name="policy refresh")
            if isinstance(transport, SelfProbing):
                tasks.start_soon(lapses.probe, transport, name="self-probe")
            self.listening.set()

    # ---- what a host asks

    def executors(self) -> Sequence[ExecutorView]:
        """All known executors, in order of name."""
        office = self._office
        now_s, settings, views = office.now_s(), office.means.lease, []
        for name, member in sorted(office.registry.members.items()):
            place = placement(office.registry, member, now_s, settings)
            heard = place.state is not ExecutorState.UNKNOWN or member.greeted
            views.append(
                ExecutorView(
                    executor=name,
                    state=place.state,
                    may_lease=place.may_lease,
                    free_slots=place.free_slots,
                    unacknowledged=member.unacknowledged,
                    pool=member.pool,
                    cordoned=member.cordoned,
                    decommissioned=member.decommissioned,
                    silent_for_s=now_s - member.heard_s if heard else None,
                    why_not=place.why_not,
                )
            )
        return views

    def offer(self, executor: ExecutorId, leases: Sequence[Lease]) -> None:
        """Send leases whose runs are committed, and again until they are acknowledged."""
        self._offers.offer(executor, leases)

    def kill(self, executor: ExecutorId, run_ids: Sequence[RunId], reason: str) -> None:
        """Send word that these runs have ended in the store."""
        if run_ids:
            self._offers.settled(executor, run_ids)
            self._desk.kill(executor, run_ids)
            self._office.happen(KillsOrdered(executor, tuple(run_ids), reason))

    def policies_changed(self) -> None:
        """Read the policies again soon."""
        self._rulebook.bell.set()

    async def operate(self, executor: ExecutorId, action: OperatorAction) -> None:
        """Carry out an operator's order, durably.

        Raises:
            StoreUnavailable: nothing was applied.
            KeyError: no such executor.
        """
        office = self._office
        if executor not in office.registry.members:
            raise KeyError(executor)

        def work(tx: Transaction) -> Sequence[NodeFacts]:
            record = tx.executor_record(executor)
            if record is None:
                return ()
            record = machine.operated_record(record, action)
            tx.apply([ExecutorSaved(record)])
            return _nodes_of(tx, record)

        nodes = await office.transact(work)
        office.follow(machine.operated(office.registry, executor, action, office.now_s(), office.means.lease))
        office.know_nodes(executor, nodes)

    # ---- start

    async def _start(self) -> None:
        """Read what the store knows; there is no link before that, since nothing could be answered."""
        office = self._office
        known = await self._read_known()
        office.store_is_up()
        office.registry = machine.started(known.records, known.counts, office.now_s(), office.means.lease)
        for executor, nodes in known.nodes.items():
            office.know_nodes(executor, nodes)
        await self._rulebook.refresh()

    async def _read_known(self) -> _Known:
        office = self._office
        while True:
            try:
                return await office.transact(_read_known)
            except StoreUnavailable as error:
                office.store_is_down(str(error))
                await anyio.sleep(office.means.lease.tick_s)

    # ---- the link

    async def _receive(self, transport: ServerTransport) -> None:
        count = 0
        while True:
            self._take(await transport.receive())
            count += 1
            if count % YIELD_EVERY_FRAMES == 0:
                await anyio.lowlevel.checkpoint()

    def _take(self, arrival: Arrival) -> None:
        office = self._office
        channel, peer, executor = arrival.channel, arrival.peer, arrival.executor
        if scheduler_side.is_muted(office.server, (channel, peer), office.now_s()):
            return
        message = frames.decode(arrival.frame, receiver=frames.Side.SCHEDULER, channel=channel)
        if isinstance(message, frames.Refusal):
            office.happen(Garbled(channel, peer, executor, message))
        elif isinstance(message, frames.FromExecutor):
            office.happen(Received(channel, peer, executor, message))

    async def _send(self, transport: ServerTransport) -> None:
        """Send answers in order. One that is not taken is lost: its executor asks again."""
        office = self._office
        while True:
            await office.reply_bell.wait()
            office.reply_bell = anyio.Event()
            while office.replies:
                reply = office.replies.popleft()
                await transport.send(reply.channel, reply.peer, frames.encode(reply.message))


def _read_known(tx: Transaction) -> _Known:
    records = tx.executor_records()
    return _Known(records, dict(tx.active_counts()), {record.executor: _nodes_of(tx, record) for record in records})


def _nodes_of(tx: Transaction, record: ExecutorRecord) -> Sequence[NodeFacts]:
    """The nodes that count for the static-fit probe: a decommissioned executor's are not coming back."""
    return () if record.decommissioned else tx.nodes(record.executor)
