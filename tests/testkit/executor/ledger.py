"""Entries, contexts and pods for tests of the ledger, as short as what matters in them."""

from refloat_common.core.messages import Lease
from refloat_common.core.pods import Event, ObjectMeta, Pod, PodSpec, PodStatus
from refloat_common.core.taxonomy import LABEL_JOB_ID, LABEL_RUN_ID
from refloat_executor.core.ledger.handlers.step import Context, Limits, Moment, Step
from refloat_executor.core.ledger.table import step
from refloat_executor.core.ledger.values.effects import ConfirmGone, CreatePod, DeletePod, ReadPod
from refloat_executor.core.ledger.values.entry import Entry, State
from refloat_executor.core.ledger.values.news import News
from refloat_executor.core.ledger.values.records import Judgement

NOW_S, NOW_MS, DICE, SEQ = 100.0, 1_700_000_000_000, 0.5, 7
RUN, JOB, NAME, UID = "r1", "j1", "armada-j1-0", "u1"
LEASE = Lease(run=RUN, job=JOB, queue="q", job_set="s", namespace="jobs", pod_spec=b"{}")
LIMITS = Limits()
DELETE = Judgement(category="oom", disposition="Delete", message="out of memory", node="n1", grace_s=5)
RETAIN = Judgement(category="user", disposition="Retain", message="exit 3", node="n1", grace_s=5)

CREATE = CreatePod(LEASE)
READ = ReadPod(RUN, "jobs", NAME)
CONFIRM = ConfirmGone(RUN, "jobs", NAME, UID)
REMOVE = DeletePod(RUN, "jobs", NAME, UID)


def entry(state: State, **more: object) -> Entry:
    """A run of job j1 in a state; from ACTIVE on it has a uid and no lease."""
    early = state in (State.ACCEPTED, State.WAITING, State.CREATING)
    known: dict[str, object] = {
        "run": RUN,
        "job": JOB,
        "namespace": "jobs",
        "name": NAME,
        "state": state,
        "queue": "q",
        "lease": LEASE if early else None,
        "uid": "" if early else UID,
    }
    return Entry(**(known | more))  # type: ignore[arg-type]  # fields of an entry


def context(
    *, busy: bool = False, judgement: Judgement = DELETE, limits: Limits = LIMITS, now_s: float = NOW_S
) -> Context:
    """The moment `NOW_S`, with a judge that has made up its mind."""

    def judge(pod: Pod | None, events: tuple[Event, ...], *, foreign_delete: bool, detected_at_ms: int) -> Judgement:
        del pod, events, foreign_delete, detected_at_ms
        return judgement

    return Context(Moment(now_s, NOW_MS, DICE), limits, SEQ, lambda: busy, judge, lambda node: f"label-{node}")


def pod(
    uid: str = UID,
    run: str = RUN,
    *,
    phase: str = "Running",
    version: str = "5",
    deleted: bool = False,
    grace_s: int = 0,
) -> Pod:
    """A pod that has the run's name."""
    meta = ObjectMeta(
        name=NAME,
        namespace="jobs",
        uid=uid,
        resource_version=version,
        deletion_timestamp="2026-11-30T12:00:00Z" if deleted else None,
        deletion_grace_period_seconds=grace_s if deleted else None,
        labels={LABEL_JOB_ID: JOB, LABEL_RUN_ID: run},
    )
    return Pod(meta, PodSpec(node_name="n1"), PodStatus(phase=phase))


def after(step_taken: Step) -> Entry:
    """The entry that is left."""
    assert step_taken.entry is not None
    return step_taken.entry


def tell(before: Entry, news: News, **more: object) -> Step:
    """One step of the table; `more` as for `context`."""
    return step(before, news, context(**more))  # type: ignore[arg-type]  # as `context` takes them
