"""Decides what several files and the environment say together.

As Armada does it: each file is laid over the one before (maps merge, everything else replaces), then come
environment variables, whose name is a prefix and the path to the key with `_` between the steps.
"""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from refloat_common.core.settings.models import key_spelling, models_in

Tree = dict[str, object]
"""A file as nested maps; lists and scalars are as the YAML reader gave them."""

ENVIRONMENT_PREFIX = "REFLOAT_"


def merge_trees(trees: Sequence[Mapping[str, object]]) -> Tree:
    """Lays each tree over those before it. Keys match in any case; the later spelling stays."""
    merged: Tree = {}
    for tree in trees:
        merged = _laid_over(merged, tree)
    return merged


def _laid_over(below: Mapping[str, object], above: Mapping[str, object]) -> Tree:
    spelt = {key.casefold(): key for key in below}
    result = dict(below)
    for key, value in above.items():
        old = result.pop(spelt.get(key.casefold(), key), None)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            result[key] = _laid_over(old, value)
        else:
            # A null says "not written", so it must not erase what an earlier file says.
            result[key] = old if value is None else value
    return result


def overlay_environment(
    tree: Mapping[str, object], environment: Mapping[str, str], model: type[BaseModel], prefix: str = ENVIRONMENT_PREFIX
) -> Tree:
    """Lays environment variables over `tree`.

    Only a variable that names a key of `model` counts: Kubernetes itself sets variables such as
    `REFLOAT_SERVICE_HOST` for a Service of that name. Empty values are ignored, as in Armada.
    """
    for name in sorted(environment):
        value = environment[name]
        if not name.startswith(prefix) or not value:
            continue
        path = _resolve(model, name.removeprefix(prefix).casefold().split("_"))
        if path:
            branch: Mapping[str, object] = {path[-1]: value}
            for step in reversed(path[:-1]):
                branch = {step: branch}
            tree = _laid_over(tree, branch)
    return dict(tree)


def _resolve(model: type[BaseModel], steps: Sequence[str]) -> list[str]:
    """The documented spelling of a path, or an empty list if `model` has no such key."""
    spelling = key_spelling(model)
    key = spelling.get(steps[0])
    if key is None:
        return []
    if len(steps) == 1:
        return [key]
    field = next(found for name, found in model.model_fields.items() if (found.alias or name) == key)
    for nested in models_in(field.annotation, inside_lists=False):
        rest = _resolve(nested, steps[1:])
        if rest:
            return [key, *rest]
    return []
