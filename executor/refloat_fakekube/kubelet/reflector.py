"""Follows a collection with one list and one watch, and tells of every change; a gap is healed by listing again."""

import asyncio
from collections.abc import Callable, Mapping

from refloat_fakekube.core.objects import Json, objects, text
from refloat_fakekube.kubelet.client import ApiClient, ApiError

_PAGE = 500
_PAUSES_S = (0.05, 0.1, 0.2, 0.5, 1.0)
_GONE = 410

Tell = Callable[[str, Json], None]
"""Takes ADDED, MODIFIED or DELETED, and the object."""


class Reflector:
    """One collection. What went away in a gap is told as DELETED with its identity and node only."""

    def __init__(self, client: ApiClient, path: str, tell: Tell, query: Mapping[str, str] | None = None) -> None:
        self._client, self._path, self._tell = client, path, tell
        self._query = dict(query or {})
        self._known: dict[str, Json] = {}
        self.synced = asyncio.Event()

    async def run(self) -> None:
        """Follow until cancelled."""
        failures = 0
        while True:
            try:
                version = await self._list()
                failures = 0
                while True:
                    version = await self._watch(version)
                    await asyncio.sleep(_PAUSES_S[0])
            except ApiError as error:
                if error.code != _GONE:
                    await asyncio.sleep(_PAUSES_S[min(failures, len(_PAUSES_S) - 1)])
                    failures += 1

    async def _list(self) -> str:
        found: dict[str, Json] = {}
        page: dict[str, str] = {}
        version = ""
        while True:
            query = {**self._query, "limit": str(_PAGE), **page}
            body = await self._client.call("GET", self._path, query=query)
            found.update({text(item, "metadata", "uid"): item for item in objects(body, "items")})
            version = version or text(body, "metadata", "resourceVersion")
            if not text(body, "metadata", "continue"):
                break
            page = {"continue": text(body, "metadata", "continue")}
        for uid, obj in [*self._known.items()]:
            if uid not in found:
                self._told("DELETED", obj)
        for uid, obj in found.items():
            self._told("MODIFIED" if uid in self._known else "ADDED", obj)
        self.synced.set()
        return version

    async def _watch(self, version: str) -> str:
        query = {**self._query, "watch": "true", "allowWatchBookmarks": "true", "resourceVersion": version}
        async for line in self._client.lines(self._path, query):
            kind, obj = text(line, "type"), line.get("object")
            if not isinstance(obj, dict):
                continue
            if kind == "ERROR":
                code = obj.get("code")
                raise ApiError("WATCH", self._path, code if isinstance(code, int) else 0, text(obj, "message"))
            version = text(obj, "metadata", "resourceVersion") or version
            if kind != "BOOKMARK":
                self._told(kind, obj)
        return version

    def _told(self, kind: str, obj: Json) -> None:
        uid = text(obj, "metadata", "uid")
        if kind == "DELETED":
            self._known.pop(uid, None)
        else:
            self._known[uid] = _identity(obj)
        self._tell(kind, obj)


def _identity(obj: Json) -> Json:
    metadata: Json = {key: text(obj, "metadata", key) for key in ("name", "namespace", "uid")}
    return {"metadata": metadata, "spec": {"nodeName": text(obj, "spec", "nodeName")}}
