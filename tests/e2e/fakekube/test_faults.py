"""What can be made to go wrong: refused, lost and late answers, cut watches, compaction, a world that is held back."""

import http.client
import json
import time
from collections.abc import Iterator
from itertools import count, islice
from typing import Any

import pytest

from testkit.kube_api import KubeApi, fake_kube_api, names, pod, version

PODS = "/api/v1/namespaces/default/pods"
_serial = count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[KubeApi]:
    with fake_kube_api() as api:
        yield api


@pytest.fixture
def api(server: KubeApi) -> Iterator[KubeApi]:
    yield server
    server.delete("/_fake/faults").ok()
    server.post("/_fake/release", {}).ok()
    server.delete(PODS, {"gracePeriodSeconds": 0}).ok()


@pytest.fixture
def name() -> str:
    return f"p{next(_serial)}"


def fail(api: KubeApi, **fault: Any) -> None:
    api.post("/_fake/faults", fault).ok()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (409, "Conflict"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
    ],
)
def test_the_next_calls_are_refused_and_then_no_more(api: KubeApi, name: str, code: int, reason: str) -> None:
    fail(api, verb="create", resource="pods", code=code, count=2)
    replies = [api.post(PODS, pod(name)) for _ in range(3)]
    assert [(reply.code, reply.body.get("reason")) for reply in replies[:2]] == [(code, reason)] * 2
    assert replies[2].code == 201


def test_a_refusal_says_when_to_come_again(api: KubeApi, name: str) -> None:
    fail(api, verb="create", code=429, retryAfterSeconds=3)
    reply = api.post(PODS, pod(name))
    assert (reply.headers["retry-after"], reply.body["details"]["retryAfterSeconds"]) == ("3", 3)


def test_a_refused_call_may_have_been_carried_out(api: KubeApi, name: str) -> None:
    fail(api, verb="create", code=500, effect=True)
    assert api.post(PODS, pod(name)).code == 500
    assert api.get(f"{PODS}/{name}").code == 200


def test_a_fault_is_only_for_the_calls_it_names(api: KubeApi, name: str) -> None:
    fail(api, verb="delete", resource="pods", namespace="default", name="other", code=500)
    api.post(PODS, pod(name)).ok()
    assert api.delete(f"{PODS}/{name}").code == 200
    assert api.delete(f"{PODS}/other").code == 500


@pytest.mark.parametrize("effect", [False, True])
def test_an_answer_may_be_lost_with_its_connection(api: KubeApi, name: str, effect: bool) -> None:  # noqa: FBT001
    fail(api, kind="drop", verb="create", effect=effect)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        api.post(PODS, pod(name))
    assert api.get(f"{PODS}/{name}").code == (200 if effect else 404)


def test_an_answer_may_be_late(api: KubeApi, name: str) -> None:
    fail(api, kind="delay", verb="create", seconds=0.2)
    started = time.monotonic()
    assert api.post(PODS, pod(name)).code == 201
    assert time.monotonic() - started >= 0.2


def test_an_answer_may_never_come(api: KubeApi, name: str) -> None:
    fail(api, kind="hang", verb="create")
    impatient = KubeApi(api.url, timeout_s=0.2)
    with pytest.raises(TimeoutError):
        impatient.post(PODS, pod(name))
    assert api.get(f"{PODS}/{name}").code == 404


def test_an_answer_may_come_from_something_else(api: KubeApi) -> None:
    fail(api, kind="body", verb="list", code=503, body="<html>Bad Gateway</html>")
    reply = api.get(PODS)
    assert (reply.code, reply.body["message"]) == (503, "<html>Bad Gateway</html>")


@pytest.mark.parametrize("fault", [{"kind": "explode"}, {"code": 418}, {"count": 0}, {"colour": "red"}, {"count": "x"}])
def test_a_fault_that_can_not_be_is_refused(api: KubeApi, fault: Any) -> None:
    reply = api.post("/_fake/faults", fault)
    (field,) = fault
    assert (reply.code, field in reply.body["message"]) == (400, True)


@pytest.mark.parametrize(
    ("how", "last"),
    [("eof", None), ("expired", {"type": "ERROR", "code": 410}), ("half", "broken"), ("reset", "broken")],
)
def test_watches_are_cut_in_every_way(api: KubeApi, name: str, how: str, last: Any) -> None:
    start = version(api.get(PODS).ok())
    seen: list[Any] = []
    with api.watch(PODS, resourceVersion=start, timeoutSeconds=10) as events:
        api.post(PODS, pod(name)).ok()
        seen.append(next(events)["type"])
        assert api.post("/_fake/cut-watches", {"how": how, "resource": "pods"}).ok()["cut"] == 1
        try:
            seen += [{"type": event["type"], "code": event["object"].get("code")} for event in events]
        except (http.client.HTTPException, ConnectionError, ValueError):
            seen.append("broken")
    assert seen == ["ADDED", *([last] if last else [])]


def test_watches_of_other_resources_go_on(api: KubeApi, name: str) -> None:
    start = version(api.get(PODS).ok())
    with api.watch(PODS, resourceVersion=start, timeoutSeconds=10) as events:
        api.post("/_fake/cut-watches", {"resource": "nodes"}).ok()
        api.post(PODS, pod(name)).ok()
        assert next(events)["object"]["metadata"]["name"] == name


def test_a_held_back_world_is_seen_late_but_whole(api: KubeApi, name: str) -> None:
    start = version(api.get(PODS).ok())
    with api.watch(PODS, resourceVersion=start, timeoutSeconds=10) as events:
        api.post("/_fake/hold", {}).ok()
        api.post(PODS, pod(name)).ok()
        assert name in names(api.get(PODS).ok())
        api.delete(f"{PODS}/{name}").ok()
        api.post("/_fake/release", {}).ok()
        assert [event["type"] for event in islice(events, 3)] == ["ADDED", "MODIFIED", "DELETED"]


def test_compaction_touches_only_what_it_names(api: KubeApi, name: str) -> None:
    start = version(api.post(PODS, pod(name)).ok())
    api.patch(f"{PODS}/{name}", {"metadata": {"labels": {"x": "1"}}}).ok()
    api.post("/_fake/compact", {"resource": "nodes"}).ok()
    assert [event["type"] for event in api.watched(PODS, 1, resourceVersion=start)] == ["MODIFIED"]
    api.post("/_fake/compact", {"resource": "pods"}).ok()
    assert [event["type"] for event in api.watched(PODS, 1, resourceVersion=start)] == ["ERROR"]


def test_the_server_counts_what_it_was_asked(api: KubeApi, name: str) -> None:
    def counted() -> dict[tuple[str, str, int], int]:
        calls = api.get("/_fake/stats").ok()["calls"]
        return {(call["verb"], call["resource"], call["code"]): call["count"] for call in calls}

    before = counted()
    api.post(PODS, pod(name)).ok()
    api.get(f"{PODS}/no-such")
    after = counted()
    assert after[("create", "pods", 201)] == before.get(("create", "pods", 201), 0) + 1
    assert after[("get", "pods", 404)] == before.get(("get", "pods", 404), 0) + 1


def test_recorded_objects_are_put_in_unchecked(api: KubeApi, name: str) -> None:
    obj = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "namespace": "nowhere", "uid": "u"}}
    lines = b'{"type":"ADDED","object":' + json.dumps(obj).encode() + b"}\n"
    assert api.call("POST", "/_fake/replay", lines).ok() == {"replayed": 1}
    assert names(api.get("/api/v1/pods", fieldSelector=f"metadata.name={name}").ok()) == [name]
    api.call("POST", "/_fake/replay", lines.replace(b"ADDED", b"DELETED")).ok()
    assert names(api.get("/api/v1/pods", fieldSelector=f"metadata.name={name}").ok()) == []


def test_an_unknown_action_is_not_found(api: KubeApi) -> None:
    assert api.post("/_fake/no-such", {}).code == 404
