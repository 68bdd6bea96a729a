"""What HTTP says, in the executor's words."""

import json

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from refloat_executor.adapters.kube.translate import answer_of, refusal_of_error
from refloat_executor.core.cluster.answers import (
    Answer,
    Broken,
    Conflict,
    Denied,
    Done,
    Expired,
    Missing,
    Silent,
    Throttled,
    Unsent,
)


def status(reason: str = "", message: str = "m") -> bytes:
    return json.dumps({"kind": "Status", "reason": reason, "message": message}).encode()


CASES: dict[str, tuple[int, bytes, str | None, Answer]] = {
    "ok": (200, b"{}", None, Done(b"{}")),
    "created": (201, b"{}", None, Done(b"{}")),
    "accepted": (202, b"{}", None, Done(b"{}")),
    "unauthorized": (401, status("Unauthorized"), None, Denied(401, "Unauthorized", "m")),
    "forbidden": (403, status("Forbidden"), None, Denied(403, "Forbidden", "m")),
    "missing": (404, status("NotFound"), None, Missing("m")),
    "taken": (409, status("AlreadyExists"), None, Conflict("m", already_exists=True)),
    "precondition": (409, status("Conflict"), None, Conflict("m", already_exists=False)),
    "expired": (410, status("Expired"), None, Expired("m")),
    "invalid": (422, status("Invalid"), None, Denied(422, "Invalid", "m")),
    "patience": (429, status("TooManyRequests"), "3", Throttled(3.0)),
    "patience, unsaid": (429, status(), None, Throttled(1.0)),
    "patience, until a date": (429, status(), "Mon, 30 Nov 2026 12:00:00 GMT", Throttled(1.0)),
    "patience, for a year": (429, status(), "31536000", Throttled(60.0)),
    "patience, for less than nothing": (429, status(), "-5", Throttled(0.0)),
    "etcd asks for patience": (500, status(), "1", Throttled(1.0)),
    "broken": (500, status(), None, Broken(500, "m")),
    "unavailable": (503, status(), None, Broken(503, "m")),
    "a proxy's timeout": (504, b"<html>", None, Silent("<html>")),
    "a proxy's page": (502, b"<html>", None, Broken(502, "<html>")),
    "a redirect": (302, b"", None, Denied(302, "", "")),
}


@pytest.mark.parametrize(("code", "body", "retry_after", "answer"), CASES.values(), ids=CASES.keys())
def test_answers(code: int, body: bytes, retry_after: str | None, answer: Answer) -> None:
    assert answer_of(code, body, retry_after) == answer


KEY = ConnectionKey("127.0.0.1", 1, is_ssl=False, ssl=True, proxy=None, proxy_auth=None, proxy_headers_hash=None)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (aiohttp.ClientConnectorError(KEY, OSError(111, "refused")), Unsent),
        (aiohttp.ConnectionTimeoutError(), Unsent),
        (aiohttp.ServerDisconnectedError(), Silent),
        (aiohttp.SocketTimeoutError(), Silent),
        (aiohttp.ClientPayloadError(), Silent),
        (TimeoutError(), Silent),
        (ConnectionResetError(), Silent),
    ],
)
def test_only_a_connection_that_was_never_made_says_that_nothing_happened(error: Exception, kind: type) -> None:
    assert type(refusal_of_error(error)) is kind
