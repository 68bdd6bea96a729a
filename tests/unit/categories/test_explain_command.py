"""`refloat executor explain`, with real files."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from refloat_common.core.pods import Event, Pod
from refloat_executor.commands import explain
from testkit.pod_makers import ended, event, pod

ROOT = Path(__file__).parents[3]
DEFAULT_PACK = ROOT / "configs" / "categories" / "default.yaml"
PUBLIC_CASES = ROOT / "tests" / "data" / "public_cases.jsonl"
RULES = """\
application:
  clusterId: ignored here
  errorCategories:
    enabled: true
    defaultCategory: other
    categories:
      - name: oom
        action: Delete
        rules:
          - {onConditions: [OOMKilled], subcategory: container, hint: More memory}
      - name: image
        rules:
          - onPodError: {pattern: manifest unknown}
          - onPodEvents: {type: Warning, regexp: back-off}
"""
OOM_POD = pod(ended("main", 137, "OOMKilled"))


class Command:
    """The command with a rule file, run in a folder of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys

    def file(self, name: str, content: object) -> str:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else msgspec.json.encode(content))
        return str(path)

    def run(self, *arguments: str, config: str = RULES) -> tuple[int, str, str]:
        parser = argparse.ArgumentParser()
        explain.add_arguments(parser)
        code = explain.run(parser.parse_args(["--config", self.file("rules.yaml", config), *arguments]))
        printed = self.capsys.readouterr()
        return code, printed.out, printed.err.replace(f"{self.folder}/", "")


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path, capsys)


def test_one_pod_as_json(command: Command) -> None:
    code, out, err = command.run(command.file("pod.json", OOM_POD), "--output", "json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "id": "armada-job-a-0",
        "failed": True,
        "category": "oom",
        "subcategory": "container",
        "disposition": "Delete",
        "hint": "More memory",
        "rule": {"category": "oom", "index": 0},
        "rejected": [],
    }


def test_one_pod_as_text(command: Command) -> None:
    shown = command.file("pod.json", pod(ended("main", 1)))
    events = command.file("events.json", [event("Warning", "BackOff", "back-off pulling")])
    code, out, err = command.run(shown, "--events", events)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "armada-job-a-0: image, Retain, by rule 1 of image",
        "  not oom rule 0: none of OOMKilled holds",
        "  not image rule 0: the text about the pod does not contain the pattern",
    ]


def test_events_as_kubectl_lists_them(command: Command) -> None:
    events = command.file("events.json", {"kind": "EventList", "items": [event("Warning", "BackOff", "back-off")]})
    code, out, _ = command.run(command.file("pod.json", pod(ended("main", 1))), "--events", events, "--output", "json")
    assert (code, json.loads(out)["rule"]) == (0, {"category": "image", "index": 1})


def test_a_text_about_the_pod(command: Command) -> None:
    code, out, _ = command.run(command.file("pod.json", pod()), "--message", "manifest unknown", "--output", "json")
    assert (code, json.loads(out)["rule"]) == (0, {"category": "image", "index": 0})


def test_a_pod_that_has_not_failed(command: Command) -> None:
    shown = command.file("pod.json", pod(ended("main", 137, "OOMKilled"), phase="Running"))
    assert command.run(shown) == (0, "armada-job-a-0: not failed (phase Running)\n", "")
    code, out, _ = command.run(shown, "--output", "json")
    assert (code, json.loads(out)) == (
        0,
        {
            "id": "armada-job-a-0",
            "failed": False,
            "category": "",
            "subcategory": "",
            "disposition": "",
            "hint": "",
            "rule": None,
            "rejected": [],
        },
    )


def test_a_default_has_no_rule_but_every_rejection(command: Command) -> None:
    code, out, _ = command.run(command.file("pod.json", pod(ended("main", 1))), "--output", "json")
    answer = json.loads(out)
    assert (code, answer["category"], answer["rule"]) == (0, "other", None)
    assert [(r["category"], r["index"]) for r in answer["rejected"]] == [("oom", 0), ("image", 0), ("image", 1)]


def test_a_pod_deleted_before_its_end_is_externally_deleted(command: Command) -> None:
    shown = pod(ended("main", 137, finished_at="2026-01-15T10:00:10Z"), deleted_at="2026-01-15T10:00:30Z", grace_s=30)
    code, out, _ = command.run(command.file("pod.json", shown), "--output", "json")
    assert (code, json.loads(out)["subcategory"]) == (0, "externally-deleted")


def test_a_later_file_lies_over_an_earlier_one(command: Command) -> None:
    over = command.file("over.yaml", "Application: {errorcategories: {DefaultCategory: late, categories: []}}")
    code, out, _ = command.run(command.file("pod.json", OOM_POD), "--config", over, "--output", "json")
    assert (code, json.loads(out)["category"]) == (0, "late")


def test_the_environment_lies_over_files(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFLOAT_APPLICATION_ERRORCATEGORIES_ENABLED", "false")
    assert command.run(command.file("pod.json", OOM_POD)) == (
        0,
        "armada-job-a-0: no category, Retain, by no rule\n",
        "refloat executor explain: application.errorCategories.enabled is false: no rule is looked at\n",
    )


def test_a_bad_line_is_named_and_the_others_are_classified(command: Command) -> None:
    lines = [
        msgspec.json.encode({"id": "a", "pod": OOM_POD, "expectation": "ignored"}),
        b'{"id": "b"}',
        b"no json",
        b'{"id": 1, "pod": {}}',
        b"",
        b'{"id": "c", "pod": {"status": {"containerStatuses": [{"state": {"terminated": {"exitCode": "x"}}}]}}}',
        b'{"id": "d", "pod": {"status": {"phase": "Failed"}}, "message": "manifest unknown", "events": null}',
        b'{"id": "e", "pod": {"status": {"phase": "Failed", "message": "\xff manifest unknown"}}}',
        b'{"id": "f", "pod": {"status": {"phase": "Failed", "message": "\\ud800 manifest unknown"}}}',
    ]
    (command.folder / "cases.jsonl").write_bytes(b"\n".join(lines))
    code, out, err = command.run("--cases", str(command.folder / "cases.jsonl"), "--output", "json")
    answers = [json.loads(line) for line in out.splitlines()]
    assert (code, [(a["id"], a["category"]) for a in answers]) == (
        1,
        [("a", "oom"), *((name, "image") for name in "def")],
    )
    assert [line.removeprefix("refloat executor explain: cases.jsonl: ") for line in err.splitlines()] == [
        "line 2: Object missing required field `pod`",
        "line 3: JSON is malformed: invalid character (byte 4)",
        "line 4: Expected `str`, got `int` - at `$.id`",
        "line 6: Expected `int`, got `str` - at `$.pod.status.containerStatuses[0].state.terminated.exitCode`",
    ]


def test_a_line_that_is_too_long_costs_only_itself(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refloat_executor.adapters.case_files.MAX_LINE_BYTES", 60)
    lines = [
        '{"id": "a", "pod": {}}',
        '{"id": "b", "pod": {}, "padding": "' + "x" * 200 + '"}',
        '{"id": "c", "pod": {}}',
    ]
    code, out, err = command.run("--cases", command.file("cases.jsonl", "\n".join(lines)), "--output", "json")
    assert (code, [json.loads(line)["id"] for line in out.splitlines()]) == (1, ["a", "c"])
    assert err == "refloat executor explain: cases.jsonl: line 2: is longer than 60 bytes\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either POD.json or --cases FILE.jsonl"),
        (["pod.json", "--cases", "cases.jsonl"], "give either POD.json or --cases FILE.jsonl"),
        (["--cases", "c", "--message", "m"], "--events and --message go with POD.json; a case holds its own"),
        (["--cases", "c", "--events", "e"], "--events and --message go with POD.json; a case holds its own"),
    ],
)
def test_wrong_usage(command: Command, arguments: list[str], message: str) -> None:
    assert command.run(*arguments) == (2, "", f"refloat executor explain: {message}\n")


def test_files_that_cannot_be_read(command: Command) -> None:
    missing = str(command.folder / "missing.json")
    assert command.run(missing)[::2] == (1, "refloat executor explain: missing.json: No such file or directory\n")
    assert command.run("--cases", missing)[::2] == (
        1,
        "refloat executor explain: missing.json: No such file or directory\n",
    )
    listed = command.file("list.json", '{"kind": "List", "items": []}')
    assert command.run(listed)[::2] == (1, "refloat executor explain: list.json: $.kind: must be Pod, is List\n")
    shown, events = command.file("pod.json", OOM_POD), command.file("events.json", '{"items": 1}')
    problem = "refloat executor explain: events.json: Expected `array`, got `int` - at `$.items`\n"
    assert command.run(shown, "--events", events)[::2] == (1, problem)


def test_a_file_that_is_too_large(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refloat_executor.adapters.case_files.MAX_FILE_BYTES", 10)
    problem = "refloat executor explain: pod.json: is larger than 10 bytes\n"
    assert command.run(command.file("pod.json", OOM_POD))[::2] == (1, problem)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ("application: [", "rules.yaml:1: expected the node content, but found '<stream end>'"),
        (
            "application: {errorCategories: {categorys: []}}",
            "application.errorCategories.categorys: unknown key; did you mean categories?",
        ),
        (
            "application: {errorCategories: {enabled: true, categories: [{name: a}]}}",
            'application.errorCategories.categories[0].rules: category "a" must have at least one rule',
        ),
    ],
)
def test_rules_that_cannot_be_used(command: Command, config: str, problem: str) -> None:
    found = command.run(command.file("pod.json", OOM_POD), config=config)
    assert found == (1, "", f"refloat executor explain: {problem}\n")


def test_text_of_strangers_cannot_steer_the_terminal(command: Command) -> None:
    case = {"id": "\x1b[2J\u202egnp", "pod": {"status": {"phase": "\x1b]0;x\x07"}}}
    _, out, _ = command.run("--cases", command.file("cases.jsonl", case))
    assert out == "\\x1b[2J\\u202egnp: not failed (phase \\x1b]0;x\\x07)\n"


def test_the_shipped_rules_on_public_cases(command: Command) -> None:
    code, out, err = command.run("--cases", str(PUBLIC_CASES), "--output", "json", config=DEFAULT_PACK.read_text())
    answers = {answer["id"]: answer for answer in map(json.loads, out.splitlines())}
    phases = {
        case["id"]: case["pod"]["status"]["phase"]
        for case in map(json.loads, PUBLIC_CASES.read_text().split("\n")[:-1])
    }
    assert (code, err, len(answers), len(out.splitlines())) == (0, "", 105, 105)
    assert {id_: answer["failed"] for id_, answer in answers.items()} == {
        id_: phase == "Failed" for id_, phase in phases.items()
    }


def _pair(case: Pod, events: list[Event]) -> Callable[[Command], str]:
    def named(command: Command) -> str:
        line = {"id": "x", "pod": case, "events": events}
        config = DEFAULT_PACK.read_text()
        _, out, _ = command.run("--cases", command.file("c.jsonl", line), "--output", "json", config=config)
        answer = json.loads(out)
        return f"{answer['category']}/{answer['subcategory']} {answer['disposition']}"

    return named


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (_pair(OOM_POD, []), "oom/ Delete"),
        (
            _pair(pod(reason="Evicted", message="The node was low on resource: memory."), []),
            "eviction/node-pressure Delete",
        ),
        (
            _pair(pod(reason="Evicted", message='Usage of EmptyDir volume "x" exceeds the limit "1Mi".'), []),
            "limits/disk Retain",
        ),
        (_pair(pod(reason="DeadlineExceeded"), []), "limits/deadline Retain"),
        (_pair(pod(ended("main", 128, "StartError", "exec: not found")), []), "user-error/command Retain"),
        (_pair(pod(ended("main", 255, "Unknown")), []), "node/runtime-lost Delete"),
        (_pair(pod(ended("main", 1, message="The node was low on resource: memory.")), []), "uncategorized/ Retain"),
        (
            _pair(pod(ended("main", 1)), [event("Warning", "XID", "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, fallen")]),
            "gpu/xid Delete",
        ),
        (_pair(pod(reason="Terminated", message="Pod was terminated"), []), "internal/node-failure Delete"),
    ],
)
def test_the_shipped_rules_name(command: Command, named: Callable[[Command], str], expected: str) -> None:
    assert named(command) == expected
