"""Both ends of the link wired together in memory, with a journal, a store and a wire that can do their worst.

Time stands still until `pass_time` moves it. Frames are real: each message is encoded, and decoded on arrival.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from refloat_common.core.link import executor_side, scheduler_side
from refloat_common.core.link.executor import values as ex
from refloat_common.core.link.frames import Channel, FromExecutor, FromScheduler, Refusal, Side, decode, encode
from refloat_common.core.link.scheduler import values as sc
from refloat_common.core.messages import (
    Lease,
    Report,
    ReportKind,
    RunEntry,
    RunStatus,
    RunVerdict,
    Timing,
    Verdict,
)

TIMING = Timing(heartbeat_interval_s=5.0, start_window_s=30.0)
EXECUTOR = "E1"
CREDITS = 8


class CrashError(Exception):
    """One end dies here."""

    def __init__(self, who: str) -> None:
        super().__init__(who)
        self.who = who


@dataclass
class Journal:
    """What survives a crash of the executor."""

    journal: str = "j1"
    reports: list[Report] = field(default_factory=list)
    acked: int = 0
    last_epoch: int = 0
    held: dict[str, RunEntry] = field(default_factory=dict)
    ever: set[str] = field(default_factory=set)
    started: list[str] = field(default_factory=list)
    dead_letters: list[int] = field(default_factory=list)


@dataclass
class Store:
    """What survives a crash of the scheduler. `applied` holds (journal, seq, run) in order of commit."""

    high: dict[str, int] = field(default_factory=dict)
    applied: list[tuple[str, int, str]] = field(default_factory=list)
    last_epoch: int = 0
    leased: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    down: bool = False

    def copy(self) -> "Store":
        return Store(dict(self.high), list(self.applied), self.last_epoch, set(self.leased), set(self.ended))


@dataclass
class Frame:
    """A frame under way. `peer` is the executor's connection that it left by or goes to."""

    channel: Channel
    peer: bytes
    data: bytes


class Pair:
    """One executor and one scheduler. Each method is something that happens."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.journal = Journal()
        self.store = Store()
        self.up: list[Frame] = []
        self.down: list[Frame] = []
        self.epochs: list[tuple[int, str]] = []
        self.boots = 0
        self.connection = 0
        self.connected = True
        self.heard_s = 0.0
        self.effects_done = 0
        self.crash_at: int | None = None
        self.log: list[object] = []
        self.poison: set[int] = set()
        self.cleared: set[tuple[int, str]] = set()
        self.start_executor()
        self.start_scheduler()

    # ---- processes

    def start_executor(self) -> None:
        """A new process on the same journal."""
        self.boots += 1
        self.reconnect()
        self.link = executor_side.begin(
            ex.Identity(executor=EXECUTOR, boot=f"b{self.boots}", journal=self.journal.journal),
            last_epoch=self.journal.last_epoch,
            next_seq=len(self.journal.reports) + 1,
            acked_seq=self.journal.acked,
            runs=tuple(self.journal.held.values()),
        )
        self.executor(ex.CapacityChanged(free_slots=9, journal_free_bytes=1 << 20))

    def start_scheduler(self) -> None:
        """A new process on the same store."""
        self.boots += 1
        self.server = sc.Server(boot=f"s{self.boots}", timing=TIMING, credits=CREDITS)
        self.set_store_down(down=self.store.down)

    def restore_store(self, backup: Store) -> None:
        """The store goes back to a backup; the scheduler starts anew on it."""
        self.store = backup.copy()
        self.start_scheduler()

    def start_again(self, who: str) -> None:
        """A new process in the place of a dead one."""
        (self.start_executor if who == "executor" else self.start_scheduler)()

    def reconnect(self) -> None:
        """The connection breaks: what was under way is gone, and the peer has another name."""
        self.connection += 1
        self.up.clear()
        self.down.clear()

    @property
    def peer(self) -> bytes:
        return b"c%d" % self.connection

    # ---- news

    def report(self, run: str, kind: ReportKind = ReportKind.RUNNING) -> None:
        """The executor journals a report, synced, and says so to the link."""
        self.journal.reports.append(Report(kind=kind, run=run, job=f"job-{run}"))
        self.executor(ex.Journaled(next_seq=len(self.journal.reports) + 1))

    def end(self, run: str) -> None:
        """A held run ends; its end is reported."""
        if run not in self.journal.held or self.journal.held[run].status is RunStatus.ENDED:
            return
        self.journal.held[run] = RunEntry(run=run, job=f"job-{run}", status=RunStatus.ENDED)
        self.executor(ex.RunsChanged(changed=(self.journal.held[run],)))
        self.report(run, ReportKind.KILLED)

    def lease(self, run: str) -> None:
        """The scheduler leases a run, durably, and offers it."""
        self.store.leased.add(run)
        self.offer()

    def offer(self) -> None:
        """Every leased run is offered (again)."""
        leases = tuple(
            Lease(run=run, job=f"job-{run}", queue="q", job_set="s", namespace="n", pod_spec=b"{}")
            for run in sorted(self.store.leased - self.store.ended)
        )
        self.scheduler(sc.LeasesOrdered(EXECUTOR, leases))

    def cancel(self, run: str) -> None:
        """The run ends in the store."""
        self.store.ended.add(run)
        self.scheduler(sc.KillsOrdered(EXECUTOR, (run,), "cancelled"))

    def set_store_down(self, *, down: bool) -> None:
        self.store.down = down
        self.scheduler(sc.FlowSet(credits=0 if down else CREDITS, busy=down))

    def pass_time(self, seconds: float) -> None:
        self.now_s += seconds
        self.executor(ex.Tick())

    def next_timer(self) -> None:
        """Time moves to the executor's next timer."""
        due_s = executor_side.deadline_s(self.link)
        if due_s is not None:
            self.now_s = max(self.now_s, due_s)
        self.executor(ex.Tick())

    def try_start(self, run: str) -> None:
        """A worker creates the pod of a run, if the link lets it."""
        if executor_side.may_start(self.link, run, self.now_s):
            assert self.link.beating.fresh_from_s is not None
            assert self.link.beating.fresh_from_s <= self.heard_s, "fresher than the scheduler has heard"
            assert (self.link.epoch, run) in self.cleared, "this session has not let the run start"
            self.journal.started.append(run)
            self.journal.held[run] = RunEntry(run=run, job=f"job-{run}", status=RunStatus.ACTIVE)
            self.executor(ex.RunsChanged(changed=(self.journal.held[run],)))

    # ---- the wire

    def arrive_up(self, index: int = 0) -> None:
        """A frame reaches the scheduler."""
        frame = self.up.pop(index)
        message = decode(frame.data, receiver=Side.SCHEDULER, channel=frame.channel)
        if isinstance(message, Refusal):
            self.scheduler(sc.Garbled(frame.channel, frame.peer, EXECUTOR, message))
            return
        self.scheduler(sc.Received(frame.channel, frame.peer, EXECUTOR, _from_executor(message)))

    def arrive_down(self, index: int = 0) -> None:
        """A frame reaches the executor, if its connection is still the same."""
        frame = self.down.pop(index)
        if frame.peer != self.peer:
            return
        message = decode(frame.data, receiver=Side.EXECUTOR, channel=frame.channel)
        assert not isinstance(message, Refusal), message
        self.executor(ex.Received(_from_scheduler(message)))

    def settle(self, rounds: int = 400) -> None:
        """Deliver everything in order until nothing is under way; time stands still."""
        for _ in range(rounds):
            if self.up:
                self.arrive_up()
            elif self.down:
                self.arrive_down()
            else:
                return
        raise AssertionError("the ends never fall silent")

    def heal(self) -> None:
        """A fair network and a writable store for as long as the longest timers need."""
        self.connected = True
        self.set_store_down(down=False)
        self.settle()
        for _ in range(60):
            self.next_timer()
            self.settle()
            self.offer()
            self.settle()

    # ---- effects

    def executor(self, event: ex.Event) -> None:
        """Something happens at the executor; carry out what comes of it."""
        self.link, effects = executor_side.step(self.link, event, self.now_s, 0.5)
        for effect in effects:
            self._may_crash("executor")
            self._executor_effect(effect)

    def _executor_effect(self, effect: ex.Effect) -> None:
        match effect:
            case ex.Send(channel=channel, message=message):
                if self.connected:
                    self.up.append(Frame(channel, self.peer, encode(message)))
                else:
                    self.executor(ex.NotSent(channel))
            case ex.FetchReports(first_seq=first, max_count=count):
                self.executor(ex.ReportsFetched(first, tuple(self.journal.reports[first - 1 : first - 1 + count])))
            case ex.Acknowledged(have=have):
                self.journal.acked = have
                self._forget_acknowledged(have)
            case ex.LeasesOffered(leases=leases):
                self._accept(leases)
            case ex.MayStart(runs=runs):
                for run in runs:
                    self.try_start(run)
            case ex.KillRuns(runs=runs):
                for run in runs:
                    self.end(run)
            case _:
                self._keep(effect)

    def _keep(self, effect: ex.Effect) -> None:
        match effect:
            case ex.SessionOpened(epoch=epoch):
                self.journal.last_epoch = epoch
            case ex.DeadLettered(seq=seq):
                self.journal.dead_letters.append(seq)
            case _:
                self.log.append(effect)

    def _forget_acknowledged(self, have: int) -> None:
        ended = {report.run for report in self.journal.reports[:have] if report.kind.ends_run}
        gone = tuple(run for run in self.journal.held if run in ended)
        for run in gone:
            del self.journal.held[run]
        if gone:
            self.executor(ex.RunsChanged(removed=gone))

    def _accept(self, leases: tuple[Lease, ...]) -> None:
        news = [lease for lease in leases if lease.run not in self.journal.ever]
        entries = tuple(RunEntry(run=lease.run, job=lease.job, status=RunStatus.ACCEPTED) for lease in news)
        self.journal.ever.update(entry.run for entry in entries)
        self.journal.held.update({entry.run: entry for entry in entries})
        if entries:
            self.executor(ex.RunsChanged(changed=entries))

    def scheduler(self, event: sc.Event) -> None:
        """Something happens at the scheduler; carry out what comes of it."""
        self.server, effects = scheduler_side.step(self.server, event, self.now_s)
        for effect in effects:
            self._may_crash("scheduler")
            self._scheduler_effect(effect)

    def _scheduler_effect(self, effect: sc.Effect) -> None:
        match effect:
            case sc.Reply(channel=channel, peer=peer, message=message):
                if self.connected:
                    self.down.append(Frame(channel, peer, encode(message)))
            case sc.OpenSession():
                self._open(effect)
            case sc.Deliver():
                self._commit(effect)
            case sc.BeatHeard(epoch=epoch, beat=beat):
                if self.store.down:
                    self.scheduler(sc.BeatUnanswered(EXECUTOR, epoch, beat.n))
                    return
                kills = tuple(run for run in beat.listed if run in self.store.ended)
                self.cleared.update((epoch, run) for run in beat.listed if run not in kills)
                self.scheduler(sc.BeatAnswered(EXECUTOR, epoch, beat.n, kills))
            case sc.Heard():
                self.heard_s = self.now_s
            case sc.NodesTold():
                self.scheduler(sc.NodesSettled(EXECUTOR, stored=not self.store.down))
            case _:
                self.log.append(effect)

    def _open(self, effect: sc.OpenSession) -> None:
        hello = effect.hello
        if self.store.down:
            self.scheduler(sc.SessionDenied(EXECUTOR, hello.boot, hello.attempt))
            return
        self.heard_s = self.now_s
        self.store.last_epoch = max(self.store.last_epoch, hello.last_epoch) + 1
        self.epochs.append((self.store.last_epoch, hello.boot))
        have = max(self.store.high.get(hello.journal, 0), hello.oldest_seq - 1)
        self.store.high[hello.journal] = have
        verdicts = tuple(RunVerdict(run=entry.run, verdict=self._verdict(entry.run)) for entry in effect.runs)
        self.cleared.update((self.store.last_epoch, v.run) for v in verdicts if v.verdict is Verdict.KEEP)
        granted = sc.SessionGranted(EXECUTOR, hello.boot, hello.attempt, self.store.last_epoch, have, verdicts)
        self._may_crash("scheduler")
        self.scheduler(granted)

    def _verdict(self, run: str) -> Verdict:
        if run in self.store.ended:
            return Verdict.KILL
        return Verdict.KEEP if run in self.store.leased else Verdict.UNKNOWN

    def _commit(self, effect: sc.Deliver) -> None:
        if self.store.down:
            self.scheduler(sc.NotCommitted(EXECUTOR, effect.epoch))
            return
        skipped = []
        for seq, report in enumerate(effect.reports, effect.first_seq):
            assert seq == self.store.high.get(effect.journal, 0) + 1, "a gap or a repetition reached the store"
            self.store.high[effect.journal] = seq
            if seq in self.poison:
                skipped.append((seq, "cannot-apply"))
                continue
            self.store.applied.append((effect.journal, seq, report.run))
            if report.kind.ends_run:
                self.store.ended.add(report.run)
        self._may_crash("scheduler")
        have = self.store.high[effect.journal]
        self.scheduler(sc.Committed(EXECUTOR, effect.epoch, have, tuple(skipped)))

    def _may_crash(self, who: str) -> None:
        self.effects_done += 1
        if self.effects_done == self.crash_at:
            raise CrashError(who)

    # ---- what must hold

    def applied_seqs(self) -> Iterator[int]:
        return (seq for journal, seq, _run in self.store.applied if journal == self.journal.journal)


def _from_executor(message: FromExecutor | FromScheduler) -> FromExecutor:
    assert not isinstance(message, FromScheduler)
    return message


def _from_scheduler(message: FromExecutor | FromScheduler) -> FromScheduler:
    assert not isinstance(message, FromExecutor)
    return message
