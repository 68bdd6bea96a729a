"""Queues from the command line, on a real server."""

import json

import pytest

from testkit.ctl.running import Ctl, Ran, done, refused

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def policies(ctl: Ctl) -> None:
    for name in ("a", "b"):
        file = ctl.file(
            f"{{apiVersion: armadaproject.io/v1beta1, kind: RetryPolicy, name: {name}, defaultAction: Fail}}"
        )
        await ctl("create", "-f", file)


async def shown(ctl: Ctl, name: str = "q") -> dict[str, object]:
    value: dict[str, object] = json.loads((await ctl("get", "queue", name, "-o", "json")).out)
    return {key: item for key, item in value.items() if key not in ("apiVersion", "kind")}


async def test_a_queue_is_created_with_its_policies_in_order(ctl: Ctl) -> None:
    created = await ctl(
        *("create", "queue", "q", "--retry-policies", "b,a", "--priority-factor", "2.5"),
        *("--owners", "ann", "--group-owners", "team,crew", "-l", "tier=gold", "--labels", "site=x"),
    )
    assert created == done("Created queue q\n")
    assert await ctl("get", "queue", "q") == done(
        """
        apiVersion: armadaproject.io/v1beta1
        kind: Queue
        groupOwners:
        - team
        - crew
        labels:
          site: x
          tier: gold
        name: q
        priorityFactor: 2.5
        retryPolicies:
        - b
        - a
        userOwners:
        - ann
        """
    )


async def test_the_list_may_be_given_in_parts(ctl: Ctl) -> None:
    await ctl("create", "queue", "q", "--retry-policies", "b", "--retry-policies", "a")
    assert (await shown(ctl))["retryPolicies"] == ["b", "a"]


async def test_a_policy_that_does_not_exist_is_refused_and_nothing_changes(ctl: Ctl) -> None:
    await ctl("create", "queue", "q")
    why = 'retry policies do not exist: " b", "c"'
    assert await ctl("create", "queue", "r", "--retry-policies", "a, b,c") == refused(f"error creating queue: {why}")
    assert await ctl("update", "queue", "q", "--retry-policies", "a, b,c") == refused(f"error updating queue: {why}")
    assert (await ctl("get", "queues", "-o", "table")).out.splitlines()[1:] == ["q      1                 no         -"]


async def test_an_update_changes_what_the_flags_name_and_keeps_the_rest(ctl: Ctl) -> None:
    await ctl("create", "queue", "q", "--owners", "ann", "-l", "tier=gold", "--retry-policies", "a", "--cordon")
    assert await ctl("update", "queue", "q", "--retry-policies", "b,a") == done("Updated queue q\n")
    before = {"name": "q", "priorityFactor": 1, "userOwners": ["ann"], "labels": {"tier": "gold"}}
    assert await shown(ctl) == {**before, "cordoned": True, "retryPolicies": ["b", "a"]}
    await ctl("update", "queue", "q", "--cordon=false", "--priority-factor", "3")
    assert await shown(ctl) == {**before, "priorityFactor": 3, "retryPolicies": ["b", "a"]}
    await ctl("update", "queue", "q", "--retry-policies", "", "--labels", "", "--no-cordon")
    assert await shown(ctl) == {"name": "q", "priorityFactor": 3, "userOwners": ["ann"]}


async def test_an_update_with_replace_resets_all_that_no_flag_names(ctl: Ctl) -> None:
    await ctl("create", "queue", "q", "--owners", "ann", "-l", "tier=gold", "--retry-policies", "a", "--cordon")
    assert await ctl("update", "queue", "q", "--replace", "--priority-factor", "2") == done("Updated queue q\n")
    assert await shown(ctl) == {"name": "q", "priorityFactor": 2}


async def test_an_update_of_a_queue_that_is_not_there_is_refused(ctl: Ctl) -> None:
    assert await ctl("update", "queue", "q", "--cordon") == refused(
        'error updating queue q: could not find queue "q"; create it with: refloatctl create queue q'
    )
    assert await ctl("update", "queue", "q", "--cordon", "--replace") == done("Updated queue q\n")


@pytest.mark.parametrize("form", ["yaml", "json"])
async def test_what_get_prints_is_taken_again(ctl: Ctl, form: str) -> None:
    await ctl("create", "queue", "q", "-l", "tier=gold", "--retry-policies", "b", "--owners", "ann")
    file = ctl.file((await ctl("get", "queue", "q", "-o", form)).out)
    before = await shown(ctl)
    await ctl("delete", "queue", "q")
    assert await ctl("create", "-f", file) == done("Created queue q\n")
    assert await shown(ctl) == before
    await ctl("update", "queue", "q", "--retry-policies", "a")
    assert await ctl("update", "-f", file) == done("Updated queue q\n")
    assert await shown(ctl) == before


async def test_a_queue_file_may_hold_permissions_and_limits(ctl: Ctl) -> None:
    file = ctl.file(
        """
        apiVersion: armadaproject.io/v1beta1
        kind: Queue
        name: q
        userOwners: [ann]
        permissions:
          - subjects: [{kind: Group, name: team}]
            verbs: [submit, watch]
        resourceLimits: {cpu: 0.5}
        resourceLimitsByPriorityClassName:
          high:
            maximumResourceFraction: {cpu: 0.2}
            maximumResourceFractionByPool: {gpu: {maximumResourceFraction: {cpu: 1}}}
        """
    )
    assert await ctl("create", "-f", file) == done("Created queue q\n")
    by_pool = {"gpu": {"maximumResourceFraction": {"cpu": 1}}}
    assert await shown(ctl) == {
        "name": "q",
        "priorityFactor": 1,
        "userOwners": ["ann"],
        "permissions": [{"subjects": [{"kind": "Group", "name": "team"}], "verbs": ["submit", "watch"]}],
        "resourceLimits": {"cpu": 0.5},
        "resourceLimitsByPriorityClassName": {
            "high": {"maximumResourceFraction": {"cpu": 0.2}, "maximumResourceFractionByPool": by_pool}
        },
    }


async def test_queues_are_listed_by_name_label_and_cordon(ctl: Ctl) -> None:
    await ctl("create", "queue", "x", "-l", "tier=gold,site=a")
    await ctl("create", "queue", "y", "-l", "tier=gold", "--cordon")
    await ctl("create", "queue", "z")

    async def names(*words: str) -> list[str]:
        listed = json.loads((await ctl("get", "queues", "-o", "json", *words)).out)
        return [queue["name"] for queue in listed["queues"]]

    assert await names() == ["x", "y", "z"]
    assert await names("z", "x", "nobody") == ["x", "z"]
    assert await names("--match-labels", "tier=gold") == ["x", "y"]
    assert await names("-l", "tier=gold", "-l", "site=a") == ["x"]
    assert await names("-l", "tier=gold", "--inverse") == ["z"]
    assert await names("--only-cordoned") == ["y"]


async def test_the_list_is_one_yaml_map(ctl: Ctl) -> None:
    await ctl("create", "queue", "q", "--owners", "ann")
    assert await ctl("get", "queues") == done(
        """
        apiVersion: armadaproject.io/v1beta1
        kind: Queue
        queues:
        - name: q
          priorityFactor: 1
          userOwners:
          - ann
        """
    )


async def test_deleting_is_idempotent(ctl: Ctl) -> None:
    await ctl("create", "queue", "q")
    for _ in range(2):
        assert await ctl("delete", "queue", "q") == done("Deleted queue q (or it did not exist)\n")
    assert await ctl("get", "queue", "q") == refused(
        'error getting queue q: could not find queue "q"; see what there is with: refloatctl get queues'
    )


TOO_LOW = "argument --priority-factor: priority factor cannot be lower than 1.0, or endless"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--priority-factor", "0.9"], f"{TOO_LOW}: 0.9"),
        (["--priority-factor", "nan"], f"{TOO_LOW}: nan"),
        (["--labels", "a"], "argument -l/--labels: 'a': must be KEY=VALUE with exactly one ="),
        (["--labels", "a=b=c"], "argument -l/--labels: 'a=b=c': must be KEY=VALUE with exactly one ="),
    ],
)  # fmt: skip
async def test_wrong_flags_are_wrong_usage(ctl: Ctl, words: list[str], why: str) -> None:
    assert await ctl("create", "queue", "q", *words) == Ran(
        2, "", f"Error: {why}; see refloatctl create queue --help\n"
    )
