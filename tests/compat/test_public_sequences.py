"""Armada's table of public sequences, row by row: the engine off, undecided, and deciding, played through the host."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import dropwhile
from typing import Any

import pytest
import yaml

from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.taxonomy import ANNOTATION_FAIL_FAST, ANNOTATION_GANG_CARDINALITY, ANNOTATION_GANG_ID
from testkit.armada_live.departures import read
from testkit.armada_live.situations import (
    Story,
    Way,
    brought_about,
    failure,
    lost_executor,
    preemption,
    returned_always,
    returned_once,
)
from testkit.armada_live.stage import PublicEvents
from testkit.style.tree import ROOT

TABLE = yaml.safe_load((ROOT / "tests/data/armada_public_sequences.yaml").read_text(encoding="utf-8"))
ROWS: Mapping[str, Sequence[Mapping[str, Any]]] = {row["situation"]: row["events"] for row in TABLE}
DEPARTURES = {departure.id for departure in read().departures}
BEGINNING = frozenset({"submitted", "queued", "leased", "pending", "running", "preempting"})
"""What is told before the situation; `preempting` is the answer to an order."""
POD = ("clusterId", "kubernetesId", "podName", "podNamespace", "nodeName", "containerStatuses")


def policy(default: str = "Fail", **rules: str) -> JsonObject:
    """A policy of one retry; the rules name a category each."""
    listed = [{"action": action, "onCategory": category} for category, action in rules.items()]
    return {"name": "p", "retryLimit": 1, "defaultAction": default, "rules": listed}


FAIL_FAST = {ANNOTATION_FAIL_FAST: "true"}
GANG = {ANNOTATION_GANG_ID: "g", ANNOTATION_GANG_CARDINALITY: "2"}
OFF = Way()
OFF_WITH_POLICY = Way(policy=policy("Retry"))
OFF_WITH_DEFAULT = Way(policy=policy("Retry"), default_policy="p")
NO_POLICY = Way(enabled=True)
RETRYING = Way(enabled=True, policy=policy("Retry"))
FAILING = Way(enabled=True, policy=policy())
RETRYING_FAIL_FAST = Way(enabled=True, policy=policy("Retry"), annotations=FAIL_FAST)
RETRYING_GANG = Way(enabled=True, policy=policy("Retry"), annotations=GANG, jobs=2)

RETRIED, FAILED, UNDECIDED = (f"a failure that the engine {does}" for does in ("retries", "fails", "does not decide"))
EXPIRED = "an expired lease that the engine"
RETURNED, RETURNED_FOR_GOOD = "a returned lease that is tried again", "a returned lease that is not tried again"


@dataclass(frozen=True, slots=True)
class Case:
    """A story told in one way, and the rows that its events are made of; `then` is what the last run tells."""

    story: Story
    way: Way
    rows: tuple[str, ...]
    then: tuple[str, ...] = ()


DONE = ("pending", "running", "succeeded")
LIMIT = (*(RETURNED,) * 3, RETURNED_FOR_GOOD)
CASES: Mapping[str, Case] = {
    "off, failure": Case(failure, OFF, (UNDECIDED,)),
    "off, failure, with a policy": Case(failure, OFF_WITH_POLICY, (UNDECIDED,)),
    "off, failure, with a default policy": Case(failure, OFF_WITH_DEFAULT, (UNDECIDED,)),
    "off, expiry": Case(lost_executor, OFF, (f"{EXPIRED} does not decide",)),
    "off, expiry, with a policy": Case(lost_executor, OFF_WITH_POLICY, (f"{EXPIRED} does not decide",)),
    "off, returned once": Case(returned_once, OFF, (RETURNED,), DONE),
    "off, returned always": Case(returned_always, OFF, LIMIT),
    "off, preemption": Case(preemption, OFF, ("a preemption",)),
    "on, failure, no policy": Case(failure, NO_POLICY, (UNDECIDED,)),
    "on, failure, fail-fast": Case(failure, RETRYING_FAIL_FAST, (UNDECIDED,)),
    "on, failure, gang": Case(failure, RETRYING_GANG, (UNDECIDED,)),
    "on, failure, one retry": Case(failure, RETRYING, (RETRIED, FAILED)),
    "on, failure, declined": Case(failure, FAILING, (FAILED,)),
    "on, expiry, no policy": Case(lost_executor, NO_POLICY, (f"{EXPIRED} does not decide",)),
    "on, expiry, fail-fast": Case(lost_executor, RETRYING_FAIL_FAST, (f"{EXPIRED} does not decide",)),
    "on, expiry, retried": Case(lost_executor, RETRYING, (f"{EXPIRED} retries",)),
    "on, expiry, declined": Case(lost_executor, FAILING, (f"{EXPIRED} fails",)),
    "on, returned once": Case(returned_once, FAILING, (RETURNED,), DONE),
    "on, returned always": Case(returned_always, RETRYING, LIMIT),
    "on, preemption": Case(preemption, RETRYING, ("a preemption",)),
}


@pytest.mark.parametrize("name", CASES)
def test_users_are_told_what_the_table_says(name: str) -> None:
    case = CASES[name]
    events = list(dropwhile(lambda event: event[0] in BEGINNING, brought_about(case.story, case.way)))
    wanted = [event for row in case.rows for event in ROWS[row]]
    names = [next(iter(event)) for event in wanted]
    assert [event for event, _ in events] == [*names, *case.then]
    for (_, body), row in zip(events, wanted, strict=False):
        [expected] = row.values()
        check(body, expected)


def check(body: JsonObject, expected: Mapping[str, Any]) -> None:
    """Compare the fields that the table speaks of."""
    for key, value in expected.items():
        match key:
            case "retryable":
                assert body.get("retryable", False) is value
            case "reason":
                assert fnmatchcase(str(body.get("reason", "")), value.replace("[", "[[]"))
            case "category":
                assert f"{body.get('failureCategory', '')}/{body.get('failureSubcategory', '')}" == value
            case "pod":
                told = value == "told" or "departure" in expected
                assert [key for key in POD if body.get(key)] == (list(POD) if told else [])
            case "departure":
                assert value in DEPARTURES
            case _:
                pytest.fail(f"the table speaks of {key}")


def test_every_row_of_the_table_is_played() -> None:
    assert {row for case in CASES.values() for row in case.rows} == set(ROWS)


def test_the_first_events_are_those_of_any_job() -> None:
    events: PublicEvents = brought_about(failure, OFF)
    assert [name for name, _ in events][:5] == ["submitted", "queued", "leased", "pending", "running"]
