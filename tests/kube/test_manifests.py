"""The manifests of configs/kubernetes, as a real API server understands them."""

import json
from collections.abc import Iterator

import pytest
import yaml

from testkit.real_kube import EXECUTOR, Json, RealApi, manifests, until
from testkit.real_kube.manifests import MANIFESTS

pytestmark = pytest.mark.kube

PODS = "/api/v1/namespaces/refloat-jobs/pods"
SERVICE_ACCOUNT = "system:serviceaccount:refloat:refloat-executor"
LABELS = {"armada_job_id": "01job", "armada_job_run_id": "run", "armada_queue_id": "queue"}


def documents() -> Iterator[tuple[str, Json]]:
    for path in sorted(MANIFESTS.glob("*.yaml")):
        for document in manifests(path.name):
            yield f"{path.stem}/{document['kind']}/{document['metadata']['name']}", document


def collection(document: Json) -> str:
    version, namespace = document["apiVersion"], document["metadata"].get("namespace")
    root = "/api/v1" if version == "v1" else f"/apis/{version}"
    kind = document["kind"].lower()
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    return f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}"


def pod(name: str, labels: dict[str, str], **spec: object) -> Json:
    metadata = {"name": name, "labels": labels}
    spec = {"containers": [{"name": "main", "image": "none"}]} | spec
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("document", [pytest.param(document, id=name) for name, document in documents()])
def test_every_field_is_known_to_the_server(real_api: RealApi, document: Json) -> None:
    document = json.loads(json.dumps(document))
    document["metadata"]["name"] += "-tried"
    answer = real_api.admin.create(f"{collection(document)}?dryRun=All&fieldValidation=Strict", document)
    assert (answer.status, answer.headers.get("warning")) == (201, None), answer.body.get("message")


def test_the_executor_runs_under_the_strictest_pod_security_standard(real_api: RealApi) -> None:
    (deployment,) = [document for document in manifests("executor.yaml") if document["kind"] == "Deployment"]
    spec = deployment["spec"]["template"]["spec"]
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tried"}, "spec": spec}
    loose = made | {"spec": {**spec, "securityContext": {}}}
    answers = [
        real_api.admin.create("/api/v1/namespaces/refloat/pods?dryRun=All", body).status for body in (made, loose)
    ]
    assert answers == [201, 403]


@pytest.fixture(scope="module")
def guarded(real_api: RealApi) -> Iterator[RealApi]:
    """The server with admission.yaml in force, the test's plain user standing for the service account."""
    text = (MANIFESTS / "admission.yaml").read_text()
    assert text.count(SERVICE_ACCOUNT) == 2
    made = [document for document in yaml.safe_load_all(text.replace(SERVICE_ACCOUNT, EXECUTOR)) if document]
    for document in made:
        real_api.admin.create(collection(document), document).ok()
    bad = pod("probe", {})
    until(lambda: real_api.executor.create(f"{PODS}?dryRun=All", bad).status == 422, 20.0, "the policies are in force")
    yield real_api
    for document in made:
        real_api.admin.delete(f"{collection(document)}/{document['metadata']['name']}").ok()


def test_the_executor_creates_an_ordinary_pod(guarded: RealApi) -> None:
    assert guarded.executor.create(f"{PODS}?dryRun=All", pod("job", LABELS)).status == 201


@pytest.mark.parametrize(
    ("labels", "spec", "message"),
    [
        ({}, {}, "a pod of the executor carries the labels of its job, run and queue"),
        (LABELS, {"serviceAccountName": "mighty"}, "jobs may not use this service account"),
    ],
)
def test_the_executor_creates_no_other(
    guarded: RealApi, labels: dict[str, str], spec: dict[str, object], message: str
) -> None:
    refused = guarded.executor.create(f"{PODS}?dryRun=All", pod("job", labels, **spec))
    assert refused.status == 422
    assert refused.body["message"].endswith(f"denied request: {message}")


def test_nobody_else_sets_the_labels_of_jobs(guarded: RealApi) -> None:
    refused = guarded.admin.create(f"{PODS}?dryRun=All", pod("job", LABELS))
    assert refused.status == 422
    assert refused.body["message"].endswith("denied request: only the executor sets the labels of jobs")


def test_others_may_still_change_a_pod_of_the_executor(guarded: RealApi) -> None:
    guarded.executor.create(PODS, pod("job", LABELS)).ok()
    changed = guarded.admin.merge(f"{PODS}/job", {"metadata": {"labels": {"seen": "yes"}}})
    stripped = guarded.admin.merge(f"{PODS}/job", {"metadata": {"labels": {"armada_job_id": None}}})
    guarded.wipe_pods("refloat-jobs")
    assert (changed.status, stripped.status) == (200, 422)
