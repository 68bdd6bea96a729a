"""Answers executors that say HELLO, send a heartbeat or tell of their nodes; each answer follows its transaction.

A beat that lists nothing needs no transaction and is answered at once. One that lists runs is answered only after the
store has said that they are current: the executor starts their pods on the strength of that answer
(reliability, rule 13).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, assert_never

import anyio

from refloat_common.core.ids import BootId, ExecutorId, JournalId, RunId
from refloat_common.core.link.scheduler.values import (
    BeatAnswered,
    BeatHeard,
    BeatUnanswered,
    NodesSettled,
    NodesTold,
    OpenSession,
    SessionDenied,
    SessionGranted,
)
from refloat_common.core.messages import NodeFacts, RunEntry
from refloat_scheduler.core.effects import ExecutorRecord, ExecutorSaved, HighWaterMoved, NodesSaved
from refloat_scheduler.core.leases import hello, machine
from refloat_scheduler.core.leases.hello import Judged
from refloat_scheduler.core.signals import Note
from refloat_scheduler.service.contract import RoomChanged, StoreUnavailable, Transaction
from refloat_scheduler.service.missing import MissingRuns
from refloat_scheduler.service.offers import Offers
from refloat_scheduler.service.office import Office
from refloat_scheduler.service.reading import world_of_entries

MAX_KILLS_KEPT: Final = 4096


@dataclass(frozen=True, slots=True)
class _Greeted:
    record: ExecutorRecord
    have: int
    judged: Judged
    notes: tuple[Note, ...]


@dataclass(slots=True)
class Desk:
    """The task that serves what executors ask."""

    office: Office
    offers: Offers
    missing: MissingRuns
    _kills: dict[ExecutorId, dict[RunId, None]] = field(default_factory=dict)

    async def run(self) -> None:
        """Serve for ever, in the order in which things were asked."""
        office = self.office
        while True:
            await office.desk_bell.wait()
            office.desk_bell = anyio.Event()
            while office.asked:
                await self._serve(office.asked.popleft())

    def kill(self, executor: ExecutorId, runs: Sequence[RunId]) -> None:
        """Say with the next heartbeat's answer that these runs have ended, besides the order that is sent at once."""
        kept = self._kills.setdefault(executor, {})
        for run in runs[: MAX_KILLS_KEPT - len(kept)]:
            kept[run] = None

    async def _serve(self, asked: OpenSession | BeatHeard | NodesTold) -> None:
        try:
            match asked:
                case OpenSession():
                    await self._open(asked)
                case BeatHeard():
                    await self._beat(asked)
                case NodesTold():
                    await self._nodes(asked)
                case _:
                    assert_never(asked)
        except StoreUnavailable as error:
            self.office.store_is_down(str(error))
            self._put_off(asked)

    def _put_off(self, asked: OpenSession | BeatHeard | NodesTold) -> None:
        """Nothing was stored: the executor asks again by itself, or is asked to."""
        match asked:
            case OpenSession():
                self.office.happen(SessionDenied(asked.executor, asked.hello.boot, asked.hello.attempt))
            case NodesTold():
                self.office.happen(NodesSettled(asked.executor, stored=False))
            case BeatHeard():
                self.office.happen(BeatUnanswered(asked.executor, asked.epoch, asked.beat.n))
            case _:
                assert_never(asked)

    # ---- HELLO

    async def _open(self, asked: OpenSession) -> None:
        office, executor = self.office, ExecutorId(asked.executor)
        greeted = await office.transact(lambda tx: self._greet(tx, asked))
        office.store_is_up()
        self.offers.forget(executor)
        settings, now_s, said = office.means.lease, office.now_s(), asked.hello
        office.follow(
            machine.greeted(
                office.registry, greeted.record, BootId(said.boot), said.next_seq - 1, greeted.have, now_s, settings
            )
        )
        office.follow(machine.capability_told(office.registry, greeted.record, engine=office.means.retry.enabled))
        office.happen(
            SessionGranted(
                asked.executor,
                said.boot,
                said.attempt,
                greeted.record.last_epoch,
                greeted.have,
                greeted.judged.verdicts,
            )
        )
        office.say(greeted.notes)
        office.committed(greeted.judged.outcome)
        await self.missing.compare(executor, asked.runs)

    def _greet(self, tx: Transaction, asked: OpenSession) -> _Greeted:
        executor, now_ms = ExecutorId(asked.executor), self.office.now_ms()
        before = tx.executor_record(executor)
        journal, said = JournalId(asked.hello.journal), asked.hello
        held = tx.high_water(executor, journal)
        have = max(held, said.oldest_seq - 1)
        record = hello.greeted_record(before, said, now_ms)
        tx.apply([ExecutorSaved(record), *([HighWaterMoved(executor, journal, have)] if have > held else ())])
        judged = self._judge(tx, executor, asked.runs)
        notes = (hello.store_went_back(before, said, held), hello.history_lost(said, held))
        return _Greeted(record, have, judged, tuple(note for note in notes if note is not None))

    def _judge(self, tx: Transaction, executor: ExecutorId, entries: Sequence[RunEntry]) -> Judged:
        world = world_of_entries(tx, entries)
        _, judged = hello.judge(world, executor, entries, self.office.now_ms(), tx.claims(executor))
        tx.apply(judged.outcome.effects)
        return judged

    # ---- heartbeats

    async def _beat(self, heard: BeatHeard) -> None:
        office, executor, beat = self.office, ExecutorId(heard.executor), heard.beat
        judged: Judged | None = None
        entries = beat.runs
        if entries is not None:
            judged = await office.transact(lambda tx: self._judge(tx, executor, entries))
        elif beat.listed:
            judged = await office.transact(lambda tx: self._acknowledge(tx, executor, beat.listed))
        if judged is not None:
            office.store_is_up()
            office.committed(judged.outcome)
        self.offers.settled(executor, (*beat.listed, *(entry.run for entry in entries or ())))
        if entries is not None:
            office.follow(machine.judged(office.registry, executor, office.now_s(), office.means.lease))
        office.follow(machine.slots(office.registry, executor, beat.free_slots))
        self._answer(heard, judged.kills if judged else ())
        if entries is not None:
            await self.missing.compare(executor, entries)

    def _acknowledge(self, tx: Transaction, executor: ExecutorId, listed: Sequence[str]) -> Judged:
        runs = [RunId(run) for run in listed]
        judged = hello.acknowledged(runs, executor, tx.jobs_of_runs(runs))
        tx.apply(judged.outcome.effects)
        return judged

    def _answer(self, heard: BeatHeard, kills: Sequence[RunId]) -> None:
        executor = ExecutorId(heard.executor)
        member = self.office.registry.members.get(executor)
        kept = self._kills.pop(executor, {})
        self.office.happen(
            BeatAnswered(
                heard.executor,
                heard.epoch,
                heard.beat.n,
                tuple(dict.fromkeys((*kills, *kept))),
                want_runs=member is not None and member.judging,
            )
        )

    # ---- node facts

    async def _nodes(self, told: NodesTold) -> None:
        office, executor = self.office, ExecutorId(told.executor)
        saved = NodesSaved(executor=executor, upserted=told.upserted, removed=told.removed, full=told.full)

        def work(tx: Transaction) -> Sequence[NodeFacts]:
            tx.apply([saved])
            return tx.nodes(executor)

        nodes = await office.transact(work)
        office.store_is_up()
        office.know_nodes(executor, nodes)
        office.happen(NodesSettled(told.executor, stored=True))
        label = office.means.retry.node_id_label
        office.follow(machine.nodes_told(office.registry, executor, nodes, label))
        office.means.host.notify(RoomChanged(executor))
