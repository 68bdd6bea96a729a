"""However reports are cut into batches, repeated and overlapped, the store comes to the same."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from refloat_common.core.messages import Report, ReportKind
from refloat_scheduler.core.model import JobState, RunState
from testkit.scheduling.desk import Desk
from testkit.scheduling.makers import job_of, policy_of, report_of, rule, rules_of, run_of
from testkit.scheduling.memory import Contents

RULES = rules_of(policy_of(rule("Retry", "oom", factor=2), rule("Retry", "internal", "stuck-terminating"), limit=2))

REPORTS = st.lists(
    st.builds(
        report_of,
        st.sampled_from(list(ReportKind)),
        st.sampled_from(["run-1", "run-2", "run-old"]),
        category=st.sampled_from(["oom", "user-error", "internal"]),
        subcategory=st.sampled_from(["", "stuck-terminating"]),
        attempted=st.booleans(),
        pod_gone=st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


def desk() -> Desk:
    """A job whose first run has failed and whose second one runs; a third is not known."""
    return Desk(job_of(run_of(1, RunState.FAILED), run_of(2)), RULES)


def applied(reports: Sequence[Report]) -> Contents:
    """What is stored after the reports, each in a batch of its own."""
    at = desk()
    for report in reports:
        at.report(report)
    return at.host.contents


@given(REPORTS, st.data())
def test_batches_repeated_and_overlapping_come_to_the_same(reports: list[Report], data: st.DataObject) -> None:
    at = desk()
    sent = 0
    while sent < len(reports):
        first = data.draw(st.integers(0, sent))
        last = data.draw(st.integers(first + 1, len(reports)))
        at.report(*reports[first:last], first_seq=first + 1)
        sent = max(sent, last)
    assert at.host.contents == applied(reports)


@given(REPORTS, st.data())
def test_a_report_that_was_applied_changes_nothing(reports: list[Report], data: st.DataObject) -> None:
    at = desk()
    at.report(*reports)
    before = at.host.contents
    first = data.draw(st.integers(0, len(reports) - 1))
    outcome = at.report(*reports[first:], first_seq=first + 1)
    assert (outcome.effects, at.host.contents) == ((), before)


@given(REPORTS)
def test_what_is_told_ends_with_the_jobs_end_and_follows_its_runs(reports: list[Report]) -> None:
    at = desk()
    at.report(*reports)
    told = at.told()
    final = [name for name in told if name in ("failed(final)", "succeeded", "cancelled")]
    assert len(final) <= 1
    assert not final or told[-1] == final[0]
    assert bool(final) is at.now().state.ended
    ordinals = {run.run_id: run.ordinal for run in at.now().runs}
    order = [ordinals[event.run_id] for event in at.host.contents.events]
    assert order == sorted(order)
    failed = [event.run_id for event in at.host.contents.events if event.NAME == "failed"]
    assert len(failed) == len(set(failed))


@given(REPORTS)
def test_a_jobs_state_and_its_runs_agree(reports: list[Report]) -> None:
    at = desk()
    for report in reports:
        at.report(report)
        job = at.now()
        active = [run for run in job.runs if run.state.active]
        assert active == ([job.current_run] if job.state is JobState.LEASED else [])
        assert [run.ordinal for run in job.runs] == list(range(1, len(job.runs) + 1))
        verdicts = at.host.contents.verdicts
        assert all(run.state is RunState.FAILED for run in job.runs if run.run_id in verdicts)
