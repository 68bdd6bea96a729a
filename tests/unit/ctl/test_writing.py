"""YAML, JSON and tables as refloatctl prints them."""

import math

import pytest

from refloat_common.core.jsontypes import JsonValue
from refloat_ctl.core.text.json_out import go_json, write_json
from refloat_ctl.core.text.tables import table
from refloat_ctl.core.text.writing import go_float, write_document, write_yaml


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": [], "a": {}, "c": None, "d": False}, "a: {}\nb: []\nc: null\nd: false\n"),
        ({"list": [{"y": 1, "x": "2"}, [1, 2]]}, 'list:\n- x: "2"\n  "y": 1\n- - 1\n  - 2\n'),
        (["yes", "1:30", "-", "a: b", "é", "<<"], '- "yes"\n- "1:30"\n- \'-\'\n- \'a: b\'\n- é\n- "<<"\n'),
        ({"text": "one\ntwo\n"}, "text: |\n  one\n  two\n"),
        ({"text": "a\tb"}, 'text: "a\\tb"\n'),
        ({"face": "\U0001f600"}, 'face: "\\U0001F600"\n'),
        ([1.5, 15, 1e22, 1234567.5], "- 1.5\n- 15\n- 1e+22\n- 1.2345675e+06\n"),
    ],
)
def test_yaml_as_gos_library_writes_it(value: JsonValue, text: str) -> None:
    assert write_yaml(value) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((1.5, "1.5"), (0.0001, "0.0001"), (0.00001, "1e-05"), (-2.5e-7, "-2.5e-07"), (999999.5, "999999.5")),
        *((1e6, "1e+06"), (1e100, "1e+100"), (-12345678.9, "-1.23456789e+07")),
        *((math.inf, ".inf"), (-math.inf, "-.inf"), (math.nan, ".nan")),
    ],
)
def test_numbers_in_gos_shortest_form(number: float, text: str) -> None:
    assert go_float(number) == text


def test_a_head_keeps_its_place() -> None:
    assert write_document({"kind": "Queue"}, {"a": 1}) == "kind: Queue\na: 1\n"
    assert write_document({"kind": "Queue"}, {}) == "kind: Queue\n"


def test_json_for_a_reader_is_yaml_too() -> None:
    assert write_json({"a": "é\x7f\u2028"}) == '{\n  "a": "é\\u007f\\u2028"\n}\n'


def test_json_for_a_line_is_gos() -> None:
    assert go_json({"a": "<é>&\u2028", "b": [1, None]}) == '{"a":"\\u003cé\\u003e\\u0026\\u2028","b":[1,null]}'


def test_a_table_keeps_its_lines_whatever_the_cells_hold() -> None:
    assert table(("A", "B"), [("long cell", ""), ("x\ny\x1b[31m", "z")]) == (
        "A           B\nlong cell   -\nx y [31m    z\n"
    )
