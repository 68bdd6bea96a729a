"""A line of a vector file, and what a module must say to answer a kind of lines.

A kind is one module in `testkit.vectors.kinds` that has a `KIND`. Nothing else is to be registered anywhere.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from refloat_common.core.jsontypes import JsonObject, JsonValue

SHIPPED = Path(__file__).parents[2] / "data" / "vectors"


@dataclass(frozen=True, slots=True)
class Vector:
    """One question and Armada's answer. Only `differs_in` excuses a difference; `id` is a label and nothing more."""

    id: str
    kind: str
    family: str
    input: JsonObject
    armada: JsonObject
    spec_differs: str = ""
    differs_in: tuple[str, ...] = ()
    note: str = ""
    armada_fault: str = ""


def _no_findings(_vector: Vector, _answer: JsonObject) -> Iterable[str]:
    return ()


def _armadas_answer(vector: Vector) -> JsonObject:
    return vector.armada


@dataclass(frozen=True, slots=True)
class Kind:
    """How lines of one kind are answered and compared.

    `answer` maps a line's input to Refloat's answer, in the keys of Armada's. `information` are keys of either answer
    that are not compared. `expected` may restate Armada's answer, for instance without a library's own words.
    `specification` looks at the lines that carry `spec_differs` and yields a finding for each demand not met.
    """

    name: str
    answer: Callable[[JsonObject], JsonObject]
    information: frozenset[str] = frozenset()
    expected: Callable[[Vector], JsonObject] = _armadas_answer
    specification: Callable[[Vector, JsonObject], Iterable[str]] = _no_findings


def vector_folder() -> Path:
    """The folder that REFLOAT_VECTORS names, else the one in the repository."""
    return Path(os.environ.get("REFLOAT_VECTORS") or SHIPPED)


def read_vectors(folder: Path) -> list[Vector]:
    """Every line of every `*.jsonl` in a folder. Lines end in `\\n` only: some texts hold other separators."""
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise FileNotFoundError(f"no *.jsonl in {folder}")
    return [_read(line) for file in files for line in file.read_bytes().split(b"\n") if line]


def _read(line: bytes) -> Vector:
    fields = json.loads(line)
    return Vector(**{**fields, "differs_in": tuple(fields.get("differs_in") or ())})


def findings(kind: Kind, vector: Vector) -> list[str]:
    """What Refloat's answer to a line lacks; empty if it is as it must be."""
    answer = kind.answer(vector.input)
    excused = {*vector.differs_in, *kind.information}
    found = list(differences(kind.expected(vector), answer, excused))
    if vector.spec_differs:
        found.extend(kind.specification(vector, answer))
    return found


def differences(expected: JsonValue, actual: JsonValue, excused: set[str], path: str = "") -> Iterator[str]:
    """The paths at which two JSON values differ, apart from those that are excused with all that is below them."""
    if path in excused:
        return
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key in sorted({*expected, *actual}):
            below = f"{path}.{key}" if path else key
            if key in expected and key in actual:
                yield from differences(expected[key], actual[key], excused, below)
            elif below not in excused:
                yield f"{below}: only {'Armada' if key in expected else 'Refloat'} has it"
    elif expected != actual or type(expected) is not type(actual):
        yield f"{path}: Armada says {expected!r}, Refloat {actual!r}"
