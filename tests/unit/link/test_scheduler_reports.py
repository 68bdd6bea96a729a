"""Which reports the scheduler's end takes, and when it acknowledges them."""

from refloat_common.core.link.scheduler.values import (
    Committed,
    Fault,
    FlowSet,
    Heard,
    NotCommitted,
    Reply,
)
from refloat_common.core.messages import (
    Nack,
    Refused,
)
from testkit.link.scheduler_end import End, R, acked, delivered, reports


def test_reports_are_acknowledged_when_they_are_committed_and_not_before() -> None:
    end = End().opened()
    assert end.got(reports(1, 3), peer=b"r1") == (Heard("E1"), delivered(1, 3))
    assert end.on(Committed("E1", 7, 3)) == (acked(3),)


def test_what_was_delivered_is_not_delivered_again() -> None:
    end = End().opened()
    end.got(reports(1, 3), peer=b"r1")
    assert end.got(reports(1, 3), peer=b"r1") == (Heard("E1"),)
    assert end.got(reports(2, 4), peer=b"r1") == (Heard("E1"), delivered(4, 2))


def test_what_is_committed_is_acknowledged_again() -> None:
    end = End().opened(have=5)
    assert end.got(reports(4, 2), peer=b"r1") == (Heard("E1"), acked(5))


def test_what_lies_behind_a_gap_is_dropped() -> None:
    end = End().opened()
    assert end.got(reports(3, 1), peer=b"r1") == (Heard("E1"), acked(0))
    assert end.server.sessions["E1"].received == 0


def test_what_was_not_committed_was_never_received() -> None:
    end = End().opened()
    end.got(reports(1, 3), peer=b"r1")
    end.on(NotCommitted("E1", 7))
    assert end.got(reports(1, 3), peer=b"r1") == (Heard("E1"), delivered(1, 3))


def test_skipped_reports_are_named() -> None:
    end = End().opened()
    end.got(reports(1, 3), peer=b"r1")
    nack = Reply(R, b"r1", Nack(epoch=7, journal="j1", seq=2, permanent=True, code="bad-report"))
    assert end.on(Committed("E1", 7, 3, ((2, "bad-report"),))) == (nack, acked(3))


def test_commits_of_an_earlier_session_are_not_acknowledged() -> None:
    end = End().opened()
    assert end.on(Committed("E1", 6, 3)) == ()


def test_reports_beyond_the_credits_are_refused() -> None:
    end = End(granted=2).opened()
    detail = "report 3 is beyond 2"
    assert end.got(reports(1, 3), peer=b"r1") == (
        Fault("E1", "credits", detail),
        Reply(R, b"r1", Refused(code="credits", detail=detail)),
    )
    assert end.server.sessions["E1"].received == 0


def test_credits_grow_with_what_is_committed() -> None:
    end = End(granted=2).opened()
    end.got(reports(1, 2), peer=b"r1")
    end.on(Committed("E1", 7, 2))
    assert end.got(reports(3, 2), peer=b"r1") == (Heard("E1"), delivered(3, 2))


def test_credits_that_shrink_take_nothing_back() -> None:
    end = End(granted=4).opened()
    end.on(FlowSet(credits=0, busy=True))
    assert end.got(reports(1, 4), peer=b"r1") == (Heard("E1"), delivered(1, 4))
    assert end.on(Committed("E1", 7, 4)) == (acked(4, 0),)


def test_only_so_many_batches_wait_for_a_commit() -> None:
    end = End().opened()
    taken = [len(end.got(reports(seq, 1), peer=b"r1")) for seq in range(1, 17)]
    assert taken == [2] * 16
    assert end.got(reports(17, 1), peer=b"r1") == (Heard("E1"), acked(0))
    end.on(Committed("E1", 7, 10))
    assert end.got(reports(17, 1), peer=b"r1") == (Heard("E1"), delivered(17, 1))


def test_reports_of_another_journal_are_refused() -> None:
    end = End().opened()
    detail = "the session is of another journal"
    assert end.got(reports(1, 1, journal="j2"), peer=b"r1") == (
        Fault("E1", "journal", detail),
        Reply(R, b"r1", Refused(code="journal", detail=detail)),
    )
