"""The executor's end of the link with a clock of its own, for tests of single rules."""

from refloat_common.core.link.executor.values import (
    Effect,
    Event,
    ExecutorLink,
    Identity,
    Phase,
    Received,
    Send,
    Tick,
)
from refloat_common.core.link.executor_side import begin, step
from refloat_common.core.link.frames import FromExecutor, FromScheduler
from refloat_common.core.messages import (
    Ack,
    HeartbeatAck,
    Lease,
    Report,
    ReportKind,
    RunEntry,
    RunStatus,
    RunVerdict,
    Timing,
    Welcome,
)

IDENTITY = Identity(executor="E1", boot="b1", journal="j1", capabilities=("delete_action",), pool="gpu")
TIMING = Timing(heartbeat_interval_s=5.0, start_window_s=30.0)
ACCEPTED = RunEntry(run="r1", job="job1", status=RunStatus.ACCEPTED)
REPORT = Report(kind=ReportKind.RUNNING, run="r1", job="job1")
LEASE = Lease(run="r1", job="job1", queue="q", job_set="s", namespace="n", pod_spec=b"{}")


class End:
    """The executor's end with its clock; jitter is always in the middle."""

    def __init__(self, *, next_seq: int = 1, acked: int = 0, runs: tuple[RunEntry, ...] = ()) -> None:
        self.now_s = 0.0
        self.link: ExecutorLink = begin(IDENTITY, last_epoch=4, next_seq=next_seq, acked_seq=acked, runs=runs)

    def at(self, now_s: float, event: Event | FromScheduler) -> tuple[Effect, ...]:
        self.now_s = now_s
        happened = Received(event) if isinstance(event, FromScheduler) else event
        self.link, effects = step(self.link, happened, now_s, 0.5)
        return effects

    def said(self, now_s: float, event: Event | FromScheduler) -> list[FromExecutor]:
        return [effect.message for effect in self.at(now_s, event) if isinstance(effect, Send)]

    def opened(self, *, have: int = 0, granted: int = 100, verdicts: tuple[RunVerdict, ...] = ()) -> "End":
        self.at(0.0, Tick())
        self.at(0.1, welcome(have=have, granted=granted, verdicts=verdicts))
        assert self.link.phase is Phase.OPEN
        return self


def welcome(
    *, epoch: int = 5, attempt: int = 1, have: int = 0, granted: int = 100, verdicts: tuple[RunVerdict, ...] = ()
) -> Welcome:
    return Welcome(
        scheduler_boot="s1",
        attempt=attempt,
        epoch=epoch,
        have=have,
        verdicts=list(verdicts),
        credits=granted,
        timing=TIMING,
    )


def answer(n: int, *, kills: tuple[str, ...] = (), granted: int = 100, want_runs: bool = False) -> HeartbeatAck:
    return HeartbeatAck(epoch=5, n=n, kills=list(kills), credits=granted, want_runs=want_runs)


def ack(have: int, granted: int = 100) -> Ack:
    return Ack(epoch=5, journal="j1", have=have, credits=granted)
