"""Laws of the store under any sequence of requests: versions, watches, pages, and the past."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from refloat_fakekube.core.refusals import RefusalError
from refloat_fakekube.core.resources import PODS
from refloat_fakekube.core.selectors import Selector, parse_fields, parse_labels
from refloat_fakekube.core.store.answers import Page
from refloat_fakekube.core.store.records import Change
from refloat_fakekube.core.store.requests import (
    Bind,
    Create,
    Delete,
    DeleteMany,
    DeleteOptions,
    Evict,
    List,
    Patch,
    Request,
    Target,
    Watch,
)
from refloat_fakekube.core.store.store import Store
from testkit.fakekube_world import CountingIds

NAMESPACE = "default"
names = st.sampled_from(["a", "b", "c"])
targets = names.map(lambda name: Target(PODS, NAMESPACE, name))
labels = st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["0", "1"]), max_size=2)


@st.composite
def creations(draw: st.DrawFn) -> Request:
    spec: Any = {"containers": [{"name": "main", "image": "none:1"}], "restartPolicy": "Never"}
    if draw(st.booleans()):
        spec["nodeName"] = "n1"
    metadata: Any = {"name": draw(names), "labels": draw(labels)}
    if draw(st.booleans()):
        metadata["finalizers"] = ["example.com/hold"]
    return Create(Target(PODS, NAMESPACE), {"metadata": metadata, "spec": spec})


patches = st.one_of(
    labels.map(lambda found: {"metadata": {"labels": found}}),
    st.just({"metadata": {"finalizers": None}}),
    st.just({"spec": {"restartPolicy": "Always"}}),
)
phases = st.sampled_from(["Pending", "Running", "Failed", "Succeeded"])
options = st.builds(DeleteOptions, grace_s=st.sampled_from([None, 0, 5]), dry_run=st.booleans())
requests = st.one_of(
    creations(),
    st.builds(lambda target, patch: Patch(target, "merge", patch), targets, patches),
    st.builds(lambda target, phase: Patch(target, "merge", {"status": {"phase": phase}}, "status"), targets, phases),
    st.builds(Delete, targets, options),
    st.builds(lambda target: Bind(target, {"target": {"name": "n1"}}), targets),
    st.builds(Evict, targets),
    st.just(DeleteMany(Target(PODS, NAMESPACE))),
)
histories = st.lists(requests, max_size=30)
SELECTORS = [
    Selector(NAMESPACE),
    Selector(NAMESPACE, parse_labels("x=1")),
    Selector(NAMESPACE, parse_labels("!y")),
    Selector(NAMESPACE, fields=parse_fields("spec.nodeName!=", {"spec.nodeName"})),
    Selector(NAMESPACE, fields=parse_fields("status.phase=Failed", {"status.phase"})),
    Selector("other"),
]
Shown = dict[str, bytes]


def play(history: list[Request]) -> tuple[Store, list[Change], list[tuple[int, Shown]]]:
    """Carry a history out; gives the store, every change, and after each request the version with what was there."""
    store, ids = Store(), CountingIds()
    store.begin(0.0, ids)
    changes: list[Change] = []
    moments: list[tuple[int, Shown]] = [(store.version, {})]
    for serial, request in enumerate(history):
        applied = store.apply(request, float(serial), ids)
        changes += applied.changes
        if isinstance(applied.answer, RefusalError):
            assert applied.changes == ()
        moments.append((store.version, listed(store, SELECTORS[0])))
    return store, changes, moments


def listed(store: Store, selector: Selector, **more: Any) -> Shown:
    answer = store.apply(List(Target(PODS, NAMESPACE), selector, **more), 0.0, CountingIds()).answer
    assert isinstance(answer, Page), answer
    return {stored.name: stored.data for stored in answer.items}


@given(histories)
@settings(max_examples=150, deadline=None)
def test_versions_rise_and_each_is_given_once(history: list[Request]) -> None:
    _, changes, moments = play(history)
    versions = [change.version for change in changes]
    assert versions == sorted(set(versions))
    assert [version for version, _ in moments] == sorted(version for version, _ in moments)


@given(histories, st.sampled_from(SELECTORS), st.integers(0, 30))
@settings(max_examples=200, deadline=None)
def test_a_list_and_its_watch_give_the_list_at_the_end(history: list[Request], selector: Selector, at: int) -> None:
    store, ids = Store(), CountingIds()
    store.begin(0.0, ids)
    for request in history[:at]:
        store.apply(request, 1.0, ids)
    known = listed(store, selector)
    opened = store.watch(Watch(Target(PODS, NAMESPACE), selector, version=str(store.version)))
    assert opened.missed == ()
    for request in history[at:]:
        for change in store.apply(request, 2.0, ids).changes:
            follow(known, change, selector)
    assert known == listed(store, selector)


def follow(known: Shown, change: Change, selector: Selector) -> None:
    """Do what an informer does with a watch event; it must fit what is known."""
    seen = change.seen_by(selector)
    if seen is None:
        return
    kind, stored = seen
    assert (stored.name in known) == (kind != "ADDED")
    if kind == "DELETED":
        del known[stored.name]
    else:
        known[stored.name] = stored.data


@given(histories, st.integers(0, 30), st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_the_past_can_be_read_whole_and_in_pages(history: list[Request], at: int, limit: int) -> None:
    store, _, moments = play(history)
    version, there = moments[min(at, len(moments) - 1)]
    assert listed(store, SELECTORS[0], version=str(version), match="Exact") == there
    found: Shown = {}
    token, version_text = "", str(version)
    while True:
        request = List(Target(PODS, NAMESPACE), SELECTORS[0], limit, token, version_text)
        answer = store.apply(request, 0.0, CountingIds()).answer
        assert isinstance(answer, Page)
        assert len(answer.items) <= limit
        found.update({stored.name: stored.data for stored in answer.items})
        token, version_text = answer.next_page, ""
        if not token:
            break
    assert found == there


@given(histories)
@settings(max_examples=100, deadline=None)
def test_missed_changes_are_those_that_came_after(history: list[Request]) -> None:
    store, changes, moments = play(history)
    for version, _ in moments:
        opened = store.watch(Watch(Target(PODS, NAMESPACE), SELECTORS[0], version=str(version)))
        assert [change.version for change in opened.missed] == [
            change.version for change in changes if change.version > version and change.table == "pods"
        ]
