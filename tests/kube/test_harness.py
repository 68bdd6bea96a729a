"""What the other kube tests rely on: the real server's answers, and the ways to disturb it."""

import http.client
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice

import pytest

from testkit.real_kube import EXECUTOR, Json, RealApi, Right, may, missing, rights
from testkit.real_kube.busy import ONE_WRITE_FLAGS, writes_refused

pytestmark = pytest.mark.kube

PODS = "/api/v1/namespaces/refloat-jobs/pods"


def pod(name: str) -> Json:
    container = {"name": "main", "image": "none", "command": ["true"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


@pytest.fixture
def api(real_api: RealApi) -> Iterator[RealApi]:
    yield real_api
    real_api.wipe_pods("refloat-jobs")


def test_a_created_pod_is_listed_and_watched_and_its_deletion_is_seen(api: RealApi) -> None:
    before = api.executor.get(PODS).ok()
    made = api.executor.create(PODS, pod("a")).ok()
    api.executor.delete(f"{PODS}/a", uid=made["metadata"]["uid"], grace_s=0).ok()
    with api.executor.watch(PODS, resourceVersion=before["metadata"]["resourceVersion"], timeoutSeconds=5) as events:
        seen = [(event["type"], event["object"]["metadata"]["uid"]) for event in islice(events, 3)]
    uid = made["metadata"]["uid"]
    assert before["items"] == []
    assert seen == [("ADDED", uid), ("MODIFIED", uid), ("DELETED", uid)]
    assert api.executor.get(f"{PODS}/a").status == 404


def test_a_delete_with_the_uid_of_another_pod_is_refused(api: RealApi) -> None:
    made = api.executor.create(PODS, pod("b")).ok()
    refused = api.executor.delete(f"{PODS}/b", uid="00000000-0000-0000-0000-000000000000", grace_s=0)
    assert (refused.status, refused.body["reason"]) == (409, "Conflict")
    assert api.executor.get(f"{PODS}/b").ok()["metadata"]["uid"] == made["metadata"]["uid"]


def test_a_status_written_by_a_kubelet_is_kept(api: RealApi) -> None:
    api.admin.create(PODS, pod("c")).ok()
    api.admin.merge(f"{PODS}/c/status", {"status": {"phase": "Failed", "reason": "Evicted"}}).ok()
    assert api.executor.get(f"{PODS}/c").ok()["status"]["reason"] == "Evicted"


def test_a_watch_from_forgotten_history_is_told_410(api: RealApi) -> None:
    old = api.executor.get(PODS).ok()["metadata"]["resourceVersion"]
    api.executor.create(PODS, pod("d")).ok()
    api.forget_history()
    with api.executor.watch(PODS, resourceVersion=old, timeoutSeconds=5) as events:
        first = next(events)
    assert (first["type"], first["object"]["code"], first["object"]["reason"]) == ("ERROR", 410, "Expired")


def test_a_watch_breaks_off_when_the_server_is_killed_and_all_is_there_after_its_restart(api: RealApi) -> None:
    version = api.executor.get(PODS).ok()["metadata"]["resourceVersion"]
    with ExitStack() as stack:
        events = stack.enter_context(api.executor.watch(PODS, resourceVersion=version))
        api.executor.create(PODS, pod("e")).ok()
        assert next(events)["object"]["metadata"]["name"] == "e"
        api.kill_server()
        try:
            rest = list(events)
        except (OSError, http.client.HTTPException):
            rest = []
        assert rest == []
    api.start_server()
    assert [item["metadata"]["name"] for item in api.executor.get(PODS).ok()["items"]] == ["e"]


def test_writes_are_refused_with_429_while_the_server_is_full(api: RealApi) -> None:
    api.restart_server(*ONE_WRITE_FLAGS)
    with writes_refused(api.executor, PODS):
        refused = api.executor.create(PODS, pod("f"))
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        assert api.executor.get(PODS).status == 200
    api.restart_server()


@pytest.mark.parametrize(
    ("namespace", "group", "resource", "verb"),
    [
        ("refloat-jobs", "", "pods", "patch"),
        ("refloat-jobs", "", "pods", "update"),
        ("refloat-jobs", "", "pods", "deletecollection"),
        ("refloat-jobs", "", "secrets", "get"),
        ("refloat-jobs", "", "serviceaccounts", "impersonate"),
        ("refloat", "", "pods", "create"),
        ("default", "", "pods", "list"),
        ("", "", "nodes", "patch"),
        ("refloat", "coordination.k8s.io", "leases", "delete"),
    ],
)
def test_the_executor_may_do_no_more_than_it_needs(
    real_api: RealApi, namespace: str, group: str, resource: str, verb: str
) -> None:
    assert not may(real_api.executor, Right(namespace, group, resource, verb))


def test_a_right_taken_away_is_felt_and_comes_back(api: RealApi) -> None:
    right = Right("refloat-jobs", "", "pods", "delete")
    assert right in rights()
    api.executor.create(PODS, pod("g")).ok()
    with missing(api.admin, api.executor, EXECUTOR, right):
        assert api.executor.delete(f"{PODS}/g", grace_s=0).status == 403
        assert api.executor.get(f"{PODS}/g").status == 200
    assert api.executor.delete(f"{PODS}/g", grace_s=0).status == 200
