"""Speaks HTTP with a Kubernetes API server for the tests' own hand: plain requests and watches."""

import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

Json = dict[str, Any]
"""A Kubernetes object as decoded JSON; tests look into it freely."""

NOT_FOUND = 404
CONFLICT = 409


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers (names in lower case) and decoded body of one response."""

    status: int
    body: Json
    headers: dict[str, str] = field(default_factory=dict)

    def ok(self) -> Json:
        """The body of a successful answer; an AssertionError that quotes the server's message otherwise."""
        assert self.status < 300, f"HTTP {self.status}: {self.body.get('message', self.body)}"
        return self.body


@dataclass(frozen=True, slots=True)
class HttpApi:
    """One user's way to one API server; a connection per request, so that nothing survives a restart of the server."""

    port: int
    token: str
    ca_file: Path
    timeout_s: float = 30.0

    def call(self, method: str, path: str, body: Json | None = None, **query: str | int) -> Answer:
        """One request; `path` from the root, `query` without leading `?`. A PATCH is sent as a JSON merge patch."""
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return self.send(method, path, None if body is None else json.dumps(body).encode(), content_type, **query)

    def send(self, method: str, path: str, body: bytes | None, content_type: str, **query: str | int) -> Answer:
        """One request with a body of any kind; the answer is asked for as JSON."""
        with self._response(method, path, body, content_type, query) as response:
            text = response.read().decode()
            headers = {name.lower(): value for name, value in response.getheaders()}
            if not headers.get("content-type", "").startswith("application/json"):
                return Answer(response.status, {"message": text}, headers)
            return Answer(response.status, json.loads(text), headers)

    def get(self, path: str, **query: str | int) -> Answer:
        """GET."""
        return self.call("GET", path, None, **query)

    def create(self, path: str, body: Json) -> Answer:
        """POST."""
        return self.call("POST", path, body)

    def merge(self, path: str, body: Json) -> Answer:
        """PATCH with a JSON merge patch; `…/status` as path changes the status."""
        return self.call("PATCH", path, body)

    def delete(self, path: str, *, uid: str = "", version: str = "", grace_s: int | None = None) -> Answer:
        """DELETE, with preconditions on uid and resourceVersion where given."""
        preconditions = {name: value for name, value in (("uid", uid), ("resourceVersion", version)) if value}
        options: Json = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if preconditions:
            options["preconditions"] = preconditions
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        return self.call("DELETE", path, options)

    def put_or_create(self, collection: str, body: Json) -> Json:
        """Creates the object, or replaces the one of that name."""
        made = self.create(collection, body)
        if made.status == CONFLICT:
            made = self.call("PUT", f"{collection}/{body['metadata']['name']}", body)
        return made.ok()

    @contextmanager
    def watch(self, path: str, **query: str | int) -> Iterator[Iterator[Json]]:
        """A watch; yields its events (`type`, `object`) until the server ends it; a refused one yields one ERROR."""
        with self._response("GET", path, None, "", query | {"watch": "true"}) as response:
            yield events_of(response)

    @contextmanager
    def _response(
        self, method: str, path: str, body: bytes | None, content_type: str, query: dict[str, str | int]
    ) -> Iterator[http.client.HTTPResponse]:
        context = ssl.create_default_context(cafile=str(self.ca_file))
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=self.timeout_s, context=context)
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            target = f"{path}?{urlencode(query)}" if query else path
            connection.request(method, target, body, headers)
            with connection.getresponse() as response:
                yield response
        finally:
            connection.close()


def events_of(response: http.client.HTTPResponse) -> Iterator[Json]:
    """The watch events of an open response; a non-2xx answer comes as one event of type ERROR."""
    if response.status >= 300:
        yield {"type": "ERROR", "object": json.loads(response.read())}
        return
    while line := response.readline():
        yield json.loads(line)
