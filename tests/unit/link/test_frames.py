"""The bytes of a frame: what they are, and which are refused."""

import json
from pathlib import Path

import msgpack
import pytest
from msgspec import structs

from refloat_common.core.link.frames import (
    HEADER,
    KINDS,
    Channel,
    FrameTooLargeError,
    Message,
    MessageType,
    Refusal,
    check_report,
    decode,
    encode,
    report_bytes,
)
from refloat_common.core.link.parts import in_parts, weigh_node, weigh_run
from refloat_common.core.messages import MAX_FRAME_BYTES, Kill, Nodes, RunEntry, RunStatus, TaintFact
from testkit.link.samples import LEASE, NODE, REPORT, SAMPLES

GOLDEN = json.loads((Path(__file__).parents[2] / "data" / "frames" / "v1.json").read_text())["frames"]
BEAT = encode(SAMPLES["heartbeat"])
TO = {kind.model: (kind.receiver, kind.channels[0]) for kind in KINDS}


def arrived(frame: bytes, like: Message = SAMPLES["heartbeat"]) -> Message | Refusal:
    receiver, channel = TO[type(like)]
    return decode(frame, receiver=receiver, channel=channel)


def with_body(body: bytes, kind: MessageType = MessageType.HEARTBEAT) -> bytes:
    return HEADER.pack(1, kind, 0, 0) + body


@pytest.mark.parametrize("name", SAMPLES)
def test_every_message_comes_back_as_it_was(name: str) -> None:
    assert arrived(encode(SAMPLES[name]), SAMPLES[name]) == SAMPLES[name]


@pytest.mark.parametrize("name", GOLDEN)
def test_frames_of_this_version_are_read_and_written_the_same_for_ever(name: str) -> None:
    assert arrived(bytes.fromhex(GOLDEN[name]), SAMPLES[name]) == SAMPLES[name]
    assert encode(SAMPLES[name]).hex() == GOLDEN[name]


def test_every_kind_of_message_has_a_recorded_frame() -> None:
    assert {type(SAMPLES[name]) for name in GOLDEN} == {kind.model for kind in KINDS}
    assert {kind.number for kind in KINDS} == set(MessageType)


def test_unknown_keys_are_ignored() -> None:
    fields = msgpack.unpackb(BEAT[HEADER.size :])
    assert arrived(with_body(msgpack.packb({**fields, "new": {"deep": [1]}}))) == SAMPLES["heartbeat"]


def test_the_reserved_bytes_are_ignored() -> None:
    assert arrived(BEAT[:4] + b"\xff" * 4 + BEAT[8:]) == SAMPLES["heartbeat"]


NESTED = b"\x81\xa1a" + b"\x91" * 200_000


@pytest.mark.parametrize(
    ("frame", "refusal"),
    [
        (b"", Refusal("too-short", "0 bytes; a header has 8")),
        (BEAT[:7], Refusal("too-short", "7 bytes; a header has 8")),
        (bytes(MAX_FRAME_BYTES + 1), Refusal("too-large", "1048577 bytes; a frame may have 1048576")),
        (b"\x02" + BEAT[1:], Refusal("version", "version 2; this end speaks 1")),
        (BEAT[:2] + b"\x00\x01" + BEAT[4:], Refusal("flags", "flags 0x0001; none is known")),
        (with_body(b"\x80", 99), Refusal("unknown-type", "no message has type 99")),  # type: ignore[arg-type]  # hostile
        (
            with_body(b"\x80", MessageType.WELCOME),
            Refusal("unexpected-type", "WELCOME does not go to the scheduler on control"),
        ),
        (
            with_body(b"\x80", MessageType.REPORTS),
            Refusal("unexpected-type", "REPORTS does not go to the scheduler on control"),
        ),
        (BEAT[:8], Refusal("not-a-map", "the body is not a MessagePack map")),
        (with_body(b"\x93\x01\x02\x03"), Refusal("not-a-map", "the body is not a MessagePack map")),
        (BEAT[:-1], Refusal("malformed", "the body ends within a value")),
        (BEAT + b"\xc0", Refusal("malformed", "1 bytes follow the message")),
        (with_body(NESTED), Refusal("too-deep", "more than 8 lists and maps within one another")),
        (
            with_body(b"\x81\xa1a\xdd\xff\xff\xff\xff"),
            Refusal("too-large", "a value claims a size of 4294967295, over 4096"),
        ),
        (with_body(b"\xde\x01\x01"), Refusal("too-large", "a value claims a size of 257, over 256")),
        (
            with_body(b"\x81\xa1a\xdb\x00\x02\x00\x00"),
            Refusal("too-large", "a value claims a size of 131072, over 65536"),
        ),
        (
            with_body(b"\x81\xa1a\xdc\x10\x00" + (b"\xdc\x00\x11" + b"\x01" * 17) * 4096),
            Refusal("too-many-items", "more than 65536 values"),
        ),
        (
            with_body(b"\x81\xa1a\xc7\x00\x01"),
            Refusal("malformed", "byte 3 (0xc7) starts an extension or nothing known"),
        ),
        (
            with_body(b"\x81\xa1a\xd6\xff\x00\x00\x00\x00"),
            Refusal("malformed", "byte 3 (0xd6) starts an extension or nothing known"),
        ),
        (
            with_body(b"\x81\x01\x01"),
            Refusal("malformed", "ValueError: int is not allowed for map key when strict_map_key=True"),
        ),
        (with_body(b"\x80"), Refusal("invalid", "epoch: Field required")),
    ],
    ids=lambda value: value.code if isinstance(value, Refusal) else "",
)
def test_what_is_no_message_is_refused_by_name(frame: bytes, refusal: Refusal) -> None:
    assert arrived(frame) == refusal


@pytest.mark.parametrize(
    ("field", "value", "detail"),
    [
        ("epoch", "4", "epoch: Input should be a valid integer"),
        ("epoch", True, "epoch: Input should be a valid integer"),
        ("epoch", 4.0, "epoch: Input should be a valid integer"),
        ("epoch", -1, "epoch: Input should be greater than or equal to 0"),
        ("epoch", 1 << 63, "epoch: Input should be less than 9223372036854775808"),
        ("listed", "run-1", "listed: Input should be a valid list"),
        ("listed", [7], "listed.0: Input should be a valid string"),
        ("listed", ["x" * 129], "listed.0: String should have at most 128 characters"),
        ("listed", [b"run-1"], "listed.0: Input should be a valid string"),
        (
            "runs",
            [{"run": "r", "job": "j", "status": "odd"}],
            "runs.0.status: Input should be 'accepted', 'active' or 'ended'",
        ),
        ("runs", [{"run": "r"}], "runs.0.job: Field required"),
        ("free_slots", None, "free_slots: Input should be a valid integer"),
    ],
)
def test_a_field_of_the_wrong_kind_is_named(field: str, value: object, detail: str) -> None:
    fields = msgpack.unpackb(BEAT[HEADER.size :])
    assert arrived(with_body(msgpack.packb({**fields, field: value}))) == Refusal("invalid", detail)


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"first_seq": 0}, "Expected `int` >= 1 - at `$.first_seq`"),
        ({"first_seq": 1 << 63}, "Expected `int` <= 4611686018427387904 - at `$.first_seq`"),
        ({"reports": []}, "Expected `array` of length >= 1 - at `$.reports`"),
        ({"reports": [{"kind": "failed", "run": "r"}]}, "Object missing required field `job` - at `$.reports[0]`"),
        (
            {"reports": [{"kind": "odd", "run": "r", "job": "j"}]},
            "Invalid enum value 'odd' - at `$.reports[0].kind`",
        ),
        (
            {"reports": [{"kind": "failed", "run": "r", "job": "j", "message": "x" * 4097}]},
            "Expected `str` of length <= 4096 - at `$.reports[0].message`",
        ),
    ],
)
def test_a_batch_with_a_wrong_field_is_refused_with_the_path(change: dict[str, object], detail: str) -> None:
    fields = {"epoch": 4, "journal": "j", "first_seq": 1, "reports": [{"kind": "failed", "run": "r", "job": "j"}]}
    frame = with_body(msgpack.packb({**fields, **change}), MessageType.REPORTS)
    assert arrived(frame, SAMPLES["reports"]) == Refusal("invalid", detail)


def test_a_refusal_shows_nothing_of_what_was_sent() -> None:
    fields = msgpack.unpackb(BEAT[HEADER.size :])
    refusal = arrived(with_body(msgpack.packb({**fields, "epoch": "\x1b[31msecret"})))
    assert isinstance(refusal, Refusal)
    assert "secret" not in refusal.detail


def test_a_message_that_no_receiver_would_take_is_not_sent() -> None:
    kill = Kill.model_construct(epoch=1, runs=["x" * (MAX_FRAME_BYTES + 1)], reason="")
    with pytest.raises(FrameTooLargeError, match="Kill takes 1048"):
        encode(kill)


def test_a_report_is_checked_before_it_is_journaled() -> None:
    assert check_report(REPORT) is None
    assert check_report(structs.replace(REPORT, message="x" * 4097)) == Refusal(
        "invalid", "Expected `str` of length <= 4096 - at `$.message`"
    )
    lone = check_report(structs.replace(REPORT, message="\ud800"))
    assert lone is not None
    assert lone.code == "invalid"
    assert report_bytes(REPORT) < 400


def test_parts_hold_everything_in_order_and_fit_their_frames() -> None:
    runs = [RunEntry(run=f"{i:0128}", job="j" * 128, status=RunStatus.ACTIVE, uid="é" * 253) for i in range(5000)]
    parts = in_parts(runs, weigh_run)
    assert [entry for part in parts for entry in part] == runs
    node = NODE.model_copy(
        update={"labels": {f"k{i}": "ü" * 63 for i in range(100)}, "taints": [TaintFact(key="k")] * 9}
    )
    for part in in_parts([node] * 2000, weigh_node, 512):
        assert len(encode(Nodes(epoch=1, revision=1, upserted=list(part)))) < MAX_FRAME_BYTES
        assert not isinstance(
            arrived(encode(Nodes(epoch=1, revision=1, upserted=list(part))), SAMPLES["nodes"]), Refusal
        )


def test_nothing_makes_one_empty_part() -> None:
    assert in_parts([], weigh_run) == ((),)


def test_a_lease_keeps_its_pod_spec_byte_for_byte() -> None:
    leases = arrived(encode(SAMPLES["leases"]), SAMPLES["leases"])
    assert leases == SAMPLES["leases"]
    assert LEASE.pod_spec == b'{"containers":[]}'


def test_a_message_comes_on_its_own_channel_only() -> None:
    receiver, _ = TO[type(SAMPLES["heartbeat"])]
    refusal = Refusal("unexpected-type", "HEARTBEAT does not go to the scheduler on reports")
    assert decode(BEAT, receiver=receiver, channel=Channel.REPORTS) == refusal
