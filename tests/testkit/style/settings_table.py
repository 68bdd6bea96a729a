"""Sets the tables of `docs/configuration.md` against the settings models: every key, its unit and its default."""

import re
from collections.abc import Iterator
from datetime import timedelta
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from refloat_common.core.settings import format_go_duration
from refloat_common.core.settings.models import models_in

KINDS: dict[object, str] = {
    bool: "true or false",
    float: "number",
    int: "whole number",
    str: "text",
    timedelta: "duration",
    Path: "path",
}
ROW = re.compile(
    r"^\| `(?P<key>[^`]+)` \| (?P<kind>[^|]+) \| (?P<default>[^|]+) \| (?P<meaning>[^|]+) \|$", re.MULTILINE
)

Row = tuple[str, str]
"""Kind or unit, and default, as the table shows them."""


def documented(page: str, heading: str) -> dict[str, Row]:
    """The rows under a heading of the page: key → kind and default. Each row must say what its key means."""
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return {row["key"]: (row["kind"].strip(), row["default"].strip()) for row in ROW.finditer(section)}


def expected(model: type[BaseModel], prefix: str = "") -> dict[str, Row]:
    """The rows that a model asks for, in the order of its fields; a list of blocks is written `blocks[].key`."""
    rows: dict[str, Row] = {}
    for name, field in model.model_fields.items():
        key = f"{prefix}{field.alias or name}"
        blocks = list(models_in(field.annotation))
        if blocks:
            inner = f"{key}[]." if _is_list(field.annotation) else f"{key}."
            for block in blocks:
                rows |= expected(block, inner)
        else:
            rows[key] = ("bytes" if name.endswith("_bytes") else _kind(field.annotation), _default(field))
    return rows


def _is_list(annotation: object) -> bool:
    if get_origin(annotation) in {Union, UnionType}:
        return any(_is_list(part) for part in get_args(annotation))
    return get_origin(annotation) in {list, tuple, frozenset}


def _kind(annotation: object) -> str:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(parts[0])
    if origin in {Union, UnionType}:
        return " or ".join(_kind(part) for part in parts if part is not NoneType)
    if origin is Literal:
        return " or ".join(f"`{part}`" for part in parts)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " or ".join(f"`{member.value}`" for member in annotation)
    if origin is dict or getattr(origin, "__name__", "") == "Mapping":
        return f"map of {_kind(parts[1])}"
    if origin in {list, tuple, frozenset}:
        return f"list of {_kind(parts[0])}"
    return KINDS.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    return "required" if value is PydanticUndefined else _shown(value)


def _shown(value: object) -> str:
    match value:
        case None:
            return "unset"
        case bool():
            return f"`{str(value).lower()}`"
        case timedelta():
            return f"`{format_go_duration(value)}`"
        case Enum():
            return f"`{value.value}`"
        case float():
            return f"`{value:.4g}`"
        case "" | () | [] | {}:
            return "empty"
        case list() | tuple():
            return ", ".join(_shown(item) for item in value)
        case dict():
            return ", ".join(f"`{key}: {item}`" for key, item in value.items())
        case _:
            return f"`{value}`"


def differences(
    page: str, heading: str, model: type[BaseModel], *, prefix: str = "", without: str = "-"
) -> Iterator[str]:
    """What is missing from the table, too much in it, or otherwise than in the model; each line can be pasted.

    Keys that begin with `without` stand in a table of their own.
    """
    told = documented(page, heading)
    asked = {key: row for key, row in expected(model, prefix).items() if not key.startswith(without)}
    for key, (kind, default) in asked.items():
        if key not in told:
            yield f"configuration: missing row: | `{key}` | {kind} | {default} |  |"
        elif told[key] != (kind, default):
            yield f"configuration: {key} is told as {told[key]}, the model says {(kind, default)}"
    yield from (
        f"configuration: {key} stands in the table of {heading} but not in the model"
        for key in told
        if key not in asked
    )
