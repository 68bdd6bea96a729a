"""refloatctl as a process of its own, in a folder where a configuration file says which host is meant."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testkit.ctl.running import Ran
from testkit.host.process import running_host, write_settings

ANSWER_S = 20.0


@dataclass(frozen=True, slots=True)
class Shell:
    """A folder, which is the user's home as well, and the commands that are run there."""

    folder: Path

    def __call__(self, line: str) -> Ran:
        """Run a line; `armadactl` stands for refloatctl, so that the lines of its manual can be run as they are."""
        program, *words = shlex.split(line)
        assert program in ("armadactl", "refloatctl"), line
        ran = subprocess.run(
            [sys.executable, "-m", "refloat_ctl.main", *words],
            cwd=self.folder,
            env={**os.environ, "HOME": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=ANSWER_S,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)


@contextmanager
def shell_with_host(folder: Path, **settings: object) -> Iterator[Shell]:
    """A host that runs on an empty store, and a shell whose configuration file names it."""
    with running_host(write_settings(folder, **settings)) as host:
        address = host.logged("the host has started")["api"]
        (folder / ".refloatctl.yaml").write_text(f'armadaUrl: "{address}"\n', encoding="utf-8")
        yield Shell(folder)
