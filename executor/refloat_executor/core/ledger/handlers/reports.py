"""Decides what the report of each end of a run says, within the limits of the wire.

What the wire would refuse must never be journaled, because it would be sent again for ever; so every text is cut here.
"""

from collections.abc import Iterable
from itertools import islice

from refloat_common.core.messages import (
    MAX_EXIT_CODES,
    MAX_MESSAGE_TEXT_BYTES,
    ContainerError,
    Report,
    ReportKind,
)
from refloat_common.core.pods import Pod
from refloat_common.core.taxonomy import INTERNAL, Disposition, Internal
from refloat_executor.core.ledger.values.entry import Entry
from refloat_executor.core.ledger.values.records import Judgement

MAX_REASON_BYTES = 1024
MAX_NAME_BYTES = 253
LONGEST_CHARACTER_BYTES = 4
_SHORT = MAX_REASON_BYTES // LONGEST_CHARACTER_BYTES
_SHORT_NAME = MAX_NAME_BYTES // LONGEST_CHARACTER_BYTES

STUCK_EXPLANATION = "The failed pod could not be deleted, so the job is failed rather than retried."


def cut(text: str, max_bytes: int) -> str:
    """The text as UTF-8 of at most `max_bytes`, ending at a whole character."""
    if len(text) * LONGEST_CHARACTER_BYTES <= max_bytes or (len(text) <= max_bytes and text.isascii()):
        return text
    raw = text.encode("utf-8", "replace")
    return raw[:max_bytes].decode("utf-8", "ignore")


def cut_containers(errors: Iterable[ContainerError]) -> list[ContainerError]:
    """The first `MAX_EXIT_CODES` containers, each within the limits."""
    return [error if _fits(error) else _cut_container(error) for error in islice(errors, MAX_EXIT_CODES)]


def _fits(error: ContainerError) -> bool:
    """Whether the texts are so short that no UTF-8 makes them too long; most are."""
    return len(error.message) <= _SHORT and len(error.reason) <= _SHORT and len(error.name) <= _SHORT_NAME


def _cut_container(error: ContainerError) -> ContainerError:
    return ContainerError(
        name=cut(error.name, MAX_NAME_BYTES),
        exit_code=error.exit_code,
        reason=cut(error.reason, MAX_REASON_BYTES),
        message=cut(error.message, MAX_MESSAGE_TEXT_BYTES),
        cause=error.cause,
    )


def phase_report(entry: Entry, kind: ReportKind, pod: Pod, node_label: str = "") -> Report:
    """Pending, running or succeeded: the pod is there, or was to its end."""
    return Report(
        kind=kind,
        run=entry.run,
        job=entry.job,
        uid=cut(entry.uid, MAX_NAME_BYTES),
        node=cut(pod.spec.node_name, MAX_NAME_BYTES),
        node_label=cut(node_label, MAX_NAME_BYTES),
        pod_name=cut(entry.name, MAX_NAME_BYTES),
        namespace=cut(entry.namespace, MAX_NAME_BYTES),
    )


def failed_report(entry: Entry, judgement: Judgement, *, gone_at_ms: int = 0) -> Report:
    """The failure as it was judged; `gone_at_ms` above 0 says that its pod is gone."""
    return Report(
        kind=ReportKind.FAILED,
        run=entry.run,
        job=entry.job,
        uid=cut(entry.uid, MAX_NAME_BYTES),
        node=judgement.node,
        node_label=judgement.node_label,
        pod_name=cut(entry.name, MAX_NAME_BYTES),
        namespace=cut(entry.namespace, MAX_NAME_BYTES),
        category=judgement.category,
        subcategory=judgement.subcategory,
        disposition=judgement.disposition,
        cause=judgement.cause,
        message=judgement.message,
        containers=judgement.containers,
        pod_gone=gone_at_ms > 0,
        detected_at_ms=judgement.detected_at_ms,
        gone_at_ms=gone_at_ms,
    )


def stuck_report(entry: Entry, judgement: Judgement, why: str) -> Report:
    """The failed pod would not go, so its name is not free and the first category says too much.

    `why`: what the API said, where it refused the deletion.
    """
    explanation = f"{STUCK_EXPLANATION} {cut(why, MAX_REASON_BYTES)}".rstrip()
    room = MAX_MESSAGE_TEXT_BYTES - len(explanation.encode()) - 2
    stuck = Judgement(
        category=INTERNAL,
        subcategory=Internal.STUCK_TERMINATING,
        disposition=Disposition.DELETE,
        cause=judgement.cause,
        message=f"{cut(judgement.message, room)}\n\n{explanation}",
        containers=judgement.containers,
        node=judgement.node,
        node_label=judgement.node_label,
        detected_at_ms=judgement.detected_at_ms,
    )
    return failed_report(entry, stuck)


def gone_report(entry: Entry, gone_at_ms: int) -> Report:
    """The pod of a run that was reported stuck is gone at last."""
    return _bare(entry, ReportKind.GONE, pod_gone=True, gone_at_ms=gone_at_ms)


def killed_report(entry: Entry, *, attempted: bool, gone_at_ms: int = 0) -> Report:
    """The run ended by the scheduler's word and no pod of it exists; `gone_at_ms` is 0 if none ever did.

    A pod that was still running when it was removed from the API by force may run on unseen: the report says so.
    """
    unseen = entry.forced and not entry.terminal
    return _bare(
        entry,
        ReportKind.KILLED,
        attempted=attempted,
        pod_gone=gone_at_ms > 0,
        gone_at_ms=gone_at_ms,
        category=INTERNAL if unseen else "",
        subcategory=Internal.STUCK_TERMINATING if unseen else "",
    )


def returned_report(entry: Entry, message: str) -> Report:
    """The lease goes back: the pod could not be created now. `attempted`, as Armada counts it."""
    return _bare(entry, ReportKind.RETURNED, message=cut(message, MAX_MESSAGE_TEXT_BYTES))


def not_created_report(entry: Entry, message: str, detected_at_ms: int) -> Report:
    """The pod can never be created as the job asks for it."""
    return _bare(
        entry,
        ReportKind.FAILED,
        category=INTERNAL,
        subcategory=Internal.JOB_CREATION_FAILED,
        message=cut(message, MAX_MESSAGE_TEXT_BYTES),
        detected_at_ms=detected_at_ms,
    )


def _bare(entry: Entry, kind: ReportKind, **facts: object) -> Report:
    """A report without a node or containers."""
    identity: dict[str, object] = {
        "kind": kind,
        "run": entry.run,
        "job": entry.job,
        "uid": cut(entry.uid, MAX_NAME_BYTES),
        "pod_name": cut(entry.name, MAX_NAME_BYTES),
        "namespace": cut(entry.namespace, MAX_NAME_BYTES),
    }
    return Report(**(identity | facts))  # type: ignore[arg-type]  # the facts are this module's own
