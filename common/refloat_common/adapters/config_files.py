"""Reads YAML files of settings from the disk, and the process's environment, into one settings model.

The dialect is that of Armada's executor file: `yes` and `no` are text, keys are text and match in any case, and
nothing but plain data is constructed. Files are refused, with the line at fault, for a key that is written twice, a
second document, a size beyond MAX_FILE_BYTES, or aliases that unfold into more than MAX_NODES values.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml

from refloat_common.core.settings import FileModel, Tree, merge_trees, overlay_environment, parse_settings

MAX_FILE_BYTES = 256 * 1024
MAX_NODES = 100_000
MAX_MERGED_MAPS = 32

M = TypeVar("M", bound=FileModel)
_Pair = tuple[yaml.ScalarNode, yaml.Node]

_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = frozenset(_TAG + name for name in ("null", "bool", "int", "float", "str", "seq", "map", "timestamp"))


class ConfigFileError(ValueError):
    """A file that cannot be read as settings; `line` counts from 1 and is None where no single line is at fault."""

    def __init__(self, file: Path, problem: str, line: int | None = None) -> None:
        super().__init__(f"{file}{f':{line}' if line else ''}: {problem}")
        self.file = file
        self.problem = problem
        self.line = line


def load_settings(model: type[M], files: Sequence[Path], environment: Mapping[str, str] | None = None) -> M:
    """Reads the files, later over earlier, then the environment over them all (`os.environ` unless given).

    Raises:
        ConfigFileError: a file cannot be read.
        SettingsError: what the files and the environment say together does not fit the model.
    """
    merged = merge_trees([read_tree(file) for file in files])
    return parse_settings(model, overlay_environment(merged, os.environ if environment is None else environment, model))


def read_tree(file: Path) -> Tree:
    """One file as nested maps; an empty file is an empty map.

    Raises:
        ConfigFileError: the file cannot be read, or is not what the module's text says.
    """
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigFileError(file, error.strerror or str(error)) from None
    if len(raw) > MAX_FILE_BYTES:
        raise ConfigFileError(file, f"is larger than {MAX_FILE_BYTES} bytes")
    try:
        return parse_tree(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigFileError(file, "is not UTF-8", raw.count(b"\n", 0, error.start) + 1) from None
    except _NotSettingsError as problem:
        raise ConfigFileError(file, str(problem), problem.line) from None


class _NotSettingsError(ValueError):
    """What is wrong with a YAML text, and on which line."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line


def parse_tree(text: str) -> Tree:
    """A YAML text as nested maps.

    Raises:
        ValueError: it is not one document of plain data with a map at its root.
    """
    try:
        loader = _Loader(text)
        try:
            root = loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _NotSettingsError(error.problem or "is not YAML", mark.line + 1 if mark else None) from None
    except yaml.reader.ReaderError as error:
        raise _NotSettingsError(
            f"holds the character {error.character!r}", text.count("\n", 0, error.position) + 1
        ) from None
    except RecursionError:
        raise _NotSettingsError("is nested too deep") from None
    if root is None:
        return {}
    if not isinstance(root, dict):
        raise _NotSettingsError("must be a map of keys to values", 1)
    _refuse_unfolding(root)
    return root


def _refuse_unfolding(root: object) -> None:
    """Aliases share what they name, so a small file can stand for a huge tree, or for an endless one."""
    waiting, count = [root], 0
    while waiting:
        current = waiting.pop()
        children: Iterable[object] = ()
        if isinstance(current, dict):
            children = current.values()
        elif isinstance(current, list):
            children = current
        waiting.extend(children)
        count += 1
        if count + len(waiting) > MAX_NODES:
            raise _NotSettingsError(f"stands for more than {MAX_NODES} values")


class _Loader(yaml.SafeLoader):
    """Plain data only; scalars as YAML 1.2 and Go's yaml.v3 read them."""

    # PyYAML keeps the rules for plain scalars here; they are filled in below, and its own of YAML 1.1 left out.
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  # PyYAML's own form

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Refuses keys that are no text, and keys written twice, in whatever case; lays a map over those it merges.

        Done here because PyYAML merges `<<` while it constructs, when keys of its own and merged ones look alike.
        """
        node = super().compose_mapping_node(anchor)
        own: dict[str, _Pair] = {}
        merged: dict[str, _Pair] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == _TAG + "merge":
                merged.update(_merged_pairs(value_node, line))
                continue
            if key_node.tag != _TAG + "str":
                raise _NotSettingsError("a key must be text", line)
            if key_node.value.casefold() in own:
                raise _NotSettingsError(f"key {key_node.value!r} is written twice", line)
            own[key_node.value.casefold()] = (key_node, value_node)
        node.value = list((merged | own).values())
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:  # noqa: FBT001, FBT002  # PyYAML's own
        """Constructs only what JSON knows, and dates, which no setting takes."""
        line = node.start_mark.line + 1
        if node.tag not in _PLAIN_TAGS:
            raise _NotSettingsError(f"the tag {node.tag} is not known", line)
        try:
            return super().construct_object(node, deep)
        except (ValueError, KeyError, AttributeError):
            raise _NotSettingsError(f"{str(node.value)[:80]!r} does not fit its tag {node.tag}", line) from None


def _merged_pairs(node: yaml.Node, line: int) -> dict[str, _Pair]:
    """The pairs that `<<` takes from one map, or from several of which the first to have a key wins."""
    maps = node.value if isinstance(node, yaml.SequenceNode) else [node]
    if len(maps) > MAX_MERGED_MAPS or not all(isinstance(each, yaml.MappingNode) for each in maps):
        raise _NotSettingsError(f"<< takes a map, or a list of at most {MAX_MERGED_MAPS} maps", line)
    return {pair[0].value.casefold(): pair for each in reversed(maps) for pair in each.value}


def _resolve(tag: str, pattern: str, first: Sequence[str]) -> None:
    _Loader.add_implicit_resolver(_TAG + tag, re.compile(rf"(?:{pattern})\Z"), list(first))


_resolve("bool", "true|True|TRUE|false|False|FALSE", "tTfF")
_resolve("null", "~|null|Null|NULL|", ("~", "n", "N", ""))
_resolve("int", "[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)", "-+0123456789")
_resolve("float", r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9]+|\.(?:inf|Inf|INF))", "-+0123456789.")
_resolve("merge", "<<", "<")
_resolve("timestamp", "[0-9]{4}-[0-9]{2}-[0-9]{2}", "0123456789")
