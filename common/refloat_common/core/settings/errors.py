"""Says what is wrong with a setting: where it stands, what it holds, what was expected."""

import difflib
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta

from pydantic import ValidationError

from refloat_common.core.settings.durations import format_go_duration

_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
_KINDS = {
    "dict_type": "input should be a map of keys to values",
    "model_type": "input should be a map of keys to values",
    "list_type": "input should be a list",
    "tuple_type": "input should be a list",
}
_PYTHON_DURATION = re.compile(r"datetime\.timedelta\((.*)\)")
_PYTHON_PART = re.compile(r"(\w+)=(-?\d+)")
_SHOWN_VALUE_CHARACTERS = 80


class SettingsError(ValueError):
    """A setting that cannot be used.

    `path` leads from the root of the file to the value, for example
    `application.errorCategories.categories[0].name`; `problem` is one line about it.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path = path
        self.problem = problem


def join_path(root: str, location: Sequence[str | int]) -> str:
    """A path as people write it: names joined by dots, positions in brackets."""
    text = root
    for step in location:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def show(value: object) -> str:
    """A value as it is quoted in an error, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= _SHOWN_VALUE_CHARACTERS else f"{text[:_SHOWN_VALUE_CHARACTERS]}…"


def first_problem(error: ValidationError, root: str, known_keys: Sequence[str]) -> SettingsError:
    """The first of pydantic's findings. An unknown key is told which of `known_keys` may have been meant."""
    finding = error.errors(include_url=False)[0]
    path = join_path(root, finding["loc"])
    kind = finding["type"]
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(str(finding["loc"][-1]), known_keys, n=1)
        advice = f"did you mean {near[0]}?" if near else f"known: {', '.join(known_keys)}"
        return SettingsError(path, f"unknown key; {advice}")
    if kind == "missing":
        return SettingsError(path, "is required")
    message = _KINDS.get(kind, finding["msg"].removeprefix("Value error, "))
    if finding["type"] == "value_error" and isinstance(finding["input"], Mapping):
        # A rule over several keys of a block names them and their values itself.
        return SettingsError(path, message)
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        message = f"must be {words} {_bound(finding['ctx'][key])}"
    return SettingsError(path, f"{message[:1].lower()}{message[1:]}, got {show(finding['input'])}")


def _bound(value: object) -> str:
    """A bound as people write it. pydantic hands on a bound of a checked duration as Python's text for it."""
    text = str(value)
    duration = _PYTHON_DURATION.fullmatch(text)
    if duration is None:
        return text
    parts = {unit: int(number) for unit, number in _PYTHON_PART.findall(duration[1])}
    return format_go_duration(timedelta(parts.get("days", 0), parts.get("seconds", 0), parts.get("microseconds", 0)))
