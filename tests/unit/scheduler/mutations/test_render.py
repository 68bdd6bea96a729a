"""The pod spec of a lease after retries: memory grown, nodes avoided, everything else untouched."""

import copy

import pytest

from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_scheduler.core.fit.requirements import requirements_of
from refloat_scheduler.core.model import MutationRecord
from refloat_scheduler.core.mutations.affinity import avoiding
from refloat_scheduler.core.mutations.render import render_pod_spec
from testkit.scheduling.makers import LABEL


def container(name: str, request: str = "", limit: str = "", **more: JsonValue) -> JsonObject:
    resources: dict[str, JsonValue] = {"requests": {"cpu": "1"} | ({"memory": request} if request else {})}
    if limit:
        resources["limits"] = {"memory": limit}
    return {"name": name, "image": "busybox", "resources": resources, **more}


def memory(spec: JsonObject) -> dict[str, tuple[str, str]]:
    shown = {}
    for key in ("containers", "initContainers"):
        found = spec.get(key) or []
        assert isinstance(found, list)
        for one in found:
            amounts = [one.get("resources", {}).get(kind, {}).get("memory", "") for kind in ("requests", "limits")]
            shown[str(one["name"])] = (amounts[0], amounts[1])
    return shown


def grown(spec: JsonObject, factor: float = 0.0, static: str = "") -> dict[str, tuple[str, str]]:
    before = copy.deepcopy(spec)
    rendered = render_pod_spec(spec, MutationRecord(memory_factor=factor, memory_static=static), LABEL)
    assert spec == before
    assert render_pod_spec(spec, MutationRecord(memory_factor=factor, memory_static=static), LABEL) == rendered
    return memory(rendered)


@pytest.mark.parametrize(
    ("factor", "static", "expected"),
    [
        (1.5, "", {"a": ("1536Mi", "1536Mi"), "b": ("3Gi", "3Gi")}),
        (0.0, "300Mi", {"a": ("1124Mi", "1124Mi"), "b": ("2248Mi", "2248Mi")}),
    ],
)
def test_a_factor_and_a_fixed_amount_over_two_containers(
    factor: float, static: str, expected: dict[str, tuple[str, str]]
) -> None:
    spec = {"containers": [container("a", "1Gi", "1Gi"), container("b", "2Gi", "2Gi")]}
    assert grown(spec, factor, static) == expected


def test_an_ordinary_init_container_gets_the_fixed_amount_whole() -> None:
    spec = {"containers": [container("a", "1Gi")], "initContainers": [container("i", "256Mi")]}
    assert grown(spec, static="100Mi") == {"a": ("1124Mi", ""), "i": ("356Mi", "")}


def test_a_native_sidecar_shares_with_the_containers_beside_it() -> None:
    side = container("side", "1Gi", restartPolicy="Always")
    spec = {"containers": [container("a", "3Gi")], "initContainers": [side, container("i", "1Gi")]}
    assert grown(spec, static="400Mi") == {"a": ("3372Mi", ""), "side": ("1124Mi", ""), "i": ("1424Mi", "")}


def test_a_container_without_memory_stays_as_it_is() -> None:
    spec: JsonObject = {"containers": [container("a", "1Gi"), container("b"), {"name": "c"}]}
    rendered = render_pod_spec(spec, MutationRecord(memory_factor=2.0), LABEL)
    assert memory(rendered) == {"a": ("2Gi", ""), "b": ("", ""), "c": ("", "")}
    assert rendered["containers"][1:] == spec["containers"][1:]  # type: ignore[index]  # lists


def test_a_container_with_only_a_limit_asks_for_its_limit() -> None:
    assert grown({"containers": [container("a", limit="1Gi")]}, static="512Mi") == {"a": ("", "1536Mi")}


def test_without_any_memory_nothing_grows() -> None:
    assert grown({"containers": [container("a")]}, static="512Mi") == {"a": ("", "")}


def test_request_and_limit_grow_by_the_same_share() -> None:
    assert grown({"containers": [container("a", "1Gi", "3Gi")]}, static="1Gi") == {"a": ("2Gi", "4Gi")}


def test_nothing_overflows() -> None:
    spec = {"containers": [container("a", "16Gi", "16Gi"), container("b", "48Gi", "48Gi")]}
    assert grown(spec, static="8Gi") == {"a": ("18Gi", "18Gi"), "b": ("54Gi", "54Gi")}
    assert grown(spec, factor=1e10)["a"] == ("156250000Ti", "156250000Ti")


def test_pod_level_memory_grows_whole() -> None:
    spec: JsonObject = {
        "containers": [container("a", "1Gi")],
        "resources": {"requests": {"memory": "4Gi", "cpu": "2"}, "limits": {"memory": "4Gi"}},
    }
    rendered = render_pod_spec(spec, MutationRecord(memory_static="512Mi"), LABEL)
    assert rendered["resources"] == {"requests": {"memory": "4608Mi", "cpu": "2"}, "limits": {"memory": "4608Mi"}}


def test_a_pod_never_asks_for_more_than_its_requirements() -> None:
    spec = {"containers": [container("a", "333333333", "1000000001"), container("b", "1Gi", "1.1Gi")]}
    for factor in (1.1, 1.21, 1.3333333333333333, 2.0000000001):
        rendered = render_pod_spec(spec, MutationRecord(memory_factor=factor), LABEL)
        total = requirements_of(spec).requests["memory"]
        assert int(requirements_of(rendered).requests["memory"]) <= int(total) * factor + 1


def terms(spec: JsonObject) -> JsonValue:
    node: JsonValue = spec
    for key in ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"):
        assert isinstance(node, dict)
        node = node[key]
    return node


def affine(*given: JsonValue) -> JsonObject:
    required: JsonObject = {"nodeSelectorTerms": list(given)}
    node: JsonObject = {"requiredDuringSchedulingIgnoredDuringExecution": required, "preferredX": [1]}
    return {"containers": [], "affinity": {"nodeAffinity": node, "podAffinity": {"x": 1}}}


ZONE = {"key": "zone", "operator": "In", "values": ["z1"]}


def away(*values: str) -> JsonObject:
    return {"key": LABEL, "operator": "NotIn", "values": list(values)}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": []}, [{"matchExpressions": [away("n1", "n2")]}]),
        ({"affinity": None}, [{"matchExpressions": [away("n1", "n2")]}]),
        (affine(), [{"matchExpressions": [away("n1", "n2")]}]),
        (affine({"matchExpressions": []}), [{"matchExpressions": [away("n1", "n2")]}]),
        (
            affine({"matchExpressions": [ZONE]}, {"matchFields": [ZONE]}),
            [
                {"matchExpressions": [ZONE, away("n1", "n2")]},
                {"matchFields": [ZONE], "matchExpressions": [away("n1", "n2")]},
            ],
        ),
        (
            affine({"matchExpressions": [away("n0", "n2"), ZONE]}),
            [{"matchExpressions": [away("n0", "n2", "n1"), ZONE]}],
        ),
    ],
)
def test_nodes_are_avoided_in_every_term(spec: JsonObject, expected: JsonValue) -> None:
    before = copy.deepcopy(spec)
    rendered = render_pod_spec(spec, MutationRecord(avoid=("n1", "n2")), LABEL)
    assert terms(rendered) == expected
    assert spec == before
    probed = avoiding(requirements_of(spec), LABEL, ("n2", "n1")).node_terms
    assert probed is not None
    assert requirements_of(rendered).node_terms == probed


def test_the_rest_of_the_affinity_is_kept() -> None:
    rendered = render_pod_spec(affine(), MutationRecord(avoid=("n1",)), LABEL)
    affinity = rendered["affinity"]
    assert isinstance(affinity, dict)
    assert (affinity["podAffinity"], affinity["nodeAffinity"]["preferredX"]) == ({"x": 1}, [1])


def test_without_a_record_the_spec_is_the_submitted_one() -> None:
    spec = affine({"matchExpressions": [ZONE]})
    assert render_pod_spec(spec, MutationRecord(), LABEL) is spec
