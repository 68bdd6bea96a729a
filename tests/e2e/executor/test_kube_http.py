"""The executor's client against an API server that answers, fails, stalls and cuts connections."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from refloat_common.core.pods import Node, Pod
from refloat_executor.adapters.kube import KubeConfigError, KubeHttp, Source, load_credentials, open_kube
from refloat_executor.adapters.kube import api as api_module
from refloat_executor.adapters.kube.stream import HttpWatch
from refloat_executor.core.cluster.answers import (
    Broken,
    Conflict,
    Denied,
    Done,
    Expired,
    Missing,
    Refusal,
    Silent,
    Throttled,
    Unsent,
)
from refloat_executor.core.cluster.reflector import WatchClosed
from refloat_executor.core.cluster.wire import Codec, Status, decode_event_page, decode_pod, decode_uid_page
from refloat_fakekube.cluster import FakeCluster, ServerSettings
from refloat_fakekube.core.protocol.faults import Fault

pytestmark = pytest.mark.anyio
PODS = Codec(Pod)


def body(name: str, *, managed: bool = True) -> bytes:
    labels = {"armada_job_id": "j", "armada_job_run_id": "r"} if managed else {}
    spec = {"containers": [{"name": "main", "image": "busybox"}]}
    return json.dumps({"metadata": {"name": name, "labels": labels}, "spec": spec}).encode()


@pytest.fixture
async def kube(bare_cluster: FakeCluster, tmp_path: Path) -> AsyncIterator[KubeHttp]:
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(bare_cluster.kubeconfig()))
    async with open_kube(await load_credentials(Source(str(path)))) as made:
        yield made


async def made_pod(kube: KubeHttp, name: str, *, managed: bool = True) -> Pod:
    answer = await kube.create_pod("default", body(name, managed=managed))
    assert isinstance(answer, Done), answer
    return decode_pod(answer.body)


async def test_a_pods_life(kube: KubeHttp) -> None:
    made = await made_pod(kube, "a")
    assert made.metadata.uid
    taken = await kube.create_pod("default", body("a"))
    assert taken == Conflict('pods "a" already exists', already_exists=True)
    read = await kube.read_pod("default", "a")
    assert isinstance(read, Done)
    assert decode_pod(read.body).metadata.uid == made.metadata.uid
    assert isinstance(await kube.delete_pod("default", "a", "another-uid", "", 0), Conflict)
    assert isinstance(await kube.delete_pod("default", "a", made.metadata.uid, "1", 0), Conflict)
    assert isinstance(await kube.delete_pod("default", "a", made.metadata.uid, "", 0), Done)
    assert isinstance(await kube.read_pod("default", "a"), Missing)
    assert isinstance(await kube.delete_pod("default", "a", made.metadata.uid, "", None), Missing)


async def test_names_can_not_lead_elsewhere(kube: KubeHttp) -> None:
    for name in ("a/../../nodes", "a?watch=true", "a b", "%2e%2e"):
        assert isinstance(await kube.read_pod("default", name), Missing | Denied), name


async def test_lists_by_pages(kube: KubeHttp) -> None:
    uids = {(await made_pod(kube, f"p{n}", managed=n % 2 == 0)).metadata.uid for n in range(5)}
    seen: set[str] = set()
    token = ""
    while True:
        answer = await kube.list_pods("default", 2, token, managed_only=False)
        assert isinstance(answer, Done)
        page = decode_uid_page(answer.body)
        assert len(page.uids()) <= 2
        seen.update(page.uids())
        token = page.metadata.continue_
        if not token:
            break
    assert seen == uids
    managed = await kube.list_pods("", 500, "", managed_only=True)
    assert isinstance(managed, Done)
    assert len(PODS.page(managed.body).items or ()) == 3


async def test_nodes_and_events(cluster: FakeCluster, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(cluster.kubeconfig()))
    async with open_kube(await load_credentials(Source(str(path)))) as kube:
        nodes = await kube.list_nodes(500, "")
        assert isinstance(nodes, Done)
        assert [node.metadata.name for node in Codec(Node).page(nodes.body).items or ()] == ["n1"]
        pod = await made_pod(kube, "a")
        assert "Scheduled" in await reasons(kube, pod)


async def reasons(kube: KubeHttp, pod: Pod) -> set[str]:
    """The reasons of the pod's events, once there are any."""
    for _ in range(250):
        answer = await kube.list_events("default", pod.metadata.uid, 100, "")
        assert isinstance(answer, Done)
        found = {event.reason for event in decode_event_page(answer.body).items or ()}
        if found:
            return found
        await anyio.sleep(0.02)
    raise AssertionError("no events came")


FAULTS: dict[str, tuple[Fault, type[Refusal]]] = {
    "unauthorized": (Fault(code=401), Denied),
    "forbidden": (Fault(code=403), Denied),
    "busy": (Fault(code=429, retry_after_s=2), Throttled),
    "broken": (Fault(code=500), Broken),
    "unavailable": (Fault(code=503), Broken),
    "timed out by the server": (Fault(code=504), Silent),
    "cut before it was done": (Fault(kind="drop"), Silent),
    "cut after it was done": (Fault(kind="drop", effect=True), Silent),
}


@pytest.mark.parametrize(("fault", "kind"), FAULTS.values(), ids=FAULTS.keys())
async def test_what_goes_wrong_is_named(
    kube: KubeHttp, bare_cluster: FakeCluster, fault: Fault, kind: type[Refusal]
) -> None:
    bare_cluster.admin.fail(fault)
    answer = await kube.create_pod("default", body("a"))
    assert type(answer) is kind
    read = await kube.read_pod("default", "a")
    assert type(read) is (Done if fault.effect else Missing)


async def test_an_answer_that_does_not_come_is_not_waited_for(
    kube: KubeHttp, bare_cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_module, "REQUEST_TIMEOUT_S", 0.2)
    bare_cluster.admin.fail(Fault(kind="hang", verb="get"))
    with anyio.fail_after(5):
        assert isinstance(await kube.read_pod("default", "a"), Silent)


async def test_a_server_that_is_not_there(kube: KubeHttp, bare_cluster: FakeCluster) -> None:
    await bare_cluster.__aexit__(None, None, None)
    assert isinstance(await kube.read_pod("default", "a"), Unsent)
    assert isinstance(await kube.watch_pods("", "1", 5.0), Unsent)


async def next_events(watch: HttpWatch) -> list[str]:
    block = await watch.next_block()
    assert not isinstance(block, WatchClosed), block
    return [
        f"{event.type} {event.object.metadata.name}" for event in PODS.block(block) if not isinstance(event, Status)
    ]


async def opened(kube: KubeHttp, version: str, timeout_s: float = 30.0) -> HttpWatch:
    watch = await kube.watch_pods("default", version, timeout_s)
    assert isinstance(watch, HttpWatch), watch
    return watch


async def test_a_watch_shows_managed_pods_and_how_it_ends(kube: KubeHttp, bare_cluster: FakeCluster) -> None:
    first = await made_pod(kube, "before")
    watch = await opened(kube, first.metadata.resource_version)
    await made_pod(kube, "foreign", managed=False)
    await made_pod(kube, "mine")
    with anyio.fail_after(5):
        seen: list[str] = []
        while "ADDED mine" not in seen:
            seen += await next_events(watch)
        assert not any("foreign" in event for event in seen)
        for how, cut in (("eof", False), ("reset", True), ("half", True)):
            again = await opened(kube, first.metadata.resource_version)
            assert bare_cluster.admin.cut_watches(how, "pods") >= 1
            while not isinstance(block := await again.next_block(), WatchClosed):
                pass
            assert (how, block.cut) == (how, cut)
            again.close()
    watch.close()


async def test_a_watch_ends_when_it_was_asked_to(kube: KubeHttp) -> None:
    pod = await made_pod(kube, "a")
    watch = await opened(kube, pod.metadata.resource_version, timeout_s=1.0)
    with anyio.fail_after(10):
        while not isinstance(block := await watch.next_block(), WatchClosed):
            pass
    assert block == WatchClosed(cut=False)


async def test_a_version_that_is_forgotten(kube: KubeHttp, bare_cluster: FakeCluster) -> None:
    pod = await made_pod(kube, "a")
    await made_pod(kube, "b")
    bare_cluster.admin.compact("pods")
    answer = await kube.watch_pods("default", pod.metadata.resource_version, 5.0)
    if isinstance(answer, HttpWatch):
        block = await answer.next_block()
        assert not isinstance(block, WatchClosed)
        (event,) = PODS.block(block)
        assert isinstance(event, Status)
        assert event.code == 410
        answer.close()
    else:
        assert isinstance(answer, Expired)


async def test_a_token_that_was_exchanged_is_read_again(tmp_path: Path) -> None:
    async with FakeCluster(server=ServerSettings(token="new")) as cluster:
        path = tmp_path / "kubeconfig"
        stale = cluster.kubeconfig()
        path.write_text(json.dumps(stale).replace('"new"', '"old"'))
        async with open_kube(await load_credentials(Source(str(path)))) as kube:
            assert isinstance(await kube.read_pod("default", "a"), Denied)
            path.write_text(json.dumps(stale))
            assert isinstance(await kube.read_pod("default", "a"), Denied), "read again at most every 10 s"


async def test_the_environments_proxy_is_not_looked_at(kube: KubeHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert isinstance(await kube.read_pod("default", "a"), Missing)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "Expecting|flow mapping|expected"),
        ("{}", "current-context"),
    ],
)
async def test_a_kubeconfig_that_is_none(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    with pytest.raises(KubeConfigError, match=problem):
        await load_credentials(Source(str(path)))


async def test_a_pod_has_no_service_account_outside_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(KubeConfigError, match="no credentials for the Kubernetes API from the pod's service account"):
        await load_credentials(Source())
