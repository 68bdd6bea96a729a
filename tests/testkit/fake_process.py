"""A fake cluster as a process of its own, as the demo and the soak start it."""

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

END_S = 10.0


class FakeProcess:
    """`with FakeProcess("--nodes", "2") as cluster:` runs until the block ends; `cluster.kubeconfig` is a file."""

    def __init__(self, *arguments: str) -> None:
        self._command = [sys.executable, "-m", "refloat_fakekube.cluster", *arguments]
        self._process: subprocess.Popen[str] | None = None
        self.url = ""
        self.kubeconfig = Path()
        self.code: int | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"{' '.join(self._command)} did not start"
        ready = json.loads(line)
        self.url, self.kubeconfig = ready["url"], Path(ready["kubeconfig"])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.terminate()
        self.code = self._process.wait(END_S)
        if self._process.stdout is not None:
            self._process.stdout.close()
