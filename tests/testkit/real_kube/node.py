"""Runs a real cluster with real nodes: API server, scheduler, controller manager, kubelets on containerd."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from testkit.real_kube.api import ADMIN, RealApi
from testkit.real_kube.assets import command
from testkit.real_kube.http_api import Json
from testkit.real_kube.machine import Machine
from testkit.real_kube.processes import Daemon, until

READY_S = 90.0


class RealNode:
    """A real cluster of one node or several; `with RealNode() as cluster:` returns when every node takes pods."""

    def __init__(self, names: Sequence[str] = ("real1",)) -> None:
        self.api = RealApi()
        self.names = tuple(names)
        self.machines: dict[str, Machine] = {}
        self._control: list[Daemon] = []

    def __enter__(self) -> Self:
        try:
            self.api.__enter__()
            self.api.grant_executor()
            self._control = [self._scheduler(), self._controller_manager()]
            self.machines = {name: Machine(self.api, name) for name in self.names}
            for daemon in self._control:
                daemon.start()
            for machine in self.machines.values():
                machine.start()
            for machine in self.machines.values():
                until(machine.ready, READY_S, f"node {machine.name} is ready", machine.kubelet, *self._control)
                machine.show_address()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends kubelets, containers, control plane and API server, in this order, and removes what they leave."""
        for machine in self.machines.values():
            machine.close()
        for daemon in self._control:
            daemon.kill()
        self.api.close()

    def pod_in_phase(self, namespace: str, name: str, *phases: str, deadline_s: float = 60.0) -> Json:
        """The pod once it is in one of the phases."""

        def pod() -> Json | None:
            found = self.api.admin.get(f"/api/v1/namespaces/{namespace}/pods/{name}").ok()
            return found if found["status"].get("phase") in phases else None

        return until(pod, deadline_s, f"pod {namespace}/{name} is {' or '.join(phases)}")

    def _scheduler(self) -> Daemon:
        arguments: list[str | Path] = [
            command("kube-scheduler"),
            f"--kubeconfig={self.api.kubeconfig(ADMIN)}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            "--secure-port=0",
        ]
        return Daemon("kube-scheduler", arguments, self.api.folder)

    def _controller_manager(self) -> Daemon:
        arguments: list[str | Path] = [
            command("kube-controller-manager"),
            f"--kubeconfig={self.api.kubeconfig(ADMIN)}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            "--secure-port=0",
            f"--service-account-private-key-file={self.api.folder}/sa.key",
            f"--root-ca-file={self.api.ca_file}",
            "--node-monitor-period=1s",
            "--node-monitor-grace-period=12s",
        ]
        return Daemon("kube-controller-manager", arguments, self.api.folder)
