"""The server's back door for tests and the soak: faults, cut watches, compaction, a held-back world, counters, replay.

As a Python object, and over HTTP below `/_fake/`.
"""

from aiohttp import web

from refloat_fakekube.core.objects import Json, JsonValue, NotAnObjectError, decode, encode, text
from refloat_fakekube.core.protocol.faults import BadFaultError, Fault, fault_from
from refloat_fakekube.core.refusals import BadRequestError, NoSuchPathError
from refloat_fakekube.core.resources import RESOURCES, Resource
from refloat_fakekube.server.server import ApiServer, Served

CUTS = ("eof", "reset", "expired", "half")
"""How watches may be cut: cleanly, by a reset, with an ERROR event of 410, in the middle of a line."""


class Admin:
    """What can be done to a server behind the API's back."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    def fail(self, fault: Fault) -> None:
        """Let the next matching calls go wrong."""
        self._server.faults.add(fault)

    def heal(self) -> None:
        """Forget the faults that are still to come."""
        self._server.faults.clear()

    def cut_watches(self, how: str = "eof", resource: str = "") -> int:
        """End the open watches (of one resource); gives how many there were.

        Raises:
            BadRequestError: there is no such way to cut.
        """
        if how not in CUTS:
            raise BadRequestError(f"how: {how!r} is none of {', '.join(CUTS)}")
        return self._server.hub.cut(how, _table(resource))

    def compact(self, resource: str = "") -> None:
        """Forget the past (of one resource): watches and pages of older versions get 410."""
        self._server.store.compact(_resource(resource) if resource else None)

    def hold(self) -> None:
        """Keep changes back from all watches from now on."""
        self._server.hub.hold()

    def release(self) -> None:
        """Hand out what was kept back."""
        self._server.release()

    def calls(self) -> list[Served]:
        """The latest answered calls, oldest first."""
        return list(self._server.served)

    def replay(self, lines: bytes) -> int:
        """Put objects in as they are, unchecked, one watch line (`{"type","object"}`) each; gives how many."""
        changes = [change for line in lines.splitlines() if line for change in self._server.store.replay(decode(line))]
        self._server.publish(changes)
        return len(changes)

    def stats(self) -> Json:
        """Counters: calls by verb, resource and code, open watches, objects, the newest version."""
        calls: list[JsonValue] = [
            {"verb": verb, "resource": resource, "code": code, "count": count}
            for (verb, resource, code), count in sorted(self._server.counts.items())
        ]
        objects: Json = dict(self._server.store.counts())
        watches: Json = dict(self._server.hub.count())
        return {"version": self._server.store.version, "objects": objects, "watches": watches, "calls": calls}

    def handle(self, request: web.BaseRequest, body: bytes) -> web.Response:
        """Answer a request below `/_fake/`.

        Raises:
            RefusalError: there is no such action, or its body can't be understood.
        """
        action = (request.method, request.path.removeprefix("/_fake/"))
        try:
            answer = self._act(action, body)
        except (BadFaultError, NotAnObjectError) as error:
            raise BadRequestError(str(error)) from error
        return web.Response(body=encode(answer), content_type="application/json")

    def _act(self, action: tuple[str, str], body: bytes) -> Json:
        match action:
            case ("GET", "stats"):
                return self.stats()
            case ("POST", "faults"):
                self.fail(fault_from(decode(body)))
            case ("DELETE", "faults"):
                self.heal()
            case ("POST", "cut-watches"):
                given = decode(body) if body else {}
                return {"cut": self.cut_watches(text(given, "how") or "eof", text(given, "resource"))}
            case ("POST", "compact"):
                self.compact(text(decode(body), "resource") if body else "")
            case ("POST", "hold"):
                self.hold()
            case ("POST", "release"):
                self.release()
            case ("POST", "replay"):
                return {"replayed": self.replay(body)}
            case _:
                raise NoSuchPathError
        return {}


def _resource(plural: str) -> Resource:
    found = next((row for row in RESOURCES if plural in {row.plural, row.id}), None)
    if found is None:
        raise BadRequestError(f"resource: {plural!r} is not served")
    return found


def _table(plural: str) -> str:
    return _resource(plural).id if plural else ""
