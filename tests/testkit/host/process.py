"""A host as a process of its own, with free ports and its log."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

START_S = 20.0


def write_settings(folder: Path, **changes: object) -> Path:
    """A file of settings for a host in a folder: no keys, ports of its own; top-level blocks can be replaced."""
    port: dict[str, object] = {"port": 0}
    settings: dict[str, object] = {
        "store": {"url": f"sqlite:///{folder / 'host.db'}"},
        "link": {"insecure": True, "control": "tcp://127.0.0.1:0", "reports": "tcp://127.0.0.1:0"},
        "metrics": port,
        "http": port,
        "grpc": port,
    }
    file = folder / "host.yaml"
    file.write_text(yaml.safe_dump(settings | changes))
    return file


def host_command(settings: Path) -> list[str]:
    """The command line of a host."""
    return [sys.executable, "-m", "refloat_cli.main", "host", "run", "--config", str(settings)]


@dataclass(slots=True)
class HostProcess:
    """A running host."""

    process: "subprocess.Popen[str]"
    lines: list[dict[str, object]] = field(default_factory=list)

    def logged(self, message: str) -> dict[str, object]:
        """The first log line with this message; waits for it."""
        for line in self.lines:
            if line["message"] == message:
                return line
        assert self.process.stderr is not None
        for text in self.process.stderr:
            said: dict[str, object] = json.loads(text)
            self.lines.append(said)
            if said["message"] == message:
                return said
        raise AssertionError(f"the host has ended without saying {message!r}: {self.lines}")

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(START_S)

    def stop(self) -> int:
        """Ask it to stop; gives the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(START_S)


@contextmanager
def running_host(settings: Path) -> Iterator[HostProcess]:
    """A host that runs until the block ends."""
    with subprocess.Popen(host_command(settings), stderr=subprocess.PIPE, text=True) as process:
        host = HostProcess(process)
        try:
            host.logged("the host has started")
            host.logged("the link is open")
            yield host
        finally:
            process.kill()
