"""Types of decoded JSON, for code that must look inside documents which others wrote."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
"""Anything that a JSON decoder returns. Read-only, so that no reader changes what another one holds."""

JsonObject: TypeAlias = Mapping[str, JsonValue]
"""A decoded JSON object."""
