"""Decides the category of a failed pod: an operator's rule, else a name of Refloat's own, else the default.

The operator's rules are Armada's (`errorCategories`); what Refloat names itself is `internal/externally-deleted` and
`internal/node-failure`.
"""

from refloat_common.core.categories.compiled import CompiledCategories
from refloat_common.core.categories.config import Rule
from refloat_common.core.categories.evidence import REASON_OOM_KILLED, Death, Evidence
from refloat_common.core.categories.node_loss import disrupted, lost_with_node
from refloat_common.core.categories.result import NO_FACTS, NOTHING, Classification, Facts
from refloat_common.core.pods import Pod
from refloat_common.core.regex import to_bytes
from refloat_common.core.taxonomy import INTERNAL, Disposition, Internal


def classify(compiled: CompiledCategories, evidence: Evidence | None) -> Classification:
    """The first rule that matches, in the order of the file, else the default category with Retain.

    Without a classifier (the block is not enabled) or without a pod the answer is empty, and the defaults do not
    apply. Never raises.
    """
    if evidence is None or not compiled.enabled:
        return NOTHING
    return compiled.answers[first_rank(compiled, evidence)]


def decide_category(compiled: CompiledCategories, evidence: Evidence, facts: Facts = NO_FACTS) -> Classification:
    """The category that a failure is reported with; the one function behind the daemon and `explain`.

    A pod that somebody else deleted is `internal/externally-deleted` whatever its containers' exit codes say, for
    they only show how it was ended; rules on the pod's own account (`tells_own_account`) still come first. Otherwise
    all rules come first, and `internal/node-failure` before the default. Names of Refloat's own are given even
    without a classifier.
    """
    rank, own = _decide(compiled, evidence, facts)
    if own is not None:
        return own_name(compiled, own)
    return compiled.answers[rank] if compiled.enabled else NOTHING


def own_name(compiled: CompiledCategories, subcategory: Internal) -> Classification:
    """A failure that Refloat names itself.

    Its pod is deleted, so that a retry finds the name free, unless the operator has a category called `internal`:
    then that category's action holds.
    """
    disposition = compiled.internal_disposition or Disposition.DELETE
    return Classification(INTERNAL, subcategory.value, "", disposition)


def _decide(compiled: CompiledCategories, evidence: Evidence, facts: Facts) -> tuple[int, Internal | None]:
    """The deciding rank, or the subcategory that Refloat names the failure itself with."""
    deleted = was_deleted_by_other(evidence, facts)
    rank = _rank_by_own_account(compiled, evidence) if deleted else first_rank(compiled, evidence)
    if rank != compiled.no_rank:
        return rank, None
    if lost_with_node(evidence.pod, evidence.deaths):
        return rank, Internal.NODE_FAILURE
    return rank, Internal.EXTERNALLY_DELETED if deleted else None


def was_deleted_by_other(evidence: Evidence, facts: Facts) -> bool:
    """Whether the deletion, and not the node or the cluster, ended the pod."""
    return facts.deleted_by_other and not disrupted(evidence.pod, evidence.deaths)


def tells_own_account(rule: Rule, pod: Pod) -> bool:
    """Whether a rule is on the pod's own account of its end: on conditions, or on the text of the kubelet's reason."""
    return bool(rule.on_conditions) or (rule.on_pod_error is not None and bool(pod.status.reason))


def _rank_by_own_account(compiled: CompiledCategories, evidence: Evidence) -> int:
    best = _rank_by_tables(compiled, evidence, with_exit_codes=False)
    if compiled.text is not None and evidence.pod.status.reason:
        best = min(best, compiled.text.first(to_bytes(evidence.text)))
    return best


def first_rank(compiled: CompiledCategories, evidence: Evidence) -> int:
    """The lowest rank among all rules.

    Tables come first, because looking something up costs nothing beside searching a text; then only those sets of
    patterns are searched that could still give a lower rank.
    """
    best = _rank_by_tables(compiled, evidence, with_exit_codes=True)
    best = _rank_by_messages(compiled, evidence.deaths, best)
    text = compiled.text
    if text is not None and text.best_rank < best and evidence.text:
        best = min(best, text.first(to_bytes(evidence.text)))
    return _rank_by_events(compiled, evidence, best) if compiled.has_event_rules else best


# The loops below run for every failed pod: no generators, no `min` of two.


def _rank_by_tables(compiled: CompiledCategories, evidence: Evidence, *, with_exit_codes: bool) -> int:
    best = compiled.pod_reasons.get(evidence.pod.status.reason, compiled.no_rank)
    for death in evidence.deaths:
        table = compiled.containers.get(death.name, compiled.any_container)
        if table.oom_killed < best and death.reason == REASON_OOM_KILLED:
            best = table.oom_killed
        if with_exit_codes:
            rank = table.exit_codes.get(death.exit_code, table.other_exit_code)
            best = min(best, rank)
    return best


def _rank_by_messages(compiled: CompiledCategories, deaths: tuple[Death, ...], best: int) -> int:
    for death in deaths:
        messages = compiled.containers.get(death.name, compiled.any_container).messages
        if messages is not None and messages.best_rank < best and death.message:
            rank = messages.first(to_bytes(death.message))
            best = min(best, rank)
    return best


def _rank_by_events(compiled: CompiledCategories, evidence: Evidence, best: int) -> int:
    for event in evidence.events:
        patterns = compiled.events.get((event.type, event.reason)) or compiled.events_of_type.get(event.type)
        if patterns is not None and patterns.best_rank < best and event.message:
            rank = patterns.first(to_bytes(event.message))
            best = min(best, rank)
    return best
