"""Says what is wrong with a setting: where it stands, what it holds, what was expected."""

import difflib
from collections.abc import Sequence

from pydantic import ValidationError

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
    finding = error.errors(include_url=False, include_context=False)[0]
    path = join_path(root, finding["loc"])
    if finding["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(finding["loc"][-1]), known_keys, n=1)
        advice = f"did you mean {near[0]}?" if near else f"known: {', '.join(known_keys)}"
        return SettingsError(path, f"unknown key; {advice}")
    if finding["type"] == "missing":
        return SettingsError(path, "is required")
    message = finding["msg"].removeprefix("Value error, ")
    return SettingsError(path, f"{message[:1].lower()}{message[1:]}, got {show(finding['input'])}")
