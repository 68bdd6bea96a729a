"""JSON patch (RFC 6902): add, remove, replace, move, copy, test."""

from refloat_fakekube.core.objects import Json, JsonValue, clone
from refloat_fakekube.core.refusals import BadRequestError, RejectedPatchError

_MAX_OPERATIONS = 10_000


class _Refused(Exception):  # noqa: N818  # internal signal, turned into a 422 below
    """An operation that can't be carried out."""


def apply_operations(obj: Json, patch: JsonValue) -> Json:
    """The object after all operations.

    Raises:
        BadRequestError: the patch is no list of operations.
        RejectedPatchError: an operation can't be carried out, or a test fails.
    """
    if not isinstance(patch, list) or len(patch) > _MAX_OPERATIONS:
        raise BadRequestError(
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
        )
    document: JsonValue = clone(obj)
    for operation in patch:
        if not isinstance(operation, dict):
            raise BadRequestError("error decoding patch: an operation is not an object")
        try:
            document = _apply(document, operation)
        except _Refused as error:
            raise RejectedPatchError from error
    if not isinstance(document, dict):
        raise RejectedPatchError
    return document


def _apply(document: JsonValue, operation: Json) -> JsonValue:
    name, path = operation.get("op"), _pointer(operation.get("path"))
    match name:
        case "add":
            return _add(document, path, operation.get("value"))
        case "remove":
            return _remove(document, path)
        case "replace":
            _find(document, path)
            return operation.get("value") if not path else _add(_remove(document, path), path, operation.get("value"))
        case "test":
            if _find(document, path) != operation.get("value"):
                raise _Refused
            return document
        case "copy" | "move":
            source = _pointer(operation.get("from"))
            value = _find(document, source)
            if name == "move":
                document = _remove(document, source)
            return _add(document, path, clone(value) if isinstance(value, dict) else value)
        case _:
            raise _Refused


def _pointer(path: JsonValue) -> list[str]:
    if not isinstance(path, str) or (path and not path.startswith("/")):
        raise _Refused
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _find(document: JsonValue, path: list[str]) -> JsonValue:
    at = document
    for part in path:
        if isinstance(at, dict) and part in at:
            at = at[part]
        elif isinstance(at, list):
            at = at[_place(part, len(at) - 1)]
        else:
            raise _Refused
    return at


def _place(part: str, last: int) -> int:
    if not part.isdigit() or int(part) > last:
        raise _Refused
    return int(part)


def _add(document: JsonValue, path: list[str], value: JsonValue) -> JsonValue:
    if not path:
        return value
    parent, last = _find(document, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        parent.insert(len(parent) if last == "-" else _place(last, len(parent)), value)
    else:
        raise _Refused
    return document


def _remove(document: JsonValue, path: list[str]) -> JsonValue:
    if not path:
        raise _Refused
    parent, last = _find(document, path[:-1]), path[-1]
    if isinstance(parent, dict) and last in parent:
        del parent[last]
    elif isinstance(parent, list):
        del parent[_place(last, len(parent) - 1)]
    else:
        raise _Refused
    return document
