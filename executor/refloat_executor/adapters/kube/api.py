"""Names the requests that the executor sends to the Kubernetes API. Decides nothing and repeats nothing.

Reads carry no resourceVersion, so the server answers from its storage and not from a cache: what they say is true at
some instant after they were sent.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import quote

import msgspec

from refloat_common.core.taxonomy import LABEL_JOB_ID
from refloat_executor.adapters.kube.credentials import Credentials
from refloat_executor.adapters.kube.session import HttpApi, open_http
from refloat_executor.adapters.kube.stream import HttpWatch
from refloat_executor.core.cluster.answers import Answer, Refusal

CREATE_TIMEOUT_S = 10
"""Told to the server too: a create that got no answer within it does not take effect much later."""
REQUEST_TIMEOUT_S = 10.0
LIST_TIMEOUT_S = 60.0


class KubeHttp:
    """The API as the daemon asks it; see `daemon.ports.KubeApi`."""

    def __init__(self, http: HttpApi) -> None:
        self._http = http

    async def create_pod(self, namespace: str, body: bytes) -> Answer:
        """POST a pod. `Silent` and `Broken` leave open whether it was created."""
        path = f"{_pods(namespace)}?timeout={CREATE_TIMEOUT_S}s"
        return await self._http.ask("POST", path, body=body, timeout_s=CREATE_TIMEOUT_S + 2.0)

    async def read_pod(self, namespace: str, name: str) -> Answer:
        """GET a pod by its name."""
        return await self._http.ask("GET", _pod(namespace, name), timeout_s=REQUEST_TIMEOUT_S)

    async def delete_pod(self, namespace: str, name: str, uid: str, version: str, grace_s: int | None) -> Answer:
        """DELETE a pod if it has this uid and, unless `version` is empty, this resourceVersion."""
        preconditions = {"uid": uid} | ({"resourceVersion": version} if version else {})
        options: dict[str, object] = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": preconditions}
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        body = msgspec.json.encode(options)
        return await self._http.ask("DELETE", _pod(namespace, name), body=body, timeout_s=REQUEST_TIMEOUT_S)

    async def list_pods(self, namespace: str, limit: int, token: str, *, managed_only: bool) -> Answer:
        """One page of the pods of a namespace (empty: of all)."""
        selector = {"labelSelector": LABEL_JOB_ID} if managed_only else {}
        return await self._http.ask("GET", _pods(namespace) + _page(limit, token, selector), timeout_s=LIST_TIMEOUT_S)

    async def list_nodes(self, limit: int, token: str) -> Answer:
        """One page of the nodes."""
        return await self._http.ask("GET", _NODES + _page(limit, token, {}), timeout_s=LIST_TIMEOUT_S)

    async def list_events(self, namespace: str, uid: str, limit: int, token: str) -> Answer:
        """One page of the events of a pod (empty: of all pods of the namespace)."""
        about = f"involvedObject.uid={uid}" if uid else "involvedObject.kind=Pod"
        query = _page(limit, token, {"fieldSelector": about})
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/events{query}"
        return await self._http.ask("GET", path, timeout_s=REQUEST_TIMEOUT_S)

    async def watch_pods(self, namespace: str, version: str, timeout_s: float) -> HttpWatch | Refusal:
        """Watch the managed pods of a namespace (empty: of all) from a version on."""
        query = _watch(version, timeout_s) | {"labelSelector": LABEL_JOB_ID}
        return await self._http.open_watch(_pods(namespace) + _query(query), timeout_s)

    async def watch_nodes(self, version: str, timeout_s: float) -> HttpWatch | Refusal:
        """Watch the nodes from a version on."""
        return await self._http.open_watch(_NODES + _query(_watch(version, timeout_s)), timeout_s)


@asynccontextmanager
async def open_kube(credentials: Credentials) -> AsyncIterator[KubeHttp]:
    """The API of these credentials, for as long as the context lasts."""
    async with open_http(credentials) as http:
        yield KubeHttp(http)


_NODES = "/api/v1/nodes"


def _pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/pods" if namespace else "/api/v1/pods"


def _pod(namespace: str, name: str) -> str:
    return f"{_pods(namespace)}/{quote(name, safe='')}"


def _query(values: Mapping[str, str]) -> str:
    return "?" + "&".join(f"{key}={quote(value, safe='')}" for key, value in values.items())


def _page(limit: int, token: str, more: Mapping[str, str]) -> str:
    return _query({"limit": str(limit)} | ({"continue": token} if token else {}) | dict(more))


def _watch(version: str, timeout_s: float) -> dict[str, str]:
    return {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": version,
        "timeoutSeconds": str(max(1, int(timeout_s))),
    }
