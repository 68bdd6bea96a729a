"""Says whether this machine can run a real API server or a real node, and if not, what would make it able to."""

import os
import shutil
import sys
from pathlib import Path

from kube_assets.build import assets_folder, missing_commands
from kube_assets.packages import missing_packages


def command(name: str) -> Path:
    """Where a built command (`etcd`, `kubelet`, …) stands; no promise that it does."""
    return assets_folder() / name


def kube_unavailable() -> str | None:
    """One line that says how to get what the `kube` tests need; None where all stands."""
    if missing := missing_commands(node=False):
        return f"needs {', '.join(missing)}: run `make kube-assets` (needs Go), or set KUBEBUILDER_ASSETS=FOLDER"
    if shutil.which("openssl") is None:
        return "needs openssl: install it with the system's package manager"
    return None


def node_unavailable() -> str | None:
    """One line that says how to get what the `node` tests need; None where all stands."""
    if not sys.platform.startswith("linux"):
        return f"needs Linux; this is {sys.platform}"
    if os.geteuid() != 0:
        return "needs root: a kubelet makes cgroups and mounts"
    if missing := missing_commands(node=True):
        return f"needs {', '.join(missing)}: run `make kube-assets NODE=1` (needs Go), or set KUBEBUILDER_ASSETS=FOLDER"
    if packages := missing_packages():
        return f"needs {', '.join(packages)}: run `make kube-assets NODE=1` as root on Debian, or install them"
    return kube_unavailable()
