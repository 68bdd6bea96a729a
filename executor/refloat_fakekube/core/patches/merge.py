"""JSON merge patch (RFC 7386)."""

from refloat_fakekube.core.objects import Json, JsonValue


def merge(obj: Json, patch: Json) -> Json:
    """The object after the patch; null takes a key away."""
    result = dict(obj)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            inner = result.get(key)
            result[key] = merge(inner if isinstance(inner, dict) else {}, value)
        else:
            result[key] = value
    return result


def without_nulls(value: JsonValue) -> JsonValue:
    """The value without keys that are null, as a typed decoder would read it."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return value
