"""Jobs that fail in earnest on a real node: each ends with the category, the verdict and the events of its script.

They are submitted all at once; each test then judges one of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from refloat_common.core.ids import JobId, pod_name
from refloat_scheduler.core.events import JobFailed
from testkit.live.node_jobs import MEMORY_MIB, POLICY, QUEUE, NodeJob, node_jobs
from testkit.live.onlooker import Onlooker, looking_on
from testkit.live.product import NAMESPACE, Product, Setup
from testkit.live.retry import memory
from testkit.real_kube import RealNode

pytestmark = pytest.mark.node

NODE = "real1"
RUNS_S, ENDS_S = 60.0, 120.0
NAMES = [job.name for job in node_jobs(NODE, 1.0)]
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Told:
    """What all of it came to."""

    cluster: RealNode
    product: Product
    onlooker: Onlooker
    jobs: Mapping[str, NodeJob]
    ids: Mapping[str, JobId]
    codes: Mapping[str, int]

    def failures(self, name: str) -> list[JobFailed]:
        """The failures of a job."""
        return [event for event in self.product.told[self.ids[name]] if isinstance(event, JobFailed)]

    def uids(self, name: str) -> list[str]:
        """The uids of a job's pods, in order."""
        return self.onlooker.uids(pod_name(self.ids[name]))


@pytest.fixture(scope="module")
def told(real_node: RealNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """All jobs, lived through to their ends."""
    api = real_node.api
    processors = float(api.admin.get(f"/api/v1/nodes/{NODE}").ok()["status"]["allocatable"]["cpu"])
    jobs = {job.name: job for job in node_jobs(NODE, processors)}
    setup = Setup(policies=[POLICY], queues={QUEUE: str(POLICY["name"])})
    folder = tmp_path_factory.mktemp("product")
    with looking_on(api.admin, NAMESPACE) as onlooker, Product(folder, api.kubeconfig(), setup) as product:
        product.start_host()
        product.start_executor()
        ids = _submit(product, list(jobs.values()))
        product.until_over(ids.values(), ENDS_S)
        yield Told(real_node, product, onlooker, jobs, ids, product.stop())
    api.wipe_pods(NAMESPACE)


def _submit(product: Product, jobs: list[NodeJob]) -> dict[str, JobId]:
    at_once = [job for job in jobs if not job.after]
    ids = dict(zip([job.name for job in at_once], product.submit(*[job.spec for job in at_once]), strict=True))
    for job in jobs:
        if job.after:
            product.until_told(ids[job.after], "running", RUNS_S)
            [ids[job.name]] = product.submit(job.spec)
    return ids


@pytest.mark.parametrize("name", NAMES)
def test_a_job_ends_as_its_script_says(told: Told, name: str) -> None:
    job, job_id = told.jobs[name], told.ids[name]
    assert tuple(words for words in told.product.story(job_id) if words != "running") == job.events
    failures, attempts = told.failures(name), len(job.expect.failures)
    reported = sorted((each.name, each.exit_code) for each in failures[-1].container_statuses) if failures else []
    assert reported == sorted(job.exits) or (job.unclear and not reported)
    verdicts = [(one["retry"], _category(one), one["gate"], one["policy"]) for one in told.product.explanations(job_id)]
    fails = job.expect.state == "failed"
    assert verdicts == [
        (not (fails and place == attempts), category, "passed", POLICY["name"])
        for place, category in enumerate(job.expect.failures, start=1)
    ]
    pods = told.uids(name)
    assert len(pods) == attempts + (not fails)
    gone = [uid for uid in pods if told.onlooker.first(uid, "DELETED")]
    assert gone == (pods[:-1] if job.kept else pods)


def _category(explanation: Mapping[str, object]) -> str:
    return "/".join(str(part) for part in (explanation["category"], explanation["subcategory"]) if part)


@pytest.mark.parametrize(("name", "attempts"), [("runs-out-of-memory", 2), ("never-has-enough-memory", 3)])
def test_every_retry_after_a_lack_of_memory_asks_for_twice_as_much(told: Told, name: str, attempts: int) -> None:
    made = [told.onlooker.first(uid, "ADDED") for uid in told.uids(name)]
    bytes_of = [memory(line.pod) for line in made if line is not None]
    assert bytes_of == [(MEMORY_MIB * MIB << attempt,) * 2 for attempt in range(attempts)]


def test_every_failure_is_reported_once_under_the_name_that_is_told(told: Told) -> None:
    assert told.codes == {told.product.executor: 0, "host": 0}
    reported = sorted((one.run, one.category, one.subcategory) for one in told.product.reported())
    failures = [failure for name in NAMES for failure in told.failures(name)]
    assert reported == sorted((one.run_id, one.failure_category, one.failure_subcategory) for one in failures)
    assert [line for line in told.product.log() if line["level"] in ("warning", "error")] == []
