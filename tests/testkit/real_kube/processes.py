"""Starts, watches and ends the foreign programs of a real cluster, each by its process id, its output in a file."""

import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

POLL_S = 0.03
LOG_TAIL_BYTES = 3000
# Below the range that outgoing connections take their ports from, so that a server can be restarted on its own port;
# below 30000, where Kubernetes' node ports begin.
PORTS = range(20000, 30000)


class NotInTimeError(AssertionError):
    """A condition did not come true before its deadline."""

    def __init__(self, what: str, deadline_s: float, logs: str = "") -> None:
        super().__init__(f"not within {deadline_s:g} s: {what}{logs}")


class DaemonEndedError(AssertionError):
    """A program that must keep running has ended by itself."""

    def __init__(self, name: str, code: int, logs: str) -> None:
        super().__init__(f"{name} ended with exit code {code}{logs}")


def until(condition: Callable[[], T | None], deadline_s: float, what: str, *daemons: "Daemon") -> T:
    """Asks the condition again and again; returns its first answer that is neither None nor False.

    Raises:
        NotInTimeError: the deadline passed first; the message ends with the last lines of the daemons' output.
        DaemonEndedError: one of the daemons ended while waiting.
    """
    end = time.monotonic() + deadline_s
    while True:
        answer = condition()
        if answer is not None and answer is not False:
            return answer
        for daemon in daemons:
            daemon.assert_running()
        if time.monotonic() > end:
            raise NotInTimeError(what, deadline_s, "".join(daemon.tail() for daemon in daemons))
        time.sleep(POLL_S)


def free_port() -> int:
    """A loopback port on which nothing listens now."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


class Daemon:
    """One foreign program: can be started and ended any number of times; ends with the process that started it."""

    def __init__(
        self, name: str, command: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.command = [str(part) for part in command]
        self.log = folder / f"{name}.log"
        self._environment = dict(os.environ) | dict(environment or {})
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it; its output is appended to the log file."""
        # The kernel ends the child when the *thread* that started it ends.
        assert threading.current_thread() is threading.main_thread(), "start daemons from the main thread"
        setpriv = shutil.which("setpriv")
        guard = [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*guard, *self.command],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process id; an AssertionError when it was never started."""
        assert self._process is not None, f"{self.name} was never started"
        return self._process.pid

    def assert_running(self) -> None:
        """Raises DaemonEndedError when it has ended by itself."""
        if self._process is not None and (code := self._process.poll()) is not None:
            raise DaemonEndedError(self.name, code, self.tail())

    def stop(self, grace_s: float = 10.0) -> None:
        """Asks it to end, and kills it when it has not after the grace; does nothing when it is not running."""
        self._end(signal.SIGTERM, grace_s)

    def kill(self) -> None:
        """Kills it as a crash would and waits until it is gone."""
        self._end(signal.SIGKILL, 10.0)

    def _end(self, with_signal: signal.Signals, grace_s: float) -> None:
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(with_signal)
        try:
            process.wait(grace_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def tail(self) -> str:
        """The last lines of its output, headed with its name."""
        text = self.log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace") if self.log.exists() else ""
        return f"\n--- {self.log} ---\n{text}"
