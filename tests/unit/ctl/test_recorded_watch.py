"""What `watch` and `get` print is what armadactl printed for the same events and policies."""

import json

from armada_client.armada import event_pb2
from google.protobuf.json_format import ParseDict

from refloat_common.core.podproto import fill
from refloat_ctl.adapters.server.events import StreamedEvent
from refloat_ctl.core.resources.envelope import RETRY_POLICY, head_for
from refloat_ctl.core.text.json_out import go_json
from refloat_ctl.core.text.reading import read_text
from refloat_ctl.core.text.writing import write_document
from refloat_ctl.core.watching import Board
from refloat_scheduler.core.policies.document import decode, encode
from testkit.armada_live.recordings import public_lines
from testkit.style.tree import ROOT

DATA = ROOT / "tests/data/armada_live"
JOB_SET = "on-oom-grows"
KUBERNETES = ("podSpec", "schedulingResourceRequirements")


def recorded() -> list[StreamedEvent]:
    messages = [line["message"] for line in public_lines()]
    return [
        event(message) for message in messages if next(iter(message.values()))["jobSetId"] == JOB_SET
    ]  # fmt: skip


def with_numbers(fields: dict[str, object]) -> dict[str, object]:
    """protobuf's JSON has numbers of 64 bits as texts."""
    return {key: int(str(value)) if key.endswith("Seconds") else value for key, value in fields.items()}


def event(said: dict[str, dict[str, dict[str, object]]]) -> StreamedEvent:
    [(name, body)] = said.items()
    job = body.get("job", {})
    pods = {key: job.pop(key) for key in KUBERNETES if key in job}
    message = getattr(ParseDict(said, event_pb2.EventMessage()), name)
    for key, value in pods.items():
        field = {"podSpec": "pod_spec", "schedulingResourceRequirements": "scheduling_resource_requirements"}[key]
        fill(getattr(message.job, field), json.loads(json.dumps(value), object_hook=with_numbers))
    return StreamedEvent("", message)


def test_a_watch_prints_armadactls_lines_byte_for_byte() -> None:
    board = Board()
    printed = "".join(board.see(each.seen()) for each in recorded())
    assert f"Watching job set {JOB_SET}\n{printed}" == (DATA / "cli/watch-on-oom-grows.out").read_text("utf-8")


def test_a_raw_watch_prints_armadactls_objects() -> None:
    lines = (DATA / "cli/watch-raw-on-oom-grows.out").read_text("utf-8").splitlines()[1:]
    wanted = [(line.split(" ", 1)[0], json.loads(line.split(" ", 1)[1])) for line in lines]
    assert [(f"*api.{each.type_name}", each.raw()) for each in recorded()] == wanted


def test_a_raw_line_without_a_pod_spec_is_armadactls_byte_for_byte() -> None:
    lines = (DATA / "cli/watch-raw-on-oom-grows.out").read_text("utf-8").splitlines()[2:]
    assert [f"*api.{each.type_name} {go_json(each.raw())}" for each in recorded()[1:]] == lines


def test_get_prints_armadactls_list_byte_for_byte() -> None:
    printed = (DATA / "cli/get-retry-policies.out").read_text("utf-8")
    listed = read_text(printed)
    assert isinstance(listed, dict)
    policies = [decode(policy) for policy in listed["retryPolicies"]]
    body = {"retryPolicies": [encode(policy) for policy in policies if policy is not None]}
    assert write_document(head_for(RETRY_POLICY), body) == printed
