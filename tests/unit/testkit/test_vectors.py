"""The vector runner itself: what counts as a difference, and what excuses one."""

from pathlib import Path

import pytest

from refloat_common.core.jsontypes import JsonObject
from testkit.vectors.model import Kind, Vector, differences, findings, read_vectors, vector_folder

ARMADA: JsonObject = {"a": 1, "b": {"c": "x", "d": None}, "e": [1, 2]}


def vector(armada: JsonObject = ARMADA, spec_differs: str = "", differs_in: tuple[str, ...] = ()) -> Vector:
    return Vector("x-1", "x", "f", {}, armada, spec_differs, differs_in)


def answering(answer: JsonObject) -> Kind:
    return Kind("x", lambda _: answer, information=frozenset({"log"}), specification=lambda *_: ["unmet"])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (ARMADA, []),
        ({**ARMADA, "log": 1}, []),
        ({**ARMADA, "a": 2}, ["a: Armada says 1, Refloat 2"]),
        ({**ARMADA, "a": True}, ["a: Armada says 1, Refloat True"]),
        ({**ARMADA, "b": {"c": "x"}}, ["b.d: only Armada has it"]),
        ({**ARMADA, "b": {"c": "x", "d": None, "f": 0}}, ["b.f: only Refloat has it"]),
        ({**ARMADA, "e": [2, 1]}, ["e: Armada says [1, 2], Refloat [2, 1]"]),
        ({**ARMADA, "b": None}, ["b: Armada says {'c': 'x', 'd': None}, Refloat None"]),
        ({}, ["a: only Armada has it", "b: only Armada has it", "e: only Armada has it"]),
    ],
)
def test_findings(answer: JsonObject, expected: list[str]) -> None:
    assert findings(answering(answer), vector()) == expected


def test_only_the_keys_of_differs_in_are_excused() -> None:
    answer: JsonObject = {**ARMADA, "b": {"c": "y", "d": 1}}
    assert list(differences(ARMADA, answer, {"b"})) == []
    assert list(differences(ARMADA, answer, {"b.c"})) == ["b.d: Armada says None, Refloat 1"]
    assert list(differences(ARMADA, {**ARMADA, "bb": 1}, {"b"})) == ["bb: only Refloat has it"]


def test_the_specification_is_asked_only_where_a_line_says_so() -> None:
    assert findings(answering(ARMADA), vector()) == []
    assert findings(answering(ARMADA), vector(spec_differs="it says")) == ["unmet"]


def test_lines_end_in_newlines_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = '{"id": "1", "kind": "k", "family": "f", "input": {"t": "a\u2028\x85b"}, "armada": {}, "differs_in": ["a"]}'
    (tmp_path / "some.jsonl").write_text(line + "\n\n", newline="")
    monkeypatch.setenv("REFLOAT_VECTORS", str(tmp_path))
    assert read_vectors(vector_folder()) == [Vector("1", "k", "f", {"t": "a\u2028\x85b"}, {}, differs_in=("a",))]


def test_a_folder_without_vectors_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no \*\.jsonl in"):
        read_vectors(tmp_path)
