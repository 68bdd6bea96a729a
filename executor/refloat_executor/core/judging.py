"""Decides what a failure's report says: its category by the operator's rules, its text, and the facts around it."""

from collections.abc import Callable

from refloat_common.core import categories
from refloat_common.core.categories import Classification, CompiledCategories, Facts
from refloat_common.core.messages import MAX_MESSAGE_TEXT_BYTES, ContainerError
from refloat_common.core.pods import Event, Pod
from refloat_common.core.taxonomy import INTERNAL, Cause, Internal
from refloat_executor.core.ledger.handlers.reports import MAX_NAME_BYTES, cut, cut_containers
from refloat_executor.core.ledger.handlers.step import Judge
from refloat_executor.core.ledger.values.records import Judgement

DEFAULT_GRACE_S = 30
"""`terminationGracePeriodSeconds` where the pod does not say (Kubernetes' default)."""

UNEXPECTEDLY_DELETED = "Pod was unexpectedly deleted"


def judge_by(compiled: CompiledCategories, node_label: Callable[[str], str]) -> Judge:
    """The judge that follows these rules; `node_label` gives the value of `nodeIdLabel` of a node."""

    def judge(pod: Pod | None, events: tuple[Event, ...], *, foreign_delete: bool, detected_at_ms: int) -> Judgement:
        if pod is None:
            return _unknown_pod(compiled, detected_at_ms)
        evidence = categories.failure_of(pod, events)
        found = categories.decide_category(compiled, evidence, Facts(deleted_by_other=foreign_delete))
        node = pod.spec.node_name
        return Judgement(
            category=found.category,
            subcategory=found.subcategory,
            disposition=found.disposition,
            cause=categories.cause_of(pod),
            message=_message(pod, found),
            containers=_containers(pod),
            node=cut(node, MAX_NAME_BYTES),
            node_label=cut(node_label(node), MAX_NAME_BYTES),
            detected_at_ms=detected_at_ms,
            grace_s=_grace_s(pod),
        )

    return judge


def _message(pod: Pod, found: Classification) -> str:
    """The failed reason and the matching rule's hint; the hint is kept whole where the reason is long."""
    reason = categories.failed_reason(pod)
    if found.category == INTERNAL and found.subcategory == Internal.EXTERNALLY_DELETED:
        reason = f"{UNEXPECTEDLY_DELETED}\n{reason}" if reason else UNEXPECTEDLY_DELETED
    if not found.hint:
        return cut(reason, MAX_MESSAGE_TEXT_BYTES)
    hint = categories.with_hint("", found.hint)
    room = max(0, MAX_MESSAGE_TEXT_BYTES - len(hint.encode("utf-8", "replace")))
    return cut(cut(reason, room) + hint, MAX_MESSAGE_TEXT_BYTES)


def _containers(pod: Pod) -> list[ContainerError]:
    return cut_containers([
        ContainerError(error.name, error.exit_code, error.reason, error.message, error.cause)
        for error in categories.container_errors(pod)
    ])  # fmt: skip


def _grace_s(pod: Pod) -> int:
    asked = pod.spec.termination_grace_period_seconds
    return DEFAULT_GRACE_S if asked is None else max(0, asked)


def _unknown_pod(compiled: CompiledCategories, detected_at_ms: int) -> Judgement:
    """A pod that went without ever being seen by this process."""
    found = categories.own_name(compiled, Internal.EXTERNALLY_DELETED)
    return Judgement(
        category=found.category,
        subcategory=found.subcategory,
        disposition=found.disposition,
        cause=Cause.ERROR,
        message=UNEXPECTEDLY_DELETED,
        detected_at_ms=detected_at_ms,
    )
