"""Gives a test user exactly the rights that configs/kubernetes gives the executor, less any one verb."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import yaml

from testkit.real_kube.http_api import HttpApi, Json
from testkit.real_kube.processes import until

MANIFESTS = Path(__file__).resolve().parents[3] / "configs" / "kubernetes"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SETTLE_S = 10.0


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """One verb on one resource in one namespace (empty: in all of the cluster)."""

    namespace: str
    group: str
    resource: str
    verb: str


def manifests(name: str) -> list[Json]:
    """The documents of one file of configs/kubernetes, in its order."""
    return [cast("Json", document) for document in yaml.safe_load_all((MANIFESTS / name).read_text()) if document]


def namespaces() -> list[str]:
    """The namespaces the manifests make: the executor's own first, then that of the jobs."""
    return [document["metadata"]["name"] for document in manifests("namespaces.yaml")]


def rights() -> list[Right]:
    """Every verb that the manifests grant, one by one and sorted: the cases of a test that takes each away."""
    return sorted(
        Right(role["metadata"].get("namespace", ""), group, resource, verb)
        for role in manifests("rbac.yaml")
        for rule in role.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    )


def without_right(role: Json, right: Right | None) -> Json:
    """The role as written, less one verb where it grants it."""
    if right is None or role["metadata"].get("namespace", "") != right.namespace:
        return role
    rules = [
        rule | {"verbs": [verb for verb in rule["verbs"] if verb != right.verb]}
        if right.resource in rule["resources"] and right.group in rule["apiGroups"]
        else rule
        for rule in role["rules"]
    ]
    return role | {"rules": [rule for rule in rules if rule["verbs"]]}


def grant(admin: HttpApi, user: HttpApi, user_name: str, less: Right | None = None) -> None:
    """Makes namespaces, roles and bindings with the user as subject; returns once the server knows them."""
    for namespace in manifests("namespaces.yaml"):
        admin.put_or_create("/api/v1/namespaces", namespace)
    for document in manifests("rbac.yaml"):
        collection = _collection(document)
        if document["kind"] == "ServiceAccount":
            continue
        if document["kind"].endswith("Binding"):
            subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user_name}
            admin.put_or_create(collection, document | {"subjects": [subject]})
        else:
            admin.put_or_create(collection, without_right(document, less))
    for right in rights():
        _await_right(user, right, allowed=right != less)


@contextmanager
def missing(admin: HttpApi, user: HttpApi, user_name: str, right: Right) -> Iterator[None]:
    """Inside, the user lacks one right; afterwards it has all again."""
    grant(admin, user, user_name, less=right)
    try:
        yield
    finally:
        grant(admin, user, user_name)


def may(user: HttpApi, right: Right) -> bool:
    """What the API server itself answers when the user asks whether it has the right."""
    attributes = {name: getattr(right, name) for name in ("namespace", "group", "resource", "verb")}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = user.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review).ok()
    return bool(answer["status"]["allowed"])


def _await_right(user: HttpApi, right: Right, *, allowed: bool) -> None:
    until(lambda: may(user, right) is allowed, SETTLE_S, f"{right} {'allowed' if allowed else 'refused'}")


def _collection(document: Json) -> str:
    namespace = document["metadata"].get("namespace")
    kind = f"{document['kind'].lower()}s"
    return f"{RBAC}/namespaces/{namespace}/{kind}" if namespace else f"{RBAC}/{kind}"
