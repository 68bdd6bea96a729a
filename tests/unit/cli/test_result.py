"""The demo's result in both forms."""

import json

from refloat_cli.demo.judge import Tally
from refloat_cli.demo.result import ExecutorResult, Result

EXPLANATION = {
    "run_id": "r1",
    "retry": True,
    "gate": "passed",
    "decision": "retry",
    "reason": "",
    "policy": "careful",
    "category": "oom",
    "subcategory": "",
    "rules": [
        {"index": 0, "action": "Fail", "on_category": "user-error", "on_subcategory": "", "why": "category is oom"},
        {"index": 1, "action": "Retry", "on_category": "oom", "on_subcategory": "", "why": ""},
    ],
    "failures": 1,
    "retries_used": 0,
    "retries_after": 1,
    "retry_limit": 3,
    "global_max_retries": 5,
    "mutations": [{"kind": "memory", "before": "64Mi", "after": "128Mi", "skipped": ""}],
}


def _result(**changes: object) -> Result:
    values: dict[str, object] = {
        "seconds": 12.345,
        "succeeded": 3,
        "failed": 1,
        "events": 20,
        "categories": {"oom": Tally(failures=2, deleted=2, confirmed_gone=2, retries=1, terminal=1)},
        "executors": {"cluster-1": ExecutorResult(starts=2, kills=1, exit_code=0, failures=2)},
        "unexpected": [],
        **changes,
    }
    return Result(**values)  # type: ignore[arg-type]  # values by name, as the class has them


def test_the_json_form_is_stable() -> None:
    assert json.loads(json.dumps(_result().to_json())) == {
        "ok": True,
        "seconds": 12.35,
        "jobs": {"succeeded": 3, "failed": 1},
        "unexpected": [],
        "categories": {"oom": {"failures": 2, "deleted": 2, "confirmed_gone": 2, "retries": 1, "terminal": 1}},
        "executors": {"cluster-1": {"starts": 2, "kills": 1, "exit_code": 0, "failures": 2}},
        "events": 20,
    }


def test_anything_unexpected_makes_it_bad_and_is_told() -> None:
    result = _result(unexpected=[{"job": "oom-1", "what": "ended as failed, not succeeded"}])
    assert (result.ok, result.to_json()["ok"]) == (False, False)
    assert result.to_text().splitlines()[-1] == "UNEXPECTED oom-1: ended as failed, not succeeded"


def test_the_text_tells_categories_executors_and_explanations() -> None:
    assert _result(explanations=[EXPLANATION]).to_text().splitlines() == [
        "3 jobs succeeded, 1 failed for good, 20 events, 12.3 s",
        "",
        "category         failures  deleted  gone  retries  terminal",
        "oom                     2        2     2        1         1",
        "",
        "executor cluster-1: 2 failures journaled, killed once and back",
        "",
        "run r1: oom -> retry (retry) ",
        "  policy careful, gate passed, failures 1, retries 0 -> 1 of 3 (globally 5)",
        "  rule 0: Fail on user-error: category is oom",
        "  rule 1: Retry on oom: matches",
        "  memory: 64Mi -> 128Mi",
        "",
        "every job ended as its script says",
    ]
