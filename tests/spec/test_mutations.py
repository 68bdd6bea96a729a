"""The specification's section *Mutating the job on retry*, on the whole product wherever it can be seen there."""

from dataclasses import replace

import pytest

from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.messages import NodeFacts, TaintFact
from refloat_common.core.settings import merge_trees
from refloat_executor.settings import ExecutorSettings
from refloat_fakekube.core.objects import objects, section, text
from refloat_host.core.errors import InvalidRetryPolicyError
from refloat_host.services.policies import read_policy
from refloat_scheduler.core.fit.fleet import Fleet
from refloat_scheduler.core.leases.states import OperatorAction
from refloat_scheduler.core.model import Job, JobState, MutationRecord, Requirements, RunState
from refloat_scheduler.core.retry.settle import settle_failure
from testkit.scheduling.makers import EXECUTOR, job_of, nodes_of, policy_of, rules_of, run_of
from testkit.scheduling.makers import rule as core_rule
from testkit.whole.looking import memory_of, nodes_of_runs
from testkit.whole.system import ENGINE_ON, LABEL, System, exits, live, needs, node, rule

AVOID: JsonObject = {"avoidSameNode": True}
THREE = {"E1": (node("n1"), node("n2"), node("n3"))}
ONE = {"E1": (node("n1"),)}
BOTH = {"E1": (node("n1"),), "E2": (node("n2"),)}
SHORT_LEASE = merge_trees([ENGINE_ON, {"executorTimeout": "2m"}])
THREE_CAP = merge_trees([ENGINE_ON, {"scheduling": {"retryPolicy": {"globalMaxRetries": 9}}}])


def grows(**memory: object) -> JsonObject:
    return {"memory": memory}  # type: ignore[dict-item]  # it is JSON


def test_a_retry_rule_carries_a_block_of_changes() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "oom", affinity=AVOID, resources=grows(factor=2.0)), default="Fail")
        job_id = await s.submit(needs("100Mi"))
        job = await s.ended(job_id)
        assert job.state is JobState.SUCCEEDED
        assert (job.record.memory_factor, len(job.record.avoid)) == (2.0, 1)

    live(scenario)


def test_the_changes_are_those_of_the_rule_that_retried() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "oom", resources=grows(factor=2.0)), rule("Retry", "app"), default="Fail")
        job_id = await s.submit(exits(1, 1))
        job = await s.ended(job_id)
        assert (job.state, job.record) == (JobState.SUCCEEDED, MutationRecord())
        assert memory_of(s.pod(job_id)) == {"requests": "64Mi", "limits": "64Mi"}

    live(scenario)


def test_a_block_on_a_fail_rule_has_no_effect() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Fail", "oom", affinity=AVOID, resources=grows(factor=2.0)), default="Retry")
        job_id = await s.submit(needs("100Mi"))
        job = await s.ended(job_id)
        assert (job.state, len(job.runs), job.record) == (JobState.FAILED, 1, MutationRecord())
        assert [verdict["mutations"] for verdict in await s.verdicts(job_id)] == [[]]
        assert job.requirements.requests["memory"] == "64Mi"

    live(scenario)


def test_a_retry_avoids_every_node_that_an_earlier_run_attempted() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "app", affinity=AVOID), limit=9, default="Fail")
        job_id = await s.submit(exits(1))
        job = await s.ended(job_id)
        assert sorted(await nodes_of_runs(s, job_id)) == ["n1", "n2", "n3"]
        assert job.record.avoid == tuple(sorted((await nodes_of_runs(s, job_id))[:2]))

    live(scenario, THREE_CAP, clusters=THREE)


def test_a_job_that_the_avoidance_makes_unschedulable_fails_and_says_why() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "app", affinity=AVOID), default="Fail")
        job_id = await s.submit(exits(1))
        assert len((await s.ended(job_id)).runs) == 1
        [event] = await s.failures(job_id)
        assert (event.retryable, event.failure_category) == (False, "app")
        assert event.reason.startswith("Retry policy: retry granted, but no untried node fits the job\n")
        assert [verdict["decision"] for verdict in await s.verdicts(job_id)] == ["retry_unschedulable"]

    live(scenario, clusters=ONE)


def test_the_check_costs_one_probe_for_each_job_that_asks_for_it() -> None:
    asked: list[Requirements] = []

    def probe(requirements: Requirements) -> bool:
        asked.append(requirements)
        return True

    for avoid, probes in ((True, 1), (False, 0)):
        asked.clear()
        rules = replace(rules_of(policy_of(core_rule("Retry", "oom", avoid=avoid))), probe=probe)
        job = job_of(run_of(1, RunState.FAILED))
        assert settle_failure(job, rules.circumstances(job, EXECUTOR)).retry
        assert len(asked) == probes


def test_the_probe_ignores_how_full_nodes_are_and_who_is_ahead() -> None:
    """The only node left is cordoned: the retry is leased and waits there, and is not failed."""

    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "app", affinity=AVOID), default="Fail")
        job_id = await s.submit(exits(1, 1))
        job = await s.reached(job_id, lambda job: len(job.runs) == 2)
        assert job.state is JobState.LEASED
        pod = s.pod(job_id)
        assert pod is not None
        assert text(pod, "status", "phase") == "Pending"
        assert [mutation["probe"] for mutation in _changes((await s.verdicts(job_id))[0])] == [True]

    cordoned = replace(node("n2"), unschedulable=True)
    live(scenario, clusters={"E1": (node("n1"), cordoned)})


HUGE, SMALL = Requirements(requests={"memory": "99Gi"}), Requirements(requests={"memory": "1Gi"})
TAINTED = NodeFacts(
    name="n", labels={LABEL: "n"}, allocatable={"memory": "64Gi"}, taints=[TaintFact(key="gpu", effect="NoSchedule")]
)


@pytest.mark.parametrize(
    ("memory", "accepted"), [("1Gi", True), ("64Gi", True), ("65Gi", False)], ids=["small", "whole-node", "too-large"]
)
def test_the_probe_is_the_check_of_the_submission(memory: str, *, accepted: bool) -> None:
    async def scenario(s: System) -> None:
        job = await s.job(await s.submit("succeed", memory=memory))
        assert (job.state is not JobState.REJECTED) is accepted
        nodes = await s.daemon.store.read(lambda tx: tx.nodes(s.daemon.plugin.executors()[0].executor))
        assert Fleet.of(nodes).can_ever_fit(job.requirements) is accepted

    live(scenario, clusters={"E1": (node("n1", "64Gi"), node("n2", "1Gi"))})


def test_a_retry_that_does_not_ask_for_it_may_run_where_it_failed() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "app"), default="Fail")
        job_id = await s.submit(exits(1, 1))
        assert (await s.ended(job_id)).state is JobState.SUCCEEDED
        assert await nodes_of_runs(s, job_id) == ["n1", "n1"]

    live(scenario, clusters=ONE)


def test_the_executors_tracked_labels_are_the_only_entry_that_it_needs() -> None:
    """The scheduler's side has no `indexedNodeLabels`, and neither side names the label; the defaults agree."""
    assert ExecutorSettings.model_fields["kubernetes"].default.tracked_node_labels == (LABEL,)

    async def scenario(s: System) -> None:
        assert s.settings.scheduling.indexed_node_labels == ()
        await s.policy("p", rule("Retry", "app", affinity=AVOID), default="Fail")
        job_id = await s.submit(exits(1, 1))
        assert (await s.ended(job_id)).state is JobState.SUCCEEDED
        assert sorted(await nodes_of_runs(s, job_id)) == ["n1", "n2"]

    live(scenario)


def test_it_avoids_the_values_of_the_label_that_both_sides_name() -> None:
    label = "example.com/chassis"

    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "app", affinity=AVOID), default="Fail")
        job_id = await s.submit(exits(1, 1))
        job = await s.ended(job_id)
        assert {run.node_label for run in job.runs} == {"c1", "c2"}
        assert job.record.avoid == (job.runs[0].node_label,)
        pod = s.pod(job_id)
        assert pod is not None
        path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
        [term] = objects(section(pod, "spec", *path), "nodeSelectorTerms")
        assert objects(term, "matchExpressions") == [
            {"key": label, "operator": "NotIn", "values": [job.runs[0].node_label]},
        ]

    chassis = [replace(node(f"n{i}"), labels={LABEL: f"n{i}", label: f"c{(i + 1) // 2}"}) for i in (1, 2, 3, 4)]
    live(
        scenario,
        merge_trees([ENGINE_ON, {"scheduling": {"nodeIdLabel": label}}]),
        clusters={"E1": chassis},
        executor={"kubernetes": {"nodeIdLabel": label, "trackedNodeLabels": [LABEL, label]}},
    )


def test_an_untracked_label_makes_it_without_effect_and_is_warned_about_once() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "app", affinity=AVOID), default="Fail")
        for _ in range(2):
            job_id = await s.submit(exits(1, 1))
            job = await s.ended(job_id)
            assert (job.state, len(job.runs), job.record.avoid) == (JobState.SUCCEEDED, 2, ())
        warned = [line for line in s.logged("warning") if "node id label" in line]
        told = (
            'executor E1 reports nodes without the node id label "kubernetes.io/hostname": retry node anti-affinity '
            "cannot work; add the label to the executor's trackedNodeLabels"
        )
        assert warned == [told]

    live(scenario, clusters=ONE, executor={"kubernetes": {"trackedNodeLabels": ["zone"]}})


@pytest.mark.parametrize(("memory", "grown"), [({"factor": 1.5}, "96Mi"), ({"static": "36Mi"}, "100Mi")])
def test_a_retry_gets_more_memory_by_a_factor_or_by_a_quantity(memory: dict[str, object], grown: str) -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "oom", resources=grows(**memory)), default="Fail")
        job_id = await s.submit(needs(grown))
        job = await s.ended(job_id)
        assert (job.state, len(job.runs)) == (JobState.SUCCEEDED, 2)
        assert memory_of(s.pod(job_id)) == {"requests": grown, "limits": grown}

    live(scenario)


@pytest.mark.parametrize(
    ("memory", "why"),
    [
        ({}, "set exactly one of static and factor"),
        ({"factor": 1.5, "static": "1Gi"}, "set exactly one of static and factor, not both"),
        ({"factor": 1.0}, "factor 1 must be greater than 1.0"),
        ({"factor": 0.5}, "factor 0.5 must be greater than 1.0"),
        ({"factor": -2}, "factor -2 must be greater than 1.0"),
        ({"static": "0"}, 'static quantity "0" must be positive'),
        ({"static": "-1Gi"}, 'static quantity "-1Gi" must be positive'),
        ({"static": "much"}, 'invalid static quantity "much"'),
    ],
    ids=["none", "both", "one", "half", "minus", "zero", "negative", "word"],
)
def test_exactly_one_way_to_grow_may_be_set_and_it_must_grow(memory: dict[str, object], why: str) -> None:
    body: JsonObject = {
        "name": "p",
        "defaultAction": "Fail",
        "rules": [rule("Retry", "oom", resources=grows(**memory))],
    }
    with pytest.raises(InvalidRetryPolicyError, match=rf"rule 0: mutate\.resources\.memory: {why}"):
        read_policy(body)
    fine = rule("Retry", "oom", resources=grows(factor=1.0001)), rule("Retry", "oom", resources=grows(static="1"))
    assert len(read_policy({**body, "rules": list(fine)}).rules) == 2


def test_requests_and_limits_grow_together_and_the_pod_runs_with_them() -> None:
    """Each container that names memory grows, each of its two values; what names none stays as it is."""

    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "app", resources=grows(factor=2.0)), default="Fail")
        amounts: JsonObject = {"requests": {"memory": "100Mi", "cpu": "1"}, "limits": {"memory": "300Mi"}}
        containers: list[JsonObject] = [
            {"name": "main", "image": "x", "resources": amounts},
            {"name": "side", "image": "x", "resources": {"limits": {"memory": "10Mi"}}},
            {"name": "bare", "image": "x"},
        ]
        job_id = await s.submit(exits(1, 1), containers=containers)
        assert (await s.ended(job_id)).state is JobState.SUCCEEDED
        pod = s.pod(job_id)
        assert pod is not None
        main, side, bare = (section(container, "resources") for container in objects(pod, "spec", "containers"))
        assert main == {"requests": {"memory": "200Mi", "cpu": "1"}, "limits": {"memory": "600Mi"}}
        assert section(side, "limits") == {"memory": "20Mi"}
        assert bare == {}

    live(scenario)


@pytest.mark.parametrize(
    ("memory", "sizes"),
    [({"factor": 1.5}, ["64Mi", "96Mi", "144Mi", "216Mi"]), ({"static": "32Mi"}, ["64Mi", "96Mi", "128Mi", "160Mi"])],
    ids=["factor", "static"],
)
def test_growth_compounds_over_the_retries(memory: dict[str, object], sizes: list[str]) -> None:
    """In what the job asks for, and in what is written on its pods."""

    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "oom", resources=grows(**memory)), default="Fail")
        job_id = await s.submit(needs("10Gi"))
        job = await s.ended(job_id)
        assert len(job.runs) == 4
        after = [mutation["after"] for verdict in await s.verdicts(job_id) for mutation in _changes(verdict)]
        assert after == [f"{size}/{size}" for size in sizes[1:]]
        assert (job.record.memory_factor, job.record.memory_static) in ((3.375, ""), (0.0, "96Mi"))

    live(scenario)


def _changes(verdict: JsonObject) -> list[JsonObject]:
    return verdict["mutations"]  # type: ignore[return-value]  # a list of objects in JSON


def test_a_job_that_was_grown_beyond_every_node_fails_and_says_so() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "oom", resources=grows(factor=2.0)), default="Fail")
        job_id = await s.submit(needs("10Gi"), memory="600Mi")
        assert len((await s.ended(job_id)).runs) == 1
        [event] = await s.failures(job_id)
        assert (event.retryable, event.failure_category) == (False, "oom")
        assert event.reason.startswith(
            "Retry policy: retry granted, but the job grown by the rule's memory bump fits no node\n"
        )

    live(scenario, clusters={"E1": (node("n1", "1Gi"), node("n2", "1Gi"))})


def test_a_job_grows_in_one_way_and_skips_the_other() -> None:
    async def scenario(s: System) -> None:
        other = rule("Retry", "app", resources=grows(static="1Gi"))
        await s.policy("p", rule("Retry", "oom", resources=grows(factor=2.0)), other, default="Fail")
        job_id = await s.submit(first_oom_then(1))
        job = await s.ended(job_id)
        assert (job.state, len(job.runs)) == (JobState.SUCCEEDED, 3)
        assert job.record == MutationRecord(memory_factor=2.0, version=1)
        assert memory_of(s.pod(job_id)) == {"requests": "128Mi", "limits": "128Mi"}
        assert f"skipping memory bump for job {job_id}: the bump kind differs from the job's accumulated record" in set(
            s.logged("warning")
        )

    live(scenario)


def first_oom_then(code: int) -> str:
    """A pod that is killed for its memory, then ends with a code, then succeeds."""
    return (
        '{"cases": [{"when": {"attempts": [1]}, "outcome": "oom"}, '
        f'{{"when": {{"attempts": [2]}}, "outcome": "exit", "code": {code}}}, {{"outcome": "succeed"}}]}}'
    )


async def expired(s: System) -> Job:
    """A job whose executor was lost once, under a rule that would change everything about it."""
    changes = {"affinity": AVOID, "resources": grows(factor=2.0)}
    await s.policy("p", rule("Retry", "internal", "lease-expired", **changes), default="Fail")
    job_id = await s.submit("run")
    job = await s.reached(job_id, lambda job: bool(job.runs) and job.runs[0].state is RunState.RUNNING)
    s.cut(job.runs[0].executor)
    return await s.reached(job_id, lambda job: len(job.runs) == 2 and job.runs[1].state is RunState.RUNNING)


def test_mutations_belong_to_the_path_of_failed_runs_alone() -> None:
    async def scenario(s: System) -> None:
        job = await expired(s)
        [verdict] = await s.verdicts(job.job_id)
        assert (verdict["decision"], verdict["rule_index"], verdict["mutations"]) == ("retry", 0, [])

    live(scenario, SHORT_LEASE, clusters=BOTH)


def test_a_job_is_requeued_unchanged_after_its_lease_expired() -> None:
    async def scenario(s: System) -> None:
        job = await expired(s)
        assert job.record == MutationRecord()
        assert (job.requirements.requests["memory"], job.requirements.node_terms) == ("64Mi", None)
        assert memory_of(s.pod(job.job_id, job.runs[1].executor)) == {"requests": "64Mi", "limits": "64Mi"}

    live(scenario, SHORT_LEASE, clusters=BOTH)


def test_the_nodes_of_a_lost_executor_stay_part_of_the_fleet_until_it_is_given_up() -> None:
    """Refloat's own line where the specification is silent: a silent cluster is not a fleet without nodes."""

    async def scenario(s: System) -> None:
        job = await expired(s)
        assert s.metric("refloat_fleet_nodes") == 2
        await s.daemon.plugin.operate(job.runs[0].executor, OperatorAction.DECOMMISSION)
        assert s.metric("refloat_fleet_nodes") == 1

    live(scenario, SHORT_LEASE, clusters=BOTH)


def test_fits_are_judged_by_what_keeps_pods_away_for_good() -> None:
    cordoned = NodeFacts(
        name="c",
        allocatable={"memory": "64Gi"},
        taints=[TaintFact(key="node.kubernetes.io/unschedulable", effect="NoSchedule")],
        unschedulable=True,
    )
    assert Fleet.of([cordoned]).can_ever_fit(SMALL)
    assert not Fleet.of([TAINTED]).can_ever_fit(SMALL)
    assert not Fleet.of(nodes_of("n1")).can_ever_fit(HUGE)
