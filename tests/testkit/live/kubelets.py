"""Fake kubelets with their scheduler on a real API server, as a process: `python -m testkit.live.kubelets`.

The process is given URL, token and CA file as its arguments. Each line that it reads is a node that joins; it answers
each with a line once the node is there.
"""

import asyncio
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from refloat_cli.demo.processes.leash import leashed
from refloat_fakekube.kubelet.client import Access
from refloat_fakekube.kubelet.run import running_kubelets
from refloat_fakekube.kubelet.settings import KubeletSettings, NodeSpec
from testkit.real_kube import RealApi

NODES = "/api/v1/nodes"
END_S = 10.0


@dataclass(frozen=True, slots=True)
class Kubelets:
    """The running fleet."""

    api: RealApi
    process: "subprocess.Popen[str]"

    def add(self, node: NodeSpec) -> None:
        """A node joins; returns when it is there."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        body = {"name": node.name, "labels": dict(node.labels), "allocatable": dict(node.allocatable)}
        self.process.stdin.write(json.dumps(body) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline().strip() == node.name, "the fake kubelets have ended"

    def remove(self, node: NodeSpec) -> None:
        """A node leaves, if it is there."""
        self.api.admin.delete(f"{NODES}/{node.name}")


@contextmanager
def fake_kubelets(api: RealApi, nodes: Sequence[NodeSpec]) -> Iterator[Kubelets]:
    """Kubelets for these nodes; afterwards every node of the cluster is removed."""
    command = leashed(__name__, api.url, api.admin.token, str(api.ca_file))
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:
        kubelets = Kubelets(api, process)
        try:
            for node in nodes:
                kubelets.add(node)
            yield kubelets
        finally:
            process.terminate()
            process.wait(END_S)
    for node in api.admin.get(NODES).ok()["items"]:
        api.admin.delete(f"{NODES}/{node['metadata']['name']}").ok()


async def _serve(access: Access) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with running_kubelets(access, [], random.Random(1), KubeletSettings(lease_interval_s=1.0)) as fleet:
        while line := await reader.readline():
            node = NodeSpec(**json.loads(line))
            await fleet.add_node(node)
            sys.stdout.write(f"{node.name}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_serve(Access(*sys.argv[1:])))
