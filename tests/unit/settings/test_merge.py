"""Files over files, and the environment over them all."""

import pytest

from refloat_common.core.settings import FileModel, Flag, Tree, Whole, merge_trees, overlay_environment


class Inner(FileModel):
    port: Whole = 0
    names: tuple[str, ...] = ()


class Outer(FileModel):
    cluster_id: str = ""
    enabled: Flag = False
    inner: Inner = Inner()
    maybe: Inner | None = None
    listed: tuple[Inner, ...] = ()


@pytest.mark.parametrize(
    ("trees", "merged"),
    [
        ([], {}),
        ([{"a": 1}, {"b": 2}], {"a": 1, "b": 2}),
        ([{"a": {"x": 1, "y": 1}}, {"a": {"y": 2}}], {"a": {"x": 1, "y": 2}}),
        ([{"a": [1, 2]}, {"a": [3]}], {"a": [3]}),
        ([{"a": {"x": 1}}, {"a": 5}], {"a": 5}),
        ([{"a": 5}, {"a": {"x": 1}}], {"a": {"x": 1}}),
        ([{"ClusterId": 1}, {"clusterID": 2}], {"clusterID": 2}),
        ([{"a": {"x": 1}}, {"A": {"X": 2}}, {"a": {"y": 3}}], {"a": {"X": 2, "y": 3}}),
        ([{"a": {"x": 1}}, {"a": None}], {"a": {"x": 1}}),
        ([{"a": None}, {"a": 1}], {"a": 1}),
    ],
)
def test_later_trees_lie_over_earlier_ones(trees: list[Tree], merged: Tree) -> None:
    assert merge_trees(trees) == merged


def test_merging_changes_neither_tree() -> None:
    below: Tree = {"a": {"x": 1}}
    above: Tree = {"a": {"y": 2}}
    merge_trees([below, above])
    assert (below, above) == ({"a": {"x": 1}}, {"a": {"y": 2}})


@pytest.mark.parametrize(
    ("variables", "tree"),
    [
        ({"REFLOAT_CLUSTERID": "x"}, {"CLUSTERID": None, "clusterId": "x"}),
        ({"REFLOAT_INNER_PORT": "7"}, {"clusterid": "file", "inner": {"port": "7"}}),
        ({"REFLOAT_inner_Port": "7"}, {"clusterid": "file", "inner": {"port": "7"}}),
        ({"REFLOAT_MAYBE_PORT": "7"}, {"clusterid": "file", "maybe": {"port": "7"}}),
        ({"REFLOAT_LISTED_PORT": "7"}, {"clusterid": "file"}),
        ({"REFLOAT_INNER": "7"}, {"clusterid": "file", "inner": "7"}),
        ({"REFLOAT_CLUSTERID": ""}, {"clusterid": "file"}),
        ({"REFLOAT_SERVICE_HOST": "10.0.0.1", "REFLOAT_TESTING": "1"}, {"clusterid": "file"}),
        ({"ARMADA_CLUSTERID": "x", "CLUSTERID": "y", "refloat_clusterid": "z"}, {"clusterid": "file"}),
        ({"REFLOAT_CLUSTERID_X": "x", "REFLOAT_": "y"}, {"clusterid": "file"}),
    ],
)
def test_only_variables_that_name_a_key_count(variables: dict[str, str], tree: Tree) -> None:
    merged = overlay_environment({"clusterid": "file"}, variables, Outer)
    assert merged == {key: value for key, value in tree.items() if value is not None}


def test_the_environment_matches_keys_in_any_case() -> None:
    assert overlay_environment({"INNER": {"Port": 1, "names": []}}, {"REFLOAT_INNER_PORT": "2"}, Outer) == {
        "inner": {"names": [], "port": "2"}
    }
