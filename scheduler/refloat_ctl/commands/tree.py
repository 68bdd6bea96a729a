"""The words and flags of every command, and where its code is; nothing else is loaded to read a command line."""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from refloat_ctl.core.contexts import DEFAULT_URL
from refloat_ctl.core.errors import UsageError

_OUTPUTS: Final = ("yaml", "json", "table")
_HELP: Final = "Manage a Refloat host, or another server of Armada's API: retry policies, queues, jobs, executors."
_REFUSED_LABEL: Final = "must be KEY=VALUE with exactly one ="


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        raise UsageError(f"{message}; see {self.prog} --help")


Adds = Callable[[Parser], None]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A command: its words, its code (`module:function` below this package), its arguments, its line in the help."""

    words: tuple[str, ...]
    code: str
    summary: str
    adds: Sequence[Adds] = ()


def _argument(*names: str, **options: Any) -> Adds:
    def add(parser: Parser) -> None:
        parser.add_argument(*names, **options)

    return add


def _text_list(text: str) -> list[str]:
    """`a,b` as a list; stray spaces are kept, so that the server's answer can show them. Empty clears."""
    return text.split(",") if text else []


def _label(text: str) -> tuple[str, str]:
    if text.count("=") != 1:
        raise argparse.ArgumentTypeError(f"{text!r}: {_REFUSED_LABEL}")
    key, value = text.split("=")
    return key, value


def _labels(text: str) -> list[tuple[str, str]]:
    return [_label(part) for part in _text_list(text)]


def _factor(text: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    if not math.isfinite(factor) or factor < 1.0:
        raise argparse.ArgumentTypeError(f"priority factor cannot be lower than 1.0, or endless: {text}")
    return factor


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of jobs")
    return int(text)


class _Extend(argparse.Action):
    """A list that may be given in parts: `a,b` or twice."""

    def __call__(self, parser: object, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        del parser, option
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), *values])


class _ExtendMap(argparse.Action):
    """Labels, given in parts likewise."""

    def __call__(self, parser: object, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        del parser, option
        setattr(namespace, self.dest, {**(getattr(namespace, self.dest) or {}), **dict(values)})


_FILE = _argument("-f", "--file", metavar="FILE", required=True, help="YAML or JSON file; - is standard input")
_NAME = _argument("name", metavar="NAME")
_QUEUE = _argument("queue", metavar="QUEUE")
_JOB_SET = _argument("job_set", metavar="JOBSET")
_JOB = _argument("job", metavar="JOB", help="the job's id")
_DRY_RUN = _argument("--dry-run", action="store_true", help="only read the file")


def _output(default: str) -> Adds:
    return _argument("-o", "--output", choices=_OUTPUTS, default=default, help=f"form of the output; {default}")


def _order(action: str) -> Adds:
    def add(parser: Parser) -> None:
        parser.set_defaults(action=action)

    return add


def _lists(flag: str, what: str) -> Adds:
    return _argument(flag, type=_text_list, action=_Extend, metavar="A,B", help=what)


_QUEUE_FLAGS: Final = (
    _argument("--priority-factor", type=_factor, metavar="N", help="the larger, the smaller the queue's share; 1"),
    _lists("--owners", "users that own the queue"),
    _lists("--group-owners", "groups that own the queue"),
    _argument(
        "--cordon",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="lease none of its jobs from now on (--no-cordon: do again)",
    ),
    _argument("-l", "--labels", type=_labels, action=_ExtendMap, metavar="KEY=VALUE,…", help="the queue's labels"),
    _lists("--retry-policies", "retry policies, in order of precedence; only the first is evaluated"),
)
_REPLACE = _argument("--replace", action="store_true", help="reset all that no flag names, as armadactl does")

ORDERS: Final = {
    "cordon": "give it no new runs",
    "uncordon": "give it new runs again",
    "expire": "declare it lost now, whatever self-preservation says",
    "release": "let ordinary expiry apply to it again",
    "decommission": "it never comes back: expire its runs, count it nowhere",
}

LEAVES: Final = (
    Leaf(("create", "retry-policy"), "policies:create", "create a retry policy from a file", (_FILE,)),
    Leaf(("create", "queue"), "queues:create", "create a queue", (_NAME, *_QUEUE_FLAGS)),
    Leaf(("update", "retry-policy"), "policies:update", "replace a retry policy by a file", (_FILE,)),
    Leaf(("update", "queue"), "queues:update", "change what the flags name", (_NAME, *_QUEUE_FLAGS, _REPLACE)),
    Leaf(("get", "retry-policy"), "policies:get", "show a retry policy", (_NAME, _output("yaml"))),
    Leaf(("get", "retry-policies"), "policies:get_all", "show all retry policies", (_output("yaml"),)),
    Leaf(("get", "queue"), "queues:get", "show a queue", (_NAME, _output("yaml"))),
    Leaf(
        ("get", "queues"),
        "queues:get_all",
        "show queues",
        (
            _argument("names", metavar="NAME", nargs="*"),
            _argument(
                "-l",
                "--match-labels",
                dest="labels",
                type=_labels,
                action=_ExtendMap,
                metavar="KEY=VALUE,…",
                help="with all of these labels",
            ),
            _argument("--inverse", action="store_true", help="without these labels instead"),
            _argument("--only-cordoned", action="store_true", help="cordoned queues only"),
            _output("yaml"),
        ),
    ),
    Leaf(
        ("get", "jobs"),
        "jobs:get_all",
        "show the jobs of a job set, or the unfinished ones of a queue",
        (
            _QUEUE,
            _argument("job_set", metavar="JOBSET", nargs="?"),
            _argument("--limit", type=_count, default=10_000, metavar="N", help="at most so many; 10000"),
            _output("table"),
        ),
    ),
    Leaf(("get", "executors"), "executors:get_all", "show how each executor's lease stands", (_output("table"),)),
    Leaf(("describe", "job"), "jobs:describe", "show a job, its attempts and verdicts", (_JOB, _output("table"))),
    Leaf(("delete", "retry-policy"), "policies:delete", "delete a retry policy that no queue uses", (_NAME,)),
    Leaf(("delete", "queue"), "queues:delete", "delete a queue without unfinished jobs", (_NAME,)),
    Leaf(("submit",), "jobs:submit", "submit the jobs of a file", (_argument("file", metavar="FILE"), _DRY_RUN)),
    Leaf(("cancel", "job"), "jobs:cancel", "cancel a job", (_QUEUE, _JOB_SET, _JOB)),
    Leaf(("cancel", "job-set"), "jobs:cancel_set", "cancel all jobs of a job set", (_QUEUE, _JOB_SET)),
    Leaf(
        ("watch",),
        "watch:watch",
        "print the events of a job set as they come",
        (
            _QUEUE,
            _JOB_SET,
            _argument("--raw", action="store_true", help="whole events, as JSON"),
            _argument("--exit-if-inactive", action="store_true", help="end once all jobs are over"),
        ),
    ),
    *(Leaf(("executor", order), "executors:operate", what, (_NAME, _order(order))) for order, what in ORDERS.items()),
)

_GROUPS: Final = {
    "create": "create what a file or flags say",
    "update": "change what is there",
    "get": "show what is there",
    "describe": "show one thing whole",
    "delete": "remove what is there",
    "cancel": "cancel jobs",
    "executor": "orders about an executor",
}
_FROM_FILE: Final = ("create", "update")
"""Groups that also stand alone, with a file that says what it is."""


def parse(words: Sequence[str]) -> tuple[str, argparse.Namespace]:
    """The code of the command that was given, and its options.

    Raises:
        UsageError: there is no such command or flag.
    """
    for word in words:
        if any("\ud800" <= character <= "\udfff" for character in word):
            raise UsageError(f"{word!r} is no UTF-8")
    options = _parser().parse_args([_switch(word) for word in words])
    if options.code is None:
        raise UsageError(f"{options.group or 'a command'}: what is missing; see refloatctl --help")
    if options.code.startswith("files:") and options.file is None:
        raise UsageError(f"refloatctl {options.group}: give a kind or -f FILE; see refloatctl {options.group} --help")
    return options.code, options


def usage() -> str:
    """The help of the command itself."""
    return _parser().format_help()


def _switch(word: str) -> str:
    """Go's way to write a switch."""
    return {"--cordon=true": "--cordon", "--cordon=false": "--no-cordon"}.get(word, word)


def _parser() -> Parser:
    root = Parser(prog="refloatctl", description=_HELP, allow_abbrev=False)
    root.add_argument("--version", action="store_true", help="print the version")
    _add_global(root, suppressed=False)
    root.set_defaults(code=None, group=None)
    commands = root.add_subparsers(metavar="COMMAND")
    groups: dict[str, Any] = {}
    for leaf in LEAVES:
        parent = commands
        if len(leaf.words) > 1:
            group = leaf.words[0]
            if group not in groups:
                groups[group] = _group(commands, group)
            parent = groups[group]
        parser = parent.add_parser(leaf.words[-1], help=leaf.summary, description=leaf.summary, allow_abbrev=False)
        for add in leaf.adds:
            add(parser)
        _add_global(parser, suppressed=True)
        parser.set_defaults(code=leaf.code)
    return root


def _group(commands: Any, name: str) -> Any:
    parser = commands.add_parser(name, help=_GROUPS[name], description=_GROUPS[name], allow_abbrev=False)
    _add_global(parser, suppressed=True)
    parser.set_defaults(group=name)
    if name in _FROM_FILE:
        parser.add_argument("-f", "--file", metavar="FILE", help="a file that says what it is; - is standard input")
        _DRY_RUN(parser)
        parser.set_defaults(code=f"files:{name}")
    return parser.add_subparsers(metavar="KIND")


def _add_global(parser: Parser, *, suppressed: bool) -> None:
    """The flags that may stand anywhere; below the root they must not reset what stood before."""
    default = argparse.SUPPRESS if suppressed else None
    group = parser.add_argument_group("the server")
    group.add_argument(
        "--armadaUrl", "--armada-url", dest="armada_url", metavar="HOST:PORT", default=default,
        help=f"the server's address; {DEFAULT_URL}",
    )  # fmt: skip
    group.add_argument("--config", metavar="FILE", default=default, help="configuration file; ~/.refloatctl.yaml")
    group.add_argument("-c", "--context", metavar="NAME", default=default, help="a context of the configuration file")
