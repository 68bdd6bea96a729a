"""Fake kubelets with their scheduler on a real API server, in a thread of their own beside a blocking test."""

import random
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from anyio.from_thread import BlockingPortal, start_blocking_portal

from refloat_fakekube.kubelet.client import Access
from refloat_fakekube.kubelet.fleet import Fleet
from refloat_fakekube.kubelet.run import running_kubelets
from refloat_fakekube.kubelet.settings import KubeletSettings, NodeSpec
from testkit.real_kube import RealApi

NODES = "/api/v1/nodes"


@dataclass(frozen=True, slots=True)
class Kubelets:
    """The running fleet, from a thread that is not its own."""

    api: RealApi
    portal: BlockingPortal
    fleet: Fleet

    def add(self, node: NodeSpec) -> None:
        """Another node joins."""
        self.portal.call(self.fleet.add_node, node)

    def remove(self, node: NodeSpec) -> None:
        """A node leaves, if it is there."""
        self.api.admin.delete(f"{NODES}/{node.name}")


@contextmanager
def fake_kubelets(api: RealApi, nodes: Sequence[NodeSpec]) -> Iterator[Kubelets]:
    """Kubelets for these nodes; afterwards every node of the cluster is removed."""
    access = Access(api.url, api.admin.token, str(api.ca_file))
    with start_blocking_portal() as portal:
        running: AbstractContextManager[Fleet] = portal.wrap_async_context_manager(
            running_kubelets(access, nodes, random.Random(1), KubeletSettings(lease_interval_s=1.0))
        )
        with running as fleet:
            yield Kubelets(api, portal, fleet)
    for node in api.admin.get(NODES).ok()["items"]:
        api.admin.delete(f"{NODES}/{node['metadata']['name']}").ok()
