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
            access = Access(self._running.url, self._server.token, str(self._server.cert_file or ""))
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
        return kubeconfig(self.url, self._server.token, self._server.cert_file)


def kubeconfig(url: str, token: str = "", ca_file: Path | None = None) -> Json:
    """A kubeconfig with one cluster, one user and one context."""
    user: Json = {"token": token} if token else {}
    cluster: Json = {"server": url}
    if ca_file is not None:
        cluster["certificate-authority"] = str(ca_file.resolve())
    context: Json = {"cluster": _NAME, "user": _NAME, "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": cluster}],
        "users": [{"name": _NAME, "user": user}],
        "contexts": [{"name": _NAME, "context": context}],
        "current-context": _NAME,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fakekube", description="A fake Kubernetes cluster on loopback.")
    add = parser.add_argument
    add("--nodes", type=int, default=2, help="how many nodes (default 2; 0: an API server alone)")
    add("--node-prefix", default="node-", help="nodes are named PREFIX1, PREFIX2, ...")
    add("--node-file", type=Path, help="YAML list of nodes instead: name, labels, allocatable, taints, unschedulable")
    add("--label", action="append", default=[], metavar="KEY=VALUE", help="a label of every node")
    for name in ("cpu", "memory", "pods"):
        add(f"--{name}", default=DEFAULT_ALLOCATABLE[name], help="what each node gives")
    add("--seed", type=int, default=0, help="for uids, generated names and chances")
    add("--port", type=int, default=0, help="0: any free one")
    add("--token", default="", help="a bearer token that every request must carry")
    add("--tls-cert", type=Path, help="PEM file; with --tls-key the server speaks TLS")
    add("--tls-key", type=Path, help="PEM file")
    add("--kubeconfig", type=Path, help="where to write the kubeconfig (default: a temporary file)")
    add("--no-events", action="store_true", help="kubelets and scheduler record no events")
    add("--bookmark-interval", type=float, default=DEFAULT_SERVER.bookmark_interval_s, metavar="SECONDS")
    add("--node-grace", type=float, default=DEFAULT_SETTINGS.node_grace_s, metavar="SECONDS")
    add("--lease-interval", type=float, default=DEFAULT_SETTINGS.lease_interval_s, metavar="SECONDS")
    return parser


class BadNodeError(ValueError):
    """A node in a node file that can't be; names the place and the value."""

    def __init__(self, place: str, value: object) -> None:
        super().__init__(f"{place}: {value!r} is not possible")


def _nodes(options: argparse.Namespace) -> list[NodeSpec]:
    labels = dict(str(label).partition("=")[::2] for label in options.label)
    if options.node_file:
        rows = yaml.safe_load(options.node_file.read_text())
        if not isinstance(rows, list):
            raise BadNodeError(str(options.node_file), rows)
        return [_node(f"{options.node_file}[{place}]", row, labels) for place, row in enumerate(rows)]
    given = {**DEFAULT_ALLOCATABLE, "cpu": options.cpu, "memory": options.memory, "pods": options.pods}
    return [NodeSpec(f"{options.node_prefix}{place}", labels, given) for place in range(1, options.nodes + 1)]


def _node(place: str, row: object, labels: Mapping[str, str]) -> NodeSpec:
    if not isinstance(row, dict) or not isinstance(row.get("name"), str):
        raise BadNodeError(place, row)
    for key in row:
        if key not in _NODE_KEYS:
            raise BadNodeError(place, key)
    taints = row.get("taints", [])
    if not isinstance(taints, list):
        raise BadNodeError(f"{place}.taints", taints)
    return NodeSpec(
        row["name"],
        {**labels, **_texts(place, row, "labels")},
        {**DEFAULT_ALLOCATABLE, **_texts(place, row, "allocatable")},
        tuple(_texts(f"{place}.taints", {"taint": taint}, "taint") for taint in taints),
        unschedulable=row.get("unschedulable") is True,
    )


_NODE_KEYS = ("name", "labels", "allocatable", "taints", "unschedulable")


def _texts(place: str, row: Mapping[str, object], key: str) -> dict[str, str]:
    found = row.get(key, {})
    if not isinstance(found, dict):
        raise BadNodeError(f"{place}.{key}", found)
    return {str(name): str(value) for name, value in found.items()}


async def _serve(options: argparse.Namespace, nodes: Sequence[NodeSpec], directory: Path) -> None:
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    server = ServerSettings(
        port=options.port,
        token=options.token,
        cert_file=options.tls_cert,
        key_file=options.tls_key,
        bookmark_interval_s=options.bookmark_interval,
    )
    kubelets = KubeletSettings(
        events=not options.no_events, lease_interval_s=options.lease_interval, node_grace_s=options.node_grace
    )
    async with FakeCluster(nodes, options.seed, server, kubelets) as cluster:
        path = options.kubeconfig or directory / "kubeconfig"
        path.write_text(json.dumps(cluster.kubeconfig()))
        sys.stdout.write(json.dumps({"url": cluster.url, "kubeconfig": str(path)}) + "\n")
        sys.stdout.flush()
        await stop.wait()


def main(argv: Sequence[str] | None = None) -> int:
    """Run a fake cluster until SIGTERM or SIGINT; one JSON line on stdout (`url`, `kubeconfig`) says that it is ready.

    Returns 0 at the end, 2 for wrong usage.
    """
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        nodes = _nodes(options)
    except (BadNodeError, OSError, yaml.YAMLError) as error:
        parser.error(f"--node-file: {error}")
    with tempfile.TemporaryDirectory(prefix="fakekube-") as directory:
        asyncio.run(_serve(options, nodes, Path(directory)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
