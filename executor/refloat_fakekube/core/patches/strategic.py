"""Strategic merge patch: maps are merged, keyed lists item by item, with the directives that clients send.

Source: `k8s.io/apimachinery/pkg/util/strategicpatch`.
"""

from refloat_fakekube.core.objects import Json, JsonValue
from refloat_fakekube.core.patches.lists import MERGE_KEYS, MERGED_SETS
from refloat_fakekube.core.refusals import UnforeseenError

_PATCH, _RETAIN = "$patch", "$retainKeys"
_ORDER, _DELETE = "$setElementOrder/", "$deleteFromPrimitiveList/"


def merge_strategic(obj: Json, patch: Json) -> Json:
    """The object after the patch.

    Raises:
        UnforeseenError: a list is not in the order that its directive says; the real server answers with 500 too.
    """
    if patch.get(_PATCH) == "replace":
        return {key: value for key, value in patch.items() if key != _PATCH}
    if patch.get(_PATCH) == "delete":
        return {}
    result = dict(obj)
    retained = patch.get(_RETAIN)
    if isinstance(retained, list):
        result = {key: value for key, value in result.items() if key in retained}
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            _merge_map(result, key, value)
        elif isinstance(value, list):
            result[key] = _merge_list(key, result.get(key), value, patch.get(_ORDER + key))
        else:
            result[key] = value
    _directed(result, patch)
    return result


def _merge_map(result: Json, key: str, value: Json) -> None:
    inner = result.get(key)
    if value.get(_PATCH) == "delete":
        result.pop(key, None)
    else:
        result[key] = merge_strategic(inner if isinstance(inner, dict) else {}, value)


def _directed(result: Json, patch: Json) -> None:
    """Directives whose list is not in the patch itself."""
    for directive, value in patch.items():
        if directive.startswith(_DELETE) and isinstance(value, list):
            key = directive.removeprefix(_DELETE)
            found = result.get(key)
            if isinstance(found, list):
                result[key] = [item for item in found if item not in value]
        elif directive.startswith(_ORDER) and isinstance(value, list):
            key = directive.removeprefix(_ORDER)
            found = result.get(key)
            if key not in patch and isinstance(found, list):
                result[key] = _ordered(key, found, found, value)


def _merge_list(key: str, found: JsonValue, patch: list[JsonValue], order: JsonValue) -> list[JsonValue]:
    original = found if isinstance(found, list) else []
    if key in MERGED_SETS:
        merged = [*original, *(item for item in patch if item not in original)]
    elif key in MERGE_KEYS:
        if any(isinstance(item, dict) and item.get(_PATCH) == "replace" for item in patch):
            return [item for item in patch if not (isinstance(item, dict) and _PATCH in item)]
        merged = _merge_items(MERGE_KEYS[key], original, patch)
    else:
        return patch
    if isinstance(order, list):
        _check_order(key, patch, order)
    kept = [item for item in patch if not (isinstance(item, dict) and _PATCH in item)]
    return _ordered(key, merged, original, order if isinstance(order, list) else kept)


def _check_order(key: str, patch: list[JsonValue], order: list[JsonValue]) -> None:
    """The patch's own items must come in the order that `$setElementOrder` says."""
    by = MERGE_KEYS.get(key)
    kept = [_identity(item, by) for item in patch if not (isinstance(item, dict) and _PATCH in item)]
    left = iter([_identity(item, by) for item in order])
    if order and not all(any(one == other for other in left) for one in kept):
        words = f"The order in patch list:\n{_go(patch)}\n doesn't match $setElementOrder list:\n{_go(order)}\n"
        raise UnforeseenError(words)


def _go(value: JsonValue) -> str:
    """A value as Go prints it (`%v`)."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_go(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(_go(item) for item in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    return "<nil>" if value is None else str(value)


def _merge_items(by: str, original: list[JsonValue], patch: list[JsonValue]) -> list[JsonValue]:
    result = list(original)
    for item in patch:
        if not isinstance(item, dict):
            continue
        place = next(
            (at for at, old in enumerate(result) if isinstance(old, dict) and old.get(by) == item.get(by)), None
        )
        if item.get(_PATCH) == "delete":
            if place is not None:
                del result[place]
        elif place is None:
            result.append(merge_strategic({}, item))
        else:
            old = result[place]
            result[place] = merge_strategic(old if isinstance(old, dict) else {}, item)
    return result


def _ordered(key: str, merged: list[JsonValue], live: list[JsonValue], order: list[JsonValue]) -> list[JsonValue]:
    """`$setElementOrder`: items named in the order stand so; the server's own keep their place among them."""
    by = MERGE_KEYS.get(key)
    wanted = [_identity(item, by) for item in order]
    before = [_identity(item, by) for item in live]
    ours = sorted(
        (item for item in merged if _identity(item, by) in wanted), key=lambda item: wanted.index(_identity(item, by))
    )
    theirs = [item for item in merged if _identity(item, by) not in wanted]
    result: list[JsonValue] = []
    while ours and theirs:
        left, right = _identity(theirs[0], by), _identity(ours[0], by)
        first = left in before and right in before and before.index(left) < before.index(right)
        result.append((theirs if first else ours).pop(0))
    return [*result, *ours, *theirs]


def _identity(item: JsonValue, by: str | None) -> JsonValue:
    return item.get(by) if by and isinstance(item, dict) else item
