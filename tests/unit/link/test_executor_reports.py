"""Which reports the executor's end sends, and when again."""

from refloat_common.core.link.executor.values import (
    Acknowledged,
    DeadLettered,
    FetchReports,
    JournalBehind,
    Journaled,
    NotSent,
    Phase,
    ReportsFetched,
    Send,
    SessionOpened,
    Tick,
    Unexpected,
)
from refloat_common.core.link.executor_side import deadline_s
from refloat_common.core.link.frames import Channel
from refloat_common.core.messages import (
    MAX_REPORTS_BYTES,
    Nack,
    Reports,
)
from testkit.link.executor_end import REPORT, End, ack, answer, welcome


def test_a_journaled_report_goes_out_at_once() -> None:
    end = End().opened()
    assert end.at(1.0, Journaled(next_seq=2)) == (FetchReports(1, 1, MAX_REPORTS_BYTES),)
    assert end.at(1.0, ReportsFetched(1, (REPORT,))) == (Send(Channel.REPORTS, Reports(5, "j1", 1, [REPORT])),)


def test_no_more_than_the_credits_allow_is_under_way() -> None:
    end = End(next_seq=1001, acked=0).opened(granted=300)
    assert end.link.window.fetching == 1
    assert end.at(0.2, ReportsFetched(1, (REPORT,) * 256))[1:] == (FetchReports(257, 44, MAX_REPORTS_BYTES),)
    assert end.at(0.2, ReportsFetched(257, (REPORT,) * 44))[1:] == ()
    assert end.at(0.3, ack(256, 300)) == (Acknowledged(256), FetchReports(301, 256, MAX_REPORTS_BYTES))


def test_only_so_many_batches_are_under_way_and_the_next_one_is_larger_for_it() -> None:
    end = End().opened()
    for seq in range(1, 9):
        assert end.at(0.2, Journaled(next_seq=seq + 1)) == (FetchReports(seq, 1, MAX_REPORTS_BYTES),)
        end.at(0.2, ReportsFetched(seq, (REPORT,)))
    assert end.at(0.2, Journaled(next_seq=12)) == ()
    assert end.at(0.3, ack(1)) == (Acknowledged(1), FetchReports(9, 3, MAX_REPORTS_BYTES))


def test_only_the_oldest_unacknowledged_batch_is_sent_again_later_and_later() -> None:
    end = End(next_seq=301).opened()
    end.at(0.1, ReportsFetched(1, (REPORT,) * 60))
    end.at(0.1, ReportsFetched(61, (REPORT,) * 40))
    due = []
    for _ in range(7):
        due_s = end.link.window.resend_at_s
        assert due_s is not None
        due.append(round(due_s - end.now_s, 1))
        assert FetchReports(1, 100, MAX_REPORTS_BYTES) in end.at(due_s, Tick())
        end.at(due_s, ReportsFetched(1, (REPORT,) * 60))
    assert due == [4.0, 6.0, 10.0, 18.0, 32.0, 32.0, 32.0]


def test_once_a_repeated_batch_is_acknowledged_what_followed_it_goes_out_again() -> None:
    end = End(next_seq=101).opened()
    end.at(0.1, ReportsFetched(1, (REPORT,) * 60))
    end.at(0.1, ReportsFetched(61, (REPORT,) * 40))
    end.at(4.1, Tick())
    end.at(4.1, ReportsFetched(1, (REPORT,) * 60))
    assert end.at(4.2, ack(60)) == (Acknowledged(60), FetchReports(61, 40, MAX_REPORTS_BYTES))


def test_an_ordinary_acknowledgement_repeats_nothing() -> None:
    end = End(next_seq=101).opened()
    end.at(0.1, ReportsFetched(1, (REPORT,) * 60))
    end.at(0.1, ReportsFetched(61, (REPORT,) * 40))
    assert end.at(0.2, ack(60)) == (Acknowledged(60),)
    assert end.at(0.3, ack(30)) == ()
    assert end.link.window.acked == 60


def test_without_credits_nothing_is_sent_and_nothing_is_repeated() -> None:
    end = End(next_seq=3).opened()
    end.at(0.1, ReportsFetched(1, (REPORT,) * 2))
    end.at(0.2, ack(1, granted=0))
    end.at(0.2, Journaled(next_seq=4))
    assert end.at(4.9, Tick()) == ()
    assert end.at(60.0, Tick())[1:] == ()


def test_when_credits_come_back_what_was_under_way_is_taken_for_lost() -> None:
    end = End(next_seq=3).opened()
    end.at(0.1, ReportsFetched(1, (REPORT,) * 2))
    end.at(0.2, ack(1, granted=0))
    assert end.at(0.3, answer(1, granted=9)) == (FetchReports(2, 1, MAX_REPORTS_BYTES),)


def test_a_restored_store_gets_acknowledged_reports_again() -> None:
    end = End(next_seq=11, acked=10)
    end.at(0.0, Tick())
    effects = end.at(0.1, welcome(have=7))
    assert effects[:2] == (SessionOpened(5, "s1"), Acknowledged(7))
    assert effects[-1] == FetchReports(8, 3, MAX_REPORTS_BYTES)


def test_a_store_that_has_more_than_the_journal_ends_the_link() -> None:
    end = End(next_seq=11, acked=10)
    end.at(0.0, Tick())
    assert end.at(0.1, welcome(have=11)) == (JournalBehind(11),)
    assert end.link.phase is Phase.GONE


def test_a_refused_report_is_skipped_and_kept_aside() -> None:
    end = End(next_seq=4).opened()
    end.at(0.1, ReportsFetched(1, (REPORT,) * 3))
    refusal = Nack(epoch=5, journal="j1", seq=2, permanent=True, code="bad-report")
    assert end.at(0.2, refusal) == (DeadLettered(2, "bad-report"), Acknowledged(2))


def test_a_report_that_the_transport_did_not_take_is_sent_a_second_later() -> None:
    end = End(next_seq=2).opened()
    end.at(0.1, ReportsFetched(1, (REPORT,)))
    assert end.at(0.1, NotSent(Channel.REPORTS)) == ()
    assert deadline_s(end.link) == 1.1
    assert end.at(1.1, Tick()) == (FetchReports(1, 1, MAX_REPORTS_BYTES),)


def test_a_hole_in_the_journal_is_told_and_not_hammered() -> None:
    end = End(next_seq=2).opened()
    assert end.at(0.1, ReportsFetched(1, ())) == (Unexpected("journal-hole", "the journal has no report 1"),)
    assert end.at(0.2, Tick()) == ()
