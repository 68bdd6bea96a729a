"""refloatctl as a process of its own, in a folder where a configuration file says which host is meant."""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testkit.ctl.running import Ran
from testkit.host.process import running_host, write_settings

ANSWER_S = 40.0
LOOK_EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class Shell:
    """A folder, which is the user's home as well, and the commands that are run there."""

    folder: Path

    def __call__(self, line: str) -> Ran:
        """Run a line; `armadactl` stands for refloatctl, so that the lines of its manual can be run as they are."""
        with self.start(line) as process:
            out, complaints = process.communicate(timeout=ANSWER_S)
        return Ran(process.returncode, out, complaints)

    @contextmanager
    def start(self, line: str) -> Iterator["subprocess.Popen[str]"]:
        """Start a line, and end it with the block if it has not ended by itself."""
        program, *words = shlex.split(line)
        assert program in ("armadactl", "refloatctl"), line
        with subprocess.Popen(
            [sys.executable, "-m", "refloat_ctl.main", *words],
            cwd=self.folder,
            env={**os.environ, "HOME": str(self.folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()


def point_at(address: str, folder: Path) -> Shell:
    """A shell in a folder, whose configuration file names the host at an address."""
    (folder / ".refloatctl.yaml").write_text(f'armadaUrl: "{address}"\n', encoding="utf-8")
    return Shell(folder)


@contextmanager
def shell_with_host(folder: Path, **settings: object) -> Iterator[Shell]:
    """A host that runs on an empty store, and a shell whose configuration file names it."""
    with running_host(write_settings(folder, **settings)) as host:
        yield point_at(str(host.logged("the host has started")["api"]), folder)


def wait_until(condition: Callable[[], object], *, within_s: float) -> None:
    """Look again and again until something holds that other processes bring about."""
    ends_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < ends_s, f"not within {within_s:g} s"
        time.sleep(LOOK_EVERY_S)
