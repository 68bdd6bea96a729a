"""Queues over the service: upsert, full replacement, and each refusal by field and value."""

from dataclasses import replace

import pytest

from refloat_host.core.errors import InvalidFieldError, NotFoundError, PoliciesMissingError, QueueInUseError
from refloat_host.core.queues import Fractions, Permission, Queue, Subject
from refloat_host.core.submission import Submission
from testkit.host.bench import Bench
from testkit.host.values import pod_spec

pytestmark = pytest.mark.anyio

WHOLE = Queue(
    name="night-runs",
    priority_factor=2.5,
    user_owners=("anna", "bo"),
    group_owners=("ml",),
    permissions=(Permission((Subject("Group", "ml"),), ("submit", "cancel")),),
    labels={"team": "ml"},
    cordoned=True,
    resource_limits={"cpu": 0.5},
    resource_limits_by_priority_class_name={"default": Fractions({"cpu": 0.5}, {"gpu-pool": {"cpu": 1.0}})},
    retry_policies=("second", "first"),
)


async def policies(bench: Bench, *names: str) -> None:
    for name in names:
        await bench.policies.create({"name": name, "defaultAction": "Fail"})


async def test_a_queue_comes_back_as_it_was_created(bench: Bench) -> None:
    await policies(bench, "first", "second")
    await bench.queues.create(WHOLE)
    assert await bench.queues.get("night-runs") == WHOLE


async def test_creating_over_a_queue_and_updating_both_replace_it_whole(bench: Bench) -> None:
    await policies(bench, "first", "second")
    await bench.queues.create(WHOLE)
    await bench.queues.create(Queue(name="night-runs", retry_policies=("first",)))
    assert await bench.queues.get("night-runs") == Queue(name="night-runs", retry_policies=("first",))
    await bench.queues.update(Queue(name="night-runs", priority_factor=3))
    assert await bench.queues.get("night-runs") == Queue(name="night-runs", priority_factor=3)


async def test_updating_an_unknown_queue_creates_it_as_armada_does(bench: Bench) -> None:
    await bench.queues.update(Queue(name="new"))
    assert await bench.queues.get("new") == Queue(name="new")


async def test_queues_are_listed_by_name(bench: Bench) -> None:
    for name in ("b", "a", "B"):
        await bench.queues.create(Queue(name=name))
    assert [queue.name for queue in await bench.queues.list()] == ["B", "a", "b"]


async def test_repeated_policies_collapse_to_their_first_place(bench: Bench) -> None:
    await policies(bench, "first", "second")
    await bench.queues.create(Queue(name="q", retry_policies=("second", "first", "second", "first")))
    assert (await bench.queues.get("q")).retry_policies == ("second", "first")


async def test_policies_that_do_not_exist_are_named_and_nothing_changes(bench: Bench) -> None:
    await policies(bench, "first")
    before = Queue(name="q", retry_policies=("first",))
    await bench.queues.create(before)
    with pytest.raises(PoliciesMissingError, match='retry policies do not exist: " first", "gone"'):
        await bench.queues.update(Queue(name="q", retry_policies=(" first", "first", "gone")))
    assert await bench.queues.get("q") == before


@pytest.mark.parametrize(
    ("queue", "message"),
    [
        (Queue(name=""), "name: '' is no Kubernetes label value"),
        (Queue(name="a queue"), "name: 'a queue' is no Kubernetes label value"),
        (Queue(name="q\n"), r"name: 'q\\n' is no"),
        (Queue(name="x" * 64), "name: 'x{64}' is no"),
        (Queue(name="q", priority_factor=0.5), "priorityFactor: 0.5 must be a finite number of at least 1.0"),
        (Queue(name="q", priority_factor=float("nan")), "priorityFactor: nan must be"),
        (Queue(name="q", priority_factor=float("inf")), "priorityFactor: inf must be"),
        (Queue(name="q", labels={"": "v"}), "labels: '=v' must have a key and a value"),
        (Queue(name="q", labels={"k": ""}), "labels: 'k=' must have a key and a value"),
        (
            Queue(name="q", permissions=(Permission((Subject("Robot", "r"),)),)),
            "permissions.subjects.kind: 'Robot' must be User or Group",
        ),
        (Queue(name="q", permissions=(Permission((Subject("User", ""),)),)), "permissions.subjects.name: '' must not"),
        (Queue(name="q", permissions=(Permission(verbs=("fly",)),)), "permissions.verbs: 'fly' must be one of"),
        (Queue(name="q", resource_limits={"cpu": -1.0}), r"resourceLimits\[cpu\]: -1.0 must be"),
        (
            Queue(name="q", resource_limits_by_priority_class_name={"high": Fractions({"cpu": float("nan")})}),
            r"resourceLimitsByPriorityClassName\[high\]\.maximumResourceFraction\[cpu\]: nan must be a finite",
        ),
        (
            Queue(
                name="q", resource_limits_by_priority_class_name={"high": Fractions({}, {"gpu": {"cpu": float("inf")}})}
            ),
            r"\[high\]\.maximumResourceFractionByPool\[gpu\]\[cpu\]: inf must be a finite number, not negative",
        ),
    ],
)
async def test_a_field_that_cannot_be_used_is_named_with_its_value(bench: Bench, queue: Queue, message: str) -> None:
    with pytest.raises(InvalidFieldError, match=message):
        await bench.queues.create(queue)
    assert await bench.queues.list() == []


async def test_a_queue_that_is_not_there(bench: Bench) -> None:
    with pytest.raises(NotFoundError, match='could not find queue "none"'):
        await bench.queues.get("none")
    with pytest.raises(NotFoundError):
        await bench.queues.cordon("none", cordoned=True)
    assert not await bench.queues.delete("none")
    with pytest.raises(InvalidFieldError, match="name: '' must not be empty"):
        await bench.queues.delete("")


async def test_a_queue_goes_with_its_attachments(bench: Bench) -> None:
    await policies(bench, "first")
    await bench.queues.create(Queue(name="q", retry_policies=("first",)))
    assert await bench.queues.delete("q")
    assert await bench.policies.delete("first")


async def test_a_queue_with_unfinished_jobs_stays(bench: Bench) -> None:
    await bench.queues.create(Queue(name="q"))
    await bench.jobs.submit("q", "s", [Submission(pod_spec=pod_spec())] * 3)
    with pytest.raises(QueueInUseError, match='queue "q" has 3 unfinished jobs'):
        await bench.queues.delete("q")
    assert await bench.queues.get("q") == Queue(name="q")


async def test_cordoning_changes_nothing_else(bench: Bench) -> None:
    await policies(bench, "first", "second")
    await bench.queues.create(WHOLE)
    await bench.queues.cordon("night-runs", cordoned=False)
    assert await bench.queues.get("night-runs") == replace(WHOLE, cordoned=False)
    await bench.queues.cordon("night-runs", cordoned=True)
    assert await bench.queues.get("night-runs") == WHOLE
