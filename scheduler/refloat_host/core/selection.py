"""Decides which jobs an order of a user is for."""

from collections.abc import Sequence
from dataclasses import dataclass

from refloat_common.core.ids import JobId
from refloat_host.core.errors import InvalidFieldError
from refloat_scheduler.core.model import Job

MAX_JOB_IDS = 10_000
"""Ids in one order."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which jobs an order is for: these ids, or, with no ids, all unfinished jobs of a job set or of a whole queue.

    Whatever else is given is a condition too: a job that stands elsewhere than in `queue` and `job_set` is left out as
    an unknown one is, whoever names its id. `standings` are as in `standing`; `priority_classes` are names in pod
    specs; `pools` are where jobs run now, so that a queued job is in none. An empty condition excludes nothing.
    """

    job_ids: Sequence[JobId] = ()
    queue: str = ""
    job_set: str = ""
    whole_queue: bool = False
    standings: frozenset[str] = frozenset()
    priority_classes: frozenset[str] = frozenset()
    pools: frozenset[str] = frozenset()

    def covers(self, job: Job, priority_class: str = "") -> bool:
        """Whether a job meets the conditions, its id aside."""
        run = job.current_run
        return (
            self.queue in ("", job.queue)
            and self.job_set in ("", job.job_set)
            and (not self.standings or standing(job) in self.standings)
            and (not self.priority_classes or priority_class in self.priority_classes)
            and (not self.pools or (run is not None and run.pool in self.pools))
        )


def standing(job: Job) -> str:
    """Where a job stands: the state of its current run if it has one (`leased`, `pending`, `running`), else its own."""
    run = job.current_run
    return job.state.value if run is None else run.state.value


def check_selection(selection: Selection) -> None:
    """Refuse what selects nothing, or more than was meant.

    Raises:
        InvalidFieldError: neither jobs nor a job set nor a whole queue, or too many ids.
    """
    ids = selection.job_ids
    if len(ids) > MAX_JOB_IDS:
        raise InvalidFieldError("jobIds", len(ids), f"must be at most {MAX_JOB_IDS} jobs")
    if not ids and not (selection.queue and (selection.job_set or selection.whole_queue)):
        raise InvalidFieldError("jobIds", list(ids), "must hold a job, or queue and jobSetId must be set")
