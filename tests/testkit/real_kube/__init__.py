"""A real Kubernetes for the tests: `RealApi` is an API server, `RealNode` adds a control plane and kubelets."""

from testkit.real_kube.api import ADMIN, EXECUTOR, RealApi
from testkit.real_kube.assets import kube_unavailable, node_unavailable
from testkit.real_kube.http_api import Answer, HttpApi, Json
from testkit.real_kube.images import IMAGE
from testkit.real_kube.manifests import Right, grant, manifests, may, missing, namespaces, rights
from testkit.real_kube.node import RealNode
from testkit.real_kube.processes import DaemonEndedError, NotInTimeError, until

__all__ = [
    "ADMIN",
    "EXECUTOR",
    "IMAGE",
    "Answer",
    "DaemonEndedError",
    "HttpApi",
    "Json",
    "NotInTimeError",
    "RealApi",
    "RealNode",
    "Right",
    "grant",
    "kube_unavailable",
    "manifests",
    "may",
    "missing",
    "namespaces",
    "node_unavailable",
    "rights",
    "until",
]
