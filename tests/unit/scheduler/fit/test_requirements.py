"""What a pod asks of a node, from its spec."""

import pytest

from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_scheduler.core.fit.requirements import PodSpecError, requirements_of
from refloat_scheduler.core.model import MatchExpression, NodeTerm, Requirements, Toleration


def container(
    name: str, request: JsonValue = None, limit: JsonValue = None, resource: str = "memory", **more: JsonValue
) -> JsonObject:
    resources: dict[str, JsonValue] = {}
    if request is not None:
        resources["requests"] = {resource: request}
    if limit is not None:
        resources["limits"] = {resource: limit}
    return {"name": name, "resources": resources, **more}


def test_containers_add_up_and_requests_default_to_limits() -> None:
    spec = {"containers": [container("a", "1Gi", "2Gi"), container("b", limit="512Mi"), container("c")]}
    assert requirements_of(spec) == Requirements(requests={"memory": "1536Mi"}, limits={"memory": "2560Mi"})


def test_an_init_container_counts_alone_if_it_asks_for_more() -> None:
    spec = {"containers": [container("a", "1Gi"), container("b", "1Gi")], "initContainers": [container("i", "3Gi")]}
    assert requirements_of(spec).requests == {"memory": "3Gi"}
    spec = {"containers": [container("a", "2Gi"), container("b", "2Gi")], "initContainers": [container("i", "3Gi")]}
    assert requirements_of(spec).requests == {"memory": "4Gi"}


def test_a_sidecar_runs_beside_the_containers_and_beside_later_init_containers() -> None:
    spec = {
        "containers": [container("a", "1Gi")],
        "initContainers": [
            container("early", "4Gi"),
            container("side", "1Gi", restartPolicy="Always"),
            container("late", "4Gi"),
        ],
    }
    assert requirements_of(spec).requests == {"memory": "5Gi"}


def test_overhead_and_pod_level_resources() -> None:
    spec: JsonObject = {
        "containers": [container("a", "1Gi", "1Gi")],
        "resources": {"requests": {"memory": "3Gi", "cpu": 2}, "limits": {"memory": "4Gi"}},
        "overhead": {"memory": "128Mi", "cpu": 0.25},
    }
    assert requirements_of(spec) == Requirements(
        requests={"memory": "3200Mi", "cpu": "2250m"}, limits={"memory": "4224Mi"}
    )


def test_selectors_affinity_and_tolerations() -> None:
    zone: JsonObject = {"key": "zone", "operator": "In", "values": ["z1"]}
    gpu: JsonObject = {"key": "gpu", "operator": "Exists"}
    name: JsonObject = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    required: JsonObject = {"nodeSelectorTerms": [{"matchExpressions": [zone, gpu]}, {"matchFields": [name]}]}
    spec: JsonObject = {
        "containers": [],
        "nodeSelector": {"disk": "ssd"},
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
        "tolerations": [{"key": "k", "operator": "Exists"}, {"key": "l", "value": "v", "effect": "NoSchedule"}],
    }
    assert requirements_of(spec) == Requirements(
        node_selector={"disk": "ssd"},
        node_terms=(
            NodeTerm((MatchExpression("zone", "In", ("z1",)), MatchExpression("gpu", "Exists"))),
            NodeTerm(fields=(MatchExpression("metadata.name", "In", ("n1",)),)),
        ),
        tolerations=(Toleration("k", "Exists"), Toleration("l", "Equal", "v", "NoSchedule")),
    )


def test_no_affinity_is_told_from_an_empty_one() -> None:
    path: JsonObject = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
    assert requirements_of({"affinity": None}).node_terms is None
    assert requirements_of({"affinity": {"nodeAffinity": {}}}).node_terms is None
    assert requirements_of({"affinity": {"nodeAffinity": path}}).node_terms == ()


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"containers": "x"}, "containers"),
        ({"containers": ["x"]}, "containers[0]"),
        ({"containers": [{"resources": []}]}, "containers[0].resources"),
        ({"initContainers": [container("i", "much")]}, "initContainers[0].resources.requests.memory"),
        ({"containers": [container("a", limit=True)]}, "containers[0].resources.limits.memory"),
        ({"nodeSelector": {"a": 1}}, "nodeSelector.a"),
        ({"affinity": {"nodeAffinity": []}}, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"),
        ({"tolerations": [{"key": 1}]}, "tolerations[0].key"),
        ({"overhead": {"memory": "1Q"}}, "overhead.memory"),
    ],
)
def test_a_spec_that_can_not_be_read_is_named_by_its_path(spec: JsonObject, path: str) -> None:
    with pytest.raises(PodSpecError) as caught:
        requirements_of(spec)
    assert caught.value.path == path
