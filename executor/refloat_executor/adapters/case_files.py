"""Reads pods and events from JSON files, as `kubectl get -o json` prints them or as lines of cases."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from refloat_common.core.pods import Event, Pod
from refloat_executor.core.cluster.wire import repaired

MAX_FILE_BYTES = 8 * 1024 * 1024
"""Of a pod or its events; etcd holds 1.5 MiB an object at most."""

MAX_LINE_BYTES = 8 * 1024 * 1024


class Case(msgspec.Struct, frozen=True):
    """A pod to classify. Further keys of a line are ignored."""

    id: str
    pod: Pod
    events: list[Event] | None = None
    message: str | None = None


class _Typed(msgspec.Struct, frozen=True):
    kind: str = "Pod"


class _EventList(msgspec.Struct, frozen=True):
    items: list[Event]


class BadCaseError(ValueError):
    """A file, or one line of it, that holds no pod; `line` counts from 1, None means the whole file."""

    def __init__(self, file: Path, line: int | None, problem: str) -> None:
        super().__init__(f"{file}: {f'line {line}: ' if line else ''}{problem}")
        self.line = line
        self.problem = problem


_case_decoder = msgspec.json.Decoder(Case)
_pod_decoder = msgspec.json.Decoder(Pod)
_kind_decoder = msgspec.json.Decoder(_Typed)
_events_decoder = msgspec.json.Decoder(list[Event])
_event_list_decoder = msgspec.json.Decoder(_EventList)


_D = TypeVar("_D")


def _decode(decoder: "msgspec.json.Decoder[_D]", raw: bytes) -> _D:
    """Decode; what is not quite text is repaired, as the daemon repairs what the API server sends.

    Raises:
        msgspec.DecodeError: no JSON, or not of the shape asked for.
    """
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeError):
        text = repaired(raw)
        if text is None:
            raise
        return decoder.decode(text)


def read_pod(file: Path, events_file: Path | None, message: str | None) -> Case:
    """One pod; its id is the pod's name.

    Raises:
        BadCaseError: a file cannot be read, or does not hold what it should.
    """
    raw = _read(file)
    try:
        kind = _decode(_kind_decoder, raw).kind
        if kind != "Pod":
            raise BadCaseError(file, None, f"$.kind: must be Pod, is {kind}")
        pod = _decode(_pod_decoder, raw)
    except msgspec.DecodeError as error:
        raise BadCaseError(file, None, str(error)) from None
    events = None if events_file is None else _read_events(events_file)
    return Case(pod.metadata.name or file.stem, pod, events, message)


def _read_events(file: Path) -> list[Event]:
    raw = _read(file)
    try:
        if raw.lstrip().startswith(b"{"):
            return _decode(_event_list_decoder, raw).items
        return _decode(_events_decoder, raw)
    except msgspec.DecodeError as error:
        raise BadCaseError(file, None, str(error)) from None


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise BadCaseError(file, None, error.strerror or str(error)) from None
    if len(raw) > MAX_FILE_BYTES:
        raise BadCaseError(file, None, f"is larger than {MAX_FILE_BYTES} bytes")
    return raw


def read_cases(file: Path) -> Iterator[Case | BadCaseError]:
    """The cases of a file, one a line, in order; a line that is none comes as its error. Empty lines are passed over.

    Raises:
        BadCaseError: the file cannot be read at all.
    """
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(_lines(stream.readline), start=1):
                if not line.strip():
                    continue
                if len(line) > MAX_LINE_BYTES:
                    yield BadCaseError(file, number, f"is longer than {MAX_LINE_BYTES} bytes")
                    continue
                try:
                    yield _decode(_case_decoder, line)
                except msgspec.DecodeError as error:
                    yield BadCaseError(file, number, str(error))
    except OSError as error:
        raise BadCaseError(file, None, error.strerror or str(error)) from None


def _lines(readline: Callable[[int], bytes]) -> Iterator[bytes]:
    """Lines, of which one that is too long comes cut just beyond the limit."""
    while line := readline(MAX_LINE_BYTES + 1):
        rest = line
        while len(rest) > MAX_LINE_BYTES and not rest.endswith(b"\n"):
            rest = readline(MAX_LINE_BYTES + 1)
        yield line
