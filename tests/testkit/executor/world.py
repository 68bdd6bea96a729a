"""The executor's brain in a world that can do its worst: any answer may fail, any watch lag, any step be the last.

The daemon's shell is played here without time: what the brain wants is committed in order, and only then let go.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from refloat_common.core.categories import ErrorCategories, compile_categories
from refloat_common.core.messages import Lease, Report, ReportKind
from refloat_common.core.settings import parse_settings
from refloat_common.core.taxonomy import Internal
from refloat_executor.core.brain import Brain
from refloat_executor.core.cluster.answers import Broken, Conflict, Denied, Done, Silent, Throttled, Unsent
from refloat_executor.core.ledger.book import Output
from refloat_executor.core.ledger.fold import durable, fold
from refloat_executor.core.ledger.handlers.step import Limits, Moment
from refloat_executor.core.ledger.values.effects import (
    ConfirmGone,
    CreatePod,
    DeletePod,
    Effect,
    ReadEvents,
    ReadPod,
)
from refloat_executor.core.ledger.values.entry import State
from refloat_executor.core.ledger.values.news import (
    CreateForbidden,
    CreateRefused,
    DeleteAccepted,
    DeleteRefused,
    EventsRead,
    News,
    PodCreated,
    PodListed,
    PodRead,
    ReadFailed,
)
from refloat_executor.core.ledger.values.records import (
    Accepted,
    Acked,
    Judged,
    Killing,
    Record,
    Reported,
    Retiring,
    decode_record,
    encode_record,
)
from testkit.executor.cluster import ModelCluster, ModelPod

LIMITS = Limits(create_open_s=15.0, pod_kill_timeout_s=30.0, stuck_expiry_s=30.0, minimum_pod_age_s=20.0)
RULES: dict[str, object] = {
    "enabled": True,
    "defaultCategory": "other",
    "categories": [
        {"name": "oom", "action": "Delete", "rules": [{"onConditions": ["OOMKilled"]}]},
        {"name": "user", "rules": [{"onExitCodes": {"operator": "In", "values": [3]}}]},
        {"name": "app", "action": "Delete", "rules": [{"onExitCodes": {"operator": "In", "values": [1, 137]}}]},
    ],
}
CATEGORIES = compile_categories(parse_settings(ErrorCategories, RULES))
ROUNDS = 400


@dataclass(frozen=True, slots=True)
class _Flying:
    """A create that got no answer and may still land."""

    effect: CreatePod
    until_s: float


@dataclass
class BrainWorld:
    """One executor. The journal survives crashes; `waiting` is not yet synced, `asked` not yet answered."""

    limits: Limits = LIMITS
    now_s: float = 1000.0
    dice: float = 0.5
    cluster: ModelCluster = field(default_factory=ModelCluster)
    journal: list[Record] = field(default_factory=list)
    waiting: deque[Output] = field(default_factory=deque)
    asked: list[Effect] = field(default_factory=list)
    flying: list[_Flying] = field(default_factory=list)
    leased: dict[str, Lease] = field(default_factory=dict)
    reports: dict[int, Report] = field(default_factory=dict)
    judged: dict[str, tuple[str, str]] = field(default_factory=dict)
    may_delete: set[str] = field(default_factory=set)
    accepted: dict[str, float] = field(default_factory=dict)
    crashes: int = 0
    outcome: int = 0
    """How pods end while the world is kind; see `cluster.ENDS`."""
    points: int = 0
    crash_at: int = 0
    """The commit, answer or watch after which the process dies, counted from 1; 0: never."""

    def __post_init__(self) -> None:
        self.boot()

    def boot(self) -> None:
        self.brain = Brain(
            fold(map(_through_bytes, self.journal)), self.limits, CATEGORIES, lambda node: node, max_kept_pods=3
        )
        self.brain.book.resume(self.at())
        self.gather()

    def at(self) -> Moment:
        return Moment(self.now_s, int(self.now_s * 1000), self.dice)

    def gather(self) -> None:
        output = self.brain.take()
        if output:
            self.waiting.append(output)

    # ---- the scheduler

    def lease(self, job: str) -> str:
        run = f"r{len(self.leased) + 1}"
        self.leased[run] = Lease(run=run, job=job, queue="q", job_set="s", namespace="jobs", pod_spec=b'{"a":1}')
        self.offer(run)
        return run

    def offer(self, run: str) -> None:
        self.brain.leased([self.leased[run]], self.at())
        self.gather()

    def confirm(self) -> None:
        """Every accepted run that is synced is listed, and the beat answered."""
        synced = [record.run for record in self.journal if isinstance(record, Accepted)]
        self.brain.may_start(synced, self.at())
        self.gather()

    def kill(self, run: str) -> None:
        self.brain.killed([run], self.at())
        self.gather()

    def acknowledge(self, have: int) -> None:
        self.journal.append(Acked(have))
        self.brain.acknowledged(have, self.at())
        self.gather()

    # ---- the shell

    def commit(self) -> None:
        """The oldest output is synced and let go."""
        if not self.waiting:
            return
        output = self.waiting.popleft()
        for record in output.records:
            self._note(record)
            self.journal.append(record)
        for effect in output.effects:
            if isinstance(effect, DeletePod):
                assert {effect.uid, effect.run} & self.may_delete, f"{effect} was never judged"
            self.asked.append(effect)
        self._point()

    def _point(self) -> None:
        self.points += 1
        if self.points == self.crash_at:
            self.crash()

    def crash(self) -> None:
        """The process dies: what was not synced never was; what was asked for may still happen."""
        self.crashes += 1
        for effect in self.asked:
            if isinstance(effect, CreatePod):
                self.flying.append(_Flying(effect, self.now_s + 1.0))
        self.asked.clear()
        self.waiting.clear()
        self.cluster.unseen.clear()
        self.boot()

    def pass_time(self, seconds: float) -> None:
        """Time goes on, and the timers are looked at every second."""
        while seconds > 0:
            self.stand_still(min(1.0, seconds))
            seconds -= 1.0

    def stand_still(self, seconds: float) -> None:
        """Time goes on, and nothing here runs."""
        self.now_s += seconds
        self.flying = [create for create in self.flying if create.until_s >= self.now_s]
        self.brain.tick(self.at())
        self.gather()

    def next_timer(self) -> None:
        due_s = self.brain.due_s()
        self.pass_time(1.0 if due_s is None else max(0.001, due_s - self.now_s))

    # ---- the cluster

    def watch(self, count: int) -> None:
        """The watch shows the next changes."""
        events, self.cluster.unseen = self.cluster.unseen[:count], self.cluster.unseen[count:]
        self.brain.watched(events, self.at())
        self.gather()
        self._point()

    def relist(self) -> None:
        """The watch broke: what it had not shown is replaced by a list."""
        self.cluster.unseen.clear()
        self.brain.listed("jobs", self.cluster.list_all(), self.at())
        self.gather()

    def delete_from_outside(self, name: str, *, at_once: bool) -> None:
        """Somebody else deletes a pod."""
        self.cluster.remove(self.cluster.pods[name], at_once=at_once)

    def hold(self, pick: int) -> None:
        """A finalizer of somebody else's, on or off."""
        pods = list(self.cluster.pods.values())
        pod = pods[pick % len(pods)]
        self.cluster.put(replace(pod, held=not pod.held))

    def land(self) -> None:
        """A create without an answer takes effect after all."""
        if self.flying:
            self._create(self.flying.pop(0).effect)

    def answer(self, index: int, how: int) -> None:
        """A request is answered; `how` above 5 is an answer that tells less, or an accident."""
        effect = self.asked.pop(index % len(self.asked))
        match effect:
            case CreatePod():
                self._tell(effect.lease.run, self._answer_create(effect, how))
            case DeletePod():
                self._tell(effect.run, self._answer_delete(effect, how))
            case ReadEvents():
                self._tell(effect.run, EventsRead(() if how < 6 else None))
            case ReadPod() | ConfirmGone():
                self._tell(effect.run, self._answer_read(effect, how))
        self._point()

    def _answer_create(self, effect: CreatePod, how: int) -> News:
        match how:
            case 6:
                return CreateForbidden()
            case 7:
                self.flying.append(_Flying(effect, self.now_s + 14.0))
                return CreateRefused(Silent("timeout"), fatal=False)
            case 8:
                self._create(effect)
                return CreateRefused(Silent("cut"), fatal=False)
            case 9:
                return CreateRefused(Throttled(1.0), fatal=False)
            case 10:
                return CreateRefused(Unsent("refused"), fatal=False)
            case 11:
                return CreateRefused(Broken(500, "etcd"), fatal=False)
            case 12:
                return CreateRefused(Denied(403, "Forbidden", "quota"), fatal=False)
            case _:
                made = self._create(effect)
                return PodCreated(made.shown()) if isinstance(made, ModelPod) else CreateRefused(made, fatal=False)

    def _create(self, effect: CreatePod) -> ModelPod | Conflict:
        lease = effect.lease
        made = self.cluster.create(f"armada-{lease.job}-0", lease.run, lease.job)
        assert len(self.cluster.started.get(lease.run, ())) <= 1, f"{lease.run} was started twice"
        if isinstance(made, ModelPod):
            assert not self._ends(lease.run), f"{lease.run} was started after its end"
        return made

    def _answer_delete(self, effect: DeletePod, how: int) -> News:
        match how:
            case 6:
                self.cluster.delete(effect)
                return DeleteRefused(Silent("timeout"))
            case 7:
                return DeleteRefused(Silent("timeout"))
            case 8:
                return DeleteRefused(Throttled(1.0))
            case 9:
                return DeleteRefused(Broken(503, "busy"))
            case _:
                answer = self.cluster.delete(effect)
                if not isinstance(answer, Done):
                    return DeleteRefused(answer)
                self.accepted.setdefault(effect.uid, self.now_s)
                return DeleteAccepted()

    def _answer_read(self, effect: ReadPod | ConfirmGone, how: int) -> News:
        if how in (6, 7):
            return ReadFailed(Silent("timeout"))
        if how == 8 and isinstance(effect, ConfirmGone):
            return PodListed() if self.cluster.exists(effect.uid) else PodRead(None)
        pod = self.cluster.pods.get(effect.name)
        return PodRead(None if pod is None else pod.shown())

    def _tell(self, run: str, news: News) -> None:
        self.brain.answered(run, news, self.at())
        self.gather()

    # ---- what must hold

    def _note(self, record: Record) -> None:
        match record:
            case Judged(run, uid, judgement):
                self.may_delete.add(uid)
                self.judged.setdefault(run, (judgement.category, judgement.subcategory))
            case Killing(run):
                self.may_delete.add(run)
            case Retiring(uid=uid):
                self.may_delete.add(uid)
            case Reported(seq, report):
                self._note_report(seq, report)
            case _:
                pass

    def _note_report(self, seq: int, report: Report) -> None:
        assert seq == len(self.reports) + 1, f"sequence {seq} after {len(self.reports)}"
        ends = self._ends(report.run)
        if report.kind is ReportKind.GONE:
            assert [old.subcategory for old in ends] == [Internal.STUCK_TERMINATING]
        elif report.kind.ends_run:
            assert not ends, f"{report.run} ends twice"
        else:
            assert not ends, f"{report.run} goes on after its end"
        if report.pod_gone:
            assert not self.cluster.exists(report.uid), f"{report.uid} is called gone and is there"
        if report.kind is ReportKind.FAILED and report.subcategory != Internal.JOB_CREATION_FAILED:
            stuck = report.subcategory == Internal.STUCK_TERMINATING
            if stuck:
                tried_s = self.now_s - self.accepted[report.uid]
                assert tried_s >= self.limits.stuck_expiry_s + 5, f"called stuck {tried_s} s after the first DELETE"
            assert stuck or (report.category, report.subcategory) == self.judged[report.run]
            assert stuck or report.disposition != "Delete" or report.pod_gone, "reported before it is gone"
        self.reports[seq] = report

    def _ends(self, run: str) -> list[Report]:
        return [old for old in self.reports.values() if old.run == run and old.kind.ends_run]

    def check_journal(self) -> None:
        """What the journal says is what a crash would leave."""
        if self.waiting:
            return
        kept = fold(self.journal)
        live = {entry.run: durable(entry) for entry in self.brain.book}
        assert kept.entries == live
        assert kept.next_seq == self.brain.book.next_seq

    def heal(self, until: Callable[[], bool] | None = None) -> None:
        """From now on the world is kind, and pods end: every run must end too, and be acknowledged.

        With `until` only so long; nothing need have ended then.
        """
        self.flying.clear()
        self.dice = 0.5
        for _ in range(ROUNDS):
            if until is not None and until():
                return
            self._kind_round()
            if self._quiet():
                break
        else:
            raise AssertionError(f"never quiet: {list(self.brain.book)}")
        ended = {report.run for report in self.reports.values() if report.kind.ends_run}
        accepted = {record.run for record in self.journal if isinstance(record, Accepted)}
        assert accepted <= ended
        kept = {entry.uid for entry in self.brain.book}
        assert {pod.uid for pod in self.cluster.pods.values()} <= kept, "a pod was forgotten"

    def _kind_round(self) -> None:
        for pod in list(self.cluster.pods.values()):
            self.cluster.advance(replace(pod, held=False), self.outcome)
        if self.cluster.unseen:
            self.watch(1000)
        while self.waiting or self.asked:
            self.commit()
            if self.asked:
                self.answer(0, 0)
        self.confirm()
        self.acknowledge(len(self.reports))
        self.next_timer()
        if self.crashes:
            self.relist()

    def _quiet(self) -> bool:
        states = {entry.state for entry in self.brain.book}
        return not self.waiting and not self.asked and not self.cluster.unseen and states <= {State.MARKED}


def _through_bytes(record: Record) -> Record:
    return decode_record(1, encode_record(record))
