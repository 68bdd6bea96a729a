"""Runs a real etcd and kube-apiserver on loopback: with RBAC, killed, restarted and compacted at will."""

import json
import subprocess
import urllib.request
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml

from testkit.real_kube.assets import command
from testkit.real_kube.http_api import HttpApi
from testkit.real_kube.manifests import grant
from testkit.real_kube.processes import Daemon, free_port, until
from testkit.real_kube.run_folder import RunFolder

ADMIN = "refloat-test"
EXECUTOR = "refloat-executor"
TOKENS = {ADMIN: "token-of-the-test", EXECUTOR: "token-of-the-executor"}
READY_S = 60.0


class RealApi:
    """A real API server; `with RealApi() as api:` starts it and clears everything away at the end.

    `admin` is the test's own hand (may do all); `executor` is the plain user `refloat-executor`, which may do what
    `grant_executor` gave it. `server_flags` are added to kube-apiserver's command line.
    """

    def __init__(self, *server_flags: str) -> None:
        self.run = RunFolder.create()
        self.folder = self.run.path
        self.port = free_port()
        self.ca_file = self.folder / "certs" / "apiserver.crt"
        self.admin = HttpApi(self.port, TOKENS[ADMIN], self.ca_file)
        self.executor = HttpApi(self.port, TOKENS[EXECUTOR], self.ca_file)
        self._server_flags = server_flags
        self._etcd_port = free_port()
        self._etcd = Daemon("etcd", self._etcd_command(), self.folder)
        self._server = self._new_server(server_flags)

    def __enter__(self) -> Self:
        try:
            self._write_secrets()
            self._etcd.start()
            self.start_server()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stops both programs and removes their folder."""
        # Nobody reads what they would still write: killing is as good as asking, and quicker.
        self._server.kill()
        self._etcd.kill()
        self.run.clear()

    @property
    def url(self) -> str:
        """The server's base address."""
        return f"https://127.0.0.1:{self.port}"

    def kubeconfig(self, user: str = EXECUTOR) -> Path:
        """A kubeconfig file for a user; written anew on each call."""
        path = self.folder / f"kubeconfig-{user}.yaml"
        cluster = {"server": self.url, "certificate-authority": str(self.ca_file)}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "real", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": TOKENS[user]}}],
            "contexts": [{"name": "real", "context": {"cluster": "real", "user": user}}],
            "current-context": "real",
        }
        path.write_text(yaml.safe_dump(document))
        return path

    def grant_executor(self) -> None:
        """Makes the namespaces of configs/kubernetes and gives the user `refloat-executor` the rights granted there."""
        grant(self.admin, self.executor, EXECUTOR)

    def start_server(self, *more_flags: str) -> None:
        """Starts the API server on its own port and waits until it is ready; the flags count until the next start."""
        self._server = self._new_server((*self._server_flags, *more_flags))
        self._server.start()
        until(self._ready, READY_S, "kube-apiserver is ready", self._etcd, self._server)

    def kill_server(self) -> None:
        """Kills the API server at once, as a crash would: open watches break off in the middle."""
        self._server.kill()

    def restart_server(self, *more_flags: str) -> None:
        """Kills and starts it again on the same port with the same data."""
        self.kill_server()
        self.start_server(*more_flags)

    def compact(self) -> int:
        """Forgets etcd's history up to now and returns the revision.

        The server's own watch cache still holds recent events: a watch gets 410 for them only after `forget_history`,
        or always where the server runs with `--watch-cache=false`.
        """
        revision = int(self._etcd_call("/v3/kv/range", {"key": _b64("refloat")})["header"]["revision"])
        self._etcd_call("/v3/kv/compaction", {"revision": str(revision), "physical": True})
        return revision

    def forget_history(self, *more_flags: str) -> None:
        """Makes every resourceVersion up to now too old for a watch: compacts, and restarts with an empty cache."""
        self.compact()
        self.restart_server(*more_flags)

    def wipe_pods(self, namespace: str) -> None:
        """Removes every pod of the namespace at once, whatever holds it."""
        pods = f"/api/v1/namespaces/{namespace}/pods"
        for pod in self.admin.get(pods).ok()["items"]:
            name = pod["metadata"]["name"]
            if pod["metadata"].get("finalizers"):
                self.admin.merge(f"{pods}/{name}", {"metadata": {"finalizers": None}})
            self.admin.delete(f"{pods}/{name}", grace_s=0)

    def _ready(self) -> bool:
        try:
            return self.ca_file.exists() and self.admin.get("/readyz").status == 200
        except OSError:
            return False

    def _etcd_call(self, path: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
        request = urllib.request.Request(f"http://127.0.0.1:{self._etcd_port}{path}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=10) as response:
            answer: dict[str, dict[str, str]] = json.load(response)
            return answer

    def _write_secrets(self) -> None:
        groups = {ADMIN: ',"system:masters"', EXECUTOR: ""}
        lines = [f"{TOKENS[user]},{user},{user}{groups[user]}\n" for user in TOKENS]
        (self.folder / "tokens.csv").write_text("".join(lines))
        make_key = ["openssl", "genrsa", "-out", str(self.folder / "sa.key"), "2048"]
        subprocess.run(make_key, check=True, capture_output=True)

    def _etcd_command(self) -> list[str | Path]:
        url = f"http://127.0.0.1:{self._etcd_port}"
        return [
            command("etcd"),
            f"--data-dir={self.folder}/etcd",
            f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}",
            "--listen-peer-urls=http://127.0.0.1:0",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def _new_server(self, flags: Sequence[str]) -> Daemon:
        arguments: list[str | Path] = [
            command("kube-apiserver"),
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            f"--cert-dir={self.folder}/certs",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self.port}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self.folder}/sa.key",
            f"--service-account-signing-key-file={self.folder}/sa.key",
            "--authorization-mode=RBAC",
            f"--token-auth-file={self.folder}/tokens.csv",
            # It would demand a service account of every pod, which a controller manager must first have made.
            "--disable-admission-plugins=ServiceAccount",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--allow-privileged=true",
            "--profiling=false",
            "--kubelet-preferred-address-types=InternalIP",
            *flags,
        ]
        return Daemon("kube-apiserver", arguments, self.folder)


def _b64(text: str) -> str:
    return b64encode(text.encode()).decode()
