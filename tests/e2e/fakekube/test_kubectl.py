"""kubectl works against the fake cluster unchanged; the cluster runs as a process of its own."""

import json
import os
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testkit.fake_process import FakeProcess
from testkit.real_kube.assets import command

KUBECTL = command("kubectl") if command("kubectl").exists() else Path(shutil.which("kubectl") or "no-kubectl")
pytestmark = pytest.mark.skipif(
    not KUBECTL.exists(), reason="needs kubectl: run `make kube-assets NODE=1` (needs Go), or install it"
)

SCRIPT = "fakekube.refloat.dev/script"
Run = Callable[..., str]


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeProcess]:
    with FakeProcess("--nodes", "2", "--label", "pool=a") as running:
        yield running


@pytest.fixture
def kubectl(cluster: FakeProcess, tmp_path: Path) -> Iterator[Run]:
    """Runs kubectl and gives what it printed; pods that a test leaves behind are removed."""
    environment = {"KUBECONFIG": str(cluster.kubeconfig), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    def run(*arguments: str, stdin: str = "", code: int = 0) -> str:
        done = subprocess.run(
            [str(KUBECTL), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=environment,
            timeout=15,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    yield run
    run("delete", "pods", "--all", "--force", "--grace-period=0")


def manifest(name: str, script: str = "succeed", image: str = "none:1") -> str:
    return textwrap.dedent(f"""\
        apiVersion: v1
        kind: Pod
        metadata:
          name: {name}
          labels: {{app: {name}}}
          annotations: {{{SCRIPT}: {script}}}
        spec:
          restartPolicy: Never
          containers:
          - name: main
            image: {image}
            resources: {{limits: {{memory: 64Mi}}}}
        """)


def ended(kubectl: Run, name: str, phase: str) -> None:
    kubectl("wait", f"pod/{name}", f"--for=jsonpath={{.status.phase}}={phase}", "--timeout=10s")


def test_get_shows_the_usual_columns(kubectl: Run) -> None:
    kubectl("create", "-f", "-", stdin=manifest("a", "oom"))
    ended(kubectl, "a", "Failed")
    lines = [line.split() for line in kubectl("get", "pods", "-o", "wide").splitlines()]
    assert lines[0][:7] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE"]
    assert lines[1][:4] == ["a", "0/1", "OOMKilled", "0"]
    nodes = [line.split()[:2] for line in kubectl("get", "nodes", "--no-headers").splitlines()]
    assert nodes == [["node-1", "Ready"], ["node-2", "Ready"]]


def test_get_finds_by_selectors_and_prints_json(kubectl: Run) -> None:
    for name in ("a", "b"):
        kubectl("create", "-f", "-", stdin=manifest(name, "run"))
    assert kubectl("get", "pods", "-l", "app=b", "-o", "name") == "pod/b\n"
    assert kubectl("get", "pods", "--field-selector", "metadata.name=a", "-o", "name") == "pod/a\n"
    listed = json.loads(kubectl("get", "pods", "-o", "json"))
    assert [item["kind"] for item in listed["items"]] == ["Pod", "Pod"]


def test_describe_shows_the_events_of_a_pod(kubectl: Run) -> None:
    kubectl("create", "-f", "-", stdin=manifest("a", "start-error"))
    ended(kubectl, "a", "Failed")
    told = kubectl("describe", "pod", "a")
    assert "Reason:       StartError" in told
    assert "Successfully assigned default/a to node-" in told
    assert "Error: failed to create containerd task" in told
    assert "pods:               110" in kubectl("describe", "node", "node-1")


def test_apply_creates_then_changes_then_leaves_alone(kubectl: Run) -> None:
    assert kubectl("apply", "-f", "-", stdin=manifest("a", "run")) == "pod/a created\n"
    assert kubectl("apply", "-f", "-", stdin=manifest("a", "run")) == "pod/a unchanged\n"
    assert kubectl("apply", "-f", "-", stdin=manifest("a", "run", "none:2")) == "pod/a configured\n"
    assert kubectl("get", "pod", "a", "-o", "jsonpath={.spec.containers[0].image}") == "none:2"


def test_apply_on_the_server_side_and_diff(kubectl: Run) -> None:
    assert kubectl("apply", "--server-side", "-f", "-", stdin=manifest("a", "run")) == "pod/a serverside-applied\n"
    assert "none:2" in kubectl("diff", "--server-side", "-f", "-", stdin=manifest("a", "run", "none:2"), code=1)


@pytest.mark.parametrize(
    ("form", "change"),
    [
        ("strategic", '{"metadata":{"labels":{"x":"1"}}}'),
        ("merge", '{"metadata":{"labels":{"x":"1"}}}'),
        ("json", '[{"op":"add","path":"/metadata/labels/x","value":"1"}]'),
    ],
)
def test_patch_in_every_form(kubectl: Run, form: str, change: str) -> None:
    kubectl("create", "-f", "-", stdin=manifest("a", "run"))
    assert kubectl("patch", "pod", "a", "--type", form, "-p", change) == "pod/a patched\n"
    assert kubectl("get", "pod", "a", "-o", "jsonpath={.metadata.labels.x}") == "1"


def test_wait_for_a_condition_and_for_deletion(kubectl: Run) -> None:
    kubectl("create", "-f", "-", stdin=manifest("a", "run"))
    assert kubectl("wait", "pod/a", "--for=condition=Ready", "--timeout=10s") == "pod/a condition met\n"
    kubectl("delete", "pod", "a", "--wait=false")
    assert "pod/a condition met" in kubectl("wait", "pod/a", "--for=delete", "--timeout=10s") or not kubectl(
        "get", "pods", "-o", "name"
    )


def test_get_with_watch_shows_a_pod_through_its_life(kubectl: Run, cluster: FakeProcess) -> None:
    kubectl("create", "-f", "-", stdin=manifest("before", "run"))
    kubectl("wait", "pod/before", "--for=condition=Ready", "--timeout=10s")
    watching = subprocess.Popen(
        [str(KUBECTL), "--kubeconfig", str(cluster.kubeconfig), "get", "pods", "-w", "--no-headers"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert watching.stdout is not None
    try:
        assert watching.stdout.readline().split()[:3] == ["before", "1/1", "Running"]
        kubectl("create", "-f", "-", stdin=manifest("a", "exit-1"))
        ended(kubectl, "a", "Failed")
        shown: list[str] = []
        while "Error" not in shown:
            shown.append(watching.stdout.readline().split()[2])
    finally:
        watching.kill()
        watching.wait()
        watching.stdout.close()
    assert shown[0] == "Pending"
    assert "ContainerCreating" in shown


def test_delete_waits_until_the_pod_is_gone(kubectl: Run) -> None:
    kubectl("create", "-f", "-", stdin=manifest("a", "run"))
    kubectl("wait", "pod/a", "--for=condition=Ready", "--timeout=10s")
    assert kubectl("delete", "pod", "a").startswith('pod "a" deleted')
    assert "NotFound" in kubectl("get", "pod", "a", code=1)


def test_drain_evicts_what_runs_on_a_node(kubectl: Run) -> None:
    kubectl("create", "-f", "-", stdin=manifest("a", "run"))
    kubectl("wait", "pod/a", "--for=condition=Ready", "--timeout=10s")
    node = kubectl("get", "pod", "a", "-o", "jsonpath={.spec.nodeName}")
    told = kubectl("drain", node, "--force")
    assert f"node/{node} drained" in told
    assert "SchedulingDisabled" in kubectl("get", "node", node)
    kubectl("uncordon", node)


def test_namespaces_come_and_go(kubectl: Run) -> None:
    kubectl("create", "-f", "-", stdin='{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "extra"}}')
    kubectl("create", "-n", "extra", "-f", "-", stdin=manifest("a", "run"))
    assert 'namespace "extra" deleted' in kubectl("delete", "namespace", "extra")
    assert "NotFound" in kubectl("get", "namespace", "extra", code=1)
