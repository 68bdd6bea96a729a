"""One way to speak with any API server, fake or real: blocking HTTP, whole answers, watches that end by themselves."""

import http.client
import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

Json = dict[str, Any]
Query = Mapping[str, str | int]
JSON = "application/json"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON_PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Reply:
    """Status code, headers (names in lower case) and decoded body of one response."""

    code: int
    body: Json
    headers: dict[str, str] = field(default_factory=dict)

    def ok(self) -> Json:
        """The body of a success; an AssertionError with the server's words otherwise."""
        assert self.code < 300, f"HTTP {self.code}: {self.body.get('message', self.body)}"
        return self.body

    @property
    def refusal(self) -> tuple[int, str, str]:
        """Code, reason and message of a refusal."""
        return self.code, self.body.get("reason", ""), self.body.get("message", "")


@dataclass(frozen=True, slots=True)
class KubeApi:
    """An API server: where it is, the headers that let one in, its CA file, and how to make it forget its past."""

    url: str
    headers: dict[str, str] = field(default_factory=dict)
    ca_file: Path | None = None
    forget: Callable[[], object] = lambda: None
    timeout_s: float = 20.0

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = JSON,
        query: Query | None = None,
    ) -> Reply:
        """One request; a body of bytes goes out as it is, anything else as JSON."""
        with self._response(method, path, body, content_type, query or {}) as response:
            data = response.read()
            headers = {name.lower(): value for name, value in response.getheaders()}
            if headers.get("content-type", "").startswith("application/json"):
                return Reply(response.status, json.loads(data), headers)
            return Reply(response.status, {"message": data.decode()}, headers)

    def get(self, path: str, **query: str | int) -> Reply:
        return self.call("GET", path, query=query)

    def post(self, path: str, body: Json, **query: str | int) -> Reply:
        return self.call("POST", path, body, query=query)

    def put(self, path: str, body: Json, **query: str | int) -> Reply:
        return self.call("PUT", path, body, query=query)

    def patch(self, path: str, body: Any, content_type: str = STRATEGIC, **query: str | int) -> Reply:
        return self.call("PATCH", path, body, content_type, query)

    def delete(self, path: str, body: Json | None = None, **query: str | int) -> Reply:
        return self.call("DELETE", path, body, query=query)

    @contextmanager
    def watch(self, path: str, **query: str | int) -> Iterator[Iterator[Json]]:
        """The events of a watch until the server ends it; give `timeoutSeconds`."""
        with self._response("GET", path, None, "", {"watch": "true", **query}) as response:
            yield (json.loads(line) for line in response)

    def watched(self, path: str, count: int, **query: str | int) -> list[Json]:
        """The next events of a watch, bookmarks left out unless they mark the initial end; at most `count`."""
        found: list[Json] = []
        with self.watch(path, **{"timeoutSeconds": 3, **query}) as events:
            for event in events:
                marked = event["object"].get("metadata", {}).get("annotations")
                if event["type"] != "BOOKMARK" or marked:
                    found.append(event)
                if len(found) == count:
                    break
        return found

    @contextmanager
    def _response(
        self, method: str, path: str, body: Any, content_type: str, query: Query
    ) -> Iterator[http.client.HTTPResponse]:
        parts = urlsplit(self.url)
        host, port = parts.hostname or "", parts.port
        if parts.scheme == "https":
            context = ssl.create_default_context(cafile=str(self.ca_file))
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                host, port, timeout=self.timeout_s, context=context
            )
        else:
            connection = http.client.HTTPConnection(host, port, timeout=self.timeout_s)
        headers = {"Accept": "application/json", **self.headers}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if data is not None and content_type:
            headers["Content-Type"] = content_type
        try:
            connection.request(method, f"{path}?{urlencode(query)}" if query else path, data, headers)
            with connection.getresponse() as response:
                yield response
        finally:
            connection.close()


@contextmanager
def fake_kube_api() -> Iterator[KubeApi]:
    """A fake API server without kubelets, as a `KubeApi`."""
    from testkit.fake_server import FakeServerThread  # noqa: PLC0415  # not needed for a real server

    with FakeServerThread() as server:
        plain = KubeApi(server.url)
        yield KubeApi(server.url, forget=lambda: plain.post("/_fake/compact", {}).ok())


def real_kube_api(server: Any) -> KubeApi:
    """A running `testkit.real_kube.RealApi` as a `KubeApi`, with the rights of the administrator."""
    headers = {"Authorization": f"Bearer {server.admin.token}"}
    return KubeApi(server.url, headers, server.ca_file, server.forget_history)


def pod(name: str, node: str = "", **metadata: Any) -> Json:
    """A pod with one container; on a node when one is named."""
    spec: Json = {"containers": [{"name": "main", "image": "none:1"}], "restartPolicy": "Never"}
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def names(body: Json) -> list[str]:
    """The names in a list."""
    return [item["metadata"]["name"] for item in body["items"]]


def version(body: Json) -> str:
    """The resourceVersion of an object or a list."""
    return str(body["metadata"]["resourceVersion"])
