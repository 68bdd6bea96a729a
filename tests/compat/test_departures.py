"""The judgement over a scenario: what differs must be listed, and what is listed must differ, in just that way."""

import msgspec
import pytest

from refloat_common.core.jsontypes import JsonObject
from testkit.armada_live.compare import Event, plain
from testkit.armada_live.departures import Departure, Departures, EndingCase, FieldCase, Later, complaints

BOTH = {"jobId": "<job>", "jobSetId": "one", "queue": "q"}


def events(*told: tuple[str, JsonObject]) -> list[list[Event]]:
    """The events of a scenario's only job."""
    return [[Event(name, {**BOTH, **fields}) for name, fields in told]]


def listed(*cases: FieldCase | EndingCase, later: Later | None = None) -> Departures:
    """A list of one departure."""
    fields = tuple(case for case in cases if isinstance(case, FieldCase))
    endings = tuple(case for case in cases if isinstance(case, EndingCase))
    departure = Departure("d", "A title", "A reason.", "A rule", fields, endings)
    return Departures((departure,) if cases else (), () if later is None else (later,))


START = ("leased", {"pool": "p"})
ARMADA = events(START, ("failed", {"reason": "a", "cause": "OOM"}))
REFLOAT = events(START, ("failed", {"reason": "b", "cause": "OOM", "node": "n"}))
CASE = FieldCase(("one",), "failed", armada={"reason": "a"}, refloat={"reason": "b", "node": "n"})


def test_the_same_is_no_complaint() -> None:
    assert complaints(listed(), "one", ARMADA, ARMADA) == []


def test_what_is_listed_is_no_complaint() -> None:
    assert complaints(listed(CASE), "one", ARMADA, REFLOAT) == []


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (
            None,
            ["not listed: job 0, 1 failed.node: None | 'n'", "not listed: job 0, 1 failed.reason: 'a' | 'b'"],
        ),
        (
            FieldCase(("one",), "failed", armada={"reason": "a"}, refloat={"reason": "b"}),
            ["not listed: job 0, 1 failed.node: None | 'n'"],
        ),
        (
            FieldCase(("one",), "failed", armada={"reason": "a"}, refloat={"reason": "c", "node": "n"}),
            ["not as listed: job 0, 1 failed.reason: 'a' | 'b'"],
        ),
        (
            FieldCase(("one",), "failed", armada={"reason": "z"}, refloat={"reason": "b", "node": "n"}),
            ["not as listed: job 0, 1 failed.reason: 'a' | 'b'"],
        ),
        (
            FieldCase(("one",), "failed", armada={"reason": "a", "cause": "OOM"}, refloat={"reason": "b", "node": "n"}),
            ["listed, but not there: job 0, 1 failed.cause"],
        ),
    ],
)
def test_what_is_listed_otherwise_or_not_at_all_is_a_complaint(case: FieldCase | None, expected: list[str]) -> None:
    assert complaints(listed(*([case] if case else [])), "one", ARMADA, REFLOAT) == expected


def test_a_departure_that_is_gone_is_a_complaint() -> None:
    gone = ["listed, but not there: job 0, 1 failed.node", "listed, but not there: job 0, 1 failed.reason"]
    assert complaints(listed(CASE), "one", ARMADA, ARMADA) == gone


def test_a_departure_is_about_its_scenarios_and_its_place_only() -> None:
    elsewhere = FieldCase(("two", "three*"), "failed", refloat={"node": "n"})
    assert complaints(listed(CASE, elsewhere), "one", ARMADA, REFLOAT) == []
    first = FieldCase(("one",), "failed", at=0, refloat={"node": "n"})
    assert complaints(listed(CASE, first), "one", ARMADA, REFLOAT) == []
    every = FieldCase(("*",), "failed", armada={"reason": "<anything>"}, refloat={"reason": "b", "node": "<anything>"})
    assert complaints(listed(every), "one", ARMADA, REFLOAT) == []


def test_an_anything_must_be_something() -> None:
    case = FieldCase(
        ("one",), "failed", armada={"reason": "a", "node": "<anything>"}, refloat={"reason": "b", "node": "n"}
    )
    assert complaints(listed(case), "one", ARMADA, REFLOAT) == ["not as listed: job 0, 1 failed.node: None | 'n'"]


OTHERWISE = events(START, ("failed", {"reason": "b"}), ("leased", {"pool": "p"}))
GOOD = events(START, ("succeeded", {}))
ENDING = EndingCase("one", 1, ("succeeded",), ({"failed": {"reason": "b"}}, {"leased": {"pool": "p"}}))


def test_another_ending_must_be_listed_event_by_event() -> None:
    assert complaints(listed(ENDING), "one", GOOD, OTHERWISE) == []
    [unlisted] = complaints(listed(), "one", GOOD, OTHERWISE)
    assert unlisted == "not listed: job 0, from 1 on: ('succeeded',) | ('failed', 'leased')"
    [shorter] = complaints(listed(ENDING), "one", GOOD, [OTHERWISE[0][:2]])
    assert shorter.startswith("not as listed: job 0, from 1 on: ('succeeded',) | [{'failed': ")
    assert complaints(listed(ENDING), "one", GOOD, GOOD) == ["listed, but not there: another ending from 1 on"]


def test_more_and_fewer_events_are_another_ending() -> None:
    [more] = complaints(listed(), "one", events(START), GOOD)
    assert more == "not listed: job 0, from 1 on: () | ('succeeded',)"
    [fewer] = complaints(listed(), "one", GOOD, events(START))
    assert fewer == "not listed: job 0, from 1 on: ('succeeded',) | ()"


def test_a_scenario_for_later_stops_where_the_list_says() -> None:
    later = listed(later=Later(("one",), "a detector", 1))
    assert complaints(later, "one", GOOD, events(START)) == []
    assert complaints(later, "one", GOOD, GOOD) == ["marked as later, but told: [('leased', 'succeeded')]"]
    [unlisted, told] = complaints(later, "one", GOOD, events())
    assert unlisted == "not listed: job 0, from 0 on: ('leased', 'succeeded') | ()"
    assert told.startswith("marked as later, but told: ")
    assert len(complaints(later, "one", GOOD, OTHERWISE)) == 2


def test_a_field_that_the_list_does_not_know_is_refused() -> None:
    text = b"departures: [{id: d, title: t, reason: r, source: s, feilds: []}]"
    with pytest.raises(msgspec.ValidationError, match="feilds"):
        msgspec.yaml.decode(text, type=Departures)


def test_ids_become_words_and_times_go() -> None:
    pod, other = "9b00c364-9a88-4732-ad46-e50260c972a8", "1c00c364-9a88-4732-ad46-e50260c972a8"
    told: list[tuple[str, JsonObject]] = [
        ("submitted", {"jobId": "abc", "created": "now", "job": {"id": "abc", "created": "now", "clientId": "x"}}),
        ("pending", {"kubernetesId": pod, "podName": "armada-abc-0", "created": "now"}),
        ("failed", {"kubernetesId": other, "reason": f"abc: run {pod}", "exitCodes": {"0": 1}}),
        ("preempted", {"kubernetesId": pod, "runId": other}),
    ]
    assert plain(told, "abc") == (
        Event("submitted", {"jobId": "<job>", "job.id": "<job>", "job.clientId": "<client>"}),
        Event("pending", {"kubernetesId": "<pod 1>", "podName": "armada-<job>-0"}),
        Event("failed", {"kubernetesId": "<pod 2>", "reason": "<job>: run <uuid>", "exitCodes": {"0": 1}}),
        Event("preempted", {"kubernetesId": "<pod 1>", "runId": "<run>"}),
    )
