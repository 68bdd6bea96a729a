"""Decides how a message becomes the bytes of a frame, and which bytes are refused as one.

A frame is `[version u8 | type u8 | flags u16 | reserved u32]`, big-endian, then one MessagePack map. No flag has a
meaning yet: a frame with one is refused, since it may change how the rest is read. `reserved` is ignored. Whatever
the bytes are, `decode` returns a value: a message or a `Refusal`.
"""

import struct
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Final, TypeAlias

import msgpack
import msgspec
from pydantic import BaseModel, ValidationError

from refloat_common.core.link.shape import MAX_LIST, MAX_MAP, MAX_TEXT_BYTES, misshapen
from refloat_common.core.messages import (
    MAX_FRAME_BYTES,
    PROTOCOL_VERSION,
    Ack,
    Bye,
    Heartbeat,
    HeartbeatAck,
    Hello,
    Kill,
    Leases,
    Nack,
    Nodes,
    Refused,
    Report,
    Reports,
    Stale,
    Welcome,
)

HEADER: Final = struct.Struct("!BBHI")
MAX_DETAIL_CHARS: Final = 300


class Channel(Enum):
    """The two socket pairs of an executor: reports never queue before a heartbeat."""

    CONTROL = "control"
    REPORTS = "reports"


class Side(Enum):
    """The two ends of the link."""

    EXECUTOR = "executor"
    SCHEDULER = "scheduler"


class MessageType(IntEnum):
    """The second byte of a frame. Numbers are never used again for something else."""

    HELLO = 1
    WELCOME = 2
    HEARTBEAT = 3
    HEARTBEAT_ACK = 4
    KILL = 5
    NODES = 6
    REPORTS = 7
    ACK = 8
    NACK = 9
    STALE = 10
    BYE = 11
    LEASES = 12
    REFUSED = 13


FromExecutor: TypeAlias = Hello | Heartbeat | Nodes | Bye | Reports
"""Everything that an executor sends."""
FromScheduler: TypeAlias = Welcome | HeartbeatAck | Kill | Stale | Leases | Ack | Nack | Refused
"""Everything that the scheduler sends."""
Message: TypeAlias = FromExecutor | FromScheduler


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of the table of messages: its number, its class, who receives it, and on which channels."""

    number: MessageType
    model: type[Message]
    receiver: Side
    channels: tuple[Channel, ...]


_CONTROL: Final = (Channel.CONTROL,)
_REPORTS: Final = (Channel.REPORTS,)
KINDS: Final = (
    Kind(MessageType.HELLO, Hello, Side.SCHEDULER, _CONTROL),
    Kind(MessageType.HEARTBEAT, Heartbeat, Side.SCHEDULER, _CONTROL),
    Kind(MessageType.NODES, Nodes, Side.SCHEDULER, _CONTROL),
    Kind(MessageType.BYE, Bye, Side.SCHEDULER, _CONTROL),
    Kind(MessageType.REPORTS, Reports, Side.SCHEDULER, _REPORTS),
    Kind(MessageType.WELCOME, Welcome, Side.EXECUTOR, _CONTROL),
    Kind(MessageType.HEARTBEAT_ACK, HeartbeatAck, Side.EXECUTOR, _CONTROL),
    Kind(MessageType.KILL, Kill, Side.EXECUTOR, _CONTROL),
    Kind(MessageType.LEASES, Leases, Side.EXECUTOR, _CONTROL),
    Kind(MessageType.ACK, Ack, Side.EXECUTOR, _REPORTS),
    Kind(MessageType.NACK, Nack, Side.EXECUTOR, _REPORTS),
    Kind(MessageType.STALE, Stale, Side.EXECUTOR, (Channel.CONTROL, Channel.REPORTS)),
    Kind(MessageType.REFUSED, Refused, Side.EXECUTOR, (Channel.CONTROL, Channel.REPORTS)),
)
_BY_TYPE: Final = {int(kind.number): kind for kind in KINDS}
_TYPE_OF: Final = {kind.model: kind.number for kind in KINDS}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a frame is not a message. `code` is one of the few words of this module; `detail` is bounded text."""

    code: str
    detail: str


class FrameTooLargeError(Exception):
    """A message of ours is larger than any receiver takes. Its parts should have been limited before."""

    def __init__(self, message: Message, size_bytes: int) -> None:
        super().__init__(f"{type(message).__name__} takes {size_bytes} bytes; a frame may have {MAX_FRAME_BYTES}")


_bulk_encoder: Final = msgspec.msgpack.Encoder()
_reports_decoder: Final = msgspec.msgpack.Decoder(Reports)
_leases_decoder: Final = msgspec.msgpack.Decoder(Leases)
_report_decoder: Final = msgspec.msgpack.Decoder(Report)


def encode(message: Message) -> bytes:
    """The frame of a message.

    Raises:
        FrameTooLargeError: it is over `MAX_FRAME_BYTES`.
    """
    frame = HEADER.pack(PROTOCOL_VERSION, _TYPE_OF[type(message)], 0, 0) + _body(message)
    if len(frame) > MAX_FRAME_BYTES:
        raise FrameTooLargeError(message, len(frame))
    return frame


def _body(message: Message) -> bytes:
    if isinstance(message, Reports | Leases):
        return _bulk_encoder.encode(message)
    packed: bytes = msgpack.packb(message.model_dump(exclude_none=True))
    return packed


def decode(frame: bytes, *, receiver: Side, channel: Channel) -> Message | Refusal:
    """The message of a frame that `receiver` got on `channel`, or why it is none. Never raises."""
    kind = _header(frame)
    if isinstance(kind, Refusal):
        return kind
    if kind.receiver is not receiver or channel not in kind.channels:
        return Refusal("unexpected-type", f"{kind.number.name} does not go to the {receiver.value} on {channel.value}")
    body = frame[HEADER.size :]
    if kind.number is MessageType.REPORTS:
        return _decode_bulk(_reports_decoder, body)
    if kind.number is MessageType.LEASES:
        return _decode_bulk(_leases_decoder, body)
    return _decode_control(kind, body)


def _header(frame: bytes) -> Kind | Refusal:
    if len(frame) > MAX_FRAME_BYTES:
        return Refusal("too-large", f"{len(frame)} bytes; a frame may have {MAX_FRAME_BYTES}")
    if len(frame) < HEADER.size:
        return Refusal("too-short", f"{len(frame)} bytes; a header has {HEADER.size}")
    version, number, flags, _reserved = HEADER.unpack_from(frame)
    if version != PROTOCOL_VERSION:
        return Refusal("version", f"version {version}; this end speaks {PROTOCOL_VERSION}")
    if flags:
        return Refusal("flags", f"flags {flags:#06x}; none is known")
    return _BY_TYPE.get(number) or Refusal("unknown-type", f"no message has type {number}")


def _decode_bulk(
    decoder: "msgspec.msgpack.Decoder[Reports] | msgspec.msgpack.Decoder[Leases]", body: bytes
) -> Message | Refusal:
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        return Refusal("invalid", str(error)[:MAX_DETAIL_CHARS])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        return Refusal("malformed", str(error)[:MAX_DETAIL_CHARS])


def _decode_control(kind: Kind, body: bytes) -> Message | Refusal:
    bad = misshapen(body)
    if bad is not None:
        return Refusal(bad.code, bad.why)
    try:
        fields: object = msgpack.unpackb(
            body,
            max_array_len=MAX_LIST,
            max_map_len=MAX_MAP,
            max_str_len=MAX_TEXT_BYTES,
            max_bin_len=MAX_TEXT_BYTES,
            max_ext_len=0,
            strict_map_key=True,
        )
    except (ValueError, msgpack.UnpackException) as error:
        return Refusal("malformed", f"{type(error).__name__}: {error}"[:MAX_DETAIL_CHARS])
    return _validate(kind, fields)


def _validate(kind: Kind, fields: object) -> Message | Refusal:
    model = kind.model
    assert issubclass(model, BaseModel)
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        path = ".".join(str(part) for part in first["loc"]) or "message"
        return Refusal("invalid", f"{path}: {first['msg']}"[:MAX_DETAIL_CHARS])


def check_report(report: Report) -> Refusal | None:
    """Why the scheduler would refuse this report; None if it would not.

    To be asked before a report is journaled: what is journaled is sent again until it is acknowledged.
    """
    try:
        _report_decoder.decode(_bulk_encoder.encode(report))
    except (msgspec.MsgspecError, UnicodeError, OverflowError) as error:
        return Refusal("invalid", str(error)[:MAX_DETAIL_CHARS])
    return None


def report_bytes(report: Report) -> int:
    """How many bytes a report takes within its message."""
    return len(_bulk_encoder.encode(report))
