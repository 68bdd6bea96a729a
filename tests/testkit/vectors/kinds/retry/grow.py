"""Kind `grow`: the memory of a lease's containers after the job's accumulated growth."""

from collections.abc import Iterable
from fractions import Fraction

from refloat_common.core import quantity
from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_scheduler.core.model import MutationRecord
from refloat_scheduler.core.mutations.render import render_pod_spec
from testkit.vectors.kinds.retry.errors import obj, rows, text
from testkit.vectors.model import Kind, Vector


def answer(question: JsonObject) -> JsonObject:
    """Every container's memory in the rendered pod."""
    spec = {key: [_container(row) for row in rows(question[key])] for key in ("containers", "initContainers")}
    grown = render_pod_spec(spec, record(question.get("resourceMutations")), "kubernetes.io/hostname")
    return {key: [_memory(row) for row in rows(grown[key])] for key in ("containers", "initContainers")} | {
        "error": None,
    }


def record(value: JsonValue) -> MutationRecord:
    """A job's accumulated growth."""
    fields = obj(value)
    factor = fields.get("memoryFactor")
    assert factor is None or isinstance(factor, int | float)
    return MutationRecord(memory_factor=float(factor or 0), memory_static=text(fields.get("memoryStatic")))


def _container(row: JsonObject) -> JsonObject:
    resources = {f"{kind}s": {"memory": row[kind]} for kind in ("request", "limit") if row.get(kind)}
    return {"name": row["name"], "resources": resources}


def _memory(container: JsonObject) -> JsonObject:
    shown: dict[str, JsonValue] = {"name": container["name"]}
    for kind in ("request", "limit"):
        value = obj(obj(container["resources"]).get(f"{kind}s")).get("memory")
        if value is not None:
            parsed = quantity.parse(text(value))
            shown |= {kind: str(parsed), f"{kind}Bytes": parsed.units}
    return shown


def expected(vector: Vector) -> JsonObject:
    """Armada's answer; nulls are left out, and a fault of Armada's need not be shared."""
    if vector.armada_fault:
        return answer(vector.input)
    return {key: _without_nulls(value) for key, value in vector.armada.items()}


def _without_nulls(value: JsonValue) -> JsonValue:
    if value is None or isinstance(value, str):
        return value
    return [{k: v for k, v in row.items() if v is not None} for row in rows(value)]


def specification(vector: Vector, given: JsonObject) -> Iterable[str]:
    """Exact sums and products, reckoned here in fractions, where Armada's 64 bits overflow."""
    mutations = obj(vector.input["resourceMutations"])
    total = sum(_bytes(row, "request") for row in rows(vector.input["containers"]))
    for key in ("containers", "initContainers"):
        for before, after in zip(rows(vector.input[key]), rows(given[key]), strict=True):
            static = quantity.parse(text(mutations["memoryStatic"])).units if mutations.get("memoryStatic") else 0
            share = static if key == "initContainers" else Fraction(static * _bytes(before, "request"), total)
            factor = Fraction(str(mutations.get("memoryFactor") or 1))
            for kind in ("request", "limit"):
                want = int(_bytes(before, kind) * factor) + int(share)
                if after[f"{kind}Bytes"] != want:
                    yield f"{before['name']} {kind}: {after[f'{kind}Bytes']} instead of {want}"


def _bytes(row: JsonObject, kind: str) -> int:
    return quantity.parse(text(row[kind])).units


KIND = Kind("grow", answer, expected=expected, specification=specification)
