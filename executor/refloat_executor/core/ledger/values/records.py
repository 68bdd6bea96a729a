"""Names what the journal keeps of a run: facts in the order in which they became true.

A record is written before anything irreversible that rests on it (`reliability`: write ahead). Records of one journal
have one order; the state of every run is the fold over them. Each record is a MessagePack map with its kind; the row
around it carries the version, so that a newer layout can stand beside this one.
"""

from typing import Annotated, TypeAlias

import msgspec

from refloat_common.core.messages import ContainerError, Lease, Report

RECORD_VERSION = 1
"""Version of the layout of every record below."""

Seq = Annotated[int, msgspec.Meta(ge=1)]


class _Record(msgspec.Struct, frozen=True, tag_field="kind", omit_defaults=True):
    """Base: the tag is the record's kind."""


class Judgement(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a failure was found to be, decided once. Everything that its report says but the time of being gone."""

    category: str = ""
    subcategory: str = ""
    disposition: str = "Retain"
    cause: str = "Error"
    message: str = ""
    containers: list[ContainerError] = []
    node: str = ""
    node_label: str = ""
    detected_at_ms: int = 0
    grace_s: int = 0
    """The pod's own `terminationGracePeriodSeconds`: how much longer its removal may take."""


class Accepted(_Record, frozen=True, tag="accept"):
    """A lease was taken over. It is acknowledged only after this record is synced."""

    lease: Lease

    @property
    def run(self) -> str:
        """The run of the lease."""
        return self.lease.run


class Adopted(_Record, frozen=True, tag="adopt"):
    """A pod of ours was found by a new journal that knows nothing of it (the old journal was lost)."""

    run: str
    job: str
    namespace: str
    name: str
    uid: str


class Creating(_Record, frozen=True, tag="creating"):
    """From here on a create for this run may have been sent."""

    run: str


class Created(_Record, frozen=True, tag="created"):
    """The run's pod exists and has this uid: its identity from now on."""

    run: str
    uid: str


class Killing(_Record, frozen=True, tag="kill"):
    """The scheduler ordered the end of the run, so its pod may be deleted whatever its phase."""

    run: str


class Judged(_Record, frozen=True, tag="detect"):
    """The run failed, and this is what it failed of. Never changed by anything that becomes known later."""

    run: str
    uid: str
    judgement: Judgement


class Gone(_Record, frozen=True, tag="gone"):
    """A consistent read has shown that the run's pod is no more."""

    run: str
    uid: str
    gone_at_ms: int


class Reported(_Record, frozen=True, tag="report"):
    """A report with its place in the sequence of this journal."""

    seq: Seq
    report: Report

    @property
    def run(self) -> str:
        """The run of the report."""
        return self.report.run


class Retiring(_Record, frozen=True, tag="retire"):
    """The pod of an ended run is no longer wanted: past its retention, its name needed, or never wanted at all.

    Carries the whole identity, because the run's other records may be pruned by now.
    """

    run: str
    job: str
    namespace: str
    name: str
    uid: str


class Closed(_Record, frozen=True, tag="closed"):
    """Reported, acknowledged, and its pod gone: nothing is left to do for the run."""

    run: str


class Acked(_Record, frozen=True, tag="acked"):
    """Every report up to `seq` is committed by the scheduler. Written lazily: losing it costs a resend."""

    seq: int
    scheduler_boot: str = ""


class Session(_Record, frozen=True, tag="session"):
    """A session was opened with this fencing epoch."""

    epoch: int
    scheduler_boot: str = ""


RunRecord: TypeAlias = Accepted | Adopted | Creating | Created | Killing | Judged | Gone | Reported | Retiring | Closed
"""Records about one run."""

Record: TypeAlias = RunRecord | Acked | Session
"""Every record."""

_decoder: "msgspec.msgpack.Decoder[Record]" = msgspec.msgpack.Decoder(Record)
_encoder = msgspec.msgpack.Encoder()


class UnknownRecordError(Exception):
    """A record that this version can't read."""

    def __init__(self, version: int, why: str) -> None:
        super().__init__(f"record of version {version} (this program reads {RECORD_VERSION}): {why}")


def kind_of(record: Record) -> str:
    """The record's kind, as its row says it."""
    tag = type(record).__struct_config__.tag
    assert isinstance(tag, str)
    return tag


def encode_record(record: Record) -> bytes:
    """The body of a record's row."""
    return _encoder.encode(record)


def decode_record(version: int, body: bytes) -> Record:
    """The record of a row.

    Raises:
        UnknownRecordError: a newer version, or bytes that are no record.
    """
    if version != RECORD_VERSION:
        raise UnknownRecordError(version, "the version is not known")
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise UnknownRecordError(version, str(error)) from None
