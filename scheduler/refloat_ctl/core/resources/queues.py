"""Decides what a queue is to be: from a file, from flags, or from what it was and what is changed.

A queue is kept here in the JSON form of Armada's API, with the keys as they are documented.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_ctl.core.resources.envelope import ENVELOPE, QUEUE, check_head, head_of
from refloat_ctl.core.resources.fields import (
    FieldError,
    flag_of,
    kind_of,
    list_of,
    number_of,
    spelt,
    text_map_of,
    text_of,
    texts_of,
)
from refloat_ctl.core.text.scalars import as_json_number

DEFAULT_PRIORITY_FACTOR: Final = 1.0
MIN_PRIORITY_FACTOR: Final = 1.0

_TEXT_LISTS: Final = ("userOwners", "groupOwners", "retryPolicies")
_FRACTIONS: Final = "resourceLimitsByPriorityClassName"
_KEYS: Final = (
    *(*ENVELOPE, "name", "priorityFactor", "permissions", "labels", "cordoned", "resourceLimits"),
    *(_FRACTIONS, *_TEXT_LISTS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueChanges:
    """What flags say about a queue; None is "not given". An empty list clears what was there."""

    priority_factor: float | None = None
    user_owners: Sequence[str] | None = None
    group_owners: Sequence[str] | None = None
    cordoned: bool | None = None
    labels: Mapping[str, str] | None = None
    retry_policies: Sequence[str] | None = None

    def fields(self) -> dict[str, JsonValue]:
        """What was given, by the queue's keys."""
        given: dict[str, JsonValue | None] = {
            "priorityFactor": self.priority_factor,
            "userOwners": self.user_owners,
            "groupOwners": self.group_owners,
            "cordoned": self.cordoned,
            "labels": self.labels,
            "retryPolicies": self.retry_policies,
        }
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in given.items() if value is not None
        }


def new_queue(name: str, changes: QueueChanges) -> JsonObject:
    """A queue of which nothing is known but its name and the flags; the rest is as by default."""
    return {"name": name, "priorityFactor": DEFAULT_PRIORITY_FACTOR, **changes.fields()}


def changed_queue(queue: JsonObject, changes: QueueChanges) -> JsonObject:
    """A queue as it was, but for what is given."""
    return {**queue, **changes.fields()}


def read_queue(value: JsonValue) -> JsonObject:
    """The queue of a file's value.

    Raises:
        FieldError: it is no queue.
    """
    check_head(head_of(value), QUEUE)
    found = spelt(value, _KEYS)
    queue: dict[str, JsonValue] = {
        "name": text_of(found, "name"),
        "priorityFactor": number_of(found, "priorityFactor") if found.get("priorityFactor") is not None else 1.0,
        "cordoned": flag_of(found, "cordoned"),
        "labels": text_map_of(found, "labels"),
        "permissions": [_permission(item, f"permissions[{i}]") for i, item in enumerate(list_of(found, "permissions"))],
        "resourceLimits": _numbers(found.get("resourceLimits"), "resourceLimits"),
        _FRACTIONS: _by_class(found.get(_FRACTIONS)),
        **{key: texts_of(found, key) for key in _TEXT_LISTS},
    }
    return {key: item for key, item in queue.items() if item}


def _permission(value: JsonValue, path: str) -> JsonObject:
    found = spelt(value, ("subjects", "verbs"), path)
    subjects: list[JsonValue] = []
    for i, item in enumerate(list_of(found, "subjects", path)):
        at = f"{path}.subjects[{i}]"
        subject = spelt(item, ("kind", "name"), at)
        subjects.append({"kind": text_of(subject, "kind", at), "name": text_of(subject, "name", at)})
    return {"subjects": subjects, "verbs": texts_of(found, "verbs", path)}


def _by_class(value: JsonValue) -> JsonObject:
    by_class: dict[str, JsonValue] = {}
    for name, item in _map(value, _FRACTIONS).items():
        at = f"{_FRACTIONS}[{name}]"
        found = spelt(item, ("maximumResourceFraction", "maximumResourceFractionByPool"), at)
        pools: dict[str, JsonValue] = {}
        for pool, inner in _map(found.get("maximumResourceFractionByPool"), f"{at}.ByPool").items():
            shares = spelt(inner, ("maximumResourceFraction",), f"{at}[{pool}]")
            pools[pool] = {"maximumResourceFraction": _numbers(shares.get("maximumResourceFraction"), f"{at}[{pool}]")}
        by_class[name] = {
            "maximumResourceFraction": _numbers(found.get("maximumResourceFraction"), at),
            "maximumResourceFractionByPool": pools,
        }
    return by_class


def _numbers(value: JsonValue, path: str) -> JsonObject:
    found = _map(value, path)
    return {name: number_of(found, name, path) for name in found}


def _map(value: JsonValue, path: str) -> JsonObject:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise FieldError(path, f"must be a map, not {kind_of(value)}")
    return value


def tidied(value: JsonValue) -> JsonValue:
    """A value as it is printed: whole numbers without a fraction, as Go's JSON has them."""
    if isinstance(value, float):
        return as_json_number(value)
    if isinstance(value, Mapping):
        return {key: tidied(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [tidied(item) for item in value]
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFilter:
    """Which queues are asked for: of these names (any if empty), with all of these labels (or, inverse, without)."""

    names: Sequence[str] = ()
    labels: Mapping[str, str] | None = None
    inverse: bool = False
    only_cordoned: bool = False

    def takes(self, queue: JsonObject) -> bool:
        """Whether a queue is asked for."""
        if self.names and queue.get("name") not in self.names:
            return False
        if self.only_cordoned and not queue.get("cordoned"):
            return False
        if not self.labels:
            return True
        has = queue.get("labels")
        has_all = isinstance(has, Mapping) and all(has.get(key) == value for key, value in self.labels.items())
        return has_all is not self.inverse
