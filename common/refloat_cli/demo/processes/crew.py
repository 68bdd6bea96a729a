"""Starts, kills and ends the demo's processes. None outlives the demo, however it ends."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from refloat_cli.demo.processes.leash import leashed

STOP_WITHIN_S = 8.0
READY_WITHIN_S = 20.0
POLL_S = 0.02
SHOWN_LOG_LINES = 12


class ProcessEndedError(Exception):
    """A process of the demo ended by itself; shows the end of its log."""

    def __init__(self, name: str, code: int, log: Path) -> None:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-SHOWN_LOG_LINES:])
        super().__init__(f"{name} ended with exit code {code}; the end of its log:\n{tail}")


class NotReadyError(Exception):
    """A process did not get ready in time."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name} is not ready after {READY_WITHIN_S:g} s: {what}")


@dataclass(slots=True)
class Member:
    """One process: how it is started, where it writes, and how often it was started again."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    out: Path
    process: "subprocess.Popen[bytes] | None" = None
    starts: int = 0

    def check(self) -> None:
        """See that it runs.

        Raises:
            ProcessEndedError: it does not.
        """
        if self.process is not None and (code := self.process.poll()) is not None:
            raise ProcessEndedError(self.name, code, self.log)


class Crew:
    """The processes of the demo, in the order of their start; `folder` takes their output."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._members: dict[str, Member] = {}

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> Member:
        """Start a process that runs until it is told to stop."""
        member = Member(
            name,
            command,
            {**os.environ, **(environment or {})},
            self._folder / f"{name}.log",
            self._folder / f"{name}.out",
        )
        self._members[name] = member
        self._launch(member)
        return member

    def kill(self, name: str) -> None:
        """SIGKILL, and wait until the kernel is done with it."""
        process = self._members[name].process
        if process is not None:
            process.kill()
            process.wait()

    def restart(self, name: str) -> None:
        """Start a killed process again, as it was."""
        self._launch(self._members[name])

    def starts(self, name: str) -> int:
        """How often a process was started."""
        return self._members[name].starts

    def times_said(self, name: str, text: str) -> int:
        """How often a text stands in the log of a process, over all its starts."""
        return self._members[name].log.read_text(errors="replace").count(text)

    def exit_code(self, name: str) -> int | None:
        """The exit code of a process that has ended by itself, negative for a signal; None while it runs."""
        process = self._members[name].process
        return None if process is None else process.poll()

    def check(self) -> None:
        """See that all run.

        Raises:
            ProcessEndedError: one ended by itself.
        """
        for member in self._members.values():
            member.check()

    async def first_line(self, member: Member) -> str:
        """The first line that a process writes to its standard output.

        Raises:
            ProcessEndedError: it ended before.
            NotReadyError: it wrote none in time.
        """
        with anyio.move_on_after(READY_WITHIN_S):
            while True:
                text = member.out.read_text(errors="replace")
                if "\n" in text:
                    return text.partition("\n")[0]
                member.check()
                await anyio.sleep(POLL_S)
        raise NotReadyError(member.name, "it has said nothing")

    def stop(self, names: Sequence[str] | None = None) -> dict[str, int]:
        """SIGTERM to these processes (all, the last started first), SIGKILL to those that stay; their exit codes."""
        chosen = [self._members[name] for name in (names or tuple(reversed(self._members)))]
        for member in chosen:
            if member.process is not None and member.process.poll() is None:
                member.process.terminate()
        ends_s = time.monotonic() + STOP_WITHIN_S
        codes: dict[str, int] = {}
        for member in chosen:
            if member.process is None:
                continue
            try:
                codes[member.name] = member.process.wait(max(0.0, ends_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                member.process.kill()
                codes[member.name] = member.process.wait()
            member.process = None
        return codes

    def _launch(self, member: Member) -> None:
        member.starts += 1
        with member.out.open("ab") as out, member.log.open("ab") as log:
            member.process = subprocess.Popen(  # noqa: S603  our own command, no shell
                member.command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                env=dict(member.environment),
            )


def python_module(module: str, *arguments: str) -> list[str]:
    """The command that runs a module in this interpreter, until it ends or this process does."""
    return leashed(module, *arguments)
