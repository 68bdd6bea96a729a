"""What the executor may rely on from an API server: each rule once, held by the fake server and by a real one alike.

The real server runs where the mark `kube` can be served (see tests/conftest.py).
"""

import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from testkit.kube_api import APPLY, JSON_PATCH, MERGE, STRATEGIC, Json, KubeApi, fake_kube_api, real_kube_api

UID = "00000000-0000-0000-0000-000000000000"
_serial = count(1)


@pytest.fixture(scope="module")
def fake_api() -> Iterator[KubeApi]:
    with fake_kube_api() as api:
        yield api


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.kube)])
def kube_api(request: pytest.FixtureRequest) -> KubeApi:
    if request.param == "fake":
        return request.getfixturevalue("fake_api")  # type: ignore[no-any-return]  # pytest's fixtures are untyped
    return real_kube_api(request.getfixturevalue("real_api"))


@pytest.fixture
def pods(kube_api: KubeApi) -> str:
    """The path of the pods of a namespace of the test's own."""
    name = f"semantics-{next(_serial)}-{int(time.time() * 1000) % 1_000_000}"
    kube_api.post("/api/v1/namespaces", {"metadata": {"name": name}}).ok()
    return f"/api/v1/namespaces/{name}/pods"


def pod(name: str, node: str = "", **metadata: Any) -> Json:
    spec: Json = {"containers": [{"name": "main", "image": "none:1"}], "restartPolicy": "Never"}
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def names(body: Json) -> list[str]:
    return [item["metadata"]["name"] for item in body["items"]]


def version(body: Json) -> str:
    return str(body["metadata"]["resourceVersion"])


def events(found: list[Json]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in found]


class TestCreate:
    def test_a_new_pod_gets_its_system_fields_and_defaults(self, kube_api: KubeApi, pods: str) -> None:
        reply = kube_api.post(pods, pod("a"))
        made = reply.body
        assert reply.code == 201
        assert {"uid", "resourceVersion", "creationTimestamp"} <= set(made["metadata"])
        assert made["metadata"]["generation"] == 1
        assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
        assert {key: made["spec"][key] for key in ("terminationGracePeriodSeconds", "dnsPolicy", "priority")} == {
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "priority": 0,
        }

    def test_a_status_sent_with_a_new_pod_is_dropped(self, kube_api: KubeApi, pods: str) -> None:
        made = kube_api.post(pods, {**pod("a"), "status": {"phase": "Failed"}}).ok()
        assert made["status"]["phase"] == "Pending"

    def test_a_taken_name_is_refused(self, kube_api: KubeApi, pods: str) -> None:
        kube_api.post(pods, pod("a")).ok()
        assert kube_api.post(pods, pod("a")).refusal == (409, "AlreadyExists", 'pods "a" already exists')

    def test_a_generated_name_begins_as_asked(self, kube_api: KubeApi, pods: str) -> None:
        body = {**pod(""), "metadata": {"generateName": "job-"}}
        made = [kube_api.post(pods, body).ok()["metadata"]["name"] for _ in range(3)]
        assert len(set(made)) == 3
        assert all(name.startswith("job-") and len(name) == 9 for name in made)

    def test_an_unknown_namespace_is_refused(self, kube_api: KubeApi) -> None:
        reply = kube_api.post("/api/v1/namespaces/no-such/pods", pod("a"))
        assert reply.refusal == (404, "NotFound", 'namespaces "no-such" not found')

    def test_an_invalid_pod_is_refused_with_every_cause(self, kube_api: KubeApi, pods: str) -> None:
        reply = kube_api.post(pods, {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "M"}]}})
        assert (reply.code, reply.body["reason"]) == (422, "Invalid")
        assert {cause["field"] for cause in reply.body["details"]["causes"]} == {
            "spec.containers[0].name",
            "spec.containers[0].image",
        }

    def test_requests_above_limits_are_refused(self, kube_api: KubeApi, pods: str) -> None:
        body = pod("a")
        body["spec"]["containers"][0]["resources"] = {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}
        words = (
            'spec.containers[0].resources.requests: Invalid value: "2Gi": must be less than or equal to memory limit'
        )
        assert kube_api.post(pods, body).refusal == (422, "Invalid", f'Pod "a" is invalid: {words} of 1Gi')

    def test_quantities_come_back_in_canonical_form(self, kube_api: KubeApi, pods: str) -> None:
        body = pod("a")
        body["spec"]["containers"][0]["resources"] = {"limits": {"memory": "1536Mi", "cpu": "0.5"}}
        made = kube_api.post(pods, body).ok()["spec"]["containers"][0]["resources"]
        assert made == {
            "limits": {"memory": "1536Mi", "cpu": "500m"},
            "requests": {"memory": "1536Mi", "cpu": "500m"},
        }

    def test_a_dry_run_creates_nothing(self, kube_api: KubeApi, pods: str) -> None:
        made = kube_api.post(pods, pod("a"), dryRun="All").ok()
        assert made["metadata"]["name"] == "a"
        assert kube_api.get(f"{pods}/a").code == 404


class TestRead:
    def test_a_list_has_the_version_of_the_whole_store(self, kube_api: KubeApi, pods: str) -> None:
        made = kube_api.post(pods, pod("a")).ok()
        listed = kube_api.get(pods).ok()
        assert (listed["kind"], listed["apiVersion"], names(listed)) == ("PodList", "v1", ["a"])
        assert int(version(listed)) >= int(version(made))

    def test_what_is_not_there_is_not_found(self, kube_api: KubeApi, pods: str) -> None:
        reply = kube_api.get(f"{pods}/a")
        assert reply.refusal == (404, "NotFound", 'pods "a" not found')
        assert reply.body["details"] == {"name": "a", "kind": "pods"}

    def test_pages_are_one_consistent_list_though_pods_come_and_go(self, kube_api: KubeApi, pods: str) -> None:
        for name in "abcde":
            kube_api.post(pods, pod(name)).ok()
        first = kube_api.get(pods, limit=2).ok()
        kube_api.delete(f"{pods}/d", gracePeriodSeconds=0).ok()
        kube_api.post(pods, pod("bb")).ok()
        second = kube_api.get(pods, **{"limit": 2, "continue": first["metadata"]["continue"]}).ok()
        third = kube_api.get(pods, **{"limit": 2, "continue": second["metadata"]["continue"]}).ok()
        assert [names(first), names(second), names(third)] == [["a", "b"], ["c", "d"], ["e"]]
        assert [version(first)] * 2 == [version(second), version(third)]
        assert [page["metadata"].get("remainingItemCount") for page in (first, second, third)] == [3, 1, None]

    def test_a_page_token_that_is_too_old_is_refused_with_one_that_goes_on(self, kube_api: KubeApi, pods: str) -> None:
        for name in "abc":
            kube_api.post(pods, pod(name)).ok()
        first = kube_api.get(pods, limit=1).ok()
        kube_api.post(pods, pod("d")).ok()
        kube_api.forget()
        reply = kube_api.get(pods, **{"limit": 5, "continue": first["metadata"]["continue"]})
        assert (reply.code, reply.body["reason"]) == (410, "Expired")
        rest = kube_api.get(pods, **{"limit": 5, "continue": reply.body["metadata"]["continue"]}).ok()
        assert names(rest) == ["b", "c", "d"]

    def test_a_version_in_the_future_is_not_waited_for_for_ever(self, kube_api: KubeApi, pods: str) -> None:
        reply = kube_api.get(pods, resourceVersion="99999999")
        assert (reply.code, reply.body["reason"]) == (504, "Timeout")
        assert reply.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"

    @pytest.mark.parametrize(
        ("selector", "found"),
        [
            ("odd=1", ["b", "d"]),
            ("odd==1,name!=b", ["d"]),
            ("odd in (0, 1),name notin (a)", ["b", "c", "d"]),
            ("odd", ["a", "b", "c", "d"]),
            ("!odd", ["e"]),
            ("odd!=1", ["a", "c", "e"]),
            ("weight>1", ["c", "d"]),
            ("weight<1", ["a"]),
        ],
    )
    def test_label_selectors_pick(self, kube_api: KubeApi, pods: str, selector: str, found: list[str]) -> None:
        for place, name in enumerate("abcd"):
            labels = {"odd": str(place % 2), "name": name, "weight": str(place)}
            kube_api.post(pods, pod(name, labels=labels)).ok()
        kube_api.post(pods, pod("e")).ok()
        assert names(kube_api.get(pods, labelSelector=selector).ok()) == found

    @pytest.mark.parametrize(
        ("selector", "found"),
        [
            ("metadata.name=a", ["a"]),
            ("spec.nodeName=n1", ["b"]),
            ("spec.nodeName=", ["a", "c"]),
            ("spec.nodeName!=", ["b"]),
            ("status.phase=Failed", ["c"]),
            ("status.phase!=Failed,spec.nodeName!=n1", ["a"]),
        ],
    )
    def test_field_selectors_pick(self, kube_api: KubeApi, pods: str, selector: str, found: list[str]) -> None:
        for name, node in (("a", ""), ("b", "n1"), ("c", "")):
            kube_api.post(pods, pod(name, node)).ok()
        kube_api.patch(f"{pods}/c/status", {"status": {"phase": "Failed"}}).ok()
        assert names(kube_api.get(pods, fieldSelector=selector).ok()) == found

    def test_a_field_that_can_not_be_selected_is_refused(self, kube_api: KubeApi, pods: str) -> None:
        reply = kube_api.get(pods, fieldSelector="spec.foo=1")
        assert reply.refusal == (400, "BadRequest", "field label not supported: spec.foo")


class TestWatch:
    def test_a_watch_shows_what_happened_since_its_version_in_order(self, kube_api: KubeApi, pods: str) -> None:
        start = version(kube_api.get(pods).ok())
        kube_api.post(pods, pod("a", "n1")).ok()
        kube_api.patch(f"{pods}/a/status", {"status": {"phase": "Failed"}}).ok()
        kube_api.delete(f"{pods}/a").ok()
        found = kube_api.watched(pods, 4, resourceVersion=start)
        assert events(found) == [("ADDED", "a"), ("MODIFIED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
        versions = [int(version(event["object"])) for event in found]
        assert versions == sorted(set(versions))
        assert found[3]["object"]["metadata"]["deletionGracePeriodSeconds"] == 0

    def test_a_watch_without_a_version_begins_with_what_is_there(self, kube_api: KubeApi, pods: str) -> None:
        for name in "ab":
            kube_api.post(pods, pod(name)).ok()
        for query in ({}, {"resourceVersion": "0"}):
            assert sorted(events(kube_api.watched(pods, 2, **query))) == [("ADDED", "a"), ("ADDED", "b")]

    def test_initial_events_end_with_a_marked_bookmark(self, kube_api: KubeApi, pods: str) -> None:
        kube_api.post(pods, pod("a")).ok()
        query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
        found = kube_api.watched(pods, 2, **query)
        assert [event["type"] for event in found] == ["ADDED", "BOOKMARK"]
        assert found[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert int(version(found[1]["object"])) >= int(version(found[0]["object"]))

    def test_initial_events_need_the_right_match(self, kube_api: KubeApi, pods: str) -> None:
        reply = kube_api.get(pods, watch="true", sendInitialEvents="true")
        assert (reply.code, reply.body["reason"]) == (422, "Invalid")
        assert reply.body["details"]["causes"][0]["field"] == "resourceVersionMatch"

    def test_a_version_that_is_too_old_is_told_in_the_stream(self, kube_api: KubeApi, pods: str) -> None:
        start = version(kube_api.post(pods, pod("a")).ok())
        kube_api.post(pods, pod("b")).ok()
        kube_api.forget()
        found = kube_api.watched(pods, 1, resourceVersion=start)
        assert (found[0]["type"], found[0]["object"]["code"], found[0]["object"]["reason"]) == ("ERROR", 410, "Expired")

    def test_a_watch_ends_by_itself_when_its_time_is_up(self, kube_api: KubeApi, pods: str) -> None:
        start = version(kube_api.get(pods).ok())
        with kube_api.watch(pods, resourceVersion=start, timeoutSeconds=1) as stream:
            assert list(stream) == []

    def test_a_pod_that_stops_matching_is_deleted_for_that_watcher(self, kube_api: KubeApi, pods: str) -> None:
        start = version(kube_api.post(pods, pod("a", labels={"mine": "yes"})).ok())
        kube_api.patch(f"{pods}/a", {"metadata": {"labels": {"mine": "no"}}}).ok()
        kube_api.patch(f"{pods}/a", {"metadata": {"labels": {"mine": "yes"}}}).ok()
        found = kube_api.watched(pods, 2, resourceVersion=start, labelSelector="mine=yes")
        assert events(found) == [("DELETED", "a"), ("ADDED", "a")]
        assert found[0]["object"]["metadata"]["labels"] == {"mine": "yes"}
        assert int(version(found[0]["object"])) > int(start)

    def test_a_pod_that_gets_its_node_is_added_for_a_watcher_of_bound_pods(self, kube_api: KubeApi, pods: str) -> None:
        start = version(kube_api.post(pods, pod("a")).ok())
        kube_api.post(f"{pods}/a/binding", {"metadata": {"name": "a"}, "target": {"name": "n1"}}).ok()
        found = kube_api.watched(pods, 1, resourceVersion=start, fieldSelector="spec.nodeName!=")
        assert events(found) == [("ADDED", "a")]

    def test_one_watch_of_all_namespaces_sees_each(self, kube_api: KubeApi, pods: str) -> None:
        start = version(kube_api.get(pods).ok())
        kube_api.post(pods, pod("everywhere")).ok()
        found = kube_api.watched("/api/v1/pods", 1, resourceVersion=start)
        assert events(found) == [("ADDED", "everywhere")]


class TestUpdate:
    def test_an_update_of_an_old_version_is_refused(self, kube_api: KubeApi, pods: str) -> None:
        old = kube_api.post(pods, pod("a")).ok()
        kube_api.patch(f"{pods}/a", {"metadata": {"labels": {"x": "1"}}}).ok()
        words = "the object has been modified; please apply your changes to the latest version and try again"
        reply = kube_api.put(f"{pods}/a", old)
        assert reply.refusal == (409, "Conflict", f'Operation cannot be fulfilled on pods "a": {words}')

    def test_an_update_of_another_uid_is_refused(self, kube_api: KubeApi, pods: str) -> None:
        made = kube_api.post(pods, pod("a")).ok()
        made["metadata"].update({"uid": UID, "resourceVersion": ""})
        reply = kube_api.put(f"{pods}/a", made)
        assert (reply.code, reply.body["reason"]) == (409, "Conflict")
        assert f"Precondition failed: UID in precondition: {UID}" in reply.body["message"]

    def test_an_update_without_a_version_is_taken(self, kube_api: KubeApi, pods: str) -> None:
        kube_api.post(pods, pod("a")).ok()
        made = kube_api.put(f"{pods}/a", pod("a", labels={"x": "1"})).ok()
        assert made["metadata"]["labels"] == {"x": "1"}

    def test_an_update_that_changes_nothing_makes_no_version(self, kube_api: KubeApi, pods: str) -> None:
        made = kube_api.post(pods, pod("a", labels={"x": "1"})).ok()
        again = kube_api.patch(f"{pods}/a", {"metadata": {"labels": {"x": "1"}}}).ok()
        assert version(again) == version(made)

    def test_most_of_a_pod_can_not_be_changed(self, kube_api: KubeApi, pods: str) -> None:
        kube_api.post(pods, pod("a")).ok()
        reply = kube_api.patch(f"{pods}/a", {"spec": {"nodeName": "n1"}})
        assert (reply.code, reply.body["reason"]) == (422, "Invalid")
        assert "pod updates may not change fields other than `spec.containers[*].image`" in reply.body["message"]

    def test_the_image_and_a_shorter_deadline_may_be_set(self, kube_api: KubeApi, pods: str) -> None:
        kube_api.post(pods, pod("a")).ok()
        change = {"spec": {"activeDeadlineSeconds": 60, "containers": [{"name": "main", "image": "none:2"}]}}
        made = kube_api.patch(f"{pods}/a", change).ok()
        assert made["spec"]["containers"][0]["image"] == "none:2"
        assert made["metadata"]["generation"] == 2
        assert kube_api.patch(f"{pods}/a", {"spec": {"activeDeadlineSeconds": 90}}).code == 422

    def test_status_and_spec_are_written_apart(self, kube_api: KubeApi, pods: str) -> None:
        kube_api.post(pods, pod("a")).ok()
        kube_api.patch(f"{pods}/a", {"status": {"phase": "Failed"}}).ok()
        change = {"spec": {"activeDeadlineSeconds": 5}, "status": {"phase": "Running"}}
        made = kube_api.patch(f"{pods}/a/status", change).ok()
        assert (made["status"]["phase"], made["spec"].get("activeDeadlineSeconds")) == ("Running", None)

    def test_a_container_that_has_ended_does_not_run_again(self, kube_api: KubeApi, pods: str) -> None:
        kube_api.post(pods, pod("a")).ok()
        ended = [{"name": "main", "state": {"terminated": {"exitCode": 1}}}]
        kube_api.patch(f"{pods}/a/status", {"status": {"containerStatuses": ended}}).ok()
        running = [{"name": "main", "state": {"running": {}}}]
        reply = kube_api.patch(f"{pods}/a/status", {"status": {"containerStatuses": running}})
        words = "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"
        assert reply.refusal == (422, "Invalid", f'Pod "a" is invalid: {words}')


class TestPatch:
    def test_a_merge_patch_replaces_lists_and_null_removes(self, kube_api: KubeApi, pods: str) -> None:
        kube_api.post(pods, pod("a", labels={"x": "1", "y": "2"})).ok()
        made = kube_api.patch(f"{pods}/a", {"metadata": {"labels": {"x": None, "z": "3"}}}, MERGE).ok()
        assert made["metadata"]["labels"] == {"y": "2", "z": "3"}

    def test_a_strategic_patch_merges_conditions_by_type(self, kube_api: KubeApi, pods: str) -> None:
        kube_api.post(pods, pod("a")).ok()
        path = f"{pods}/a/status"
        first = [{"type": "X", "status": "True"}, {"type": "Y", "status": "True"}]
        kube_api.patch(path, {"status": {"conditions": first}}).ok()
        second = [{"type": "Z", "status": "False"}, {"type": "X", "$patch": "delete"}]
        order = [{"type": "Z"}, {"type": "Y"}]
        change = {"status": {"$setElementOrder/conditions": order, "conditions": second}}
        made = kube_api.patch(path, change, STRATEGIC).ok()
        assert [(one["type"], one["status"]) for one in made["status"]["conditions"]] == [("Z", "False"), ("Y", "True")]

    def test_a_json_patch_whose_test_fails_changes_nothing(self, kube_api: KubeApi, pods: str) -> None:
        made = kube_api.post(pods, pod("a", labels={"x": "1"})).ok()
        change = [
            {"op": "add", "path": "/metadata/labels/y", "value": "2"},
            {"op": "test", "path": "/metadata/labels/x", "value": "9"},
        ]
        reply = kube_api.patch(f"{pods}/a", change, JSON_PATCH)
        assert (reply.code, reply.body["reason"]) == (422, "Invalid")
        assert version(kube_api.get(f"{pods}/a").ok()) == version(made)

    def test_a_patch_against_an_old_version_is_refused(self, kube_api: KubeApi, pods: str) -> None:
        kube_api.post(pods, pod("a")).ok()
        reply = kube_api.patch(f"{pods}/a", {"metadata": {"resourceVersion": "1", "labels": {"x": "1"}}})
        assert (reply.code, reply.body["reason"]) == (409, "Conflict")

    def test_another_content_type_is_refused(self, kube_api: KubeApi, pods: str) -> None:
        kube_api.post(pods, pod("a")).ok()
        reply = kube_api.patch(f"{pods}/a", {}, "application/json")
        assert reply.refusal == (415, "UnsupportedMediaType", "415: Unsupported Media Type")

    def test_apply_creates_owns_and_takes_back(self, kube_api: KubeApi, pods: str) -> None:
        path = pods.replace("/pods", "/configmaps/c")
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1", "b": "2"}}
        assert kube_api.patch(path, config, APPLY, fieldManager="one").code == 201
        other = {**config, "data": {"a": "9"}}
        reply = kube_api.patch(path, other, APPLY, fieldManager="two")
        assert reply.refusal == (409, "Conflict", 'Apply failed with 1 conflict: conflict with "one": .data.a')
        kube_api.patch(path, other, APPLY, fieldManager="two", force="true").ok()
        made = kube_api.patch(path, {**config, "data": {"c": "3"}}, APPLY, fieldManager="one").ok()
        assert made["data"] == {"a": "9", "c": "3"}


class TestDelete:
    def test_a_wrong_uid_is_refused(self, kube_api: KubeApi, pods: str) -> None:
        made = kube_api.post(pods, pod("a")).ok()
        words = f"the UID in the precondition ({UID}) does not match the UID in record ({made['metadata']['uid']})."
        words += " The object might have been deleted and then recreated"
        reply = kube_api.delete(f"{pods}/a", {"preconditions": {"uid": UID}})
        assert reply.refusal == (409, "Conflict", f'Operation cannot be fulfilled on Pod "a": {words}')

    def test_a_wrong_version_is_refused(self, kube_api: KubeApi, pods: str) -> None:
        made = kube_api.post(pods, pod("a")).ok()
        words = "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record "
        words += f"({version(made)}). The object might have been modified"
        reply = kube_api.delete(f"{pods}/a", {"preconditions": {"resourceVersion": "1"}})
        assert reply.refusal == (409, "Conflict", f'Operation cannot be fulfilled on Pod "a": {words}')

    def test_a_pod_on_no_node_goes_at_once(self, kube_api: KubeApi, pods: str) -> None:
        made = kube_api.post(pods, pod("a")).ok()
        both = {"uid": made["metadata"]["uid"], "resourceVersion": version(made)}
        gone = kube_api.delete(f"{pods}/a", {"preconditions": both}).ok()
        assert gone["metadata"]["deletionGracePeriodSeconds"] == 0
        assert kube_api.get(f"{pods}/a").code == 404

    def test_a_failed_pod_goes_at_once(self, kube_api: KubeApi, pods: str) -> None:
        kube_api.post(pods, pod("a", "n1")).ok()
        kube_api.patch(f"{pods}/a/status", {"status": {"phase": "Failed"}}).ok()
        gone = kube_api.delete(f"{pods}/a").ok()
        assert gone["metadata"]["deletionGracePeriodSeconds"] == 0
        assert kube_api.get(f"{pods}/a").code == 404

    def test_a_running_pod_stays_until_its_kubelet_lets_it_go(self, kube_api: KubeApi, pods: str) -> None:
        kube_api.post(pods, pod("a", "n1")).ok()
        first = kube_api.delete(f"{pods}/a").ok()["metadata"]
        assert (first["deletionGracePeriodSeconds"], first["generation"]) == (30, 2)
        later = kube_api.delete(f"{pods}/a", gracePeriodSeconds=60).ok()["metadata"]
        assert later["deletionTimestamp"] == first["deletionTimestamp"]
        sooner = kube_api.delete(f"{pods}/a", gracePeriodSeconds=5).ok()["metadata"]
        assert sooner["deletionGracePeriodSeconds"] == 5
        assert sooner["deletionTimestamp"] < first["deletionTimestamp"]
        kube_api.delete(f"{pods}/a", {"gracePeriodSeconds": 0, "preconditions": {"uid": first["uid"]}}).ok()
        assert kube_api.get(f"{pods}/a").code == 404

    def test_a_pod_that_ends_while_it_is_being_deleted_still_waits_for_its_kubelet(
        self, kube_api: KubeApi, pods: str
    ) -> None:
        kube_api.post(pods, pod("a", "n1")).ok()
        kube_api.delete(f"{pods}/a").ok()
        kube_api.patch(f"{pods}/a/status", {"status": {"phase": "Failed"}}).ok()
        assert kube_api.delete(f"{pods}/a").ok()["metadata"]["deletionGracePeriodSeconds"] == 30
        assert kube_api.get(f"{pods}/a").code == 200

    def test_a_finalizer_holds_even_a_forced_deletion(self, kube_api: KubeApi, pods: str) -> None:
        made = kube_api.post(pods, pod("a", "n1", finalizers=["example.com/hold"])).ok()
        kube_api.delete(f"{pods}/a", gracePeriodSeconds=0).ok()
        held = kube_api.get(f"{pods}/a").ok()["metadata"]
        assert (held["uid"], held["deletionGracePeriodSeconds"]) == (made["metadata"]["uid"], 0)
        kube_api.patch(f"{pods}/a", {"metadata": {"finalizers": None}}, MERGE).ok()
        assert kube_api.get(f"{pods}/a").code == 404

    def test_no_finalizer_can_be_added_to_what_is_being_deleted(self, kube_api: KubeApi, pods: str) -> None:
        kube_api.post(pods, pod("a", "n1")).ok()
        kube_api.delete(f"{pods}/a").ok()
        reply = kube_api.patch(f"{pods}/a", {"metadata": {"finalizers": ["example.com/hold"]}})
        assert (reply.code, reply.body["details"]["causes"][0]["field"]) == (422, "metadata.finalizers")

    def test_a_name_can_be_used_again_by_another_uid(self, kube_api: KubeApi, pods: str) -> None:
        old = kube_api.post(pods, pod("a")).ok()["metadata"]["uid"]
        kube_api.delete(f"{pods}/a").ok()
        new = kube_api.post(pods, pod("a")).ok()["metadata"]["uid"]
        assert new != old
        assert kube_api.delete(f"{pods}/a", {"preconditions": {"uid": old}}).code == 409

    def test_a_dry_run_deletes_nothing(self, kube_api: KubeApi, pods: str) -> None:
        made = kube_api.post(pods, pod("a")).ok()
        kube_api.delete(f"{pods}/a", {"dryRun": ["All"]}).ok()
        assert version(kube_api.get(f"{pods}/a").ok()) == version(made)

    def test_a_collection_is_deleted_by_selector(self, kube_api: KubeApi, pods: str) -> None:
        for name in "abc":
            kube_api.post(pods, pod(name, labels={"name": name})).ok()
        kube_api.delete(pods, labelSelector="name in (a,c)").ok()
        assert names(kube_api.get(pods).ok()) == ["b"]


class TestBindingAndEviction:
    def test_a_binding_sets_the_node_and_the_condition(self, kube_api: KubeApi, pods: str) -> None:
        kube_api.post(pods, pod("a")).ok()
        reply = kube_api.post(f"{pods}/a/binding", {"metadata": {"name": "a"}, "target": {"name": "n1"}})
        bound = kube_api.get(f"{pods}/a").ok()
        assert (reply.code, bound["spec"]["nodeName"]) == (201, "n1")
        assert [(one["type"], one["status"]) for one in bound["status"]["conditions"]] == [("PodScheduled", "True")]

    def test_a_bound_pod_is_not_bound_again(self, kube_api: KubeApi, pods: str) -> None:
        kube_api.post(pods, pod("a", "n1")).ok()
        reply = kube_api.post(f"{pods}/a/binding", {"metadata": {"name": "a"}, "target": {"name": "n2"}})
        words = 'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"'
        assert reply.refusal == (409, "Conflict", words)

    def test_an_eviction_marks_and_deletes(self, kube_api: KubeApi, pods: str) -> None:
        kube_api.post(pods, pod("a", "n1")).ok()
        kube_api.patch(f"{pods}/a/status", {"status": {"phase": "Running"}}).ok()
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
        reply = kube_api.post(f"{pods}/a/eviction", body)
        evicted = kube_api.get(f"{pods}/a").ok()
        condition = evicted["status"]["conditions"][0]
        assert reply.code == 201
        assert (condition["type"], condition["reason"]) == ("DisruptionTarget", "EvictionByEvictionAPI")
        assert evicted["metadata"]["deletionGracePeriodSeconds"] == 30


class TestOtherResources:
    def test_events_are_found_by_what_they_are_about(self, kube_api: KubeApi, pods: str) -> None:
        path = pods.replace("/pods", "/events")
        namespace = pods.split("/")[4]
        for serial, uid in enumerate(("u1", "u2")):
            about = {"kind": "Pod", "namespace": namespace, "name": "a", "uid": uid}
            body = {"metadata": {"name": f"a.{serial}"}, "involvedObject": about, "reason": "Failed", "type": "Warning"}
            kube_api.post(path, body).ok()
        query = "involvedObject.name=a,involvedObject.uid=u2,reason=Failed,type=Warning"
        assert names(kube_api.get(path, fieldSelector=query).ok()) == ["a.1"]
        newer = kube_api.get(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events/a.1").ok()
        assert (newer["regarding"]["uid"], newer["reason"]) == ("u2", "Failed")

    def test_a_lease_is_only_updated_with_its_version(self, kube_api: KubeApi, pods: str) -> None:
        path = f"/apis/coordination.k8s.io/v1/namespaces/{pods.split('/')[4]}/leases"
        made = kube_api.post(path, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "one"}}).ok()
        reply = kube_api.put(f"{path}/l", {"metadata": {"name": "l"}, "spec": {"holderIdentity": "two"}})
        words = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
        assert reply.refusal == (422, "Invalid", f'leases.coordination.k8s.io "l" is invalid: {words}')
        made["spec"]["holderIdentity"] = "two"
        assert kube_api.put(f"{path}/l", made).ok()["spec"]["holderIdentity"] == "two"
        assert kube_api.put(f"{path}/l", made).code == 409

    def test_a_new_node_takes_nothing_yet(self, kube_api: KubeApi, pods: str) -> None:
        name = pods.split("/")[4]
        node = kube_api.post("/api/v1/nodes", {"metadata": {"name": name}}).ok()
        assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
        assert kube_api.delete(f"/api/v1/nodes/{name}").ok()["status"] == "Success"


class TestProtocol:
    def test_an_unknown_path_is_not_found(self, kube_api: KubeApi) -> None:
        words = "the server could not find the requested resource"
        assert kube_api.get("/api/v1/no-such").refusal == (404, "NotFound", words)

    def test_a_verb_that_a_path_does_not_have_is_refused(self, kube_api: KubeApi, pods: str) -> None:
        words = "the server does not allow this method on the requested resource"
        assert kube_api.put(pods, pod("a")).refusal == (405, "MethodNotAllowed", words)

    def test_a_body_that_is_too_large_is_refused(self, kube_api: KubeApi, pods: str) -> None:
        body = pod("a", annotations={"big": "x" * (4 << 20)})
        reply = kube_api.post(pods, body)
        assert (reply.code, reply.body["reason"]) == (413, "RequestEntityTooLarge")

    def test_a_body_that_is_no_json_is_refused(self, kube_api: KubeApi, pods: str) -> None:
        reply = kube_api.call("POST", pods, b"{nonsense")
        assert (reply.code, reply.body["reason"]) == (400, "BadRequest")

    def test_discovery_names_the_resources(self, kube_api: KubeApi) -> None:
        core = {row["name"]: row["kind"] for row in kube_api.get("/api/v1").ok()["resources"]}
        groups = {group["name"] for group in kube_api.get("/apis").ok()["groups"]}
        assert {
            "pods": "Pod",
            "pods/status": "Pod",
            "pods/eviction": "Eviction",
            "nodes": "Node",
        }.items() <= core.items()
        assert {"coordination.k8s.io", "events.k8s.io", "policy"} <= groups
        assert kube_api.get("/version").ok()["major"] == "1"
        assert kube_api.get("/readyz").code == 200
