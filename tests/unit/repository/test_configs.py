"""Every file under configs/ loads as the product loads it, and the complete examples name every key."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from refloat_cli.demo.scenario import load_scenario
from refloat_common.adapters.config_files import load_settings, read_tree
from refloat_common.core.categories import RulePackFile, compile_categories
from refloat_common.core.settings import Tree
from refloat_ctl.adapters.files import read_value
from refloat_ctl.core.resources.jobs import read_job_file
from refloat_executor.settings import ExecutorSettings
from refloat_host.services.policies import read_policy
from refloat_host.settings import HostSettings
from testkit.style.settings_table import expected
from testkit.style.tree import ROOT

CONFIGS = ROOT / "configs"
FILES = sorted(CONFIGS.rglob("*.yaml"))


def _manifests(file: Path) -> None:
    documents = list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
    assert documents
    assert all({"apiVersion", "kind", "metadata"} <= set(document) for document in documents)


LOADERS: dict[str, Callable[[Path], object]] = {
    "executor.yaml": lambda file: load_settings(ExecutorSettings, [file], environment={}),
    "host.yaml": lambda file: load_settings(HostSettings, [file], environment={}),
    "categories": lambda file: compile_categories(
        load_settings(RulePackFile, [file], environment={}).application.error_categories
    ),
    "jobs": lambda file: read_job_file(read_value(str(file))),
    "policies": lambda file: read_policy(read_tree(file)),  # type: ignore[arg-type]  # a YAML tree of plain data is JSON
    "demo": load_scenario,
    "kubernetes": _manifests,
}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(CONFIGS)))
def test_each_file_loads_as_the_product_loads_it(file: Path) -> None:
    LOADERS[file.relative_to(CONFIGS).parts[0]](file)


def test_there_is_a_file_of_each_kind() -> None:
    assert {file.relative_to(CONFIGS).parts[0] for file in FILES} == set(LOADERS)


def _keys(tree: Tree, prefix: str = "") -> set[str]:
    keys: set[str] = set()
    for key, value in tree.items():
        keys |= _keys(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}"}
    return keys


@pytest.mark.parametrize(
    ("name", "model", "only_in_comments"),
    [
        ("executor.yaml", ExecutorSettings, set()),
        ("host.yaml", HostSettings, {"leases.startupGrace"}),
    ],
)
def test_the_complete_examples_name_every_key(
    name: str, model: type[ExecutorSettings | HostSettings], only_in_comments: set[str]
) -> None:
    file = CONFIGS / name
    wanted = {key for key in expected(model) if "[]" not in key}
    assert wanted - _keys(read_tree(file)) == only_in_comments
    assert all(key.rpartition(".")[2] in file.read_text(encoding="utf-8") for key in only_in_comments)


def test_the_example_policies_name_categories_that_the_example_rules_have() -> None:
    rules = load_settings(RulePackFile, [CONFIGS / "categories" / "default.yaml"], environment={})
    deleted = {one.name for one in rules.application.error_categories.categories if one.action == "Delete"}
    for file in (CONFIGS / "policies").glob("*.yaml"):
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
        retried = {rule["onCategory"] for rule in document["rules"] if rule["action"] == "Retry"}
        assert retried <= deleted | {"internal"}, file.name
