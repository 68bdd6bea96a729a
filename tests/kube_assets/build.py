"""Builds etcd and the Kubernetes commands that the `kube` and `node` tests run, from Go modules, into the user's cache.

Called by `make kube-assets`; needs Go and nothing else. What stands in the cache is not built again: the folder is
named after the versions in the two go.mod files, and a command appears there whole or not at all. `KUBEBUILDER_ASSETS`
names a folder that already holds the commands; then nothing is built.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
NICENESS = 5
BUILD_JOBS = 2


@dataclass(frozen=True, slots=True)
class Module:
    """One folder with a go.mod, the module it pins, and the commands built from it (name and Go package)."""

    folder: Path
    requires: str
    api_commands: dict[str, str]
    node_commands: dict[str, str]

    @property
    def version(self) -> str:
        """The version that go.mod requires, with its leading `v`."""
        found = re.search(rf"{re.escape(self.requires)} (v\S+)", (self.folder / "go.mod").read_text())
        if found is None:
            message = f"{self.folder / 'go.mod'}: no version of {self.requires}"
            raise SystemExit(message)
        return found.group(1)


KUBERNETES = Module(
    HERE / "kubernetes",
    "k8s.io/kubernetes",
    {"kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver"},
    {
        name: f"k8s.io/kubernetes/cmd/{name}"
        for name in ("kube-controller-manager", "kube-scheduler", "kubectl", "kubelet")
    },
)
ETCD = Module(HERE / "etcd", "go.etcd.io/etcd/server/v3", {"etcd": "go.etcd.io/etcd/server/v3"}, {})
MODULES = (ETCD, KUBERNETES)


def cache_folder() -> Path:
    """Where the commands of the pinned versions are kept, whether or not they stand there yet."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "refloat" / "kube" / f"{KUBERNETES.version}-etcd-{ETCD.version}"


def assets_folder() -> Path:
    """The folder the tests take the commands from: `KUBEBUILDER_ASSETS` where it is set, else the cache."""
    given = os.environ.get("KUBEBUILDER_ASSETS")
    return Path(given) if given else cache_folder()


def command_names(*, node: bool) -> list[str]:
    """The commands that the kube tests need; with `node` those of the node tests too."""
    return [name for module in MODULES for name in module.api_commands | (module.node_commands if node else {})]


def missing_commands(*, node: bool) -> list[str]:
    """Those of `command_names` that the assets folder lacks."""
    folder = assets_folder()
    return [name for name in command_names(node=node) if not os.access(folder / name, os.X_OK)]


def linker_flags(version: str) -> str:
    """Strips the debug tables, and stamps Kubernetes' version into its commands (kubelet and server compare them)."""
    major, minor, _ = version.removeprefix("v").split(".", 2)
    package = "k8s.io/component-base/version"
    stamps = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    return " ".join(["-s", "-w", *(f"-X {package}.{key}={value}" for key, value in stamps.items())])


def build(module: Module, commands: dict[str, str], target: Path) -> None:
    """Builds the commands beside `target` and moves each into it; exits with Go's own message when Go fails."""
    with tempfile.TemporaryDirectory(prefix=".build-", dir=target.parent) as scratch:
        how = ["-p", str(BUILD_JOBS), "-trimpath", "-ldflags", linker_flags(module.version), "-o", f"{scratch}/"]
        subprocess.run(
            ["go", "build", *how, *commands.values()],
            cwd=module.folder,
            env=os.environ | {"CGO_ENABLED": "0"},
            check=True,
        )
        for name, package in commands.items():
            # Go names a binary after the last path element that is not a major version.
            made = Path(scratch) / re.sub(r"/v\d+$", "", package).rsplit("/", 1)[-1]
            made.replace(target / name)


def main() -> int:
    """Builds what is missing; 0 when all commands stand, 1 when they cannot be had."""
    parser = argparse.ArgumentParser(description="Build etcd and Kubernetes commands for the tests.")
    parser.add_argument("--node", action="store_true", help="also what a node needs: kubelet, scheduler, …, kubectl")
    node = parser.parse_args().node
    missing = missing_commands(node=node)
    folder = assets_folder()
    if not missing:
        print(f"kube-assets: all in {folder}")
        return 0
    if os.environ.get("KUBEBUILDER_ASSETS"):
        print(
            f"kube-assets: KUBEBUILDER_ASSETS={folder} lacks {', '.join(missing)}; unset it to build", file=sys.stderr
        )
        return 1
    if shutil.which("go") is None:
        print("kube-assets: needs Go on PATH, or KUBEBUILDER_ASSETS=FOLDER with the commands built", file=sys.stderr)
        return 1
    os.nice(NICENESS)
    folder.mkdir(parents=True, exist_ok=True)
    for module in MODULES:
        wanted = {n: p for n, p in (module.api_commands | module.node_commands).items() if n in missing}
        if not wanted:
            continue
        print(
            f"kube-assets: building {', '.join(wanted)} ({module.requires} {module.version}); takes minutes", flush=True
        )
        started = time.monotonic()
        try:
            build(module, wanted, folder)
        except subprocess.CalledProcessError as failed:
            return failed.returncode
        print(f"kube-assets: built in {time.monotonic() - started:.0f} s", flush=True)
    print(f"kube-assets: all in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
