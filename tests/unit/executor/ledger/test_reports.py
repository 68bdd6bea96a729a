"""Whatever a pod or an API says, its report fits the wire."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refloat_common.core.link.frames import check_report
from refloat_common.core.messages import ContainerError, Report, ReportKind
from refloat_executor.core.ledger.handlers import reports
from refloat_executor.core.ledger.values.entry import State
from refloat_executor.core.ledger.values.records import Judgement
from testkit.executor.ledger import entry, pod

TEXTS = st.text(max_size=40).map(lambda text: text * 300)
ENTRY = entry(State.ACTIVE, forced=True)


@st.composite
def judgements(draw: st.DrawFn) -> Judgement:
    errors = st.builds(ContainerError, TEXTS, st.integers(-(1 << 31), (1 << 31) - 1), TEXTS, TEXTS)
    return Judgement(
        category="c",
        message=reports.cut(draw(TEXTS), 4096),
        containers=reports.cut_containers(draw(st.lists(errors, max_size=40))),
        node=reports.cut(draw(TEXTS), 253),
    )


@given(judgements(), TEXTS)
def test_every_report_is_taken_by_the_wire(judgement: Judgement, text: str) -> None:
    for made in (
        reports.failed_report(ENTRY, judgement, gone_at_ms=1),
        reports.stuck_report(ENTRY, judgement, text),
        reports.returned_report(ENTRY, text),
        reports.not_created_report(ENTRY, text, 1),
        reports.killed_report(ENTRY, attempted=True),
        reports.gone_report(ENTRY, 1),
        reports.phase_report(ENTRY, ReportKind.RUNNING, pod(), text),
    ):
        assert check_report(made) is None


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [("abc", 3, "abc"), ("abcd", 3, "abc"), ("aéé", 4, "aé"), ("日本", 5, "日"), ("", 0, ""), ("x\0y", 9, "x\0y")],
)
def test_texts_are_cut_between_characters(text: str, limit: int, cut: str) -> None:
    assert reports.cut(text, limit) == cut


def test_the_end_of_a_long_message_is_the_explanation() -> None:
    report = reports.stuck_report(ENTRY, Judgement(message="é" * 2048), "why")
    assert len(report.message.encode()) <= 4096
    assert report.message.endswith(f"é\n\n{reports.STUCK_EXPLANATION} why")


def test_a_failure_says_everything_that_was_judged() -> None:
    judgement = Judgement(
        category="gpu",
        subcategory="xid",
        disposition="Delete",
        cause="OOM",
        message="m",
        containers=[ContainerError(name="main", exit_code=1)],
        node="n1",
        node_label="host-1",
        detected_at_ms=5,
    )
    assert reports.failed_report(ENTRY, judgement, gone_at_ms=9) == Report(
        kind=ReportKind.FAILED,
        run="r1",
        job="j1",
        uid="u1",
        node="n1",
        node_label="host-1",
        pod_name="armada-j1-0",
        namespace="jobs",
        category="gpu",
        subcategory="xid",
        disposition="Delete",
        cause="OOM",
        message="m",
        containers=[ContainerError(name="main", exit_code=1)],
        pod_gone=True,
        detected_at_ms=5,
        gone_at_ms=9,
    )
