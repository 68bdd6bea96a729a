"""Runs one real node: containerd with runc, and a kubelet, with all their state below one folder of the run."""

import json
import subprocess
from pathlib import Path
from textwrap import dedent

import yaml

from testkit.real_kube.api import ADMIN, RealApi
from testkit.real_kube.assets import command
from testkit.real_kube.http_api import Json
from testkit.real_kube.images import PAUSE_IMAGE, write_images
from testkit.real_kube.processes import Daemon, free_port, until

START_S = 60.0
# Every image pull goes to a port where nobody listens: it fails at once, and no name is looked up outside.
REFUSE_PULLS = 'server = "http://127.0.0.1:1"\n[host."http://127.0.0.1:1"]\n'

# Gives every pod a network of its own with nothing in it but loopback: it needs no hostNetwork and reaches nobody.
NETWORK_PLUGIN = """\
#!/bin/sh
case "$CNI_COMMAND" in
ADD)
    busybox nsenter "--net=$CNI_NETNS" busybox ip link set lo up >&2
    [ "$CNI_IFNAME" = lo ] && address=127.0.0.1/8 || address=192.0.2.1/32
    cat <<END
{"cniVersion": "0.4.0", "interfaces": [{"name": "$CNI_IFNAME", "sandbox": "$CNI_NETNS"}],
 "ips": [{"version": "4", "interface": 0, "address": "$address"}]}
END
    ;;
VERSION)
    printf '{"cniVersion":"0.4.0","supportedVersions":["0.3.1","0.4.0","1.0.0"]}' ;;
esac
"""
NETWORK = {"cniVersion": "0.4.0", "name": "alone", "plugins": [{"type": "alone"}]}


class Machine:
    """One node of a real cluster. Needs root; several can run beside each other."""

    def __init__(self, api: RealApi, name: str) -> None:
        self.name = name
        self.folder = api.folder / name
        self.folder.mkdir()
        self.socket = self.folder / "containerd.sock"
        self._api = api
        self._containerd = Daemon(
            "containerd", ["containerd", "--config", self.folder / "containerd.toml"], self.folder
        )
        self.kubelet = Daemon(
            "kubelet",
            [
                command("kubelet"),
                f"--config={self.folder}/kubelet.yaml",
                f"--kubeconfig={api.kubeconfig(ADMIN)}",
                f"--root-dir={self.folder}/kubelet",
                f"--cert-dir={self.folder}/kubelet-certs",
                f"--hostname-override={name}",
                "--node-ip=127.0.0.1",
            ],
            self.folder,
        )

    def start(self) -> None:
        """Starts containerd, brings the images in, starts the kubelet; returns before the node is ready."""
        self._write_files()
        self._containerd.start()
        until(self._answers, START_S, "containerd answers", self._containerd)
        archive = self.folder / "images.tar"
        write_images(archive)
        self._ctr("images", "import", str(archive)).check_returncode()
        self.kubelet.start()

    def ready(self) -> bool:
        """Whether the API server calls the node ready and has taken its start-up taints away."""
        answer = self._api.admin.get(f"/api/v1/nodes/{self.name}")
        if answer.status != 200:
            self.kubelet.assert_running()
            return False
        node = answer.body
        conditions = {item["type"]: item["status"] for item in node["status"].get("conditions", ())}
        return conditions.get("Ready") == "True" and not node["spec"].get("taints")

    def show_address(self) -> None:
        """Writes the node's address, which the kubelet refuses to do for loopback; it then leaves it as it is.

        Pods get it as their hostIP, and the API server reaches the kubelet there (`kubectl logs`).
        """
        addresses = [{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": self.name}]
        self._api.admin.merge(f"/api/v1/nodes/{self.name}/status", {"status": {"addresses": addresses}}).ok()

    def close(self) -> None:
        """Ends the kubelet, which would restart what is ended next, then containerd; the run ends the containers."""
        self.kubelet.kill()
        self._containerd.kill()

    def _answers(self) -> bool:
        return self.socket.exists() and self._ctr("version").returncode == 0

    def _ctr(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        line = ["ctr", "--address", str(self.socket), "--namespace", "k8s.io", *arguments]
        return subprocess.run(line, check=False, capture_output=True, timeout=START_S)

    def _write_files(self) -> None:
        (self.folder / "containerd.toml").write_text(_containerd_config(self.folder))
        (self.folder / "kubelet.yaml").write_text(yaml.safe_dump(self._kubelet_config()))
        plugins, networks = self.folder / "cni", self.folder / "networks"
        plugins.mkdir()
        networks.mkdir()
        for plugin in ("alone", "loopback"):
            (plugins / plugin).write_text(NETWORK_PLUGIN)
            (plugins / plugin).chmod(0o755)
        mirror = self.folder / "registries" / "_default"
        mirror.mkdir(parents=True)
        (mirror / "hosts.toml").write_text(REFUSE_PULLS)
        (networks / "alone.conflist").write_text(json.dumps(NETWORK))

    def _kubelet_config(self) -> Json:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": "127.0.0.1",
            "port": free_port(),
            "healthzPort": 0,
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "containerRuntimeEndpoint": f"unix://{self.socket}",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": self._api.run.make_cgroup(self.name),
            "failSwapOn": False,
            # The kernel may lack bandwidth control; limits on processors then still count for scheduling.
            "cpuCFSQuota": False,
            "makeIPTablesUtilChains": False,
            "resolvConf": "",
            "podLogsDir": f"{self.folder}/pod-logs",
            "volumePluginDir": f"{self.folder}/volume-plugins",
            # Pods are evicted for their own use in the tests, never for what else fills the machine.
            "evictionHard": {"memory.available": "1Mi", "nodefs.available": "0.1%", "imagefs.available": "0.1%"},
            "imageGCHighThresholdPercent": 100,
            # A volume's own use is measured once a minute by default; the tests wait for an eviction.
            "volumeStatsAggPeriod": "2s",
            "nodeStatusUpdateFrequency": "4s",
            # Renewed each quarter of it; after six renewals that do not come the node is called lost.
            "nodeLeaseDurationSeconds": 8,
            # Nobody answers there; without it each pod would get a warning that real clusters do not show.
            "clusterDNS": ["10.0.0.10"],
            "clusterDomain": "cluster.local",
        }


def _containerd_config(folder: Path) -> str:
    return dedent(f"""\
        version = 2
        root = "{folder}/containerd"
        state = "{folder}/containerd-state"
        disabled_plugins = ["io.containerd.internal.v1.opt"]
        [grpc]
        address = "{folder}/containerd.sock"
        [plugins."io.containerd.grpc.v1.cri"]
        sandbox_image = "{PAUSE_IMAGE}"
        # Without CAP_SYS_RESOURCE runc may not lower oom_score_adj, and no sandbox would start.
        restrict_oom_score_adj = true
        netns_mounts_under_state_dir = true
        [plugins."io.containerd.grpc.v1.cri".cni]
        bin_dir = "{folder}/cni"
        conf_dir = "{folder}/networks"
        [plugins."io.containerd.grpc.v1.cri".registry]
        config_path = "{folder}/registries"
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
        runtime_type = "io.containerd.runc.v2"
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        Root = "{folder}/runc"
        """)
