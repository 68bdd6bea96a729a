"""Installs the Debian packages that the `node` tests need beside the built commands."""

import os
import shutil
import subprocess
import sys

PROGRAM_OF_PACKAGE = {
    "containerd": "containerd",
    "runc": "runc",
    "busybox-static": "busybox",
    "openssl": "openssl",
    "util-linux": "setpriv",
}
"""Debian package → the program by which its presence is told."""


def missing_packages() -> list[str]:
    """The packages whose program is not on PATH."""
    return [package for package, program in PROGRAM_OF_PACKAGE.items() if shutil.which(program) is None]


def install(packages: list[str]) -> int:
    """Installs with apt-get and returns its exit code; the services they bring are not started by this."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "-qq", "update"],
        ["apt-get", "-qq", "install", "-y", "--no-install-recommends", *packages],
    ):
        code = subprocess.run(command, env=environment, check=False, stdout=sys.stderr).returncode
        if code != 0:
            return code
    return 0


def main() -> int:
    """Installs what is missing where that is possible, else says what is needed; apt-get's exit code."""
    packages = missing_packages()
    if not packages:
        return 0
    how = f"apt-get install {' '.join(packages)}"
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        print(f"kube-assets: the node tests also need: {how}, and root to run them", file=sys.stderr)
        return 0
    print(f"kube-assets: {how}", flush=True)
    return install(packages)


if __name__ == "__main__":
    sys.exit(main())
