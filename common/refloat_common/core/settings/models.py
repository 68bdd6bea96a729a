"""The base of every model of what a person writes: Armada's key names in any case, unknown keys refused by name."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from refloat_common.core.settings.errors import first_problem

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})
_DECIMAL = re.compile(r"[+-]?(0|[1-9][0-9]{0,18})")


class FileModel(BaseModel):
    """A block of a file. Keys are camelCase, matched in any case; a null value counts as not written."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, allow_inf_nan=False, validate_default=False
    )

    @model_validator(mode="before")
    @classmethod
    def _spell_keys(cls, data: object) -> object:
        if not isinstance(data, Mapping):
            return data
        spelling = key_spelling(cls)
        return {spelling.get(str(key).casefold(), str(key)): value for key, value in data.items() if value is not None}


def key_spelling(model: type[BaseModel]) -> dict[str, str]:
    """From each key of `model` in folded case to the key as it is documented."""
    keys = (field.alias or name for name, field in model.model_fields.items())
    return {key.casefold(): key for key in keys}


def _flag(value: object) -> object:
    """Go's `strconv.ParseBool`, because environment variables are text; `yes` and `on` are not among it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _TRUE | _FALSE:
        return value in _TRUE
    raise ValueError("input should be true or false")


def _whole(value: object) -> object:
    """A whole number, also as decimal text. Hexadecimal or octal text is refused rather than guessed at."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        return int(value)
    raise ValueError("input should be a whole number")


Flag = Annotated[bool, BeforeValidator(_flag)]
"""A switch that a person sets."""

Whole = Annotated[int, BeforeValidator(_whole)]
"""A whole number that a person writes; bounds are added with `Field(ge=..., le=...)`."""

M = TypeVar("M", bound=FileModel)


def parse_settings(model: type[M], tree: Mapping[str, object] | None, root: str = "") -> M:
    """Reads a merged tree into `model`.

    Args:
        model: What the tree must look like.
        tree: Keys and values as the files held them; None counts as empty.
        root: The path of `tree` inside the file, for error messages.

    Raises:
        SettingsError: the first thing that does not fit, with its path and value.
    """
    try:
        return model.model_validate(tree or {})
    except ValidationError as error:
        location = error.errors(include_url=False, include_context=False, include_input=False)[0]["loc"]
        raise first_problem(error, root, _keys_beside(model, location)) from None


def _keys_beside(model: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """The keys that could have stood where the last step of `location` stands."""
    current = model
    for step in location[:-1]:
        fields = {field.alias or name: field for name, field in current.model_fields.items()}
        if step in fields:
            current = next(models_in(fields[str(step)].annotation), current)
    return sorted(key_spelling(current).values())


def models_in(annotation: object, *, inside_lists: bool = True) -> Iterator[type[BaseModel]]:
    """The models that an annotation mentions: `tuple[Rule, ...] | None` mentions Rule.

    With `inside_lists` false only the model itself and the members of a union count: no key leads into a list.
    """
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif inside_lists or get_origin(annotation) in {Union, UnionType}:
        for part in get_args(annotation):
            yield from models_in(part, inside_lists=inside_lists)
