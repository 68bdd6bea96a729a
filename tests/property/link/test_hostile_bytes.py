"""Whatever bytes arrive: a message or a refusal, never an exception, and never much memory or time."""

import tracemalloc

import msgpack
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from refloat_common.core.link.frames import HEADER, KINDS, Channel, Refusal, Side, decode, encode
from refloat_common.core.link.scheduler.values import Garbled, Received, Server
from refloat_common.core.link.scheduler_side import step
from refloat_common.core.link.shape import misshapen
from refloat_common.core.messages import MAX_FRAME_BYTES, Timing
from testkit.link.samples import SAMPLES

FRAMES = [encode(message) for message in SAMPLES.values()]
PLACES = st.tuples(st.sampled_from(Side), st.sampled_from(Channel))
TYPES = st.sampled_from([int(kind.number) for kind in KINDS])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
SERVER = Server(boot="s", timing=Timing(heartbeat_interval_s=5, start_window_s=30))


def take(frame: bytes, receiver: Side, channel: Channel) -> None:
    """Decode a frame and let the scheduler's end handle what comes of it."""
    got = decode(frame, receiver=receiver, channel=channel)
    if isinstance(got, Refusal):
        assert len(got.code) <= 32
        assert len(got.detail) <= 300
        server, effects = step(SERVER, Garbled(channel, b"p", "E1", got), 0.0)
        assert len(effects) == 2
        assert server.sessions == {}
    elif receiver is Side.SCHEDULER:
        step(SERVER, Received(channel, b"p", "E1", got), 0.0)  # type: ignore[arg-type]  # decoded for this side


@given(st.binary(max_size=300), PLACES)
def test_any_bytes(frame: bytes, place: tuple[Side, Channel]) -> None:
    take(frame, *place)


@given(TYPES, st.binary(max_size=300), PLACES)
def test_any_body_behind_a_good_header(number: int, body: bytes, place: tuple[Side, Channel]) -> None:
    take(HEADER.pack(1, number, 0, 0) + body, *place)


@settings(max_examples=400)
@given(st.sampled_from(FRAMES), st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=4), PLACES)
def test_a_good_frame_with_some_bytes_changed(
    frame: bytes, changes: list[tuple[int, int]], place: tuple[Side, Channel]
) -> None:
    changed = bytearray(frame)
    for where, value in changes:
        changed[where % len(changed)] = value
    take(bytes(changed), *place)


@given(st.sampled_from(FRAMES), st.integers(0, 1 << 16), PLACES)
def test_a_good_frame_cut_short(frame: bytes, length: int, place: tuple[Side, Channel]) -> None:
    take(frame[: length % len(frame)], *place)


@given(st.sampled_from(list(SAMPLES.values())), st.data(), VALUES)
def test_a_good_message_with_a_field_of_another_kind(message: object, data: st.DataObject, value: object) -> None:
    frame = encode(message)  # type: ignore[arg-type]  # one of the samples
    fields = msgpack.unpackb(frame[HEADER.size :])
    field = data.draw(st.sampled_from(sorted(fields)))
    kind = next(kind for kind in KINDS if kind.model is type(message))
    take(frame[: HEADER.size] + msgpack.packb({**fields, field: value}), kind.receiver, kind.channels[0])


@given(VALUES)
@example({"a": [[[[[[[1]]]]]]]})
@example({"a": [[[[[[[[1]]]]]]]]})
def test_the_walk_agrees_with_the_decoder(value: object) -> None:
    body = msgpack.packb(value)
    found = misshapen(body)
    if isinstance(value, dict):
        assert (found is None) == (depth_of(value) <= 8)
    else:
        assert found is not None
        assert found.code == "not-a-map"


def depth_of(value: object) -> int:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return 1 + max(map(depth_of, inner), default=0) if value else 0
    return 0


BOMBS = {
    "lists that claim much": b"\x81\xa1a" + b"\xdc\xff\xff" * 300_000,
    "lists of the longest kind": b"\x81\xa1a" + b"\xdc\x10\x00" * 300_000,
    "maps that claim much": b"\x81\xa1a" + b"\xdf\xff\xff\xff\xff" * 200_000,
    "one item lists within one another": b"\x81\xa1a" + b"\x91" * 1_000_000,
    "a million small values": b"\x81\xa1a\xdd\x00\x0f\x00\x00" + b"\x01" * 983_040,
    "a huge list of reports": b"\x81\xa7reports\xdd\xff\xff\xff\xff" + b"\x80" * 1_000_000,
    "nested under an unknown key": b"\x82\xa3new" + b"\x91" * 900_000 + b"\x01\xa7reports\x90",
}


@pytest.mark.parametrize("number", [int(kind.number) for kind in KINDS])
@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_cost_little_memory(number: int, bomb: str) -> None:
    frame = (HEADER.pack(1, number, 0, 0) + BOMBS[bomb])[:MAX_FRAME_BYTES]
    kind = next(kind for kind in KINDS if kind.number == number)
    tracemalloc.start()
    try:
        got = decode(frame, receiver=kind.receiver, channel=kind.channels[0])
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(got, Refusal)
    assert peak_bytes < 4 * MAX_FRAME_BYTES
