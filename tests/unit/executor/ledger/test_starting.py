"""How a leased run comes to have a pod."""

import pytest
from msgspec.structs import replace

from refloat_common.core.messages import Report, ReportKind
from refloat_executor.core.cluster.answers import (
    Broken,
    Conflict,
    Denied,
    Expired,
    Missing,
    Refusal,
    Silent,
    Throttled,
    Unsent,
)
from refloat_executor.core.ledger.handlers.starting import CREATE_UNKNOWN
from refloat_executor.core.ledger.values.entry import Doing, State
from refloat_executor.core.ledger.values.news import (
    Confirmed,
    CreateForbidden,
    CreateImpossible,
    CreateRefused,
    Due,
    KillOrdered,
    NameFreed,
    PodCreated,
    PodRead,
    ReadFailed,
)
from refloat_executor.core.ledger.values.records import Created, Creating, Killing, Reported
from testkit.executor.ledger import (
    CREATE,
    JOB,
    NAME,
    NOW_MS,
    NOW_S,
    READ,
    REMOVE,
    RUN,
    SEQ,
    UID,
    after,
    entry,
    pod,
    tell,
)

CREATING = entry(State.CREATING, doing=Doing.CREATE)
READING = entry(State.CREATING, doing=Doing.READ)
EXISTS = Conflict('pods "armada-j1-0" already exists', already_exists=True)


def report(kind: ReportKind, **more: object) -> Reported:
    known = {"kind": kind, "run": RUN, "job": JOB, "pod_name": NAME, "namespace": "jobs"}
    return Reported(SEQ, Report(**(known | more)))  # type: ignore[arg-type]  # fields of a report


def returned(message: str) -> Reported:
    return report(ReportKind.RETURNED, message=message)


def never_created(message: str) -> Reported:
    return report(
        ReportKind.FAILED,
        category="internal",
        subcategory="job-creation-failed",
        message=message,
        detected_at_ms=NOW_MS,
    )


def killed(*, attempted: bool) -> Reported:
    return report(ReportKind.KILLED, attempted=attempted)


def test_a_confirmed_run_is_created() -> None:
    done = tell(entry(State.ACCEPTED), Confirmed())
    assert (done.records, done.effects) == ((Creating(RUN),), (CREATE,))
    assert after(done) == CREATING


def test_a_run_waits_for_the_name_and_then_is_created() -> None:
    waiting = tell(entry(State.ACCEPTED), Confirmed(), busy=True)
    assert (waiting.records, waiting.effects) == ((), ())
    assert after(waiting) == entry(State.WAITING, due_s=NOW_S + 60)
    assert tell(after(waiting), NameFreed(), busy=True).entry == after(waiting)
    for news in (NameFreed(), Due()):
        assert tell(after(waiting), news).effects == (CREATE,)


@pytest.mark.parametrize("state", [State.ACCEPTED, State.WAITING])
def test_a_run_killed_before_it_was_created_never_had_a_pod(state: State) -> None:
    done = tell(entry(state), KillOrdered())
    assert done.records == (Killing(RUN), killed(attempted=False))
    assert (after(done).state, after(done).gone) == (State.REPORTED, True)


def test_a_created_pod_is_the_runs_from_then_on() -> None:
    done = tell(CREATING, PodCreated(pod()))
    assert (done.records, done.effects) == ((Created(RUN, UID),), ())
    assert after(done) == entry(State.ACTIVE, version="5")


def test_a_pod_created_for_a_killed_run_is_removed() -> None:
    done = tell(replace(CREATING, kill=True), PodCreated(pod()))
    assert (done.records, done.effects) == ((Created(RUN, UID),), (REMOVE,))
    assert after(done).state is State.KILLING


def test_a_create_that_may_not_be_sent_waits_for_a_fresh_lease() -> None:
    held_back = tell(CREATING, CreateForbidden())
    assert (held_back.records, held_back.effects) == ((), ())
    assert after(held_back) == entry(State.CREATING)
    again = tell(after(held_back), Confirmed())
    assert (again.records, again.effects, again.entry) == ((), (CREATE,), CREATING)
    assert tell(after(held_back), KillOrdered()).records == (Killing(RUN), killed(attempted=False))


def test_a_create_on_its_way_is_not_sent_twice() -> None:
    assert tell(CREATING, Confirmed()).effects == ()


def test_a_lease_that_can_be_no_pod_is_a_failure_of_the_job() -> None:
    assert tell(CREATING, CreateImpossible("no podspec")).records == (never_created("no podspec"),)


def test_a_taken_name_is_looked_at() -> None:
    done = tell(CREATING, CreateRefused(EXISTS, fatal=False))
    assert (done.records, done.effects) == ((), (READ,))
    assert after(done).refusal == EXISTS.message


ENDS: dict[str, tuple[Refusal, bool, Reported]] = {
    "forbidden": (Denied(403, "Forbidden", "quota"), False, never_created("quota")),
    "invalid": (Denied(422, "Invalid", "bad name"), False, never_created("bad name")),
    "no such namespace": (Missing('namespaces "x" not found'), True, never_created('namespaces "x" not found')),
    "not found, not fatal": (Missing("gone"), False, returned("gone")),
    "a fatal conflict": (Conflict("webhook", already_exists=False), True, never_created("webhook")),
    "a passing conflict": (Conflict("quota changed", already_exists=False), False, returned("quota changed")),
    "expired": (Expired("old"), False, returned("old")),
}


@pytest.mark.parametrize(("answer", "fatal", "record"), ENDS.values(), ids=ENDS.keys())
def test_what_a_refusal_ends_in(answer: Refusal, record: Reported, *, fatal: bool) -> None:
    done = tell(CREATING, CreateRefused(answer, fatal))
    assert done.records == (record,)
    assert (after(done).state, after(done).gone, after(done).lease) == (State.REPORTED, True, None)
    assert tell(replace(CREATING, kill=True), CreateRefused(answer, fatal)).records == (killed(attempted=False),)


@pytest.mark.parametrize("answer", [Throttled(3.0), Unsent("refused"), Denied(401, "Unauthorized", "token")])
def test_what_certainly_did_not_happen_is_tried_again(answer: Refusal) -> None:
    later = tell(CREATING, CreateRefused(answer, fatal=False))
    assert (later.records, later.effects) == ((), ())
    assert (after(later).doing, after(later).failures) == (Doing.CREATE, 1)
    assert tell(after(later), Due()).effects == (CREATE,)
    worn_out = replace(CREATING, failures=7)
    assert len(tell(worn_out, CreateRefused(answer, fatal=False)).records) == 1


def test_the_servers_wish_for_patience_is_a_minimum() -> None:
    assert after(tell(CREATING, CreateRefused(Throttled(3.0), fatal=False))).due_s == NOW_S + 3.0


def test_a_failed_server_is_asked_what_it_did_before_it_is_asked_again() -> None:
    later = tell(CREATING, CreateRefused(Broken(500, "etcd"), fatal=False))
    assert after(later).doing is Doing.READ
    read = tell(after(later), Due())
    assert read.effects == (READ,)
    assert after(tell(after(read), PodRead(None))).doing is Doing.CREATE


def test_silence_is_followed_by_reads_and_never_by_another_create() -> None:
    silent = after(tell(CREATING, CreateRefused(Silent("timeout"), fatal=False)))
    assert (silent.doing, silent.create_open_until_s) == (Doing.READ, NOW_S + 15)
    still = tell(silent, PodRead(None))
    assert (still.records, after(still).doing) == ((), Doing.READ)
    assert tell(silent, PodRead(pod(uid="u9", run="r0"))).records == ()
    over = tell(silent, PodRead(None), now_s=NOW_S + 15)
    assert over.records == (returned(CREATE_UNKNOWN),)
    doomed = tell(replace(silent, kill=True), PodRead(None), now_s=NOW_S + 15)
    assert doomed.records == (killed(attempted=True),)


def test_our_own_pod_under_the_name_is_the_run_s() -> None:
    done = tell(replace(READING, create_open_until_s=NOW_S + 9), PodRead(pod()))
    assert done.records == (Created(RUN, UID),)
    assert after(done).create_open_until_s == 0.0, "the one create that was sent has landed"


def test_another_pod_under_the_name_returns_the_lease_and_is_asked_to_go() -> None:
    holder = pod(uid="u0", run="r0")
    done = tell(replace(READING, refusal=EXISTS.message), PodRead(holder))
    assert done.records == (
        returned('pods "armada-j1-0" already exists (the name is held by the pod of run r0, uid u0)'),
    )
    assert done.frees == holder
    nobody = tell(READING, PodRead(pod(uid="u0", run="")))
    assert nobody.records == (
        returned('pods "armada-j1-0" already exists (the name is held by a pod of no run, uid u0)'),
    )


def test_a_name_that_was_freed_meanwhile_is_tried_again_but_not_for_ever() -> None:
    taken = replace(READING, refusal=EXISTS.message)
    assert after(tell(taken, PodRead(None))).doing is Doing.CREATE
    assert tell(replace(taken, failures=8), PodRead(None)).records == (returned(EXISTS.message),)


def test_a_read_that_fails_is_tried_again() -> None:
    later = tell(READING, ReadFailed(Unsent("refused")))
    assert (after(later).doing, after(later).failures, later.effects) == (Doing.READ, 1, ())


def test_a_kill_while_a_create_is_on_its_way_is_journaled_and_waits() -> None:
    done = tell(replace(READING, due_s=120.0, failures=2), KillOrdered())
    assert (done.records, done.effects) == ((Killing(RUN),), ())
    assert after(done) == replace(READING, kill=True, due_s=120.0, failures=2)
    assert tell(after(done), KillOrdered()).records == ()


def test_a_killed_run_s_create_that_was_put_off_is_not_sent() -> None:
    assert tell(replace(CREATING, kill=True, due_s=99.0), Due()).records == (killed(attempted=False),)
