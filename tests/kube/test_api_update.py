"""Updates, patches and the smaller resources: what holds for the fake server and for a real one alike."""

from testkit.kube_api import APPLY, JSON_PATCH, MERGE, STRATEGIC, KubeApi, names, pod, version

UID = "00000000-0000-0000-0000-000000000000"


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
