"""How lists and watches become changes, whatever the server does."""

from collections import deque

import anyio
import pytest

from refloat_common.core.categories import ErrorCategories, compile_categories
from refloat_common.core.link.executor.values import Event, NodesObserved
from refloat_executor.core.cluster.answers import Answer, Denied, Done, Expired, Silent
from refloat_executor.core.cluster.reflector import WatchClosed
from refloat_executor.core.ledger.handlers.step import Limits
from refloat_executor.daemon.engine import Config, Engine
from refloat_executor.daemon.following import follow_nodes, follow_pods
from testkit.executor.ports import Outside, ToldWatch
from testkit.virtual.run import World, run_virtual

CONFIG = Config(
    limits=Limits(),
    categories=compile_categories(ErrorCategories()),
    tracked_node_labels=("zone",),
    node_id_label="zone",
    max_kept_pods=10,
    max_runs=50,
    max_leased_jobs=5,
    journal_max_bytes=1000,
    retention_s=3600.0,
    retention_bytes=500,
)


def event(kind: str, name: str, version: int) -> bytes:
    labels = '{"armada_job_id":"j","armada_job_run_id":"r"}'
    meta = f'{{"name":"{name}","namespace":"jobs","uid":"u-{name}","resourceVersion":"{version}","labels":{labels}}}'
    return f'{{"type":"{kind}","object":{{"metadata":{meta}}}}}\n'.encode()


def listed(*names: str, version: int) -> Done:
    objects = (event("X", name, version).decode().partition('"object":')[2].rstrip()[:-1] for name in names)
    items = ",".join(objects)
    return Done(f'{{"metadata":{{"resourceVersion":"{version}"}},"items":[{items}]}}'.encode())


def known_after(
    seconds: float, lists: list[Answer], watches: list[ToldWatch | Answer], most_calls: int = 99
) -> tuple[set[str], list[str]]:
    """The pods that are known after a while, and the requests that were sent."""
    found: set[str] = set()
    calls: list[str] = []

    async def run(world: World) -> None:
        outside = Outside(world)
        outside.kube.tell("list", *lists)
        outside.kube.watches.extend(watches)  # type: ignore[arg-type]  # refusals among the answers
        engine = Engine(CONFIG, outside.ports())
        follower = follow_pods(engine, "jobs")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follower.run)
            await anyio.sleep(seconds)
            tasks.cancel_scope.cancel()
        assert follower.synced.is_set()
        assert len(outside.kube.calls) <= most_calls
        found.update(pod.metadata.name for pod in engine.brain.pods)
        calls.extend(outside.kube.calls)

    run_virtual(run)
    return found, calls


def watch(*blocks: bytes | WatchClosed) -> ToldWatch:
    return ToldWatch(deque(blocks))


def test_a_list_and_then_changes() -> None:
    changes = event("ADDED", "c", 6) + event("DELETED", "a", 7)
    known, calls = known_after(5, [listed("a", "b", version=5)], [watch(changes)])
    assert (known, calls) == ({"b", "c"}, ["list managed jobs", "watch jobs 5"])


def test_a_watch_goes_on_where_the_last_one_ended() -> None:
    watches: list[ToldWatch | Answer] = [
        watch(event("ADDED", "b", 6), WatchClosed(cut=False)),
        watch(event("ADDED", "c", 9), WatchClosed(cut=True)),
        watch(event("ADDED", "d", 12)),
    ]
    known, calls = known_after(5, [listed("a", version=5)], watches)
    assert known == {"a", "b", "c", "d"}
    assert calls == ["list managed jobs", "watch jobs 5", "watch jobs 6", "watch jobs 9"]


@pytest.mark.parametrize(
    "trouble",
    [
        Expired("too old"),
        watch(b'{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old","status":"Failure"}}\n'),
        watch(b"<html>\n"),
    ],
    ids=["refused", "error event", "unreadable"],
)
def test_a_gap_is_healed_by_a_list(trouble: ToldWatch | Answer) -> None:
    known, calls = known_after(
        5, [listed("a", "b", version=5), listed("b", "c", version=20)], [trouble, watch(event("ADDED", "d", 21))]
    )
    assert known == {"b", "c", "d"}
    assert calls == ["list managed jobs", "watch jobs 5", "list managed jobs", "watch jobs 20"]


def test_a_server_that_refuses_is_not_hammered() -> None:
    refusals: list[Answer] = [Denied(403, "Forbidden", "no")] * 1000
    _, calls = known_after(3600, [listed("a", version=5)], list(refusals), most_calls=260)
    assert len(calls) > 100


def test_a_list_that_fails_is_tried_again() -> None:
    lists: list[Answer] = [Silent("timeout"), Done(b"{"), listed("a", version=5)]
    known, calls = known_after(5, lists, [watch()])
    assert (known, calls.count("list managed jobs")) == ({"a"}, 3)


def test_nodes_are_told_when_they_change() -> None:
    told: list[Event] = []

    async def run(world: World) -> None:
        outside = Outside(world)
        node = b'{"metadata":{"name":"n1","labels":{"zone":"z1"}},"spec":{"unschedulable":true}}'
        outside.kube.tell("list-nodes", Done(b'{"metadata":{"resourceVersion":"5"},"items":[' + node + b"]}"))
        engine = Engine(CONFIG, outside.ports())
        follower = follow_nodes(engine, told.append)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follower.run)
            await follower.synced.wait()
            tasks.cancel_scope.cancel()
        assert engine.nodes.id_value("n1") == "z1"

    run_virtual(run)
    (observed,) = told
    assert isinstance(observed, NodesObserved)
    assert [(facts.name, facts.unschedulable) for facts in observed.upserted] == [("n1", True)]
