"""`SubmitJobs` over a real server: what is stored, and each refusal by field and value."""

from typing import Any

import pytest
from armada_client.armada import submit_pb2 as pb
from armada_client.k8s.io.apimachinery.pkg.api.resource.generated_pb2 import Quantity
from grpc import StatusCode
from grpc.aio import AioRpcError

from testkit.host.api import ServedApi, refused
from testkit.host.api_jobs import item, request, submitted
from testkit.podproto.cases import PODS
from testkit.podproto.rich import pod

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def queue(api: ServedApi) -> None:
    await api.queues.CreateQueue(pb.Queue(name="q", priority_factor=1))


async def test_a_job_is_stored_with_all_that_was_asked_for(api: ServedApi) -> None:
    [job_id] = await submitted(
        api,
        item(
            namespace="night",
            priority=6.5,
            labels={"team": "ml"},
            annotations={"note": "x"},
            external_job_uri="airflow://1",
            required_node_labels={"zone": "a"},
        ),
    )
    job = await api.services.jobs.get(job_id)
    assert (job.queue, job.job_set, job.owner, job.namespace, job.priority) == ("q", "s", "anonymous", "night", 7)
    assert job.labels == {"team": "ml"}
    assert job.annotations == {"note": "x", "armadaproject.io/externalJobUri": "airflow://1"}
    assert job.requirements.node_selector == {"zone": "a"}
    assert job.requirements.limits == {"cpu": "1", "memory": "2Gi"}


@pytest.mark.parametrize("name", PODS)
async def test_rich_pods_are_accepted_in_either_field(api: ServedApi, name: str) -> None:
    message, _ = PODS[name]
    both = await submitted(api, item(pod_spec=message), item(pod_spec=None, pod_specs=[message]))
    assert len(set(both)) == 2


async def test_a_job_without_a_namespace_runs_in_the_default_one(api: ServedApi) -> None:
    [job_id] = await submitted(api, item(namespace=""))
    assert (await api.services.jobs.get(job_id)).namespace == "default"


async def test_a_clients_id_sent_again_stands_for_the_same_job(api: ServedApi) -> None:
    first = await submitted(api, item(client_id="mine"), item())
    again = await submitted(api, item(), item(client_id="mine"))
    assert again[1] == first[0]
    assert len({*first, *again}) == 3


def limited(text: str) -> Any:
    spec = pod()
    spec.containers[0].resources.limits["memory"].CopyFrom(Quantity(string=text))
    return spec


PATH = "jobRequestItems[0]"
PRIORITY = "must be between 0 and 4294967295"
ONE_SPEC = "pod specs are given; there must be one, in podSpec or in podSpecs"
SHAPE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
REQUESTS = {
    "no queue": (request(queue=""), "queue: '' must not be empty"),
    "no job set": (request(job_set_id=""), "jobSetId: '' must have 1 to 1024 characters"),
    "no jobs": (pb.JobSubmitRequest(queue="q", job_set_id="s"), "jobRequestItems: 0 must be 1 to 10000 jobs"),
    "many jobs": (request(*[pb.JobSubmitRequestItem()] * 10_001), "jobRequestItems: 10001 must be 1 to 10000 jobs"),
}
ITEMS = {
    "no pod": (item(pod_spec=None), f"{PATH}.podSpec: 0 {ONE_SPEC}"),
    "two pods": (item(pod_specs=[pod()]), f"{PATH}.podSpec: 2 {ONE_SPEC}"),
    "NaN": (item(priority=float("nan")), f"{PATH}.priority: nan {PRIORITY}"),
    "infinity": (item(priority=float("inf")), f"{PATH}.priority: inf {PRIORITY}"),
    "a negative priority": (item(priority=-1), f"{PATH}.priority: -1.0 {PRIORITY}"),
    "a service": (
        item(services=[pb.ServiceConfig(ports=[80])]),
        f"{PATH}.services: [[80]] must be left out: only pods are created",
    ),
    "an ingress": (
        item(ingress=[pb.IngressConfig(ports=[80])]),
        f"{PATH}.ingress: [[80]] must be left out: only pods are created",
    ),
    "a quantity": (
        item(pod_spec=limited("much")),
        f"{PATH}.podSpec.containers[0].resources.limits[memory]: 'much' is no quantity: {SHAPE}",
    ),
    "a node label": (
        item(pod_spec=pod(nodeSelector={"zone": "a"}), required_node_labels={"zone": "b"}),
        f"{PATH}.requiredNodeLabels[zone]: 'b' contradicts the pod spec's node selector, which says 'a'",
    ),
    "a namespace": (item(namespace="No Such"), f"{PATH}.namespace: 'No Such' is no name of a Kubernetes namespace"),
}


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_request_that_is_refused(api: ServedApi, name: str) -> None:
    message, text = REQUESTS[name]
    with refused(StatusCode.INVALID_ARGUMENT, f"error submitting jobs: {text}"):
        await api.submit.SubmitJobs(message)


@pytest.mark.parametrize("name", ITEMS)
async def test_one_bad_job_refuses_the_whole_request(api: ServedApi, name: str) -> None:
    bad, text = ITEMS[name]
    with refused(StatusCode.INVALID_ARGUMENT, f"error submitting jobs: {text}"):
        await api.submit.SubmitJobs(request(bad, item()))
    assert list(await api.services.jobs.list("q", "s")) == []


async def test_an_unknown_queue_takes_no_jobs(api: ServedApi) -> None:
    with refused(StatusCode.NOT_FOUND, 'error: could not find queue "none"'):
        await api.submit.SubmitJobs(request(queue="none"))


async def test_a_field_of_a_newer_kubernetes_is_not_dropped(api: ServedApi) -> None:
    newer = item()
    # Field 41 of a PodSpec is `hostnameOverride`.
    newer.pod_spec.MergeFromString(b"\xca\x02\x01x")
    where = "jobRequestItems[0].podSpec"
    text = f"error submitting jobs: {where}: 41 is the number of a field that this version does not know"
    with refused(StatusCode.INVALID_ARGUMENT, text):
        await api.submit.SubmitJobs(request(newer))


async def test_a_long_text_is_cut_before_it_breaks_the_answer(api: ServedApi) -> None:
    names = ["\N{GRINNING FACE}" * count for count in range(40, 100)]
    with pytest.raises(AioRpcError) as caught:
        await api.queues.CreateQueue(pb.Queue(name="q", priority_factor=1, retry_policies=names))
    assert caught.value.code() is StatusCode.INVALID_ARGUMENT
    assert 1000 < len((caught.value.details() or "").encode()) <= 1500
