"""Watches, and the protocol itself: what holds for the fake server and for a real one alike."""

from testkit.kube_api import Json, KubeApi, pod, version


def events(found: list[Json]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in found]


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
