"""Keeps what one real cluster leaves on the machine under one folder, and clears away what a crashed earlier run left.

Everything that outlives its parent (container processes, shims, mounts, cgroups) carries the folder's name or lies
below it; that name is unique, so clearing by it touches nothing of anybody else.
"""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

PREFIX = "refloat-kube-"
CGROUPS = Path("/sys/fs/cgroup")
CLEAR_S = 10.0
# The only programs that are ended for naming the folder: a reader of one of its logs is left alone.
PROGRAMS = {
    "containerd",
    "containerd-shim-runc-v2",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "runc",
}


def started_at(pid: int) -> str:
    """The process's start in clock ticks since boot: tells it from a later one of that id; empty: no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


class RunFolder:
    """A new temporary folder marked as this process's own; `clear` removes it with all that hangs on it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls) -> Self:
        """Clears what dead owners left, then makes a new folder."""
        for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
            if not _owner_lives(left):
                cls(left).clear()
        path = Path(tempfile.mkdtemp(prefix=PREFIX))
        (path / "owner").write_text(f"{os.getpid()} {started_at(os.getpid())}")
        return cls(path)

    @property
    def name(self) -> str:
        """Unique on this machine."""
        return self.path.name

    def make_cgroup(self, name: str) -> str:
        """Makes a cgroup in every hierarchy (version 2 has one) and returns its path as a kubelet's `cgroupRoot`."""
        group = f"{self.name}-{name}"
        for hierarchy in _hierarchies():
            folder = hierarchy / group
            folder.mkdir(exist_ok=True)
            if hierarchy.name == "cpuset":
                # Version 1: a cpuset takes no process before it has processors and memory.
                for key in ("cpuset.cpus", "cpuset.mems"):
                    (folder / key).write_text((hierarchy / key).read_text())
        return f"/{group}"

    def clear(self) -> None:
        """Ends every process of the run by its id; unmounts what is below the folder; removes cgroups and files."""
        end = time.monotonic() + CLEAR_S
        while (pids := self._shims() | self._contained()) and time.monotonic() < end:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        for socket in self._shim_sockets():
            socket.unlink(missing_ok=True)
        for mount in self._mounts():
            with suppress(OSError):
                _unmount(mount)
        for group in self._cgroups():
            _remove_cgroup(group, end)
        for link in Path("/var/log/containers").glob("*.log"):
            if str(self.path) in str(link.readlink()):
                link.unlink()
        shutil.rmtree(self.path, ignore_errors=True)

    def _shims(self) -> set[int]:
        """Daemons and containers' shims of this run: they name the folder on their command line."""
        found = set()
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                line = (entry / "cmdline").read_bytes()
                program = Path(line.partition(b"\0")[0].decode(errors="replace")).name
                if program in PROGRAMS and f"{self.path}/".encode() in line:
                    found.add(int(entry.name))
        return found

    def _shim_sockets(self) -> list[Path]:
        """Sockets that killed shims left outside the folder; each container's state names its own."""
        states = self.path.glob("*/containerd-state/io.containerd.runtime.v2.task/*/*/address")
        return [Path(state.read_text().removeprefix("unix://")) for state in states]

    def _contained(self) -> set[int]:
        """Processes in the run's cgroups: those in the containers."""
        found = set()
        for group in self._cgroups():
            for folder, _, _ in os.walk(group):
                with suppress(OSError):
                    found |= {int(line) for line in (Path(folder) / "cgroup.procs").read_text().split()}
        return found

    def _cgroups(self) -> list[Path]:
        return [group for hierarchy in _hierarchies() for group in hierarchy.glob(f"{self.name}-*")]

    def _mounts(self) -> list[str]:
        lines = Path("/proc/self/mounts").read_text().splitlines()
        below = [line.split(" ", 2)[1] for line in lines]
        return [mount for mount in reversed(below) if mount.startswith(f"{self.path}/")]


def _owner_lives(folder: Path) -> bool:
    try:
        pid, start = (folder / "owner").read_text().split()
    except (OSError, ValueError):
        # Just being made by another process, or long broken.
        return time.time() - folder.stat().st_mtime < 60
    return started_at(int(pid)) == start


def _hierarchies() -> Iterator[Path]:
    if (CGROUPS / "cgroup.controllers").exists():
        yield CGROUPS
        return
    yield from sorted(path for path in CGROUPS.iterdir() if path.is_dir() and not path.is_symlink())


def _remove_cgroup(group: Path, end: float) -> None:
    """Removes it from the leaves up; a cgroup stays busy for a moment after its last process has gone."""
    while group.exists():
        for folder, _, _ in os.walk(group, topdown=False):
            with suppress(OSError):
                Path(folder).rmdir()
        if time.monotonic() > end:
            return
        time.sleep(0.01)


def _unmount(mount: str) -> None:
    import ctypes  # noqa: PLC0415 - only where something is mounted

    libc = ctypes.CDLL(None, use_errno=True)
    detach = 2
    if libc.umount2(mount.encode(), detach) != 0:
        raise OSError(ctypes.get_errno(), f"cannot unmount {mount}")
