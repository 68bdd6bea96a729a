"""A whole fake cluster: the API server, and kubelets on its nodes; as a block in a test, or as a process of its own."""

import argparse
import asyncio
import json
import random
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml

from refloat_fakekube.core.objects import Json
from refloat_fakekube.kubelet.client import Access
from refloat_fakekube.kubelet.fleet import Fleet
from refloat_fakekube.kubelet.run import DEFAULT_SETTINGS, running_kubelets
from refloat_fakekube.kubelet.settings import DEFAULT_ALLOCATABLE, KubeletSettings, NodeSpec
from refloat_fakekube.server.admin import Admin
from refloat_fakekube.server.run import Running, running_server
from refloat_fakekube.server.settings import ServerSettings

__all__ = ["FakeCluster", "KubeletSettings", "NodeSpec", "ServerSettings", "main"]

DEFAULT_SERVER = ServerSettings()
_NAME = "fake"


class FakeCluster:
    """A cluster for the length of an `async with` block. Without nodes it is an API server alone, without a scheduler.

    The seed decides uids, generated names and the chances that scripts take.
    """

    def __init__(
        self,
        nodes: Sequence[NodeSpec] = (),
        seed: int = 0,
        server: ServerSettings = DEFAULT_SERVER,
        kubelets: KubeletSettings = DEFAULT_SETTINGS,
    ) -> None:
        self._nodes, self._server, self._kubelets = nodes, server, kubelets
        self._rng = random.Random(seed)  # noqa: S311  # reproducible, not secret
        self._stack = AsyncExitStack()
        self._running: Running | None = None
        self._fleet: Fleet | None = None

    async def __aenter__(self) -> Self:
        try:
            self._running = await self._stack.enter_async_context(running_server(self._server, self._rng))
            access = Access(self._running.url, self._server.token)
            schedule = bool(self._nodes)
            kubelets = running_kubelets(
                access, self._nodes, self._rng, self._kubelets, schedule=schedule, control=schedule
            )
            self._fleet = await self._stack.enter_async_context(kubelets)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def running(self) -> Running:
        """The server, while the block lasts."""
        if self._running is None:
            raise RuntimeError("the cluster does not run")
        return self._running

    @property
    def url(self) -> str:
        """Where the API server listens."""
        return self.running.url

    @property
    def admin(self) -> Admin:
        """The server's back door: faults, cut watches, compaction, counters."""
        return self.running.admin

    @property
    def fleet(self) -> Fleet:
        """The kubelets: nodes can be killed, revived and added."""
        if self._fleet is None:
            raise RuntimeError("the cluster does not run")
        return self._fleet

    def kubeconfig(self) -> Json:
        """A kubeconfig for this cluster."""
        return kubeconfig(self.url, self._server.token)


def kubeconfig(url: str, token: str = "") -> Json:
    """A kubeconfig with one cluster, one user and one context."""
    user: Json = {"token": token} if token else {}
    context: Json = {"cluster": _NAME, "user": _NAME, "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": {"server": url}}],
        "users": [{"name": _NAME, "user": user}],
        "contexts": [{"name": _NAME, "context": context}],
        "current-context": _NAME,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fakekube", description="A fake Kubernetes cluster on loopback.")
    parser.add_argument("--nodes", type=int, default=2, help="how many nodes (default 2)")
    parser.add_argument("--node-prefix", default="node-", help="nodes are named PREFIX1, PREFIX2, ...")
    parser.add_argument("--node-file", type=Path, help="YAML list of nodes: name, labels, allocatable, taints")
    parser.add_argument("--label", action="append", default=[], metavar="KEY=VALUE", help="a label of every node")
    parser.add_argument("--cpu", default=DEFAULT_ALLOCATABLE["cpu"], help="what each node gives")
    parser.add_argument("--memory", default=DEFAULT_ALLOCATABLE["memory"], help="what each node gives")
    parser.add_argument("--pods", default=DEFAULT_ALLOCATABLE["pods"], help="how many pods each node takes")
    parser.add_argument("--seed", type=int, default=0, help="for uids, generated names and chances")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--token", default="", help="a bearer token that every request must carry")
    parser.add_argument("--kubeconfig", type=Path, help="where to write the kubeconfig (default: a temporary file)")
    parser.add_argument("--no-events", action="store_true", help="kubelets and scheduler record no events")
    return parser


def _nodes(options: argparse.Namespace) -> list[NodeSpec]:
    labels = dict(str(label).partition("=")[::2] for label in options.label)
    if options.node_file:
        rows = yaml.safe_load(options.node_file.read_text())
        return [_node(row, labels) for row in rows]
    given = {**DEFAULT_ALLOCATABLE, "cpu": options.cpu, "memory": options.memory, "pods": options.pods}
    return [NodeSpec(f"{options.node_prefix}{place}", labels, given) for place in range(1, options.nodes + 1)]


def _node(row: Mapping[str, object], labels: Mapping[str, str]) -> NodeSpec:
    own, given, taints = row.get("labels"), row.get("allocatable"), row.get("taints")
    return NodeSpec(
        str(row["name"]),
        {**labels, **(own if isinstance(own, dict) else {})},
        {**DEFAULT_ALLOCATABLE, **(given if isinstance(given, dict) else {})},
        tuple(taints) if isinstance(taints, list) else (),
    )


async def _serve(options: argparse.Namespace, directory: Path) -> None:
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    server = ServerSettings(port=options.port, token=options.token)
    kubelets = KubeletSettings(events=not options.no_events)
    async with FakeCluster(_nodes(options), options.seed, server, kubelets) as cluster:
        path = options.kubeconfig or directory / "kubeconfig"
        path.write_text(json.dumps(cluster.kubeconfig()))
        sys.stdout.write(json.dumps({"url": cluster.url, "kubeconfig": str(path)}) + "\n")
        sys.stdout.flush()
        await stop.wait()


def main(argv: Sequence[str] | None = None) -> int:
    """Run a fake cluster until SIGTERM; one JSON line on stdout (`url`, `kubeconfig`) says that it is ready."""
    options = _parser().parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="fakekube-") as directory:
        asyncio.run(_serve(options, Path(directory)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
