"""The one story that needs all that the executor may do in its cluster: a job fails, and its retry is another pod.

A node joins while the executor runs. The first attempt fails on the node that was there before, in a way that only an
event tells; it is deleted and gone before it is reported; the retry has more memory and goes to the other node.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

from refloat_common.core.ids import JobId, pod_name
from refloat_common.core.quantity import parse
from refloat_fakekube.kubelet.settings import NodeSpec
from testkit.live.kubelets import Kubelets
from testkit.live.onlooker import Onlooker
from testkit.live.product import Json, Product

FIRST = NodeSpec("fake-first", allocatable={"cpu": "64", "memory": "256Gi", "pods": "500"})
LATE = NodeSpec("fake-late", allocatable={"cpu": "32", "memory": "64Gi", "pods": "500"})
"""Smaller than the first, so that the first attempt never goes there."""
SCRIPT_ANNOTATION = "fakekube.refloat.dev/script"
PEER_LOST: Json = {"outcome": "exit", "code": 1, "message": "NCCL ERROR: collective operation timeout"}
"""A failure of the shipped category `peer`, whose pods are deleted."""
GROWS_AND_MOVES: Json = {
    "name": "grows-and-moves",
    "retryLimit": 2,
    "defaultAction": "Fail",
    "rules": [
        {
            "action": "Retry",
            "onCategory": "stopped",
            "mutate": {"resources": {"memory": {"factor": 2}}, "affinity": {"avoidSameNode": True}},
        }
    ],
}
TOLD = [
    "submitted", "queued", "leased", "pending", "failed stopped/hook, retried",
    "leased", "pending", "succeeded",
]  # fmt: skip
"""Without `running`, which a pod that ends at once may never be seen to be."""
REQUEST, LIMIT = "64Mi", "96Mi"


def pod_spec(request: str = REQUEST, limit: str = LIMIT, **fields: object) -> Json:
    """A pod of one container."""
    resources = {"requests": {"cpu": "100m", "memory": request}, "limits": {"cpu": "1", "memory": limit}}
    container = {"name": "main", "image": "refloat.test/none:1", "resources": resources}
    return {"terminationGracePeriodSeconds": 1, "containers": [container], **fields}


def script(play: Json) -> dict[str, str]:
    """The annotation that tells the fake kubelets what a pod does."""
    return {SCRIPT_ANNOTATION: json.dumps(play)}


def at_first(play: Json) -> dict[str, str]:
    """The annotation for a pod that does so on its first attempt, and succeeds on any other."""
    return script({"cases": [{"when": {"attempts": [1]}, **play}, {"outcome": "succeed"}]})


@dataclass(frozen=True, slots=True)
class Retry:
    """Where the story is played. `within_s` is how long each of its steps may take.

    `look` is called while a step is waited for; it may raise what ends the story before its time.
    """

    product: Product
    kubelets: Kubelets
    onlooker: Onlooker
    within_s: float
    executor: str
    look: Callable[[], None] = lambda: None

    def play(self, *, joins: NodeSpec | None = None) -> JobId:
        """Live through it, and check every step; `joins` is the node that comes meanwhile, if it is not there yet.

        Raises:
            AssertionError: a step did not come about in time, or not as it should.
        """
        product = self.product
        self._until(lambda: product.has_session(self.executor), "the executor has a session")
        if joins is not None:
            self.kubelets.add(joins)
        self._until(lambda: product.nodes_known(self.executor) == 2, "the host knows both nodes")
        [job] = product.submit(pod_spec(), annotations=at_first({"outcome": "hook-fails"}))
        self._until(lambda: self._told(job), "the job is retried and succeeds")
        self._check_pods(job)
        return job

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        def looked() -> bool:
            self.look()
            return condition()

        self.product.until(looked, self.within_s, what)

    def _told(self, job: JobId) -> bool:
        told = [words for words in self.product.story(job) if words != "running"]
        # Whatever it has been told so far must be the story's beginning: nothing else can make it right again.
        assert told == TOLD[: len(told)], told
        return told == TOLD

    def _check_pods(self, job: JobId) -> None:
        name = pod_name(job)
        first_uid, second_uid = self.onlooker.uids(name)
        gone, made = self.onlooker.first(first_uid, "DELETED"), self.onlooker.first(second_uid, "ADDED")
        assert gone is not None
        assert made is not None
        lines = self.onlooker.lines
        assert lines.index(gone) < lines.index(made)
        first, second = gone.pod, made.pod
        assert first["spec"]["nodeName"] == FIRST.name
        assert self.onlooker.first(second_uid, phase="Succeeded").pod["spec"]["nodeName"] == LATE.name  # type: ignore[union-attr]  # the event stream says that it succeeded
        assert (memory(first), memory(second)) == ((_bytes(REQUEST), _bytes(LIMIT)), (_bytes("128Mi"), _bytes("192Mi")))
        assert "affinity" not in first["spec"]
        assert second["spec"]["affinity"] == avoids(FIRST.name)
        self._check_order(first_uid)

    def _check_order(self, uid: str) -> None:
        """Classified, deleted, gone, reported: in this order, by the executor's own trace."""
        lines = self.product.log(self.executor)
        [run] = [line["run"] for line in lines if line["message"] == "pod.detect" and line["uid"] == uid]
        steps = [
            line["verb"] if line["message"] == "kube.call" else line["message"]
            for line in lines
            if line.get("run") == run and (line["message"] != "jrn.synced" or line["report"] == "failed")
        ]
        began = steps.index("pod.detect")
        assert steps[began:] == ["pod.detect", "delete", "get", "pod.gone", "jrn.synced", "rep.sent"]


def avoids(*nodes: str) -> Json:
    """The affinity of a pod that must not go to these nodes."""
    expression = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": list(nodes)}
    term = {"matchExpressions": [expression]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def memory(pod: Json) -> tuple[int, int]:
    """What a pod's container requests, and its limit, in bytes."""
    resources = pod["spec"]["containers"][0]["resources"]
    return _bytes(resources["requests"]["memory"]), _bytes(resources["limits"]["memory"])


def _bytes(text: str) -> int:
    return parse(text).nanos // 1_000_000_000
