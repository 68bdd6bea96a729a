"""A host in one file: everything is kept as values on a shelf, a SQLite table of kind, key and pickled value.

It shows what `refloat_scheduler.service.contract` asks for, in the plainest way that is still durable. Left out are the
fair choice of whose job is next, and other work while the disk is slow.
"""

import pickle
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, assert_never

import msgspec

from refloat_common.core.ids import ExecutorId, JobId, JournalId, RunId
from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.messages import Lease, NodeFacts
from refloat_scheduler.core import effects as fx
from refloat_scheduler.core.events import Event, JobLeased, JobQueued, JobSubmitted
from refloat_scheduler.core.fit.requirements import requirements_of
from refloat_scheduler.core.model import NO_UID, Claim, Job, JobState, Run
from refloat_scheduler.core.mutations.render import render_pod_spec
from refloat_scheduler.service.contract import ExecutorView, Notice, PolicyDocument, StoreUnavailable

T = TypeVar("T")
NODE_ID_LABEL = "kubernetes.io/hostname"


class ShelfTransaction:
    """One transaction. Reads see what was applied before, because both go to the same connection (rule 3)."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    # ---- the shelf

    def get(self, kind: str, key: str) -> Any:
        """A value, or None."""
        row = self._connection.execute("SELECT value FROM shelf WHERE kind = ? AND key = ?", (kind, key)).fetchone()
        return pickle.loads(row[0]) if row else None

    def all(self, kind: str) -> list[Any]:
        """All values of a kind, in order of key."""
        rows = self._connection.execute("SELECT value FROM shelf WHERE kind = ? ORDER BY key", (kind,))
        return [pickle.loads(row[0]) for row in rows]

    def put(self, kind: str, key: str, value: object) -> None:
        """Insert or replace a value."""
        self._connection.execute("REPLACE INTO shelf VALUES (?, ?, ?)", (kind, key, pickle.dumps(value)))

    def add(self, kind: str, value: object) -> None:
        """Append a value: keys count up, so that the order of appending is kept (rule 8)."""
        (count,) = self._connection.execute("SELECT count(*) FROM shelf WHERE kind = ?", (kind,)).fetchone()
        self.put(kind, f"{count:012}", value)

    def drop(self, kind: str, key: str) -> None:
        """Remove a value, if it is there."""
        self._connection.execute("DELETE FROM shelf WHERE kind = ? AND key = ?", (kind, key))

    # ---- what the plugin reads

    def high_water(self, executor: ExecutorId, journal: JournalId) -> int:
        return self.get("mark", f"{executor}/{journal}") or 0

    def executor_records(self) -> Sequence[fx.ExecutorRecord]:
        return self.all("executor")

    def executor_record(self, executor: ExecutorId) -> fx.ExecutorRecord | None:
        record: fx.ExecutorRecord | None = self.get("executor", executor)
        return record

    def nodes(self, executor: ExecutorId) -> Sequence[NodeFacts]:
        known: dict[str, NodeFacts] = self.get("nodes", executor) or {}
        return [known[name] for name in sorted(known)]

    def jobs(self, job_ids: Sequence[JobId]) -> Mapping[JobId, Job]:
        found = {job_id: self.get("job", job_id) for job_id in job_ids}
        return {job_id: self._with_claims(job) for job_id, job in found.items() if job is not None}

    def jobs_of_runs(self, run_ids: Sequence[RunId]) -> Mapping[RunId, Job]:
        owners = {run_id: self.get("owner", run_id) for run_id in run_ids}
        jobs = self.jobs([job_id for job_id in owners.values() if job_id is not None])
        return {run_id: jobs[job_id] for run_id, job_id in owners.items() if job_id is not None}

    def active_jobs(self, executor: ExecutorId, after: RunId, limit: int) -> Sequence[Job]:
        active = [
            (run.run_id, job) for job in self._all_jobs() if (run := job.current_run) and run.executor == executor
        ]
        return [job for run_id, job in sorted(active, key=lambda one: one[0]) if run_id > after][:limit]

    def held_jobs(self, executor: ExecutorId, after: JobId, limit: int) -> Sequence[Job]:
        held = [job for job in self._all_jobs() if job.hold_for_uid and job.runs[-1].executor == executor]
        return [job for job in held if job.job_id > after][:limit]

    def claims(self, executor: ExecutorId) -> Sequence[Claim]:
        return [claim for claim in self.all("claim") if claim.executor == executor]

    def active_counts(self) -> Mapping[ExecutorId, int]:
        counts: dict[ExecutorId, int] = {}
        for job in self._all_jobs():
            if (run := job.current_run) is not None:
                counts[run.executor] = counts.get(run.executor, 0) + 1
        return counts

    def queue_policies(self, queue: str) -> tuple[str, ...] | None:
        policies: tuple[str, ...] | None = self.get("queue", queue)
        return policies

    def leases(self, run_ids: Sequence[RunId]) -> Sequence[Lease]:
        """The pod always comes from the submitted spec and the whole record, through the plugin's own function."""
        leases = []
        for run_id, job in self.jobs_of_runs(run_ids).items():
            run = job.current_run
            if run is not None and run.run_id == run_id:
                pod = render_pod_spec(self.get("spec", job.job_id), job.record, NODE_ID_LABEL)
                body = msgspec.json.encode(pod)
                leases.append(Lease(run_id, job.job_id, job.queue, job.job_set, job.namespace, body, token=run.ordinal))
        return leases

    def _all_jobs(self) -> list[Job]:
        return [self._with_claims(job) for job in self.all("job")]

    def _with_claims(self, job: Job) -> Job:
        return replace(job, claims=tuple(claim for claim in self.all("claim") if claim.job_id == job.job_id))

    # ---- what the plugin has stored

    def apply(self, effects: Sequence[fx.Effect]) -> None:
        for effect in effects:
            self._apply(effect)

    def _apply(self, effect: fx.Effect) -> None:  # noqa: C901, PLR0912  one case for each effect
        match effect:
            case fx.RunChanged(run=run):
                self._put_run(run)
            case fx.RunAdopted(run=run, queued_version=version):
                self._put_run(run)
                self._change(run.job_id, state=JobState.LEASED, queued_version=version, hold_for_uid=NO_UID)
            case fx.JobRequeued():
                self._change(
                    effect.job_id,
                    state=JobState.QUEUED,
                    queued_version=effect.queued_version,
                    record=effect.record,
                    requirements=effect.requirements,
                    hold_for_uid=effect.hold_for_uid,
                )
            case fx.JobEnded(state=state, ended_at_ms=at_ms):
                self._change(effect.job_id, state=state, ended_at_ms=at_ms, hold_for_uid=NO_UID)
            case fx.HoldReleased():
                self._change(effect.job_id, hold_for_uid=NO_UID)
            case fx.EventsAppended(events=events):
                for event in events:
                    self.add("event", event)
            case fx.VerdictStored(explanation=explanation):
                if self.get("verdict", explanation.run_id) is not None:
                    raise ValueError(f"there is a verdict over run {explanation.run_id} already")
                self.put("verdict", explanation.run_id, explanation)
            case fx.LateReported():
                self.add("late", effect)
            case fx.ClaimStored(claim=claim):
                self.put("claim", claim.run_id, claim)
            case fx.ClaimDropped(run_id=run_id):
                self.drop("claim", run_id)
            case fx.ExecutorSaved(record=record):
                self.put("executor", record.executor, record)
            case fx.NodesSaved():
                known = {} if effect.full else self.get("nodes", effect.executor) or {}
                known |= {node.name: node for node in effect.upserted}
                kept = {name: node for name, node in known.items() if name not in effect.removed}
                self.put("nodes", effect.executor, kept)
            case fx.HighWaterMoved():
                self.put("mark", f"{effect.executor}/{effect.journal}", effect.seq)
            case _:
                assert_never(effect)

    def _change(self, job_id: JobId, **changes: Any) -> None:
        self.put("job", job_id, replace(self.get("job", job_id), **changes))

    def _put_run(self, run: Run) -> None:
        job: Job = self.get("job", run.job_id)
        runs = {old.ordinal: old for old in job.runs} | {run.ordinal: run}
        self.put("owner", run.run_id, run.job_id)
        self._change(run.job_id, runs=tuple(runs[ordinal] for ordinal in sorted(runs)))


class ShelfHost:
    """The host. `wake` is called when leasing should look again."""

    def __init__(self, path: Path, wake: Callable[[], None] = lambda: None) -> None:
        self._wake = wake
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("CREATE TABLE IF NOT EXISTS shelf (kind, key, value, PRIMARY KEY (kind, key))")
        self._epoch = 0
        self._epoch = self._transact(self._take_over)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    async def transact(self, work: Callable[[ShelfTransaction], T]) -> T:
        """Rules 1, 2 and 4: begin, run the work, commit with a sync; whatever goes wrong, roll back."""
        return self._transact(work)

    async def load_policies(self) -> Sequence[PolicyDocument]:
        return self._transact(lambda tx: tx.all("policy"))

    def notify(self, notice: Notice) -> None:
        del notice
        self._wake()

    def _transact(self, work: Callable[[ShelfTransaction], T]) -> T:
        transaction = ShelfTransaction(self._connection)
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._check_leader(transaction)
            result = work(transaction)
            self._connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            self._roll_back()
            raise StoreUnavailable(str(error)) from error
        except BaseException:
            self._roll_back()
            raise
        return result

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _take_over(self, transaction: ShelfTransaction) -> int:
        epoch: int = (transaction.get("leader", "epoch") or 0) + 1
        transaction.put("leader", "epoch", epoch)
        return epoch

    def _check_leader(self, transaction: ShelfTransaction) -> None:
        """Rule 5: whoever opened the file last is the leader; everybody else is refused."""
        if self._epoch and transaction.get("leader", "epoch") != self._epoch:
            raise StoreUnavailable("another host has taken the file over")


class ShelfSubject:
    """What a user, an administrator and the leasing of this host do: the plugin knows nothing of it.

    The conformance suite needs these methods to bring about what it wants to look at.
    """

    def __init__(self, host: ShelfHost, path: Path) -> None:
        self.host = host
        self._path = path

    async def put_policy(self, document: PolicyDocument) -> None:
        await self.host.transact(lambda tx: tx.put("policy", document.name, document))

    async def put_queue(self, name: str, retry_policies: Sequence[str]) -> None:
        await self.host.transact(lambda tx: tx.put("queue", name, tuple(retry_policies)))

    async def submit(self, queue: str, job_set: str, pod_spec: JsonObject) -> JobId:
        job_id = JobId(uuid.uuid4().hex)
        job = Job(job_id=job_id, queue=queue, job_set=job_set, requirements=requirements_of(pod_spec))
        events: list[Event] = [
            JobSubmitted(job_id=job_id, job_set_id=job_set, queue=queue, created_ms=0),
            JobQueued(job_id=job_id, job_set_id=job_set, queue=queue, created_ms=0),
        ]

        def work(tx: ShelfTransaction) -> None:
            tx.put("job", job_id, job)
            tx.put("spec", job_id, pod_spec)
            tx.apply([fx.EventsAppended(tuple(events))])

        await self.host.transact(work)
        return job_id

    async def lease_round(self, views: Sequence[ExecutorView]) -> Sequence[Lease]:
        """Rule 7: leasable jobs only, on executors that may lease only, in one transaction."""
        rooms = [view.executor for view in views if view.may_lease for _ in range(view.free_slots)]

        def work(tx: ShelfTransaction) -> Sequence[Lease]:
            waiting = [job for job in tx.jobs([job.job_id for job in tx.all("job")]).values() if job.leasable]
            return tx.leases([self._lease(tx, job, room) for job, room in zip(waiting, rooms, strict=False)])

        return await self.host.transact(work)

    def _lease(self, tx: ShelfTransaction, job: Job, executor: ExecutorId) -> RunId:
        run_id = RunId(str(uuid.uuid4()))
        run = Run(run_id=run_id, job_id=job.job_id, ordinal=len(job.runs) + 1, executor=executor)
        where = {"job_set_id": job.job_set, "queue": job.queue, "cluster_id": executor}
        leased = JobLeased(job_id=job.job_id, created_ms=0, run_id=run_id, pool="default", **where)
        tx.apply([fx.RunAdopted(run, job.queued_version + 1), fx.EventsAppended((leased,))])
        return run_id

    async def stream(self, queue: str, job_set: str) -> Sequence[Event]:
        events = await self.host.transact(lambda tx: tx.all("event"))
        return [event for event in events if (event.queue, event.job_set_id) == (queue, job_set)]

    async def verdict_of(self, job_id: JobId, run_id: RunId) -> JsonObject | None:
        del job_id
        found = await self.host.transact(lambda tx: tx.get("verdict", run_id))
        return found.to_json() if found is not None else None

    async def late_reports_of(self, run_id: RunId) -> Sequence[fx.LateReported]:
        late = await self.host.transact(lambda tx: tx.all("late"))
        return [report for report in late if report.run_id == run_id]

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Somebody else holds the lock of the file."""
        other = sqlite3.connect(self._path, isolation_level=None)
        self.host._connection.execute("PRAGMA busy_timeout = 0")  # noqa: SLF001  its own test hook
        other.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")
            other.close()


@contextmanager
def opened(folder: Path) -> Iterator[ShelfSubject]:
    """The host of a folder: `--host-factory shelf_host:opened`."""
    host = ShelfHost(folder / "shelf.db")
    try:
        yield ShelfSubject(host, folder / "shelf.db")
    finally:
        host.close()
