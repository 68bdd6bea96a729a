"""Says what kind of thing a file holds: `apiVersion` and `kind`, at the head of what `create` and `update` take."""

from collections.abc import Mapping
from typing import Final

from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_ctl.core.resources.fields import FieldError, kind_of, text_of

API_VERSION: Final = "armadaproject.io/v1beta1"
QUEUE: Final = "Queue"
RETRY_POLICY: Final = "RetryPolicy"
KINDS: Final = (QUEUE, RETRY_POLICY)
ENVELOPE: Final = ("apiVersion", "kind")


def head_of(value: JsonValue) -> tuple[str, str]:
    """The version and the kind of a file, empty where they are not given. An empty file has neither.

    Raises:
        FieldError: it is no map, or one of the two holds what is not known.
    """
    if value is None:
        return "", ""
    if not isinstance(value, Mapping):
        raise FieldError("", f"must be a map of keys to values, not {kind_of(value)}")
    head = {name: item for key, item in value.items() for name in ENVELOPE if key.casefold() == name.casefold()}
    for name, valid in (("apiVersion", (API_VERSION,)), ("kind", KINDS)):
        if name in head and text_of(head, name) not in valid:
            what = "version" if name == "apiVersion" else name
            raise FieldError(name, f"invalid {what}: {text_of(head, name)}; valid: {', '.join(valid)}")
    return text_of(head, "apiVersion"), text_of(head, "kind")


def check_head(head: tuple[str, str], kind: str) -> None:
    """Refuse a file that lacks its head, or is of another kind.

    Raises:
        FieldError: it is so.
    """
    if not head[0]:
        raise FieldError("apiVersion", f'apiVersion must be "{API_VERSION}"')
    if head[1] != kind:
        raise FieldError("kind", f'kind must be "{kind}"{f", not {head[1]}" if head[1] else ""}')


def head_for(kind: str) -> JsonObject:
    """The head of what is printed."""
    return {"apiVersion": API_VERSION, "kind": kind}
