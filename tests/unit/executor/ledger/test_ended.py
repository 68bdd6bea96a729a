"""What becomes of a run that was reported."""

import pytest
from msgspec.structs import replace

from refloat_executor.core.cluster.answers import Silent
from refloat_executor.core.ledger.values.entry import Doing, Entry, State
from refloat_executor.core.ledger.values.news import (
    Acknowledged,
    Due,
    PodListed,
    PodRead,
    PodUnseen,
    ReadFailed,
    StrayFound,
    Unwanted,
)
from refloat_executor.core.ledger.values.records import Closed, Gone, Retiring
from testkit.executor.ledger import CONFIRM, JOB, NAME, NOW_MS, NOW_S, REMOVE, RUN, UID, after, entry, pod, tell

REPORTED = entry(State.REPORTED, seq=3)
FAILED = replace(REPORTED, failed=True)
MARKED = entry(State.MARKED, seq=3, acked=True, marked_s=NOW_S - 60, due_s=NOW_S + 120)
RETIRE = Retiring(RUN, JOB, "jobs", NAME, UID)
GONE = Gone(RUN, UID, NOW_MS)


@pytest.mark.parametrize(("before", "kept_s"), [(REPORTED, 180.0), (FAILED, 600.0)])
def test_an_acknowledged_run_keeps_its_pod_for_a_while(before: Entry, kept_s: float) -> None:
    done = tell(before, Acknowledged())
    assert (done.records, done.effects) == ((), ())
    assert after(done) == replace(before, state=State.MARKED, acked=True, marked_s=NOW_S, due_s=NOW_S + kept_s)
    assert after(done).status is None


def test_an_acknowledged_run_whose_pod_is_gone_is_closed() -> None:
    done = tell(replace(REPORTED, gone=True), Acknowledged())
    assert (done.entry, done.records) == (None, (Closed(RUN),))


@pytest.mark.parametrize("news", [Due(), Unwanted()])
def test_a_kept_pod_goes_when_its_time_is_over_or_its_name_is_needed(news: Due | Unwanted) -> None:
    done = tell(MARKED, news)
    assert (done.records, done.effects) == ((RETIRE,), (REMOVE,))
    assert (after(done).state, after(done).doing, after(done).acked) == (State.RETIRING, Doing.DELETE, True)


def test_a_pod_whose_name_is_needed_goes_before_its_report_is_acknowledged() -> None:
    done = tell(FAILED, Unwanted())
    assert done.effects == (REMOVE,)
    assert after(done).status is not None
    assert after(tell(after(done), Acknowledged())).state is State.RETIRING


def test_what_is_gone_can_not_be_unwanted() -> None:
    gone = replace(REPORTED, gone=True)
    for news in (Unwanted(), PodUnseen(None), PodRead(None), PodListed(), ReadFailed(Silent("x"))):
        assert tell(gone, news).entry == gone


def test_a_pod_that_came_after_its_run_had_ended_goes() -> None:
    for before in (replace(REPORTED, gone=True, uid=""), MARKED):
        done = tell(before, StrayFound(pod(uid="u9")))
        assert done.records == (Retiring(RUN, JOB, "jobs", NAME, "u9"),)
        assert (after(done).state, after(done).uid, after(done).gone) == (State.RETIRING, "u9", False)


def test_somebody_may_remove_a_kept_pod() -> None:
    for before, ending in ((MARKED, (GONE, Closed(RUN))), (REPORTED, (GONE,))):
        looked = tell(before, PodUnseen(None))
        assert looked.effects == (CONFIRM,)
        assert tell(after(looked), PodUnseen(None)).effects == ()
        assert tell(after(looked), PodRead(None)).records == ending


def test_a_kept_pod_that_only_hid_is_kept_for_what_was_left_of_its_time() -> None:
    looked = after(tell(MARKED, PodUnseen(None)))
    for news in (PodRead(pod()), PodListed()):
        assert after(tell(looked, news)) == MARKED
    failed_read = tell(looked, ReadFailed(Silent("timeout")))
    assert tell(after(failed_read), Due()).effects == (CONFIRM,)
    unacked = after(tell(REPORTED, PodUnseen(None)))
    assert tell(unacked, PodListed()).entry == REPORTED
