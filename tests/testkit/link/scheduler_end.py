"""The scheduler's end of the link with a clock of its own, for tests of single rules."""

from refloat_common.core.link.frames import Channel, FromExecutor
from refloat_common.core.link.scheduler.values import (
    Deliver,
    Effect,
    Event,
    Phase,
    Received,
    Reply,
    Server,
    SessionGranted,
)
from refloat_common.core.link.scheduler_side import step
from refloat_common.core.messages import (
    Ack,
    Heartbeat,
    HeartbeatAck,
    Hello,
    Report,
    ReportKind,
    Reports,
    RunEntry,
    RunStatus,
    RunVerdict,
    Stale,
    Timing,
    Verdict,
)

TIMING = Timing(heartbeat_interval_s=5.0, start_window_s=30.0)
RUN = RunEntry(run="r1", job="j1", status=RunStatus.ACTIVE)
KEPT = RunVerdict(run="r1", verdict=Verdict.KEEP)
C, R = Channel.CONTROL, Channel.REPORTS


class End:
    """The scheduler's end; everybody speaks with the key of the executor `E1`, unless told otherwise."""

    def __init__(self, *, secure: bool = True, granted: int = 100) -> None:
        self.now_s = 0.0
        self.server = Server(boot="s1", timing=TIMING, secure=secure, credits=granted)

    def on(self, event: Event) -> tuple[Effect, ...]:
        self.server, effects = step(self.server, event, self.now_s)
        return effects

    def got(self, message: FromExecutor, peer: bytes = b"c1", executor: str | None = "E1") -> tuple[Effect, ...]:
        return self.on(Received(R if isinstance(message, Reports) else C, peer, executor, message))

    def opened(self, *, boot: str = "b1", epoch: int = 7, have: int = 0, peer: bytes = b"c1") -> "End":
        self.got(hello(boot=boot), peer=peer)
        self.on(SessionGranted("E1", boot, 1, epoch, have))
        assert self.server.sessions["E1"].phase is Phase.OPEN
        return self


def hello(*, boot: str = "b1", attempt: int = 1, executor: str = "E1", journal: str = "j1") -> Hello:
    return Hello(
        executor=executor,
        boot=boot,
        journal=journal,
        attempt=attempt,
        versions=(1, 1),
        last_epoch=6,
        next_seq=1,
        acked_seq=0,
        runs=[RUN],
    )


def beat(n: int, *, epoch: int = 7, listed: tuple[str, ...] = (), nodes_revision: int = 0) -> Heartbeat:
    return Heartbeat(
        epoch=epoch,
        n=n,
        acked_seq=0,
        next_seq=1,
        runs_count=0,
        runs_hash="",
        listed=list(listed),
        free_slots=1,
        journal_free_bytes=1,
        nodes_revision=nodes_revision,
    )


def reports(first: int, count: int, *, epoch: int = 7, journal: str = "j1") -> Reports:
    batch = [Report(kind=ReportKind.RUNNING, run=f"r{seq}", job="j") for seq in range(first, first + count)]
    return Reports(epoch, journal, first, batch)


def delivered(first: int, count: int) -> Deliver:
    return Deliver("E1", 7, "j1", first, tuple(reports(first, count).reports))


def acked(have: int, granted: int = 100, peer: bytes = b"r1") -> Reply:
    return Reply(R, peer, Ack(epoch=7, journal="j1", have=have, credits=granted))


def answered(n: int, *, kills: tuple[str, ...] = (), want_nodes: bool = False) -> Reply:
    return Reply(C, b"c1", HeartbeatAck(epoch=7, n=n, kills=list(kills), credits=100, want_nodes=want_nodes))


def stale(epoch: int, reason: str, peer: bytes = b"c1", channel: Channel = C) -> Reply:
    return Reply(channel, peer, Stale.model_validate({"boot": "s1", "epoch": epoch, "reason": reason}))
