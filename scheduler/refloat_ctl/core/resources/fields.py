"""Finds the keys of an object whatever their case, and refuses those that have no meaning there.

A key matches a field as in Go's JSON: in any case. Of two spellings of one field the later in the object counts.
"""

import difflib
from collections.abc import Mapping, Sequence

from refloat_common.core.jsontypes import JsonObject, JsonValue


class FieldError(ValueError):
    """A value that can't stand where it stands. `path` leads to it (`rules[0].onCategory`); empty is the whole."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path = path
        self.problem = problem


def join(path: str, key: str) -> str:
    """The path of a key."""
    return f"{path}.{key}" if path else key


def spelt(value: JsonValue, known: Sequence[str], path: str = "") -> dict[str, JsonValue]:
    """An object with its keys as they are documented.

    Raises:
        FieldError: it is no object, or has a key that is not known.
    """
    if not isinstance(value, Mapping):
        raise FieldError(path, f"must be a map of keys to values, not {kind_of(value)}")
    spelling = {name.casefold(): name for name in known}
    found: dict[str, JsonValue] = {}
    for key, item in value.items():
        name = spelling.get(key.casefold())
        if name is None:
            raise FieldError(join(path, key), f'unknown field "{key}"; {_advice(key, known)}')
        found[name] = item
    return found


def text_of(values: JsonObject, key: str, path: str = "") -> str:
    """A text; empty if it is missing or null."""
    value = values.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise FieldError(join(path, key), f"must be a text, not {kind_of(value)}")
    return value


def texts_of(values: JsonObject, key: str, path: str = "") -> list[str]:
    """A list of texts; empty if it is missing or null."""
    found = list_of(values, key, path)
    for i, item in enumerate(found):
        if not isinstance(item, str):
            raise FieldError(f"{join(path, key)}[{i}]", f"must be a text, not {kind_of(item)}")
    return [item for item in found if isinstance(item, str)]


def text_map_of(values: JsonObject, key: str, path: str = "") -> dict[str, str]:
    """A map of texts to texts; empty if it is missing or null."""
    value = values.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise FieldError(join(path, key), f"must be a map of texts, not {kind_of(value)}")
    for name, item in value.items():
        if not isinstance(item, str):
            raise FieldError(f"{join(path, key)}[{name}]", f"must be a text (in quotes), not {kind_of(item)}")
    return {name: item for name, item in value.items() if isinstance(item, str)}


def list_of(values: JsonObject, key: str, path: str = "") -> Sequence[JsonValue]:
    """A list; empty if it is missing or null."""
    value = values.get(key)
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise FieldError(join(path, key), f"must be a list, not {kind_of(value)}")
    return value


def flag_of(values: JsonObject, key: str, path: str = "") -> bool:
    """A switch; off if it is missing or null."""
    value = values.get(key)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise FieldError(join(path, key), f"must be true or false, not {kind_of(value)}")
    return value


def number_of(values: JsonObject, key: str, path: str = "") -> float:
    """A number; 0 if it is missing or null."""
    value = values.get(key)
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError(join(path, key), f"must be a number, not {kind_of(value)}")
    return float(value)


def kind_of(value: JsonValue) -> str:
    """A value, for a reader."""
    if isinstance(value, str):
        return f'the text "{value[:80]}"'
    if isinstance(value, Mapping):
        return "a map"
    if value is None:
        return "nothing"
    return "a list" if isinstance(value, Sequence) else str(value).lower()


def _advice(key: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(key.replace("_", "").casefold(), [name.casefold() for name in known], n=1)
    if near:
        return f"did you mean {next(name for name in known if name.casefold() == near[0])}?"
    return f"known: {', '.join(known)}"
