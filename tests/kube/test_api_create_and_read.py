"""Creation, lists, pages and selectors: what holds for the fake server and for a real one alike."""

import pytest

from testkit.kube_api import KubeApi, names, pod, version


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
