"""Growing a job's memory on retry (specification: *resources.memory*).

Two places grow. The *requirements* (the pod's totals) grow step by step at each retry, rounded up, and are what the
probe is asked about. The *pod* of a lease grows from the submitted spec by the whole record, rounded down, so it never
exceeds the requirements. A fixed amount is shared among the containers that run together, native sidecars too, in
proportion to what they ask for; an ordinary init container, which runs before them, gets it whole. (So only where an
init container that starts after a sidecar outweighs everything else can a pod ask for more than was probed, by at most
the sidecar's share.)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from refloat_common.core import quantity
from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_common.core.quantity import NANO, Quantity, from_units
from refloat_scheduler.core.fit.requirements import amount, is_sidecar, items, obj
from refloat_scheduler.core.model import MutationRecord, Requirements
from refloat_scheduler.core.policies.compiled import Mutation

MEMORY = "memory"
_Change = Callable[[Quantity], Quantity]


class UnreadableRecordError(ValueError):
    """The stored sum of a job's fixed bumps is no quantity. Refloat never writes such a record."""

    def __init__(self, job_id: str, text: str, why: str) -> None:
        super().__init__(f'job {job_id} has an unparseable accumulated memory bump "{text}": {why}')


@dataclass(frozen=True, slots=True)
class Grown:
    """A job's record and requirements after a bump."""

    record: MutationRecord
    requirements: Requirements


def grow(job_id: str, record: MutationRecord, requirements: Requirements, mutation: Mutation) -> Grown | None:
    """The record and the requirements after one bump; None if the job already grows the other way.

    Raises:
        UnreadableRecordError: the stored sum means nothing.
    """
    if mutation.memory_static is not None:
        return _grow_static(job_id, record, requirements, mutation.memory_static)
    if record.memory_static:
        return None
    factor = mutation.memory_factor
    total = (record.memory_factor or 1.0) * factor
    return Grown(
        replace(record, memory_factor=total, version=record.version + 1),
        _each(requirements, lambda value: value.times_up(factor)),
    )


def _grow_static(job_id: str, record: MutationRecord, requirements: Requirements, bump: Quantity) -> Grown | None:
    if record.memory_factor:
        return None
    total = bump
    if record.memory_static:
        try:
            total = quantity.parse(record.memory_static) + bump
        except ValueError as error:
            raise UnreadableRecordError(job_id, record.memory_static, str(error)) from None
    return Grown(
        replace(record, memory_static=str(total), version=record.version + 1),
        _each(requirements, lambda value: value + bump),
    )


def _each(requirements: Requirements, change: _Change) -> Requirements:
    """Requirements with their memory changed; a pod that names no memory stays as it is."""
    return replace(
        requirements,
        requests=_changed(requirements.requests, change),
        limits=_changed(requirements.limits, change),
    )


def _changed(amounts: Mapping[str, str], change: _Change) -> Mapping[str, str]:
    if MEMORY not in amounts:
        return amounts
    return {**amounts, MEMORY: str(change(quantity.parse(amounts[MEMORY])))}


def grown_spec(spec: JsonObject, record: MutationRecord) -> JsonObject:
    """A pod spec with the record's growth applied to every container that names memory."""
    if not record.memory_factor and not record.memory_static:
        return spec
    static = quantity.parse(record.memory_static).units if record.memory_static else 0
    growth = _Growth(record.memory_factor or 1.0, static, _weight_total(spec))
    changed: dict[str, JsonValue] = dict(spec)
    for key in ("containers", "initContainers"):
        if isinstance(spec.get(key), Sequence):
            whole = key == "initContainers"
            changed[key] = [growth.container(c, path, init=whole) for c, path in items(spec, key)]
    if spec.get("resources") is not None:
        changed["resources"] = growth.resources(obj(spec["resources"], "resources"), "resources", static)
    return changed


def _weight_total(spec: JsonObject) -> int:
    """What the containers that run together ask for, in units."""
    together = [(container, path) for container, path in items(spec, "containers")]
    together += [(container, path) for container, path in items(spec, "initContainers") if is_sidecar(container)]
    return sum(_weight(container, path) for container, path in together)


def _weight(container: JsonObject, path: str) -> int:
    """What one container asks for, in units: its request, else its limit."""
    resources = obj(container.get("resources"), f"{path}.resources")
    for kind in ("requests", "limits"):
        value = obj(resources.get(kind), f"{path}.resources.{kind}").get(MEMORY)
        if value is not None:
            return amount(value, f"{path}.resources.{kind}.memory").units
    return 0


@dataclass(frozen=True, slots=True)
class _Growth:
    """One pod's growth: the factor, the fixed amount in units, and what it is shared in proportion to."""

    factor: float
    static: int
    weight_total: int

    def container(self, container: JsonObject, path: str, *, init: bool) -> JsonObject:
        """One container, grown."""
        if container.get("resources") is None:
            return container
        share = self.static
        if not init or is_sidecar(container):
            share = self.static * _weight(container, path) // self.weight_total if self.weight_total else 0
        resources = obj(container["resources"], f"{path}.resources")
        return {**container, "resources": self.resources(resources, f"{path}.resources", share)}

    def resources(self, resources: JsonObject, path: str, share: int) -> JsonObject:
        """Requests and limits, grown together by the factor and by `share` units."""
        changed = dict(resources)
        for kind in ("requests", "limits"):
            amounts = obj(resources.get(kind), f"{path}.{kind}")
            if MEMORY in amounts:
                value = amount(amounts[MEMORY], f"{path}.{kind}.memory").times_down(self.factor)
                grown = from_units(value.nanos // NANO + share, value.format)
                changed[kind] = {**amounts, MEMORY: str(grown)}
        return changed
