"""What refloatctl asks a host beyond Armada's API: jobs with their verdicts, the executors' health, operators' orders.

A gRPC service of its own, without protobuf: each message is the JSON of one struct here, keys in camelCase. A key that
is left out has its default, so that either side may be the newer one. Times are RFC 3339 in UTC, empty for "not yet".
"""

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

SERVICE: Final = "refloat.Admin"
MAX_JOBS: Final = 500
"""Jobs in one answer; the next page is asked for with the last job's id."""


class AdminMessage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The base of all messages."""


class JobsQuery(AdminMessage, frozen=True, kw_only=True):
    """Which jobs: of a job set, or, without one, the unfinished jobs of a queue; behind the id `after`."""

    queue: str
    job_set: str = ""
    after: str = ""
    limit: int = MAX_JOBS


class JobLine(AdminMessage, frozen=True, kw_only=True):
    """One job in a list. Executor, node, category and reason are those of its latest run, or of its rejection."""

    job_id: str
    job_set: str
    state: str
    priority: int = 0
    attempts: int = 0
    executor: str = ""
    node: str = ""
    category: str = ""
    subcategory: str = ""
    reason: str = ""
    submitted_at: str = ""
    ended_at: str = ""


class JobsAnswer(AdminMessage, frozen=True, kw_only=True):
    """A page of jobs, in order of id. `more`: others may follow."""

    jobs: list[JobLine] = []
    more: bool = False


class JobQuery(AdminMessage, frozen=True, kw_only=True):
    """Which job."""

    job_id: str


class LateReport(AdminMessage, frozen=True, kw_only=True):
    """A report of a fenced run: recorded, without effect."""

    kind: str
    why: str
    executor: str
    reported_at: str = ""


class RunStory(AdminMessage, frozen=True, kw_only=True):
    """One attempt. `verdict` is the stored explanation of what was decided when it failed; null if nothing was."""

    run_id: str
    ordinal: int
    state: str
    executor: str
    pool: str = ""
    node: str = ""
    pod_uid: str = ""
    attempted: bool = False
    preempted: bool = False
    returned: bool = False
    category: str = ""
    subcategory: str = ""
    reason: str = ""
    error: dict[str, Any] | None = None
    leased_at: str = ""
    running_at: str = ""
    ended_at: str = ""
    verdict: dict[str, Any] | None = None
    late_reports: list[LateReport] = []


class JobStory(AdminMessage, frozen=True, kw_only=True):
    """One job, whole. `waits_for` says in words why a queued job is not leased, empty if nothing holds it."""

    job_id: str
    queue: str
    job_set: str
    state: str
    owner: str = ""
    namespace: str = ""
    priority: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    memory_factor: float = 0.0
    memory_static: str = ""
    avoided_nodes: list[str] = []
    waits_for: str = ""
    rejected_because: str = ""
    submitted_at: str = ""
    ended_at: str = ""
    runs: list[RunStory] = []


class ExecutorsQuery(AdminMessage, frozen=True, kw_only=True):
    """All executors."""


class ExecutorLine(AdminMessage, frozen=True, kw_only=True):
    """One executor: how its lease stands. `silent_for_s` is null before it was first heard of."""

    executor: str
    state: str
    may_lease: bool = False
    why_not: str = ""
    pool: str = ""
    runs: int = 0
    unacknowledged: int = 0
    free_slots: int = 0
    cordoned: bool = False
    decommissioned: bool = False
    silent_for_s: float | None = None


class ExecutorsAnswer(AdminMessage, frozen=True, kw_only=True):
    """All known executors, in order of name."""

    executors: list[ExecutorLine] = []


class ExecutorOrder(AdminMessage, frozen=True, kw_only=True):
    """An operator's order about an executor; `action` is a value of the plugin's `OperatorAction`."""

    executor: str
    action: str


class Done(AdminMessage, frozen=True, kw_only=True):
    """The order was carried out, durably."""


METHODS: Final[dict[str, tuple[type[AdminMessage], type[AdminMessage]]]] = {
    "GetJobs": (JobsQuery, JobsAnswer),
    "DescribeJob": (JobQuery, JobStory),
    "GetExecutors": (ExecutorsQuery, ExecutorsAnswer),
    "OperateExecutor": (ExecutorOrder, Done),
}
"""Method → what it takes and what it gives."""


def utc_text(milliseconds: int) -> str:
    """A time as messages carry it; 0 is "not yet"."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if milliseconds else ""
