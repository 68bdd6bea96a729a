"""Category names that Refloat itself uses, and the limits on names."""

from enum import StrEnum

MAX_NAME_BYTES = 63
"""Longest category or subcategory, in UTF-8 bytes: the width of the columns in Armada's Lookout database."""

INTERNAL = "internal"
"""Category of failures named by Refloat, not by an operator's rule. Not reserved: an operator may use it too."""


class Internal(StrEnum):
    """Subcategories under `internal`; all but the last are Armada's names."""

    JOB_CREATION_FAILED = "job-creation-failed"
    POD_MISSING = "pod-missing"
    STUCK_TERMINATING = "stuck-terminating"
    EXTERNALLY_DELETED = "externally-deleted"
    ISSUE_HANDLER_ERROR = "issue-handler-error"
    ACTIVE_DEADLINE = "active-deadline"
    LEASE_EXPIRED = "lease-expired"
    MAX_RUNS_EXCEEDED = "max-runs-exceeded"
    JOB_REJECTED = "job-rejected"
    NODE_FAILURE = "node-failure"
    BAD_REPORT = "bad-report"


class Disposition(StrEnum):
    """What happens to a failed pod once its failure is named (`categories[].action`)."""

    RETAIN = "Retain"
    DELETE = "Delete"


class Cause(StrEnum):
    """The coarse cause that Armada's events carry (`JobFailedEvent.cause`)."""

    ERROR = "Error"
    EVICTED = "Evicted"
    OOM = "OOM"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    REJECTED = "Rejected"


LABEL_JOB_ID = "armada_job_id"
LABEL_RUN_ID = "armada_job_run_id"
LABEL_QUEUE = "armada_queue_id"
LABEL_POD_NUMBER = "armada_pod_number"
LABEL_POD_COUNT = "armada_pod_count"
LABEL_PREEMPTIBLE = "armada_preemptible"
ANNOTATION_JOB_SET = "armada_jobset_id"
ANNOTATION_OWNER = "armada_owner"
ANNOTATION_POOL = "armadaproject.io/pool"
ANNOTATION_FAIL_FAST = "armadaproject.io/failFast"
ANNOTATION_GANG_ID = "armadaproject.io/gangId"
ANNOTATION_GANG_CARDINALITY = "armadaproject.io/gangCardinality"
