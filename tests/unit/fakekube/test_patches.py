"""Patches as functions: each form on small objects, with the whole result."""

from typing import Any

import pytest

from refloat_fakekube.core.patches.apply import apply_config
from refloat_fakekube.core.patches.fields import from_fields, named_fields, shown, to_fields
from refloat_fakekube.core.patches.jsonpatch import apply_operations
from refloat_fakekube.core.patches.merge import merge
from refloat_fakekube.core.patches.strategic import merge_strategic
from refloat_fakekube.core.refusals import ApplyConflictError, BadRequestError, RejectedPatchError, UnforeseenError


@pytest.mark.parametrize(
    ("obj", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patches_as_in_their_specification(obj: Any, patch: Any, result: Any) -> None:
    """Examples of RFC 7386, appendix A."""
    assert merge(obj, patch) == result


@pytest.mark.parametrize(
    ("obj", "operation", "result"),
    [
        ({"a": 1}, {"op": "add", "path": "/b", "value": 2}, {"a": 1, "b": 2}),
        ({"a": [1, 3]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2, 3]}),
        ({"a": [1]}, {"op": "add", "path": "/a/-", "value": 2}, {"a": [1, 2]}),
        ({"a": 1, "b": 2}, {"op": "remove", "path": "/a"}, {"b": 2}),
        ({"a": [1, 2]}, {"op": "remove", "path": "/a/0"}, {"a": [2]}),
        ({"a": 1}, {"op": "replace", "path": "/a", "value": 2}, {"a": 2}),
        ({"a": {"b": 1}, "c": {}}, {"op": "move", "from": "/a/b", "path": "/c/d"}, {"a": {}, "c": {"d": 1}}),
        ({"a": {"b": 1}}, {"op": "copy", "from": "/a", "path": "/c"}, {"a": {"b": 1}, "c": {"b": 1}}),
        ({"a/b": 1, "m~n": 2}, {"op": "test", "path": "/a~1b", "value": 1}, {"a/b": 1, "m~n": 2}),
        ({"a/b": 1, "m~n": 2}, {"op": "replace", "path": "/m~0n", "value": 3}, {"a/b": 1, "m~n": 3}),
    ],
)
def test_json_patches_as_in_their_specification(obj: Any, operation: Any, result: Any) -> None:
    """Operations of RFC 6902."""
    assert apply_operations(obj, [operation]) == result


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "remove", "path": "/b"},
        {"op": "replace", "path": "/b", "value": 1},
        {"op": "add", "path": "/b/c", "value": 1},
        {"op": "add", "path": "b", "value": 1},
        {"op": "remove", "path": ""},
        {"op": "explode", "path": "/a"},
    ],
)
def test_a_json_patch_that_does_not_fit_is_rejected(operation: Any) -> None:
    obj: Any = {"a": 1}
    with pytest.raises(RejectedPatchError):
        apply_operations(obj, [operation])
    assert obj == {"a": 1}


def test_a_json_patch_is_a_list() -> None:
    with pytest.raises(BadRequestError):
        apply_operations({}, {"op": "add"})


CONTAINERS: Any = {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}


@pytest.mark.parametrize(
    ("obj", "patch", "result"),
    [
        (
            CONTAINERS,
            {"containers": [{"name": "b", "image": "2"}]},
            {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]},
        ),
        (
            CONTAINERS,
            {"containers": [{"name": "c"}]},
            {"containers": [{"name": "c"}, {"name": "a", "image": "1"}, {"name": "b", "image": "1"}]},
        ),
        (
            CONTAINERS,
            {"containers": [{"name": "a", "$patch": "delete"}]},
            {"containers": [CONTAINERS["containers"][1]]},
        ),
        (CONTAINERS, {"containers": [{"$patch": "replace"}, {"name": "z"}]}, {"containers": [{"name": "z"}]}),
        (
            CONTAINERS,
            {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]},
            {"containers": [CONTAINERS["containers"][1], CONTAINERS["containers"][0]]},
        ),
        ({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]}, {"tolerations": [{"key": "b"}]}),
        ({"finalizers": ["a"]}, {"finalizers": ["b", "a"]}, {"finalizers": ["b", "a"]}),
        ({"finalizers": ["a", "b"]}, {"$deleteFromPrimitiveList/finalizers": ["a"]}, {"finalizers": ["b"]}),
        ({"m": {"a": 1, "b": 2}}, {"m": {"$patch": "replace", "c": 3}}, {"m": {"c": 3}}),
        ({"m": {"a": 1}}, {"m": {"$patch": "delete"}}, {}),
        ({"v": {"a": 1, "b": 2}}, {"v": {"$retainKeys": ["b", "c"], "c": 3}}, {"v": {"b": 2, "c": 3}}),
        ({"a": 1}, {"a": None}, {}),
    ],
)
def test_strategic_patches_know_their_lists_and_directives(obj: Any, patch: Any, result: Any) -> None:
    assert merge_strategic(obj, patch) == result


def test_a_strategic_patch_must_keep_its_own_order() -> None:
    patch: Any = {
        "conditions": [{"type": "B"}, {"type": "A"}],
        "$setElementOrder/conditions": [{"type": "A"}, {"type": "B"}],
    }
    with pytest.raises(UnforeseenError, match="The order in patch list"):
        merge_strategic({}, patch)


def test_applied_fields_are_written_and_read_back() -> None:
    config: Any = {
        "metadata": {"name": "x", "labels": {"l": "1"}, "finalizers": ["f"]},
        "spec": {"containers": [{"name": "a", "image": "1"}], "tolerations": [{"key": "k"}]},
    }
    fields = named_fields(config)
    assert {shown(path) for path in fields} == {
        ".metadata.labels.l",
        ".metadata.finalizers",
        '.spec.containers[name="a"]',
        '.spec.containers[name="a"].name',
        '.spec.containers[name="a"].image',
        ".spec.tolerations",
    }
    assert from_fields(to_fields(fields)) == fields


def test_what_an_applier_no_longer_names_goes_unless_another_holds_it() -> None:
    first: Any = {"data": {"a": "1", "b": "2"}}
    live = apply_config({}, first, "one", 0.0, force=False)
    live = apply_config(live, {"data": {"b": "2"}}, "two", 0.0, force=False)
    live = apply_config(live, {"data": {"c": "3"}}, "one", 0.0, force=False)
    assert live["data"] == {"b": "2", "c": "3"}


def test_an_applier_does_not_change_what_another_owns_unless_forced() -> None:
    live = apply_config({}, {"data": {"a": "1", "b": "1"}}, "one", 0.0, force=False)
    with pytest.raises(ApplyConflictError) as refused:
        apply_config(live, {"data": {"a": "2", "b": "2"}}, "two", 0.0, force=False)
    assert refused.value.message == 'Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n- .data.b'
    forced = apply_config(live, {"data": {"a": "2"}}, "two", 0.0, force=True)
    assert forced["data"] == {"a": "2", "b": "1"}
