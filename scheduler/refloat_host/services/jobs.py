"""Jobs: submit, cancel, preempt, reprioritize, look up."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeAlias

from refloat_common.core.clock import Chance, Clock
from refloat_common.core.ids import ExecutorId, JobId, RunId
from refloat_host.adapters.store.queries import catalog, jobs
from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_host.adapters.store.writer import Store
from refloat_host.core.errors import InvalidFieldError, NotFoundError
from refloat_host.core.orders import Carried, Kill, Order, cancel, preempt, reprioritize
from refloat_host.core.rejection import rejected
from refloat_host.core.selection import Selection, check_selection
from refloat_host.core.submission import MAX_PRIORITY, Accepted, Submission, checked, new_job, submission_events
from refloat_host.services.admission import Admission
from refloat_host.services.leasing.fits import FitCache
from refloat_scheduler.core.effects import Effect, EventsAppended
from refloat_scheduler.core.events import Event
from refloat_scheduler.core.model import Job

MAX_JOBS_PER_TRANSACTION = 500
MAX_JOBS_PER_ANSWER = 500
NO_JOB = JobId("")
"""Before every job."""

KillRuns: TypeAlias = Callable[[ExecutorId, Sequence[RunId], str], None]
"""Tells an executor to end runs; `Scheduler.kill` of the plugin."""


class Ordering(Protocol):
    """What an order does to a job: one of `core.orders`."""

    def __call__(self, job: Job, order: Order, now_ms: int) -> Carried | None:
        """What the order comes to; None where it changes nothing."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """The job that a submission became. `known`: the client's id stood for this job already; nothing was changed."""

    job_id: JobId
    known: bool = False


@dataclass(slots=True)
class _Ordered:
    """What one transaction has carried out."""

    done: list[JobId] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)


class JobService:
    """The jobs. `kill` is called after the commit of whatever ended leased runs.

    `fits` knows what fits where, for the look at new jobs; without it none is rejected.
    """

    def __init__(
        self, store: Store, clock: Clock, chance: Chance, kill: KillRuns, fits: FitCache | None = None
    ) -> None:
        self._admission = None if fits is None else Admission(fits)
        self._store = store
        self._clock = clock
        self._chance = chance
        self._kill = kill

    async def submit(
        self, queue: str, job_set: str, submissions: Sequence[Submission], owner: str = ""
    ) -> Sequence[Submitted]:
        """Accept jobs, all or none, in the order given. One that no node could ever take fails at once.

        Raises:
            InvalidFieldError: the first field that can't be used.
            NotFoundError: there is no such queue.
        """
        accepted = checked(submissions, job_set=job_set, owner=owner)
        ids = [JobId(self._chance.ulid()) for _ in accepted]
        now_ms = self._clock.utc_ms()

        def made(job: Accepted, job_id: JobId) -> Job:
            return new_job(job, job_id, queue=queue, job_set=job_set, owner=owner, now_ms=now_ms)

        def work(tx: SqlTransaction) -> list[Submitted]:
            if catalog.queue(tx.connection, queue) is None:
                raise NotFoundError("queue", queue)
            known = jobs.jobs_of_clients(tx.connection, queue, [job.submission.client_id for job in accepted])
            new = [(job, made(job, job_id)) for job, job_id in zip(accepted, ids, strict=True)]
            return _store_new(tx, new, known, self._admission)

        return await self._store.transact(work)

    async def cancel(self, selection: Selection, order: Order) -> Sequence[JobId]:
        """Cancel jobs; returns those that were not over. Unknown ids are left out.

        Raises:
            InvalidFieldError: the selection names neither jobs nor a job set.
        """
        return await self._order(selection, order, cancel)

    async def preempt(self, selection: Selection, order: Order) -> Sequence[JobId]:
        """Take jobs off their nodes for good; returns those that had a run. Raises as `cancel`."""
        return await self._order(selection, order, preempt)

    async def reprioritize(self, selection: Selection, priority: int, order: Order) -> Sequence[JobId]:
        """Give jobs another priority; returns those whose priority changed. Raises as `cancel`."""
        check_selection(selection)
        if not 0 <= priority <= MAX_PRIORITY:
            raise InvalidFieldError("newPriority", priority, f"must be between 0 and {MAX_PRIORITY}")
        now_ms = self._clock.utc_ms()

        def change(tx: SqlTransaction, ids: Sequence[JobId]) -> list[JobId]:
            chosen = _chosen(tx, selection, ids)
            events = {job.job_id: reprioritize(job, priority, order, now_ms) for job in chosen}
            changed = [job_id for job_id, of_job in events.items() if of_job]
            jobs.set_priority(tx.connection, changed, priority)
            tx.apply([EventsAppended(tuple(event for of_job in events.values() for event in of_job))])
            tx.changes.queued = bool(changed)
            return changed

        ids = selection.job_ids or await self._store.read(lambda tx: _all_unfinished(tx, selection))
        done: list[JobId] = []
        for page in _pages(ids):
            done += await self._store.transact(partial(change, ids=page))
        return done

    async def get(self, job_id: JobId) -> Job:
        """One job with its whole history.

        Raises:
            NotFoundError: there is none of that id.
        """
        found = await self._store.read(lambda tx: tx.jobs([job_id]))
        if job_id not in found:
            raise NotFoundError("job", job_id)
        return found[job_id]

    async def find(self, job_ids: Sequence[JobId]) -> Mapping[JobId, Job]:
        """Those of these jobs that exist."""
        found: dict[JobId, Job] = {}
        for page in _pages(job_ids):
            found |= await self._store.read(partial(SqlTransaction.jobs, job_ids=page))
        return found

    async def list(
        self, queue: str, job_set: str = "", after: JobId = NO_JOB, limit: int = MAX_JOBS_PER_ANSWER
    ) -> Sequence[Job]:
        """A page of a job set's jobs behind `after`, in order of id; without a job set, of the queue's unfinished."""
        count = min(limit, MAX_JOBS_PER_ANSWER)
        return await self._store.read(lambda tx: jobs.list_jobs(tx.connection, queue, job_set, after, count))

    async def _order(self, selection: Selection, order: Order, ordering: Ordering) -> Sequence[JobId]:
        check_selection(selection)
        ids = selection.job_ids or await self._store.read(lambda tx: _all_unfinished(tx, selection))
        done: list[JobId] = []
        for page in _pages(ids):
            carry = partial(ordering, order=order, now_ms=self._clock.utc_ms())
            work = partial(_carry_out, selection=selection, ids=page, carry=carry)
            ordered = await self._store.transact(work)
            done += ordered.done
            self._kill_all(ordered.kills, order.reason)
        return done

    def _kill_all(self, kills: Sequence[Kill], reason: str) -> None:
        runs: dict[ExecutorId, list[RunId]] = {}
        for kill in kills:
            runs.setdefault(kill.executor, []).append(kill.run_id)
        for executor, run_ids in runs.items():
            self._kill(executor, run_ids, reason)


def _store_new(
    tx: SqlTransaction, new: list[tuple[Accepted, Job]], known: dict[str, JobId], admission: Admission | None
) -> list[Submitted]:
    """Store the jobs whose client's id is not known yet, in the store or earlier in the same request."""
    answer: list[Submitted] = []
    rows: list[tuple[Job, str, str]] = []
    for accepted, job in new:
        client_id = accepted.submission.client_id
        if client_id and client_id in known:
            answer.append(Submitted(known[client_id], known=True))
            continue
        known[client_id] = job.job_id
        rows.append((job, accepted.spec_text, client_id))
        answer.append(Submitted(job.job_id))
    events: list[Event] = [event for job, _, _ in rows for event in submission_events(job)]
    reasons = admission.rejected(tx, [job for job, _, _ in rows]) if admission else {}
    for index, (job, spec, client_id) in enumerate(rows):
        if job.job_id in reasons:
            ended, event = rejected(job, reasons[job.job_id])
            rows[index] = (ended, spec, client_id)
            events.append(event)
    jobs.add_jobs(tx.connection, rows)
    tx.apply([EventsAppended(tuple(events))])
    tx.changes.queued |= len(reasons) < len(rows)
    return answer


def _carry_out(
    tx: SqlTransaction, selection: Selection, ids: Sequence[JobId], carry: Callable[[Job], Carried | None]
) -> _Ordered:
    ordered = _Ordered()
    effects: list[Effect] = []
    for job in _chosen(tx, selection, ids):
        carried = carry(job)
        if carried is not None:
            ordered.done.append(job.job_id)
            ordered.kills += carried.kills
            effects += carried.effects
    tx.apply(effects)
    return ordered


def _chosen(tx: SqlTransaction, selection: Selection, ids: Sequence[JobId]) -> list[Job]:
    """Those of these jobs that exist and meet the selection's conditions, each once."""
    found = tx.jobs(ids)
    classes = jobs.priority_classes(tx.connection, ids) if selection.priority_classes else {}
    known = [found[job_id] for job_id in dict.fromkeys(ids) if job_id in found]
    return [job for job in known if selection.covers(job, classes.get(job.job_id, ""))]


def _all_unfinished(tx: SqlTransaction, selection: Selection) -> Sequence[JobId]:
    return jobs.unfinished(tx.connection, selection.queue, selection.job_set)


def _pages(ids: Sequence[JobId]) -> list[Sequence[JobId]]:
    return [ids[i : i + MAX_JOBS_PER_TRANSACTION] for i in range(0, len(ids), MAX_JOBS_PER_TRANSACTION)]
