"""What of the API's bytes is understood, also where users put things into it that are no text."""

import json

import pytest

from refloat_common.core.pods import Event, Node, ObjectMeta, Pod
from refloat_executor.core.cluster.wire import (
    Codec,
    EventPage,
    Page,
    PageMeta,
    Status,
    UnreadableError,
    WatchEvent,
    decode_event_page,
    decode_pod,
    decode_status,
    decode_uid_page,
)

PODS = Codec(Pod)
ADDED = b'{"type":"ADDED","object":{"metadata":{"name":"a","uid":"u"},"spec":{"containers":null},"more":[1]}}\n'
BOOKMARK = (
    b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9"},"spec":{"containers":null}}}\n'
)
EXPIRED = (
    b'{"type":"ERROR","object":{"kind":"Status","metadata":{},"status":"Failure",'
    b'"message":"too old","reason":"Expired","code":410}}\n'
)
A = WatchEvent("ADDED", Pod(ObjectMeta(name="a", uid="u")))
B = WatchEvent("BOOKMARK", Pod(ObjectMeta(resource_version="9")))


@pytest.mark.parametrize(
    ("lines", "events"),
    [
        pytest.param(ADDED, [A], id="one"),
        pytest.param(ADDED + BOOKMARK, [A, B], id="two"),
        pytest.param(memoryview(ADDED), [A], id="a-view"),
        pytest.param((ADDED, b"", memoryview(BOOKMARK)), [A, B], id="in-pieces"),
        pytest.param(ADDED + EXPIRED, [A, Status("too old", "Expired", 410)], id="an-error-after-it"),
        pytest.param(b"", [], id="nothing"),
    ],
)
def test_lines_of_a_watch(lines: bytes, events: list[object]) -> None:
    assert PODS.block(lines) == events


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(rb'"\ud800 half a pair"', "? half a pair", id="half-a-surrogate-pair"),
        pytest.param(b'"\xff\xfe no text"', "\ufffd\ufffd no text", id="not-utf-8"),
        pytest.param(rb'"a\u0000b"', "a\0b", id="a-null"),
        pytest.param(b'"tab\there"', "tab\there", id="a-bare-control-character"),
    ],
)
def test_what_is_no_text_costs_neither_the_watch_nor_the_pod(text: bytes, shown: str) -> None:
    line = b'{"type":"ADDED","object":{"metadata":{"name":"a","uid":"u"},"status":{"message":' + text + b"}}}\n"
    (event, last) = PODS.block(line + BOOKMARK)
    assert isinstance(event, WatchEvent)
    assert event.object.status.message == shown
    assert last == B


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(b"<html>bad gateway</html>\n", id="html"),
        pytest.param(ADDED[:40] + b"\n", id="half-a-line"),
        pytest.param(b'{"type":"ADDED","object":7}\n', id="not-an-object"),
        pytest.param(b"[1,2]\n", id="a-list"),
        pytest.param(b'{"type":"ADDED"}\n', id="no-object"),
    ],
)
def test_what_is_no_event_is_refused(lines: bytes) -> None:
    with pytest.raises(UnreadableError):
        PODS.block(ADDED + lines)


def test_pages() -> None:
    body = {
        "kind": "PodList",
        "metadata": {"resourceVersion": "7", "continue": "t"},
        "items": [{"metadata": {"uid": "u"}}],
    }
    raw = json.dumps(body).encode()
    assert PODS.page(raw) == Page([Pod(ObjectMeta(uid="u"))], PageMeta("7", "t"))
    assert decode_uid_page(raw).uids() == ["u"]
    assert Codec(Node).page(b'{"items":null,"metadata":{}}') == Page[Node](None, PageMeta())
    with pytest.raises(UnreadableError):
        PODS.page(b'{"items":[')


def test_single_objects() -> None:
    assert decode_pod(b'{"metadata":{"uid":"u"}}').metadata.uid == "u"
    page = decode_event_page(b'{"items":[{"reason":"Evicted"}],"metadata":{"continue":"t"}}')
    assert page == EventPage([Event(reason="Evicted")], PageMeta(continue_="t"))
    assert decode_event_page(b'{"items":null}') == EventPage()
    assert decode_status(b'{"kind":"Status","message":"m","reason":"R","code":409}') == Status("m", "R", 409)
    assert decode_status(b"Bad Gateway") == Status("Bad Gateway")
