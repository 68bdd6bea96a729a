"""Makes the causes of a 422 answer in the words of `k8s.io/apimachinery/pkg/util/validation/field`."""

from refloat_fakekube.core.objects import JsonValue, encode
from refloat_fakekube.core.refusals import Cause


def _shown(value: JsonValue) -> str:
    if value is None:
        return "null"
    return encode(value).decode()


def _joined(body: str, detail: str) -> str:
    return f"{body}: {detail}" if detail else body


def required(path: str, detail: str = "") -> Cause:
    """A value that must be there."""
    return Cause("FieldValueRequired", _joined("Required value", detail), path)


def invalid(path: str, value: JsonValue, detail: str) -> Cause:
    """A value of the wrong form."""
    return Cause("FieldValueInvalid", _joined(f"Invalid value: {_shown(value)}", detail), path)


def forbidden(path: str, detail: str) -> Cause:
    """A value that may not be given, or not be changed."""
    return Cause("FieldValueForbidden", _joined("Forbidden", detail), path)


def duplicate(path: str, value: JsonValue) -> Cause:
    """A value that must be unique and isn't."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {_shown(value)}", path)


def unsupported(path: str, value: JsonValue, supported: list[str]) -> Cause:
    """A value that is none of the few allowed ones."""
    allowed = ", ".join(_shown(one) for one in supported)
    return Cause("FieldValueNotSupported", f"Unsupported value: {_shown(value)}: supported values: {allowed}", path)


def missing(path: str, value: JsonValue) -> Cause:
    """A value that refers to something that isn't there."""
    return Cause("FieldValueNotFound", f"Not found: {_shown(value)}", path)
