"""Retry policies from the command line, on a real server."""

import json

import pytest

from testkit.ctl.running import Ctl, Ran, done, refused

pytestmark = pytest.mark.anyio

POLICY = """
    apiVersion: armadaproject.io/v1beta1
    kind: RetryPolicy
    name: careful
    retryLimit: 3
    defaultAction: fail
    rules:
      - action: Retry
        onCategory: oom
        mutate: {resources: {memory: {factor: 1.5}}, affinity: {avoidSameNode: yes}}
"""
PRINTED = """
    apiVersion: armadaproject.io/v1beta1
    kind: RetryPolicy
    defaultAction: Fail
    name: careful
    retryLimit: 3
    rules:
    - action: Retry
      mutate:
        affinity:
          avoidSameNode: true
        resources:
          memory:
            factor: 1.5
      onCategory: oom
"""


async def test_a_policy_is_created_and_printed_in_armadas_form(ctl: Ctl) -> None:
    assert await ctl("create", "retry-policy", "-f", ctl.file(POLICY)) == done("Created retry policy careful\n")
    assert await ctl("get", "retry-policy", "careful") == done(PRINTED)


@pytest.mark.parametrize("form", ["yaml", "json"])
@pytest.mark.parametrize("command", ["create", "update"])
async def test_what_get_prints_is_taken_again(ctl: Ctl, form: str, command: str) -> None:
    await ctl("create", "-f", ctl.file(POLICY))
    printed = (await ctl("get", "retry-policy", "careful", "-o", form)).out
    again = await ctl(command, "retry-policy", "-f", ctl.file(printed))
    assert again == done(f"{command.capitalize()}d retry policy careful\n")
    assert await ctl("get", "retry-policy", "careful") == done(PRINTED)


async def test_all_policies_are_one_map_in_order_of_name(ctl: Ctl) -> None:
    assert await ctl("get", "retry-policies") == done(
        """
        apiVersion: armadaproject.io/v1beta1
        kind: RetryPolicy
        retryPolicies: []
        """
    )
    await ctl("create", "-f", ctl.file(POLICY))
    await ctl("create", "-f", ctl.file(POLICY.replace("careful", "bold")))
    listed = json.loads((await ctl("get", "retry-policies", "-o", "json")).out)
    assert [policy["name"] for policy in listed["retryPolicies"]] == ["bold", "careful"]
    assert await ctl("get", "retry-policies", "-o", "table") == done(
        """
        NAME      RETRY-LIMIT   DEFAULT   RULES
        bold      3             Fail      1
        careful   3             Fail      1
        """
    )


async def test_an_update_replaces_and_needs_one_to_replace(ctl: Ctl) -> None:
    file = ctl.file(POLICY)
    unknown = f'error updating retry policy careful: could not find retry policy "careful"; create it with: {CREATE}'
    assert await ctl("update", "retry-policy", "-f", file) == refused(f"{unknown} {file}")
    await ctl("create", "-f", file)
    file = ctl.file(POLICY.replace("retryLimit: 3", "retryLimit: 0"))
    assert await ctl("update", "-f", file) == done("Updated retry policy careful\n")
    assert "retryLimit" not in (await ctl("get", "retry-policy", "careful")).out


CREATE = "refloatctl create retry-policy -f"


async def test_deleting_is_idempotent_but_refused_while_a_queue_references(ctl: Ctl) -> None:
    deleted = done("Deleted retry policy careful (or it did not exist)\n")
    assert await ctl("delete", "retry-policy", "careful") == deleted
    await ctl("create", "-f", ctl.file(POLICY))
    await ctl("create", "queue", "q", "--retry-policies", "careful")
    assert await ctl("delete", "retry-policy", "careful") == refused(
        'error deleting retry policy careful: retry policy "careful" is attached to queues: q; '
        "detach it from them first; as in: refloatctl update queue QUEUE --retry-policies ''"
    )
    await ctl("update", "queue", "q", "--retry-policies", "")
    assert await ctl("delete", "retry-policy", "careful") == deleted


async def test_an_unknown_policy_is_one_line(ctl: Ctl) -> None:
    assert await ctl("get", "retry-policy", "nobody") == refused(
        'error getting retry policy nobody: could not find retry policy "nobody"; '
        "see what there is with: refloatctl get retry-policies"
    )


async def test_what_the_server_refuses_is_one_line_with_rule_and_reason(ctl: Ctl) -> None:
    file = ctl.file(POLICY.replace("factor: 1.5", "factor: 1"))
    assert await ctl("create", "retry-policy", "-f", file) == refused(
        "error creating retry policy careful: invalid retry policy: "
        'retry policy "careful" rule 0: mutate.resources.memory: factor 1 must be greater than 1.0'
    )
    assert (await ctl("get", "retry-policies")).out.endswith("retryPolicies: []\n")


async def test_a_null_rule_is_refused_by_its_number(ctl: Ctl) -> None:
    file = ctl.file(POLICY.replace("- action: Retry", "- null\n      - action: Retry"))
    answer = await ctl("create", "retry-policy", "-f", file)
    assert answer.err.endswith('retry policy "careful" rule 0: action must be Fail or Retry\n')


async def test_a_dry_run_reads_and_asks_nobody(ctl: Ctl) -> None:
    assert await ctl("create", "-f", ctl.file(POLICY), "--dry-run") == done()
    assert (await ctl("get", "retry-policies")).out.endswith("retryPolicies: []\n")
    file = ctl.file(POLICY.replace("retryLimit", "retry_limit"))
    assert await ctl("create", "-f", file, "--dry-run") == refused(
        f'file {file} error: retry_limit: unknown field "retry_limit"; did you mean retryLimit?'
    )


async def test_a_file_of_another_kind_is_refused(ctl: Ctl) -> None:
    file = ctl.file("{apiVersion: armadaproject.io/v1beta1, kind: Queue, name: q}")
    assert await ctl("create", "retry-policy", "-f", file) == refused(
        f'file {file} error: kind: kind must be "RetryPolicy", not Queue'
    )
    file = ctl.file("{apiVersion: armadaproject.io/v1beta1, name: q}")
    assert await ctl("create", "-f", file) == refused(f"file {file} error: kind: is required; valid: {KINDS}")


KINDS = "Queue, RetryPolicy"


async def test_a_file_that_is_not_there_is_one_line(ctl: Ctl) -> None:
    assert await ctl("create", "retry-policy", "-f", "/nowhere.yaml") == Ran(
        1, "", "Error: file /nowhere.yaml error: no such file or directory\n"
    )
