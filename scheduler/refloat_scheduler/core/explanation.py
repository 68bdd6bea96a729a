"""Why a verdict came out as it did: stored with the verdict, and enough to compute it again.

An explanation holds the inputs of the decision (policy by content hash, category, counts, limits) and the path taken
through the gates and the rules. `to_json` is the stored form; its keys are stable.
"""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import cast

from refloat_common.core.ids import JobId, RunId
from refloat_common.core.jsontypes import JsonObject


class Decision(StrEnum):
    """How a verdict came about; the values are the metric label `decision`, and Armada's names."""

    RETRY = "retry"
    FAIL_RULE = "fail_rule"
    FAIL_POLICY_LIMIT = "fail_policy_limit"
    FAIL_GLOBAL_LIMIT = "fail_global_limit"
    FAIL_DEFAULT = "fail_default"
    NO_ERROR = "no_error"
    RETRY_UNSCHEDULABLE = "retry_unschedulable"


class Gate(StrEnum):
    """Which gate kept the engine from deciding, in the order in which they are tried; PASSED when none did."""

    FLAG_OFF = "flag_off"
    EXECUTOR_NOT_CAPABLE = "executor_not_capable"
    NO_POLICY = "no_policy"
    GANG = "gang"
    FAIL_FAST = "fail_fast"
    POLICY_MISSING = "policy_missing"
    NO_ERROR = "no_error"
    LEASE_RETURNED = "lease_returned"
    PREEMPTED = "preempted"
    PASSED = "passed"


@dataclass(frozen=True, slots=True)
class RuleLook:
    """One rule that was looked at. `why` is empty for the one that matched."""

    index: int
    action: str
    on_category: str
    on_subcategory: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationChange:
    """What a retry changed, or would have changed had the job still fitted a node.

    `kind` is `memory` or `avoid`; `before` and `after` are texts for a reader; `skipped` says why nothing changed.
    """

    kind: str
    before: str = ""
    after: str = ""
    skipped: str = ""
    probe: bool | None = None
    """The static-fit probe's answer; None when it was not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything that one verdict rests on. `retry` is what happened; `decision` is empty on the legacy path.

    Counts and limits: `failures` includes the run being judged; `retries_used` before this verdict, `retries_after`
    with it; `attempts` is what the legacy attempt limit counts.
    """

    run_id: RunId
    job_id: JobId
    retry: bool
    gate: Gate
    decision: str = ""
    reason: str = ""
    policy: str = ""
    policy_hash: str = ""
    category: str = ""
    subcategory: str = ""
    rule_index: int | None = None
    rules: tuple[RuleLook, ...] = ()
    default_action: str = ""
    failures: int = 0
    retries_used: int = 0
    retries_after: int = 0
    retry_limit: int | None = None
    global_max_retries: int = 0
    attempts: int = 0
    attempt_limit: int = 0
    mutations: tuple[MutationChange, ...] = ()
    settings_hash: str = ""
    decided_at_ms: int = 0

    def to_json(self) -> JsonObject:
        """The stored form."""
        return cast("JsonObject", asdict(self))
