"""Jobs for a real kubelet: what each does, and how it must end if everything works. The test and the demo play them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from refloat_cli.demo.scenario import Expectation, PlannedJob
from testkit.live.product import NAMESPACE, Json
from testkit.real_kube.images import IMAGE

QUEUE = "q"
POLICY: Json = {
    "name": "careful",
    "retryLimit": 2,
    "defaultAction": "Fail",
    "rules": [
        {"action": "Retry", "onCategory": "oom", "mutate": {"resources": {"memory": {"factor": 2}}}},
        {"action": "Retry", "onCategory": "peer", "mutate": {"resources": {"memory": {"factor": 2}}}},
        {"action": "Retry", "onCategory": "node"},
    ],
}
CLEARED = frozenset({"oom", "peer", "node", "stopped"})
"""Those of the shipped categories here whose failed pods are deleted."""
MEMORY_MIB = 32
"""What a container has unless it says otherwise."""
HOLDS_S = 12
"""How long the job lives that takes most of the node: longer than the other needs to be refused for it."""


@dataclass(frozen=True, slots=True)
class NodeJob(PlannedJob):
    """One job.

    `events` are all that must be told of it, in order, but for `running`, which a short pod may never be seen to be.
    `exits`: the containers that the last failure tells of, with their exit codes. `kept`: the last pod stays.
    `unclear`: the kubelet may lose the containers from sight before it tells how they ended, and tell of none.
    `after`: the job that must be running before this one is submitted.
    """

    spec: Json = field(default_factory=dict)
    events: tuple[str, ...] = ()
    exits: tuple[tuple[str, int], ...] = ()
    kept: bool = True
    unclear: bool = False
    after: str = ""

    def pod_spec(self) -> Json:
        """The pod spec that is submitted."""
        return self.spec


def node_jobs(node: str, processors: float) -> Sequence[NodeJob]:
    """All of them, for a node with this name and so many processors."""
    return [
        _succeeding("succeeds", _pod(_container("main", "true"))),
        *_jobs_of_memory(),
        *_jobs_of_limits(),
        *_jobs_of_admission(node, processors),
        *_jobs_of_containers(),
    ]


def _jobs_of_memory() -> Sequence[NodeJob]:
    return [
        _recovering("runs-out-of-memory", "oom", _pod(_container("main", _hog(48))), ("main", 137)),
        _failing("never-has-enough-memory", "oom", _pod(_container("main", _hog(512))), ("main", 137), attempts=3),
    ]


def _jobs_of_limits() -> Sequence[NodeJob]:
    """Deadlines, and storage: that one takes the kubelet ten seconds to notice."""
    slow, killed = _container("main", "sleep 1000"), ("main", 137)
    own = _container("main", _writer("/tmp"))
    own["resources"] = {"limits": {"ephemeral-storage": "5Mi"}}
    volume = _container("main", _writer("/scratch"), volumeMounts=[{"name": "scratch", "mountPath": "/scratch"}])
    scratch: object = [{"name": "scratch", "emptyDir": {"sizeLimit": "5Mi"}}]
    probe: object = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1}
    probed = _container("main", "sleep 1000", livenessProbe=probe)
    evicted = [
        _failing("outgrows-its-disk-limit", "limits/disk", _pod(own), killed),
        _failing("outgrows-its-volume", "limits/disk", _pod(volume, volumes=scratch), killed),
    ]
    return [
        *(replace(job, unclear=True) for job in evicted),
        _failing("exceeds-its-deadline", "limits/deadline", _pod(slow, activeDeadlineSeconds=8), killed),
        _failing("fails-its-liveness-probe", "stopped/probe", _pod(probed), killed),
    ]


def _jobs_of_admission(node: str, processors: float) -> Sequence[NodeJob]:
    """Pods that the kubelet refuses: one for itself, one for what else runs there, past the scheduler."""
    most: Json = {"requests": {"cpu": f"{processors * 0.6:.2f}"}}
    holder, refused = (_container("main", f"sleep {HOLDS_S}") | {"resources": most} for _ in range(2))
    full = _failing("finds-the-node-full", "node/admission", _pod(refused, nodeName=node), attempts=3)
    windows = _pod(_container("main", "true"), os={"name": "windows"})
    return [
        _failing("is-for-another-system", "user-error/pod-spec", windows),
        _succeeding("takes-most-of-the-node", _pod(holder, nodeName=node)),
        replace(full, after="takes-most-of-the-node"),
    ]


def _jobs_of_containers() -> Sequence[NodeJob]:
    """Who of several containers is to blame, and who is not; and one that never starts."""
    well = _container("main", "true")
    unprepared = _pod(well, initContainers=[_container("prepare", "no-such-program")])
    reads: object = {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}
    lonely = _container(
        "main",
        f"[ $MEMORY -gt {MEMORY_MIB} ] && exit 0;"
        "echo 'NCCL ERROR: collective operation timeout' >/dev/termination-log; exit 1",
        env=[{"name": "MEMORY", "valueFrom": reads}],
    )
    segfault = _pod(well, _container("helper", "exit 139"))
    absent = _container("main", "") | {"command": ["/no/such/binary"]}
    return [
        _failing("fails-in-an-init-container", "user-error/command", unprepared, ("prepare", 127)),
        _failing("fails-in-its-second-container", "crash/segmentation-fault", segfault, ("helper", 139), ("main", 0)),
        _failing("cannot-be-started", "user-error/command", _pod(absent), ("main", 128)),
        _succeeding("has-a-sidecar-killed-at-the-end", _with_sidecar(_container("main", "sleep 1"))),
        _recovering("fails-beside-a-sidecar", "peer/collective", _with_sidecar(lonely), ("main", 1), ("proxy", 137)),
    ]


def _succeeding(name: str, spec: Json) -> NodeJob:
    events = ("submitted", "queued", "leased", "pending", "succeeded")
    return NodeJob(name, QUEUE, {}, "", Expectation(state="succeeded"), NAMESPACE, spec, events)


def _failing(name: str, category: str, spec: Json, *exits: tuple[str, int], attempts: int = 1) -> NodeJob:
    """A job that fails so often, the last time for good."""
    retried = ("leased", "pending", f"failed {category}, retried") * (attempts - 1)
    events = ("submitted", "queued", *retried, "leased", "pending", f"failed {category}, for good")
    expect = Expectation(state="failed", failures=(category,) * attempts)
    kept = category.partition("/")[0] not in CLEARED
    return NodeJob(name, QUEUE, {}, "", expect, NAMESPACE, spec, events, exits, kept)


def _recovering(name: str, category: str, spec: Json, *exits: tuple[str, int]) -> NodeJob:
    """A job that fails once, and succeeds when it is retried."""
    retried = f"failed {category}, retried"
    events = ("submitted", "queued", "leased", "pending", retried, "leased", "pending", "succeeded")
    expect = Expectation(state="succeeded", failures=(category,))
    return NodeJob(name, QUEUE, {}, "", expect, NAMESPACE, spec, events, exits)


def _pod(*containers: Json, **fields: object) -> Json:
    return {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": list(containers), **fields}


def _with_sidecar(container: Json) -> Json:
    """A pod with a native sidecar that does not listen when it is told to end."""
    deaf = _container("proxy", "trap '' TERM; while :; do sleep 1; done", restartPolicy="Always")
    return _pod(container, initContainers=[deaf])


def _container(name: str, script: str, **fields: object) -> Json:
    amounts: Json = {"cpu": "10m", "memory": f"{MEMORY_MIB}Mi"}
    resources: Json = {"requests": amounts, "limits": {"memory": f"{MEMORY_MIB}Mi"}}
    command: object = ["sh", "-c", script]
    return {
        "name": name,
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "command": command,
        "resources": resources,
    } | fields


def _hog(mib: int) -> str:
    """Uses so much memory at once, and is killed for it; the shell around it tells with which code.

    Not at once after its start: the runtime begins to listen for the kernel's kills when a container runs already, and
    one that it has missed it calls `Error` instead of `OOMKilled`. Nor does it end together with what was killed.
    """
    return f"sleep 2; dd if=/dev/zero of=/dev/null bs={mib}M count=1; code=$?; sleep 1; exit $code"


def _writer(folder: str) -> str:
    """Writes more than it may."""
    return f"dd if=/dev/zero of={folder}/file bs=1M count=20; sleep 1000"
