"""`submit`, `cancel job`, `cancel job-set`, `get jobs` and `describe job`."""

from refloat_common.core.admin import JobLine, JobsQuery
from refloat_ctl.adapters.files import read_value
from refloat_ctl.adapters.server.admin import AdminApi
from refloat_ctl.adapters.server.jobs import JobApi, submit_request
from refloat_ctl.commands.session import Session
from refloat_ctl.core.errors import CommandError, FileError
from refloat_ctl.core.resources.fields import FieldError
from refloat_ctl.core.resources.jobs import read_job_file
from refloat_ctl.core.views import job_table, job_text

MAX_JOBS_SHOWN = 10_000
"""Jobs that one `get jobs` reads unless `--limit` says otherwise."""


class SomeRefusedError(CommandError):
    """Of a job file's jobs some were refused; which, was printed."""

    def __init__(self, refused: int, jobs: int) -> None:
        super().__init__(f"{refused} of {jobs} jobs were refused")


class NothingCancelledError(CommandError):
    """There was no such job, or it was over."""

    def __init__(self, job_id: str) -> None:
        super().__init__(
            f"nothing was cancelled: job {job_id} is over or not there; see refloatctl describe job {job_id}"
        )


def submit(session: Session) -> None:
    """Submit a file's jobs."""
    file = session.options.file
    try:
        jobs = read_job_file(read_value(file))
        request = submit_request(jobs)
    except FieldError as error:
        raise FileError(file, error.problem, error.path) from None
    if session.options.dry_run:
        return
    remedies = {"NOT_FOUND": f"create the queue with: refloatctl create queue {jobs.queue}"}
    with session.server(f"submitting jobs to queue {jobs.queue}", remedies) as channel:
        answers = JobApi(channel).submit(request)
    for job_id, why_not in answers:
        if why_not:
            session.note(f"Error submitting job: {why_not}")
        else:
            session.say(f"Submitted job with id {job_id} to job set {jobs.job_set}\n")
    refused = sum(1 for _, why_not in answers if why_not)
    if refused:
        raise SomeRefusedError(refused, len(answers))


def cancel(session: Session) -> None:
    """Cancel one job."""
    options = session.options
    with session.server(f"cancelling job {options.job}") as channel:
        cancelled = JobApi(channel).cancel(options.queue, options.job_set, options.job)
    if not cancelled:
        raise NothingCancelledError(options.job)
    session.say(f"Requested cancellation for jobs {', '.join(cancelled)}\n")


def cancel_set(session: Session) -> None:
    """Cancel all jobs of a job set."""
    options = session.options
    with session.server(f"cancelling job set {options.job_set}") as channel:
        JobApi(channel).cancel_set(options.queue, options.job_set)
    session.say(f"Requested cancellation for job set {options.job_set}\n")


def get_all(session: Session) -> None:
    """Show the jobs of a job set, or the unfinished jobs of a queue."""
    options = session.options
    found: list[JobLine] = []
    query = JobsQuery(queue=options.queue, job_set=options.job_set or "")
    with session.server(f"getting jobs of queue {options.queue}") as channel:
        api = AdminApi(channel)
        more = True
        while more and len(found) < options.limit:
            after = found[-1].job_id if found else ""
            limit = min(query.limit, options.limit - len(found))
            page = api.jobs(JobsQuery(queue=query.queue, job_set=query.job_set, after=after, limit=limit))
            found, more = [*found, *page.jobs], page.more
    if more:
        session.note(f"these are the first {len(found)} jobs; ask for more with --limit")
    if not found and not options.job_set:
        session.note(f"queue {options.queue} has no unfinished jobs; name a job set to see finished ones")
    session.show_report(found, job_table(found))


def describe(session: Session) -> None:
    """Show one job with its attempts and what was decided about each."""
    job_id = session.options.job
    with session.server(f"describing job {job_id}") as channel:
        story = AdminApi(channel).job(job_id)
    session.show_report(story, job_text(story))
