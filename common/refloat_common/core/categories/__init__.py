"""The categorizer: names a pod's failure by an operator's rules.

`compile_categories` checks and prepares the rules, `failure_of` collects what a pod shows, `decide_category` names
the failure, `explain` also says why the rules before did not match.
"""

from refloat_common.core.categories.classify import classify, decide_category, own_name
from refloat_common.core.categories.compiled import CompiledCategories, compile_categories
from refloat_common.core.categories.config import ErrorCategories, RulePackFile
from refloat_common.core.categories.evidence import (
    ContainerError,
    Death,
    Evidence,
    cause_of,
    container_errors,
    failed,
    failed_reason,
    failure_of,
    with_hint,
)
from refloat_common.core.categories.explain import explain
from refloat_common.core.categories.node_loss import deleted_before_end, disrupted, lost_with_node
from refloat_common.core.categories.result import (
    NO_FACTS,
    NOTHING,
    Classification,
    Explanation,
    Facts,
    Rejection,
    RuleRef,
)
from refloat_common.core.categories.validate import CategoryConfigError, check_categories

__all__ = [
    "NOTHING",
    "NO_FACTS",
    "CategoryConfigError",
    "Classification",
    "CompiledCategories",
    "ContainerError",
    "Death",
    "ErrorCategories",
    "Evidence",
    "Explanation",
    "Facts",
    "Rejection",
    "RulePackFile",
    "RuleRef",
    "cause_of",
    "check_categories",
    "classify",
    "compile_categories",
    "container_errors",
    "decide_category",
    "deleted_before_end",
    "disrupted",
    "explain",
    "failed",
    "failed_reason",
    "failure_of",
    "lost_with_node",
    "own_name",
    "with_hint",
]
