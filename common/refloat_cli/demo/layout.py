"""Lays out the demo's folder: keys, the files of settings that the daemons read, the nodes of each cluster."""

import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import yaml

from refloat_common.adapters.zmq_link.keys import make_pair

LOOPBACK = "127.0.0.1"
SCHEDULER = "scheduler"
BROKEN_GPU = {"demo.refloat.dev/gpu": "broken"}
GOOD_NODES = 3


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything lies. `clusters` are named as their executors."""

    folder: Path
    clusters: tuple[str, ...]
    control: str
    reports: str

    @property
    def store(self) -> Path:
        """The host's store."""
        return self.folder / "host.db"

    @property
    def host_config(self) -> Path:
        """The host's settings."""
        return self.folder / "host.yaml"

    def executor_config(self, cluster: str) -> Path:
        """An executor's settings."""
        return self.folder / f"{cluster}.yaml"

    def journal(self, cluster: str) -> Path:
        """An executor's journal."""
        return self.folder / f"{cluster}.journal"

    def kubeconfig(self, cluster: str) -> Path:
        """The kubeconfig that a fake cluster writes."""
        return self.folder / f"{cluster}.kubeconfig"

    def node_file(self, cluster: str) -> Path:
        """The nodes of a fake cluster."""
        return self.folder / f"{cluster}.nodes.yaml"


def configs() -> Path:
    """The shipped `configs/`: in the wheel they are in `refloat_common`, in the source tree at its root."""
    package = Path(str(resources.files("refloat_common")))
    installed = package / "configs"
    return installed if installed.is_dir() else package.parents[1] / "configs"


def lay_out(folder: Path, clusters: int) -> Layout:
    """Make keys and write every file that the processes read."""
    names = tuple(f"cluster-{number}" for number in range(1, clusters + 1))
    control, reports = _free_addresses(2)
    layout = Layout(folder, names, control, reports)
    make_pair(folder / "keys", SCHEDULER)
    public = {name: make_pair(folder / "keys", name)[2] for name in names}
    _write(folder / "executor-keys.yaml", {"executors": {name: [key] for name, key in public.items()}})
    _write(layout.host_config, _host(layout))
    for name in names:
        _write(layout.executor_config(name), _executor(layout, name))
        _write(layout.node_file(name), _nodes(name))
    return layout


def _host(layout: Layout) -> dict[str, object]:
    return {
        "store": {"url": f"sqlite:///{layout.store}"},
        "link": {
            "control": layout.control,
            "reports": layout.reports,
            "secretKey": str(layout.folder / "keys" / f"{SCHEDULER}.secret"),
            "executorKeys": str(layout.folder / "executor-keys.yaml"),
        },
        "scheduling": {"retryPolicy": {"enabled": True}},
        "metrics": {"port": 0},
        "http": {"port": 0},
        "grpc": {"port": 0},
        "listenAddress": LOOPBACK,
    }


def _executor(layout: Layout, name: str) -> dict[str, object]:
    return {
        "application": {"clusterId": name},
        "kubernetes": {"kubeconfig": str(layout.kubeconfig(name))},
        "link": {
            "control": layout.control,
            "reports": layout.reports,
            "secretKey": str(layout.folder / "keys" / f"{name}.secret"),
            "schedulerKey": str(layout.folder / "keys" / f"{SCHEDULER}.public"),
        },
        "journal": {"path": str(layout.journal(name))},
        "metric": {"port": 0},
        "httpPort": 0,
        "listenAddress": LOOPBACK,
    }


def _nodes(cluster: str) -> list[dict[str, object]]:
    """Good nodes, and one with a broken GPU that is larger than they are, so that it attracts jobs."""
    number = cluster.rpartition("-")[2]
    room = {"cpu": "16", "memory": "64Gi"}
    nodes: list[dict[str, object]] = [
        {"name": f"c{number}-bad", "labels": BROKEN_GPU, "allocatable": {"cpu": "32", "memory": "128Gi"}}
    ]
    nodes += [{"name": f"c{number}-good-{place}", "allocatable": room} for place in range(1, GOOD_NODES + 1)]
    return nodes


def _write(path: Path, content: object) -> None:
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def _free_addresses(count: int) -> Sequence[str]:
    """Addresses on loopback that nobody uses now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return [f"tcp://{LOOPBACK}:{each.getsockname()[1]}" for each in sockets]
