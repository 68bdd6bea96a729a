"""How requests are sent to the cluster: in which order, how many at once, and what their answers become."""

from collections.abc import Awaitable, Callable

import anyio
import msgspec
import pytest

from refloat_common.core.categories import ErrorCategories, compile_categories
from refloat_common.core.regex import Pattern
from refloat_executor.core.cluster.answers import Broken, Conflict, Denied, Done, Missing, Refusal, Silent, Throttled
from refloat_executor.core.cluster.bucket import Bucket
from refloat_executor.core.ledger.handlers.step import Limits, Moment
from refloat_executor.core.ledger.values.effects import ConfirmGone, CreatePod, DeletePod, Effect, ReadEvents, ReadPod
from refloat_executor.core.ledger.values.news import (
    CreateForbidden,
    CreateImpossible,
    CreateRefused,
    DeleteAccepted,
    DeleteRefused,
    EventsRead,
    News,
    PodCreated,
    PodListed,
    PodRead,
    ReadFailed,
)
from refloat_executor.daemon.cluster import ClusterWork
from refloat_executor.daemon.engine import Config, Engine
from testkit.executor.ledger import CREATE, LEASE, READ, REMOVE, RUN, UID, pod
from testkit.executor.ports import Outside
from testkit.virtual.run import World, run_virtual

CONFIG = Config(
    limits=Limits(),
    categories=compile_categories(ErrorCategories()),
    tracked_node_labels=(),
    node_id_label="",
    max_kept_pods=10,
    max_runs=50,
    max_leased_jobs=5,
    journal_max_bytes=1000,
    retention_s=3600.0,
    retention_bytes=500,
)
POD = msgspec.json.encode(pod())
EVENTS = ReadEvents(RUN, "jobs", "armada-j1-0", UID)
CONFIRM = ConfirmGone(RUN, "jobs", "armada-j1-0", UID)


class Desk:
    """Cluster work with an engine that only notes what it is told."""

    def __init__(self, world: World, bucket: Bucket) -> None:
        self.outside = Outside(world)
        self.kube = self.outside.kube
        self.engine = Engine(CONFIG, self.outside.ports())
        self.told: list[tuple[str, News]] = []
        self.engine.brain.answered = self._note  # type: ignore[method-assign,assignment]  # only what is told is looked at
        self.engine.brain.awaits_events = self._awaits_events  # type: ignore[method-assign]  # the ledger is empty
        self.judged: set[str] = set()
        self.stale: set[str] = set()
        self.work = ClusterWork(self.engine, self._may_start, pool="gpu", fatal=(Pattern("webhook"),), bucket=bucket)

    def _may_start(self, run: str) -> bool:
        return run not in self.stale

    def _awaits_events(self, run: str) -> bool:
        return run not in self.judged

    def _note(self, run: str, news: News, _at: Moment) -> None:
        self.told.append((run, news))

    def ask(self, *effects: Effect) -> None:
        for effect in effects:
            self.work.submit(effect)


def at_work(
    scenario: Callable[[Desk], Awaitable[None]], *, rate: float = 1000.0, burst: int = 1000, workers: int = 4
) -> None:
    """Run a scenario beside the workers, in virtual time."""

    async def run(world: World) -> None:
        desk = Desk(world, Bucket(rate, burst))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(desk.work.run, workers, workers)
            await scenario(desk)
            tasks.cancel_scope.cancel()

    run_virtual(run)


NO: Refusal = Broken(500, "etcd")
ANSWERS: dict[str, tuple[Effect, str, object, News]] = {
    "created": (CREATE, "create", Done(POD), PodCreated(pod())),
    "create refused": (CREATE, "create", NO, CreateRefused(NO, fatal=False)),
    "create refused for good": (
        CREATE,
        "create",
        Missing("admission webhook says no"),
        CreateRefused(Missing("admission webhook says no"), fatal=True),
    ),
    "created, and the answer can't be read": (
        CREATE,
        "create",
        Done(b"<html>"),
        CreateRefused(Silent("response: JSON is malformed: invalid character (byte 0)"), fatal=False),
    ),
    "deleted": (REMOVE, "delete", Done(b"{}"), DeleteAccepted()),
    "delete refused": (
        REMOVE,
        "delete",
        Conflict("uid", already_exists=False),
        DeleteRefused(Conflict("uid", already_exists=False)),
    ),
    "read": (READ, "get", Done(POD), PodRead(pod())),
    "not there": (READ, "get", Missing(), PodRead(None)),
    "not read": (READ, "get", Throttled(1.0), ReadFailed(Throttled(1.0))),
    "read, and it can't be": (
        READ,
        "get",
        Done(b"{"),
        ReadFailed(Broken(200, "response: Input data was truncated")),
    ),
    "confirmed": (CONFIRM, "get", Missing(), PodRead(None)),
    "events": (EVENTS, "list-events", Done(b'{"items":null}'), EventsRead(())),
    "no events": (EVENTS, "list-events", NO, EventsRead(None)),
    "events that can't be read": (EVENTS, "list-events", Done(b"["), EventsRead(None)),
}


@pytest.mark.parametrize(("effect", "verb", "answer", "news"), ANSWERS.values(), ids=ANSWERS.keys())
def test_what_an_answer_becomes(effect: Effect, verb: str, answer: object, news: News) -> None:
    async def scenario(desk: Desk) -> None:
        body = {"containers": [{"name": "main"}]}
        lease = msgspec.structs.replace(LEASE, pod_spec=msgspec.json.encode(body))
        desk.kube.tell(verb, answer)  # type: ignore[arg-type]  # an answer
        desk.ask(CreatePod(lease) if isinstance(effect, CreatePod) else effect)
        await anyio.sleep(1)
        assert desk.told == [(RUN, news)]

    at_work(scenario)


def test_a_lease_that_is_no_pod_is_not_sent() -> None:
    async def scenario(desk: Desk) -> None:
        desk.ask(CREATE)
        await anyio.sleep(1)
        ((_, news),) = desk.told
        assert isinstance(news, CreateImpossible)
        assert desk.kube.calls == []

    at_work(scenario)


def spec_of(run: str) -> CreatePod:
    body = msgspec.json.encode({"containers": [{"name": "main"}]})
    return CreatePod(msgspec.structs.replace(LEASE, run=run, pod_spec=body))


def test_the_lease_is_looked_at_when_the_request_is_about_to_leave() -> None:
    async def scenario(desk: Desk) -> None:
        desk.ask(*(spec_of(f"r{n}") for n in range(3)))
        await anyio.sleep(0.5)
        desk.stale.add("r2")
        await anyio.sleep(5)
        assert [type(news) for _, news in desk.told] == [PodCreated, PodCreated, CreateForbidden]
        assert desk.kube.calls == ["create jobs"] * 2

    at_work(scenario, rate=1.0, burst=1, workers=1)


def removal(n: int, *, now: bool = False) -> DeletePod:
    return DeletePod(f"r{n}", "jobs", f"p{n}", f"u{n}", grace_s=0 if now else None)


def test_what_a_failure_waits_for_comes_first() -> None:
    async def scenario(desk: Desk) -> None:
        desk.ask(confirm(4), ReadPod("r3", "jobs", "p3"), removal(1), removal(2), EVENTS)
        await anyio.sleep(60)
        assert desk.kube.calls == [
            f"list-events jobs {UID}",
            "delete jobs/p1",
            "delete jobs/p2",
            "get jobs/p3",
            "get jobs/p4",
        ]

    at_work(scenario, workers=1)


def test_creations_wait_while_removals_need_the_last_tokens() -> None:
    async def scenario(desk: Desk) -> None:
        desk.ask(*(removal(n) for n in range(7)))
        await anyio.sleep(0.5)
        desk.ask(spec_of("r9"))
        await anyio.sleep(60)
        assert [call.split()[0] for call in desk.kube.calls] == ["delete"] * 7 + ["create"]

    at_work(scenario, rate=1.0, burst=4, workers=1)


def test_no_more_are_sent_at_once_than_was_set() -> None:
    async def scenario(desk: Desk) -> None:
        desk.kube.slow_s = 1.0
        desk.ask(*(removal(n) for n in range(9)))
        await anyio.sleep(10)
        assert (len(desk.told), desk.kube.most_under_way) == (9, 3)

    at_work(scenario, workers=3)


def test_requests_are_spread_over_time() -> None:
    async def scenario(desk: Desk) -> None:
        desk.ask(*(removal(n) for n in range(50)))
        await anyio.sleep(1.05)
        assert 18 <= len(desk.told) <= 21, "a burst of 10, and 10 a second"

    at_work(scenario, rate=10.0, burst=10)


def test_forced_deletions_are_counted() -> None:
    async def scenario(desk: Desk) -> None:
        desk.ask(removal(1, now=True), removal(2))
        await anyio.sleep(1)
        assert desk.kube.calls == ["delete jobs/p1 now", "delete jobs/p2"]
        assert desk.outside.meters.counts["forced"] == 1

    at_work(scenario, workers=1)


def confirm(n: int, namespace: str = "jobs") -> ConfirmGone:
    return ConfirmGone(f"r{n}", namespace, f"p{n}", f"u{n}")


def page(uids: list[str], token: str = "") -> Done:
    items = [{"metadata": {"uid": uid}} for uid in uids]
    return Done(msgspec.json.encode({"metadata": {"resourceVersion": "5", "continue": token}, "items": items}))


def test_many_confirmations_share_one_list() -> None:
    async def scenario(desk: Desk) -> None:
        desk.kube.tell("list", page(["u3", "x"], "more"), page(["u7"]))
        desk.ask(*(confirm(n) for n in range(20)), confirm(99, "other"))
        await anyio.sleep(1)
        assert desk.kube.calls == ["list jobs", "list jobs more", "get other/p99"]
        still = {run for run, news in desk.told if news == PodListed()}
        gone = {run for run, news in desk.told if news == PodRead(None)}
        assert (still, len(gone), len(desk.told)) == ({"r3", "r7"}, 19, 21)

    at_work(scenario, workers=1)


@pytest.mark.parametrize("answer", [Denied(410, "Expired", "continue"), Silent("timeout"), Done(b"[")])
def test_a_list_that_is_not_complete_confirms_nothing(answer: Done | Refusal) -> None:
    async def scenario(desk: Desk) -> None:
        desk.kube.tell("list", page(["u3"], "more"), answer)
        desk.ask(*(confirm(n) for n in range(20)))
        await anyio.sleep(1)
        assert len(desk.told) == 20
        assert {type(news) for _, news in desk.told} == {ReadFailed}

    at_work(scenario, workers=1)


def test_few_confirmations_are_read_one_by_one() -> None:
    async def scenario(desk: Desk) -> None:
        desk.ask(*(confirm(n) for n in range(10)))
        await anyio.sleep(1)
        assert desk.kube.calls == [f"get jobs/p{n}" for n in range(10)]

    at_work(scenario, workers=1)


def events_of(n: int, namespace: str = "jobs") -> ReadEvents:
    return ReadEvents(f"r{n}", namespace, f"p{n}", f"u{n}")


def event_page(*about: int, token: str = "") -> Done:
    items = [{"involvedObject": {"uid": f"u{n}"}, "message": f"about {n}"} for n in about]
    return Done(msgspec.json.encode({"metadata": {"continue": token}, "items": items}))


def messages(news: News) -> list[str] | None:
    assert isinstance(news, EventsRead)
    return None if news.events is None else [event.message for event in news.events]


def test_many_reads_of_events_share_one_list() -> None:
    async def scenario(desk: Desk) -> None:
        desk.kube.tell("list-events", event_page(3, 77, token="more"), event_page(3, 5))
        desk.ask(*(events_of(n) for n in range(20)))
        await anyio.sleep(1)
        assert desk.kube.calls == ["list-events jobs all", "list-events jobs all more"]
        told = {run: messages(news) for run, news in desk.told}
        assert told == {f"r{n}": [] for n in range(20)} | {
            "r3": ["about 3", "about 3"],
            "r5": ["about 5"],
        }

    at_work(scenario, workers=1)


def test_reads_of_events_gather_while_others_are_under_way_and_keep_no_deletion_waiting() -> None:
    async def scenario(desk: Desk) -> None:
        desk.kube.slow_s = 1.0
        desk.ask(*(events_of(n) for n in range(3)), events_of(9, "other"))
        await anyio.sleep(0.5)
        desk.ask(*(events_of(n) for n in range(10, 20)), removal(1))
        await anyio.sleep(10)
        assert desk.kube.calls == [
            "list-events jobs u0",
            "list-events other u9",
            "delete jobs/p1",
            "list-events jobs all",
        ]
        assert len(desk.told) == 15

    at_work(scenario, workers=1)


def test_events_that_nobody_waits_for_any_more_are_not_read() -> None:
    async def scenario(desk: Desk) -> None:
        desk.judged = {"r0", "r1"}
        desk.ask(*(events_of(n) for n in range(3)))
        await anyio.sleep(1)
        assert desk.kube.calls == ["list-events jobs u2"]
        assert [run for run, _ in desk.told] == ["r2"]

    at_work(scenario, workers=1)


def test_a_list_of_events_ends_when_it_comes_too_late() -> None:
    async def scenario(desk: Desk) -> None:
        desk.kube.tell("list-events", event_page(1, token="a"), event_page(2, token="b"), event_page(3, token="c"))
        desk.kube.slow_s = 1.0
        desk.ask(*(events_of(n) for n in range(10)))
        await anyio.sleep(1.5)
        desk.judged = {f"r{n}" for n in range(10)}
        await anyio.sleep(10)
        assert desk.kube.calls == ["list-events jobs all", "list-events jobs all a"]
        assert {messages(news) is None for _, news in desk.told} == {True}

    at_work(scenario, workers=1)


@pytest.mark.parametrize("answer", [Denied(410, "Expired", "continue"), Silent("timeout"), Done(b"[")])
def test_a_list_of_events_that_is_not_complete_tells_none(answer: Done | Refusal) -> None:
    async def scenario(desk: Desk) -> None:
        desk.kube.tell("list-events", event_page(1, token="more"), answer)
        desk.ask(*(events_of(n) for n in range(10)))
        await anyio.sleep(1)
        assert [messages(news) for _, news in desk.told] == [None] * 10

    at_work(scenario, workers=1)
