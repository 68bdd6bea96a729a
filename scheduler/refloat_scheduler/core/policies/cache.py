"""The policies that are served: replaced whole by each good refresh, kept for ever through bad ones.

A refresh that fails changes nothing (specification: *fails open*). A refresh that answers serves exactly the valid
policies of that answer; each invalid one is named and counts as missing, even if all are (Armada then keeps the old
ones; the specification says that they are skipped).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from refloat_common.core.jsontypes import JsonValue
from refloat_scheduler.core.policies.compiled import CompiledPolicy, InvalidPolicyError, compile_policy
from refloat_scheduler.core.policies.document import PolicyDecodeError, decode
from refloat_scheduler.core.signals import Level, Metric, Note, Sample


@dataclass(frozen=True, slots=True)
class PolicyCache:
    """What is served now. `refreshed_s` is the monotonic time of the last good refresh, None before the first.

    `failures` counts the refreshes that have failed since the last good one.
    """

    policies: Mapping[str, CompiledPolicy] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    refreshed_s: float | None = None
    failures: int = 0

    def get(self, name: str) -> CompiledPolicy | None:
        """A policy by name; None if it is not served."""
        return self.policies.get(name)

    def age_s(self, now_s: float, started_s: float) -> float:
        """How long ago the last good refresh was; before the first, how long there has been none."""
        return now_s - (started_s if self.refreshed_s is None else self.refreshed_s)


@dataclass(frozen=True, slots=True)
class Refreshed:
    """The cache after a refresh, and what to say of it."""

    cache: PolicyCache
    notes: tuple[Note, ...]
    samples: tuple[Sample, ...]


def refreshed(documents: Sequence[JsonValue], now_s: float) -> Refreshed:
    """The cache after the store has answered. Of two documents with one name the later counts."""
    served: dict[str, CompiledPolicy] = {}
    skipped: list[str] = []
    notes: list[Note] = []
    for document in documents:
        name, why = _name(document), ""
        try:
            policy = compile_policy(decode(document))
            served[policy.name] = policy
        except PolicyDecodeError as error:
            why = str(error)
        except InvalidPolicyError as error:
            name, why = error.name, error.why
        if why:
            skipped.append(name)
            notes.append(Note(Level.WARNING, f'skipping invalid retry policy "{name}": {why}'))
    samples = [Sample(Metric.POLICY_SKIPPED, (("policy", name),)) for name in skipped]
    samples.append(Sample(Metric.POLICY_SERVED, value=len(served)))
    return Refreshed(PolicyCache(served, tuple(skipped), now_s), tuple(notes), tuple(samples))


def refresh_failed(cache: PolicyCache, why: str) -> Refreshed:
    """The cache after the store could not answer: what was served is served on."""
    return Refreshed(
        replace(cache, failures=cache.failures + 1),
        (Note(Level.WARNING, f"error fetching retry policies: {why}"),),
        (Sample(Metric.POLICY_REFRESH_FAILED),),
    )


def _name(document: JsonValue) -> str:
    """A document's name as far as it can be read, for the warning about it."""
    name = document.get("name") if isinstance(document, Mapping) else None
    return name if isinstance(name, str) else ""
