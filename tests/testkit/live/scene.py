"""The product on a real API server with fake kubelets: what the tests of the executor there share."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from refloat_common.core.ids import JobId, pod_name
from testkit.live.gate import Gate, gate_to
from testkit.live.kubelets import Kubelets, fake_kubelets
from testkit.live.onlooker import Onlooker, looking_on
from testkit.live.product import HOST, NAMESPACE, Json, Product, Setup
from testkit.live.retry import FIRST, at_first, pod_spec
from testkit.real_kube import HttpApi, RealApi

STEP_S = 20.0
"""How long a step may take on a machine that is busy."""
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


@dataclass(frozen=True, slots=True)
class Scene:
    """All that a test needs. The executor's way to the server leads through the gate; the test's own does not."""

    api: RealApi
    gate: Gate
    kubelets: Kubelets
    product: Product
    onlooker: Onlooker

    @property
    def admin(self) -> HttpApi:
        """The test's own hand in the cluster."""
        return self.api.admin

    @staticmethod
    def name(job: JobId) -> str:
        """The name of a job's pods."""
        return pod_name(job)

    def path(self, job: JobId) -> str:
        """Where a job's pod is."""
        return f"{PODS}/{pod_name(job)}"

    def pod(self, job: JobId) -> Json | None:
        """A job's pod as it is now; None if there is none."""
        answer = self.admin.get(self.path(job))
        return answer.body if answer.status == 200 else None

    def started(self, play: Json, queue: str = "all") -> JobId:
        """A new job that plays this on its first attempt, once its pod runs."""
        [job] = self.product.submit(pod_spec(), queue=queue, annotations=at_first(play))
        self.product.until_told(job, "running", STEP_S)
        return job

    def nodes_known(self) -> int:
        """How many nodes the host knows."""
        return self.product.nodes_known()

    def uid(self, job: JobId) -> str:
        """The uid of a job's pod, which must be there."""
        pod = self.pod(job)
        assert pod is not None
        return str(pod["metadata"]["uid"])

    def until_gone(self, job: JobId, uid: str, within_s: float = STEP_S) -> None:
        """Wait until the pod with this uid is no more."""

        def gone() -> bool:
            pod = self.pod(job)
            return pod is None or pod["metadata"]["uid"] != uid

        self.product.until(gone, within_s, f"pod {uid} is gone")


@contextmanager
def scene_on(api: RealApi, folder: Path, setup: Setup, *, executor: bool = True) -> Iterator[Scene]:
    """Host, kubelets, onlooker, and the executor if it is wanted; in the end all of them must end well."""
    with (
        gate_to(api.port) as gate,
        fake_kubelets(api, [FIRST]) as kubelets,
        looking_on(api.admin, NAMESPACE) as onlooker,
        Product(folder, _kubeconfig_through(gate, api, folder), setup) as product,
    ):
        product.start_host()
        if executor:
            product.start_executor()
        yield Scene(api, gate, kubelets, product, onlooker)
        codes = product.stop()
        assert codes == dict.fromkeys(codes, 0)
        assert HOST in codes


def _kubeconfig_through(gate: Gate, api: RealApi, folder: Path) -> Path:
    config = yaml.safe_load(api.kubeconfig().read_text())
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{gate.port}"
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path
