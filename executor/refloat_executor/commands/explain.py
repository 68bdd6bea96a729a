"""`refloat executor explain`: shows which category a pod's failure gets, by which rule, and why not by the others."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from refloat_common.adapters.config_files import ConfigFileError, load_settings
from refloat_common.core.categories import (
    CompiledCategories,
    Explanation,
    Facts,
    RulePackFile,
    compile_categories,
    deleted_before_end,
    explain,
    failed,
    failure_of,
)
from refloat_common.core.settings import SettingsError
from refloat_executor.adapters.case_files import BadCaseError, Case, read_cases, read_pod

OK, FINDING, WRONG_USAGE = 0, 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.description = "Show the category of failed pods, and why earlier rules did not match."
    parser.add_argument(
        "--config", action="append", required=True, type=Path, metavar="FILE", help="rules; later files over earlier"
    )
    parser.add_argument("pod", nargs="?", type=Path, metavar="POD.json", help="a pod as Kubernetes prints it")
    parser.add_argument("--events", type=Path, metavar="FILE", help="the pod's events, a JSON list or an EventList")
    parser.add_argument("--message", help="a text about the pod, instead of what it holds itself")
    parser.add_argument("--cases", type=Path, metavar="FILE.jsonl", help="many pods, one JSON object a line")
    parser.add_argument("--output", choices=("text", "json"), default="text")


def run(args: argparse.Namespace) -> int:
    """Classifies the pods that the arguments name: 0 if every one could be, 1 if not, 2 for wrong usage."""
    if (args.pod is None) == (args.cases is None):
        return _complain("give either POD.json or --cases FILE.jsonl", WRONG_USAGE)
    if args.cases is not None and (args.events is not None or args.message is not None):
        return _complain("--events and --message go with POD.json; a case holds its own", WRONG_USAGE)
    try:
        compiled = compile_categories(load_settings(RulePackFile, args.config).application.error_categories)
    except (ConfigFileError, SettingsError) as error:
        return _complain(str(error), FINDING)
    if not compiled.enabled:
        _complain("application.errorCategories.enabled is false: no rule is looked at", OK)
    show = _as_json if args.output == "json" else _as_text
    try:
        if args.cases is not None:
            return _explain_cases(compiled, args.cases, show)
        print(show(*_explain(compiled, read_pod(args.pod, args.events, args.message))))
    except BadCaseError as error:
        return _complain(str(error), FINDING)
    except BrokenPipeError:
        # The reader went away (`| head`): nothing is left to say, and Python must not try to flush it at exit.
        sys.stdout = None
        return FINDING
    return OK


def _complain(text: str, code: int) -> int:
    print(f"refloat executor explain: {text}", file=sys.stderr)
    return code


def _explain_cases(compiled: CompiledCategories, file: Path, show: Callable[[Case, Explanation | None], str]) -> int:
    code = OK
    for case in read_cases(file):
        if isinstance(case, BadCaseError):
            code = _complain(str(case), FINDING)
        else:
            print(show(*_explain(compiled, case)))
    return code


def _explain(compiled: CompiledCategories, case: Case) -> tuple[Case, Explanation | None]:
    """The explanation of a case; None for a pod that has not failed."""
    if not failed(case.pod):
        return case, None
    evidence = failure_of(case.pod, case.events, case.message)
    # The file shows no deletion of the executor's own, so any deletion before the end is somebody else's.
    facts = Facts(deleted_by_other=deleted_before_end(case.pod, evidence.deaths))
    return case, explain(compiled, evidence, facts)


def _as_json(case: Case, explanation: Explanation | None) -> str:
    named = explanation.classification if explanation else None
    rule = named.rule if named else None
    return json.dumps({
        "id": case.id,
        "failed": explanation is not None,
        "category": named.category if named else "",
        "subcategory": named.subcategory if named else "",
        "disposition": named.disposition.value if named else "",
        "hint": named.hint if named else "",
        "rule": {"category": rule.category, "index": rule.index} if rule else None,
        "rejected": [
            {"category": r.category, "index": r.index, "why": r.why}
            for r in (explanation.rejected if explanation else ())
        ],
    })  # fmt: skip


def _as_text(case: Case, explanation: Explanation | None) -> str:
    if explanation is None:
        return _printable(f"{case.id}: not failed (phase {case.pod.status.phase or 'unknown'})")
    named = explanation.classification
    name = f"{named.category or 'no category'}{f'/{named.subcategory}' if named.subcategory else ''}"
    by = f"rule {named.rule.index} of {named.rule.category}" if named.rule else "no rule"
    lines = [f"{case.id}: {name}, {named.disposition.value}, by {by}"]
    if named.hint:
        lines.append(f"  hint: {named.hint}")
    lines.extend(f"  not {r.category} rule {r.index}: {r.why}" for r in explanation.rejected)
    return "\n".join(map(_printable, lines))


def _printable(text: str) -> str:
    """A text that cannot move the cursor or colour the terminal: pods come from strangers."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
