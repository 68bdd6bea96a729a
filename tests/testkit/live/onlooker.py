"""Watches the pods of a namespace over the API with rights of its own, and notes each change and when it came."""

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from testkit.real_kube.http_api import HttpApi, Json

AGAIN_S = 0.1
WATCH_S = 600


@dataclass(frozen=True, slots=True)
class Seen:
    """One line of the watch. `at_s` is seconds since 1970; `kind` is ADDED, MODIFIED or DELETED."""

    at_s: float
    kind: str
    pod: Json

    @property
    def uid(self) -> str:
        """The pod's."""
        return str(self.pod["metadata"]["uid"])

    @property
    def name(self) -> str:
        """The pod's."""
        return str(self.pod["metadata"]["name"])

    @property
    def phase(self) -> str:
        """The pod's."""
        return str(self.pod.get("status", {}).get("phase", ""))


@dataclass(slots=True)
class Onlooker:
    """What was seen, in order."""

    lines: list[Seen] = field(default_factory=list)

    def of(self, name: str) -> list[Seen]:
        """What was seen of the pods of this name."""
        return [line for line in list(self.lines) if line.name == name]

    def uids(self, name: str) -> list[str]:
        """The uids that were seen under a name, in order."""
        return list(dict.fromkeys(line.uid for line in self.of(name)))

    def first(self, uid: str, kind: str = "", phase: str = "") -> Seen | None:
        """The first line of a pod of this kind, and in this phase, where they are given."""
        for line in list(self.lines):
            if line.uid == uid and kind in ("", line.kind) and phase in ("", line.phase):
                return line
        return None


@contextmanager
def looking_on(api: HttpApi, namespace: str) -> Iterator[Onlooker]:
    """Watch for as long as the block lasts; goes on when the server comes back."""
    seen, over = Onlooker(), threading.Event()
    pods = f"/api/v1/namespaces/{namespace}/pods"
    version = str(api.get(pods).ok()["metadata"]["resourceVersion"])
    thread = threading.Thread(target=_watch, args=(api, pods, version, seen, over), daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        over.set()


def _watch(api: HttpApi, pods: str, version: str, seen: Onlooker, over: threading.Event) -> None:
    while not over.is_set():
        try:
            with api.watch(pods, resourceVersion=version, timeoutSeconds=WATCH_S) as events:
                for event in events:
                    if over.is_set():
                        return
                    if event["type"] == "ERROR":
                        # What it missed the executor must not: the test reads that from the event stream.
                        version = str(api.get(pods).ok()["metadata"]["resourceVersion"])
                        break
                    version = str(event["object"]["metadata"]["resourceVersion"])
                    seen.lines.append(Seen(time.time(), event["type"], event["object"]))
        except (OSError, http.client.HTTPException, AssertionError, ValueError):
            over.wait(AGAIN_S)
