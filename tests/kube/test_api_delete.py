"""Deletion, finalizers, binding and eviction: what holds for the fake server and for a real one alike."""

from testkit.kube_api import MERGE, KubeApi, names, pod, version

UID = "00000000-0000-0000-0000-000000000000"


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
