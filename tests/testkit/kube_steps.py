"""Requests to be sent to two API servers, and their answers made comparable: without clocks, counters and chance."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from testkit.kube_api import JSON, JSON_PATCH, MERGE, STRATEGIC, KubeApi, Query, Reply

CLOCKED = {"creationTimestamp", "deletionTimestamp", "lastTransitionTime", "lastHeartbeatTime", "time", "timeAdded"}
HIDDEN = {"managedFields", "continue"}
OWN_WORDS = re.compile(
    r"(json parse error:|error decoding patch:|continue key is not valid:|if it was previously negative\)|"
    r"accepted media types include:).*",
    re.DOTALL,
)
"""After these words each server goes on in those of its own parser, or with a difference of two Go structs."""
PATTERNS = (
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UID"),
    (re.compile(r"ResourceVersion in record \(\d+\)"), "ResourceVersion in record (V)"),
    (re.compile(r"current: \d+"), "current: V"),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One request; `path` begins at the namespace's resource (`pods/a`) or at the root (`/api/...`)."""

    method: str
    path: str
    body: Any = None
    content_type: str = JSON
    query: Query = field(default_factory=dict)

    def send(self, api: KubeApi, namespace: str) -> Reply:
        path = self.path if self.path.startswith("/") else f"/api/v1/namespaces/{namespace}/{self.path}"
        return api.call(self.method, path, self.body, self.content_type, self.query)


def comparable(reply: Reply) -> tuple[int, Any]:
    """Code and body of an answer, as far as two servers can agree on them."""
    return reply.code, _comparable(reply.body)


def comparable_watch(api: KubeApi, path: str, start: str) -> list[Any]:
    """What a watch of a collection has seen since a version."""
    with api.watch(path, resourceVersion=start, timeoutSeconds=1) as events:
        return [(event["type"], _comparable(event["object"])) for event in events]


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        kept: dict[str, Any] = {}
        for key, inner in value.items():
            if key == "resourceVersion" or (key in CLOCKED and inner):
                kept[key] = "SET"
            elif key == "causes":
                kept[key] = sorted((_comparable(one) for one in inner), key=str)
            elif key not in HIDDEN:
                kept[key] = _comparable(inner)
        return kept
    if isinstance(value, list):
        return [_comparable(inner) for inner in value]
    if isinstance(value, str):
        for pattern, word in PATTERNS:
            value = pattern.sub(word, value)
        return OWN_WORDS.sub(r"\1", value)
    return value


def random_steps(rng: Random, count: int) -> Iterator[Step]:
    """Anything that may be done to a few pods, in any order: most of it refused, some of it not."""
    makers = (_create, _read, _status, _change, _delete, _bind, _evict, _finalize)
    for _ in range(count):
        yield rng.choice(makers)(rng, f"pods/p{rng.randrange(4)}")


def _create(rng: Random, path: str) -> Step:
    metadata: Any = {"name": path.removeprefix("pods/"), "labels": {"x": str(rng.randrange(2))}}
    if rng.random() < 0.2:
        metadata["finalizers"] = ["example.com/hold"]
    spec: Any = {"containers": [{"name": "main", "image": "none:1"}], "restartPolicy": "Never"}
    if rng.random() < 0.4:
        spec["nodeName"] = "n1"
    query: Query = {"dryRun": "All"} if rng.random() < 0.1 else {}
    return Step("POST", "pods", {"metadata": metadata, "spec": spec}, query=query)


def _read(rng: Random, path: str) -> Step:
    selectors: tuple[Query, ...] = (
        {},
        {"limit": 2},
        {"labelSelector": "x=1"},
        {"fieldSelector": "spec.nodeName!="},
        {"fieldSelector": "status.phase=Failed"},
    )
    return Step("GET", path) if rng.random() < 0.4 else Step("GET", "pods", query=rng.choice(selectors))


def _status(rng: Random, path: str) -> Step:
    status: Any = {"phase": rng.choice(["Pending", "Running", "Failed", "Succeeded"])}
    if rng.random() < 0.5:
        kinds = rng.sample(["Ready", "Initialized", "DisruptionTarget"], 2)
        status["conditions"] = [{"type": kind, "status": rng.choice(["True", "False"])} for kind in kinds]
        if rng.random() < 0.3:
            status["$setElementOrder/conditions"] = [{"type": kind} for kind in rng.choice([kinds, kinds[::-1]])]
    if rng.random() < 0.3:
        state = rng.choice([{"running": {}}, {"terminated": {"exitCode": rng.randrange(2)}}])
        status["containerStatuses"] = [{"name": "main", "state": state}]
    return Step("PATCH", f"{path}/status", {"status": status}, STRATEGIC)


def _change(rng: Random, path: str) -> Step:
    changes = (
        Step("PATCH", path, {"metadata": {"labels": {"x": str(rng.randrange(3))}}}, STRATEGIC),
        Step("PATCH", path, {"metadata": {"labels": {"y": rng.choice([None, "1"])}}}, MERGE),
        Step("PATCH", path, [{"op": "replace", "path": "/metadata/labels/x", "value": "7"}], JSON_PATCH),
        Step("PATCH", path, [{"op": "test", "path": "/metadata/labels/x", "value": "1"}], JSON_PATCH),
        Step("PATCH", path, {"spec": {"activeDeadlineSeconds": rng.randrange(1, 100)}}, MERGE),
        Step("PATCH", path, {"spec": {"restartPolicy": rng.choice(["Always", "Never"])}}, MERGE),
        Step("PATCH", path, {"metadata": {"resourceVersion": "1"}}, MERGE),
    )
    return rng.choice(changes)


def _delete(rng: Random, path: str) -> Step:
    if rng.random() < 0.1:
        return Step("DELETE", "pods", query={"labelSelector": f"x={rng.randrange(3)}"})
    options: Any = {}
    if rng.random() < 0.7:
        options["gracePeriodSeconds"] = rng.choice([0, 1, 10, 60])
    if rng.random() < 0.2:
        options["preconditions"] = {"uid": "00000000-0000-0000-0000-000000000000"}
    if rng.random() < 0.1:
        options["dryRun"] = ["All"]
    return Step("DELETE", path, options or None)


def _bind(rng: Random, path: str) -> Step:
    target = {"name": f"n{rng.randrange(1, 3)}"}
    return Step("POST", f"{path}/binding", {"metadata": {"name": path.removeprefix("pods/")}, "target": target})


def _evict(rng: Random, path: str) -> Step:
    body: Any = {"metadata": {"name": path.removeprefix("pods/")}}
    if rng.random() < 0.5:
        body["deleteOptions"] = {"gracePeriodSeconds": rng.choice([0, 5])}
    return Step("POST", f"{path}/eviction", body)


def _finalize(rng: Random, path: str) -> Step:
    finalizers = rng.choice([None, ["example.com/hold"], ["example.com/other"]])
    return Step("PATCH", path, {"metadata": {"finalizers": finalizers}}, MERGE)
