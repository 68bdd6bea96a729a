"""What a module of a `core` package may not do: the bans that import contracts can't see.

A type may be imported from anywhere; what is banned is the *use* of a name, called or only handed on.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from testkit.style.tree import shown

BANNED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("core-no-clock", ("time", "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today")),
    ("core-no-clock", ("datetime.date.today", "asyncio.get_event_loop", "asyncio.get_running_loop")),
    ("core-no-chance", ("random", "secrets", "os.urandom", "uuid.uuid1", "uuid.uuid3", "uuid.uuid4", "uuid.uuid5")),
    ("core-no-chance", ("uuid.uuid6", "uuid.uuid7", "uuid.uuid8", "uuid.getnode")),
    ("core-no-environment", ("os", "sys.argv", "sys.stdin", "sys.stdout", "sys.stderr", "platform", "getpass")),
    ("core-no-io", ("open", "print", "input", "io", "pathlib", "socket", "subprocess", "shutil", "tempfile")),
    ("core-no-logging", ("logging", "warnings")),
    ("core-no-address-order", ("id", "hash")),
    ("core-no-hidden-import", ("__import__", "importlib", "eval", "exec", "compile", "globals", "breakpoint")),
)
"""Rule and the names whose use breaks it: a module bans everything in it."""

AWAITING = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)


def impurities(paths: Iterable[Path]) -> Iterator[str]:
    """Findings in the given modules, in the order of lines."""
    for path in paths:
        yield from sorted(_in_tree(shown(path), ast.parse(path.read_text(encoding="utf-8"))))


def _in_tree(where: str, tree: ast.Module) -> Iterator[str]:
    imported = _imported_names(tree)
    own = _assigned_names(tree)
    outermost = _outermost_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, AWAITING) or (isinstance(node, ast.comprehension) and node.is_async):
            line = getattr(node, "lineno", 0)
            yield f"{where}:{line:04}: core-no-await: nothing here may wait"
        elif isinstance(node, ast.Attribute | ast.Name) and node in outermost:
            dotted = _dotted(node, imported, own)
            rule = None if dotted is None else _broken_rule(dotted)
            if rule is not None:
                yield f"{where}:{node.lineno:04}: {rule}: uses {dotted}"


def _broken_rule(dotted: str) -> str | None:
    """The rule that the use of a dotted name breaks; `time` covers `time.monotonic`, not `timeit`."""
    for rule, names in BANNED:
        if any(dotted == name or dotted.startswith(f"{name}.") for name in names):
            return rule
    return None


def _imported_names(tree: ast.Module) -> dict[str, str]:
    """Local name → the dotted name that it stands for, for every import wherever it stands."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _assigned_names(tree: ast.Module) -> set[str]:
    """Names that the module itself gives meaning to: these shadow builtins."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    return names


def _outermost_names(tree: ast.Module) -> set[ast.expr]:
    """Of each chain `a.b.c` only the whole, read not written."""
    inner = {node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    chains = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name))
    return {node for node in chains if node not in inner and isinstance(node.ctx, ast.Load)}


def _dotted(node: ast.expr, imported: dict[str, str], own: set[str]) -> str | None:
    """The dotted name behind a chain: through imports, or a builtin; None for what the module made itself."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    if node.id in imported:
        return ".".join([imported[node.id], *reversed(parts)])
    if node.id in own or parts:
        return None
    return node.id
