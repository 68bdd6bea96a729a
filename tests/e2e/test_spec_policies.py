"""The specification's section *Managing policies with armadactl*, line by line, with refloatctl on a real host."""

import json
import shutil
from pathlib import Path

import pytest

from refloat_ctl.core.text.reading import read_text
from testkit.ctl.running import Ran, done, refused
from testkit.ctl.shell import shell_with_host
from testkit.style.tree import ROOT

pytestmark = pytest.mark.timeout(60)

SECTION = ROOT / "tests/data/specification"
LINES = (SECTION / "managing_policies.txt").read_text(encoding="utf-8").splitlines()

BODY = """defaultAction: Fail
name: ml-training-retries
retryLimit: 3
rules:
- action: Fail
  onCategory: user-error
- action: Retry
  onCategory: gpu
  onSubcategory: transient
- action: Retry
  onCategory: internal
  onSubcategory: lease-expired
"""
HEAD = "apiVersion: armadaproject.io/v1beta1\nkind: RetryPolicy\n"
LISTED = "".join(f"{'- ' if i == 0 else '  '}{line}\n" for i, line in enumerate(BODY.splitlines()))
POLICY = "retry-policy ml-training-retries"
ATTACHED = (
    'error deleting retry policy ml-training-retries: retry policy "ml-training-retries" is attached to queues: '
    "my-queue; detach it from them first; as in: refloatctl update queue QUEUE --retry-policies ''"
)

EXPECTED: dict[str, Ran] = {
    "armadactl create retry-policy -f retry-policy.yaml": done("Created retry policy ml-training-retries\n"),
    "armadactl update retry-policy -f retry-policy.yaml": done("Updated retry policy ml-training-retries\n"),
    f"armadactl get {POLICY}": Ran(0, HEAD + BODY),
    "armadactl get retry-policies": Ran(0, HEAD + "retryPolicies:\n" + LISTED),
    "armadactl create queue my-queue --retry-policies ml-training-retries": done("Created queue my-queue\n"),
    "armadactl update queue my-queue --retry-policies ml-training-retries": done("Updated queue my-queue\n"),
    f"armadactl delete {POLICY}": refused(ATTACHED),
}
"""What each line of the section does when they are run one after the other."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with the specification's example policy in it."""
    shutil.copy(SECTION / "retry-policy.yaml", tmp_path)
    return tmp_path


def test_every_line_of_the_section_is_expected_to_do_something() -> None:
    assert list(EXPECTED) == LINES


def test_the_section_line_by_line(home: Path) -> None:
    with shell_with_host(home) as shell:
        for line in LINES:
            assert shell(line) == EXPECTED[line], line
        assert shell(f"armadactl get {POLICY}").code == 0
        assert shell("armadactl update queue my-queue --retry-policies ''") == done("Updated queue my-queue\n")
        assert shell(LINES[-1]) == done("Deleted retry policy ml-training-retries (or it did not exist)\n")
        assert shell("armadactl get retry-policies").out == HEAD + "retryPolicies: []\n"


def test_a_queue_lists_several_policies_in_precedence_order(home: Path) -> None:
    policy = (home / "retry-policy.yaml").read_text(encoding="utf-8")
    with shell_with_host(home) as shell:
        for name in ("third", "first", "second"):
            (home / "one.yaml").write_text(policy.replace("ml-training-retries", name), encoding="utf-8")
            assert shell("armadactl create -f one.yaml").code == 0
        assert shell("armadactl create queue my-queue --retry-policies first,second,third").code == 0
        assert json.loads(shell("armadactl get queue my-queue -o json").out)["retryPolicies"] == [
            *("first", "second", "third"),
        ]
        assert shell("armadactl delete retry-policy third").code == 1


def test_a_policy_may_be_written_as_json(home: Path) -> None:
    value = read_text((home / "retry-policy.yaml").read_text(encoding="utf-8"))
    (home / "retry-policy.json").write_text(json.dumps(value, indent="\t"), encoding="utf-8")
    with shell_with_host(home) as shell:
        assert shell("armadactl create retry-policy -f retry-policy.json").code == 0
        assert shell(f"armadactl get {POLICY}") == Ran(0, HEAD + BODY)
