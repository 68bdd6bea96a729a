"""The official asyncio client works against the fake server unchanged: models, errors, paging and its own Watch."""

import asyncio
from typing import Any

import pytest
from kubernetes_asyncio import client, watch
from kubernetes_asyncio.client import ApiException

from refloat_fakekube.cluster import FakeCluster, ServerSettings
from testkit.fake_cluster import run


def pod(name: str, **metadata: Any) -> client.V1Pod:
    resources = client.V1ResourceRequirements(limits={"memory": "64Mi"})
    container = client.V1Container(name="main", image="none:1", resources=resources)
    spec = client.V1PodSpec(containers=[container], restart_policy="Never")
    return client.V1Pod(metadata=client.V1ObjectMeta(name=name, **metadata), spec=spec)


async def followed(core: Any, version: str) -> list[tuple[str, str]]:
    """What the client's own Watch sees in a second."""
    watching = watch.Watch().stream(core.list_namespaced_pod, "default", resource_version=version, timeout_seconds=1)
    async with watching as stream:
        return [(event["type"], event["object"].metadata.name) async for event in stream]


def test_create_read_patch_and_delete_give_models() -> None:
    async def test(_: FakeCluster, core: Any) -> None:
        made = await core.create_namespaced_pod("default", pod("a", labels={"x": "1"}))
        assert (made.metadata.uid != "", made.status.phase, made.spec.restart_policy) == (True, "Pending", "Never")
        change = {"metadata": {"labels": {"x": "2"}}}
        patched = await core.patch_namespaced_pod("a", "default", change)
        assert patched.metadata.labels == {"x": "2"}
        status = {"status": {"phase": "Failed", "reason": "Evicted"}}
        failed = await core.patch_namespaced_pod_status("a", "default", status)
        assert (failed.status.phase, failed.status.reason) == ("Failed", "Evicted")
        options = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid=made.metadata.uid))
        gone = await core.delete_namespaced_pod("a", "default", body=options)
        assert gone.metadata.deletion_grace_period_seconds == 0

    run(FakeCluster(), test)


def test_errors_are_api_exceptions_with_the_status_in_the_body() -> None:
    async def test(_: FakeCluster, core: Any) -> None:
        with pytest.raises(ApiException) as missing:
            await core.read_namespaced_pod("no-such", "default")
        assert (missing.value.status, '"reason":"NotFound"' in missing.value.body) == (404, True)
        await core.create_namespaced_pod("default", pod("a"))
        with pytest.raises(ApiException) as taken:
            await core.create_namespaced_pod("default", pod("a"))
        assert (taken.value.status, '"reason":"AlreadyExists"' in taken.value.body) == (409, True)

    run(FakeCluster(), test)


def test_pages_hold_every_pod_once() -> None:
    async def test(_: FakeCluster, core: Any) -> None:
        for name in "abcdefg":
            await core.create_namespaced_pod("default", pod(name))
        found: list[str] = []
        token = None
        while True:
            page = await core.list_pod_for_all_namespaces(limit=3, _continue=token)
            found += [item.metadata.name for item in page.items]
            token = page.metadata._continue
            if not token:
                break
        assert found == list("abcdefg")

    run(FakeCluster(), test)


def test_its_own_watch_sees_every_change_and_ends() -> None:
    async def test(_: FakeCluster, core: Any) -> None:
        listed = await core.list_namespaced_pod("default")
        await core.create_namespaced_pod("default", pod("a"))
        await core.delete_namespaced_pod("a", "default")
        seen = await followed(core, listed.metadata.resource_version)
        assert seen == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]

    run(FakeCluster(), test)


def test_its_own_watch_raises_410_for_a_forgotten_version() -> None:
    async def test(cluster: FakeCluster, core: Any) -> None:
        old = (await core.create_namespaced_pod("default", pod("a"))).metadata.resource_version
        await core.create_namespaced_pod("default", pod("b"))
        cluster.admin.compact()
        with pytest.raises(ApiException) as expired:
            await followed(core, old)
        assert expired.value.status == 410

    run(FakeCluster(), test)


def test_leases_and_nodes_through_their_own_apis() -> None:
    async def test(_: FakeCluster, core: Any) -> None:
        leases = client.CoordinationV1Api(core.api_client)
        spec = client.V1LeaseSpec(holder_identity="me", lease_duration_seconds=15)
        body = client.V1Lease(metadata=client.V1ObjectMeta(name="l"), spec=spec)
        made = await leases.create_namespaced_lease("default", body)
        made.spec.holder_identity = "you"
        replaced = await leases.replace_namespaced_lease("l", "default", made)
        assert replaced.spec.holder_identity == "you"
        assert (await core.list_node()).items == []

    run(FakeCluster(), test)


def test_a_token_is_asked_for() -> None:
    async def test(cluster: FakeCluster, core: Any) -> None:
        with pytest.raises(ApiException) as stranger:
            await core.list_node()
        assert stranger.value.status == 401
        configuration = client.Configuration(host=cluster.url, api_key={"BearerToken": "Bearer secret"})
        async with client.ApiClient(configuration) as api:
            assert (await client.CoreV1Api(api).list_node()).items == []

    run(FakeCluster(server=ServerSettings(token="secret")), test)


def test_many_watchers_get_the_same_changes() -> None:
    async def test(_: FakeCluster, core: Any) -> None:
        version = (await core.list_namespaced_pod("default")).metadata.resource_version

        followers = [asyncio.create_task(followed(core, version)) for _ in range(5)]
        for place in range(20):
            await core.create_namespaced_pod("default", pod(f"p{place:02d}"))
        expected = [("ADDED", f"p{place:02d}") for place in range(20)]
        assert await asyncio.gather(*followers) == [expected] * 5

    run(FakeCluster(), test)
