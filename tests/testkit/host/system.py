"""A whole small system of real processes: a fake cluster, an executor, and the host with its management API."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import grpc
import yaml

from refloat_cli.demo.layout import Layout, configs, lay_out
from refloat_cli.demo.processes.crew import Crew, python_module
from testkit.real_kube.processes import free_port

COMMAND = "refloat_cli.main"
READY_WITHIN_S = 20.0


@dataclass(frozen=True, slots=True)
class RunningSystem:
    """Where the API listens, and the processes."""

    address: str
    layout: Layout
    crew: Crew


@contextmanager
def running_system(folder: Path) -> Iterator[RunningSystem]:
    """Start everything, wait until the API answers, and end everything afterwards."""
    layout, crew = lay_out(folder, 1), Crew(folder)
    [cluster] = layout.clusters
    address = f"127.0.0.1:{_set_grpc_port(layout.host_config)}"
    try:
        nodes, kubeconfig = layout.node_file(cluster), layout.kubeconfig(cluster)
        words = ("--node-file", str(nodes), "--kubeconfig", str(kubeconfig))
        anyio.run(crew.first_line, crew.start("kube", python_module("refloat_fakekube.cluster", *words)))
        crew.start("host", python_module(COMMAND, "host", "run", "--config", str(layout.host_config)))
        rules = configs() / "categories" / "default.yaml"
        words = ("--config", str(layout.executor_config(cluster)), "--config", str(rules))
        crew.start(cluster, python_module(COMMAND, "executor", "run", *words))
        _wait_for(address, crew)
        yield RunningSystem(address, layout, crew)
        crew.check()
        # One after another: an executor that ends brings its last reports home first.
        codes = {name: crew.stop([name])[name] for name in (cluster, "host", "kube")}
        assert codes == dict.fromkeys(codes, 0), codes
    finally:
        crew.stop()


def _set_grpc_port(config: Path) -> int:
    """Give the host a port that the clients know; and let it serve new policies soon."""
    port = free_port()
    settings = yaml.safe_load(config.read_text())
    config.write_text(yaml.safe_dump(settings | {"grpc": {"port": port}, "queueRefreshPeriod": "100ms"}))
    return port


def _wait_for(address: str, crew: Crew) -> None:
    with grpc.insecure_channel(address) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=READY_WITHIN_S)
        except grpc.FutureTimeoutError:
            crew.check()
            raise
