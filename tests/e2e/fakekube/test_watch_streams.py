"""Watch streams over a socket: bookmarks as time goes by, clients that leave, clients that do not read, many events."""

import json
import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from refloat_fakekube.core.store.tables import HistoryLimits
from refloat_fakekube.server.settings import ServerSettings
from testkit.fake_server import FakeServerThread
from testkit.kube_api import KubeApi, pod, version

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def api() -> Iterator[KubeApi]:
    settings = ServerSettings(
        bookmark_interval_s=0.05, watch_backlog_bytes=200_000, history=HistoryLimits(changes=60_000)
    )
    with FakeServerThread(settings) as server:
        yield KubeApi(server.url)


def open_watches(api: KubeApi) -> int:
    return int(api.get("/_fake/stats").ok()["watches"].get("pods", 0))


def until_watched_by(api: KubeApi, count: int) -> None:
    for _ in range(2000):
        if open_watches(api) == count:
            return
    raise AssertionError(f"{open_watches(api)} watches, not {count}")


def test_bookmarks_come_while_nothing_happens_here_and_promise_what_happened_elsewhere(api: KubeApi) -> None:
    start = version(api.get(PODS).ok())
    with api.watch(PODS, resourceVersion=start, allowWatchBookmarks="true", timeoutSeconds=10) as events:
        first = next(events)
        api.post("/api/v1/nodes", {"metadata": {"name": "elsewhere"}}).ok()
        seen = [first, next(events), next(events)]
    assert [event["type"] for event in seen] == ["BOOKMARK"] * 3
    assert int(version(seen[2]["object"])) > int(start)


def test_without_asking_there_are_no_bookmarks(api: KubeApi) -> None:
    start = version(api.get(PODS).ok())
    with api.watch(PODS, resourceVersion=start, timeoutSeconds=1) as events:
        assert list(events) == []


def test_a_watch_ends_with_a_bookmark_that_can_be_gone_on_from(api: KubeApi) -> None:
    start = version(api.get(PODS).ok())
    with api.watch(PODS, resourceVersion=start, allowWatchBookmarks="true", timeoutSeconds=1) as events:
        last = list(events)[-1]
    api.post(PODS, pod("after")).ok()
    found = api.watched(PODS, 1, resourceVersion=version(last["object"]))
    assert [event["object"]["metadata"]["name"] for event in found] == ["after"]


def test_a_client_that_leaves_is_forgotten(api: KubeApi) -> None:
    with api.watch(PODS, timeoutSeconds=60):
        until_watched_by(api, 1)
    until_watched_by(api, 0)


def test_a_client_that_does_not_read_is_cut_off(api: KubeApi) -> None:
    address = urlsplit(api.url)
    start = version(api.get(PODS).ok())
    with socket.create_connection((address.hostname, address.port)) as connection:
        request = f"GET {PODS}?watch=true&resourceVersion={start} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        until_watched_by(api, 1)
        line = json.dumps({"type": "MODIFIED", "object": recorded("big", "x" * 100_000)}).encode()
        for _ in range(200):
            api.call("POST", "/_fake/replay", line).ok()
        connection.settimeout(5.0)
        received = bytearray()
        while block := connection.recv(1 << 20):
            received += block
    assert received.endswith(b"0\r\n\r\n")
    assert received.count(b'"MODIFIED"') < 200
    assert open_watches(api) == 0


def recorded(name: str, filling: str) -> Any:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "annotations": {"filling": filling}}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {}, "status": {}}


def test_ten_thousand_changes_reach_a_watcher_in_order(api: KubeApi) -> None:
    start = version(api.get(PODS).ok())
    lines = [json.dumps({"type": "ADDED", "object": recorded(f"many-{place}", "x")}) for place in range(10_000)]
    api.call("POST", "/_fake/replay", "\n".join(lines).encode()).ok()
    began = time.monotonic()
    with api.watch(PODS, resourceVersion=start, timeoutSeconds=20) as events:
        seen = [next(events)["object"]["metadata"]["name"] for _ in range(10_000)]
    assert seen == [f"many-{place}" for place in range(10_000)]
    assert time.monotonic() - began < 10
