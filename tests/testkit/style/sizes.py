"""How long a file and a function may be, and how full a folder."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from testkit.style.tree import shown

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_FOLDER_FILES = 10


def long_files(paths: Iterable[Path]) -> Iterator[str]:
    """Rule file-length."""
    for path in paths:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MAX_FILE_LINES:
            yield f"file-length: {shown(path)} has {lines} lines; at most {MAX_FILE_LINES}"


def long_functions(paths: Iterable[Path]) -> Iterator[str]:
    """Rule function-length, from the line of `def` to the last line of the body."""
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                lines = node.end_lineno - node.lineno + 1
                if lines > MAX_FUNCTION_LINES:
                    yield (
                        f"function-length: {shown(path)}:{node.lineno} {node.name} has {lines} lines; "
                        f"at most {MAX_FUNCTION_LINES}"
                    )


def full_folders(paths: Iterable[Path]) -> Iterator[str]:
    """Rule folder-size; `__init__.py` does not count."""
    counts = Counter(path.parent for path in paths if path.name != "__init__.py")
    for folder, count in sorted(counts.items()):
        if count > MAX_FOLDER_FILES:
            yield f"folder-size: {shown(folder)} holds {count} modules; at most {MAX_FOLDER_FILES}"
