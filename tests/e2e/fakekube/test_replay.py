"""Every recorded pod is replayed through the server, and its watch shows the recorded lines again."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from testkit.kube_api import Json, KubeApi, fake_kube_api

RECORDED = [json.loads(line) for line in Path("tests/data/real_node.jsonl").read_text().splitlines()]
SERVER_SETS = {"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "managedFields"}


@pytest.fixture(scope="module")
def api() -> Iterator[KubeApi]:
    with fake_kube_api() as api:
        for namespace in ("real", "real2"):
            api.post("/api/v1/namespaces", {"metadata": {"name": namespace}}).ok()
        yield api


def shown(obj: Json) -> Json:
    """The object without what the server sets by its own clock and counters."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in SERVER_SETS}
    conditions = obj["status"].get("conditions", [])
    kept = [
        {**one, "lastTransitionTime": bool(one["lastTransitionTime"])} if one["type"] == "PodScheduled" else one
        for one in conditions
    ]
    status = {**obj["status"], **({"conditions": kept} if conditions else {})}
    return {**obj, "metadata": metadata, "status": status}


def replay(api: KubeApi, pods: str, watch: list[Json]) -> None:
    """Ask of the server what must have been asked of the real one for the lines to come about."""
    first = watch[0]["object"]
    name = first["metadata"]["name"]
    wanted = {key: first["metadata"][key] for key in ("name", "finalizers", "labels") if key in first["metadata"]}
    api.post(pods, {"metadata": wanted, "spec": first["spec"]}).ok()
    for before, after in pairwise(watch):
        old, new = before["object"], after["object"]
        grace_s = new["metadata"].get("deletionGracePeriodSeconds")
        if after["type"] == "DELETED":
            continue  # a deletion without grace gave this line too
        if new["spec"].get("nodeName") != old["spec"].get("nodeName"):
            body = {"metadata": {"name": name}, "target": {"name": new["spec"]["nodeName"]}}
            api.post(f"{pods}/{name}/binding", body).ok()
        elif grace_s != old["metadata"].get("deletionGracePeriodSeconds"):
            api.delete(f"{pods}/{name}", {"gracePeriodSeconds": grace_s}).ok()
        else:
            current = api.get(f"{pods}/{name}").ok()
            api.put(f"{pods}/{name}/status", {**current, "status": new["status"]}).ok()


@pytest.mark.parametrize("row", RECORDED, ids=[row["id"] for row in RECORDED])
def test_a_recorded_pod_gives_its_lines_again(api: KubeApi, row: Any) -> None:
    watch = row["watch"]
    metadata = watch[0]["object"]["metadata"]
    pods = f"/api/v1/namespaces/{metadata['namespace']}/pods"
    start = api.get(pods).ok()["metadata"]["resourceVersion"]
    replay(api, pods, watch)
    query = {"resourceVersion": start, "fieldSelector": f"metadata.name={metadata['name']}"}
    found = api.watched(pods, len(watch), **query)
    assert [(line["type"], shown(line["object"])) for line in found] == [
        (line["type"], shown(line["object"])) for line in watch
    ]


@pytest.mark.parametrize("row", RECORDED[:5], ids=[row["id"] for row in RECORDED[:5]])
def test_its_recorded_events_are_taken_as_they_are(api: KubeApi, row: Any) -> None:
    for line in row["events"]:
        event = line["object"]
        path = f"/api/v1/namespaces/{event['metadata']['namespace']}/events"
        body = {**event, "metadata": {"name": event["metadata"]["name"]}}
        written = api.put(f"{path}/{event['metadata']['name']}", body).ok()
        assert {key: value for key, value in written.items() if key != "metadata"} == {
            key: value for key, value in event.items() if key != "metadata"
        }
