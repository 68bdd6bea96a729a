"""Kills this process at a named place, for tests of what survives a crash there.

`REFLOAT_FAILPOINT=NAME[:N]` kills at the N-th time (the first by default) that NAME is reached. It is refused unless
`REFLOAT_TESTING=1` says that a test is meant. Without the variable a failpoint costs one call that does nothing.
"""

import os
import signal
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

VARIABLE: Final = "REFLOAT_FAILPOINT"
PERMISSION: Final = "REFLOAT_TESTING"
NAMES: Final = (
    "executor.classified",
    "executor.deleted",
    "executor.gone_before_report",
    "executor.reported",
    "host.received",
    "host.commit_before_ack",
)
"""Every failpoint: right after the thing that its name says is durable or done, and before what follows."""

Failpoint: TypeAlias = Callable[[str], None]
"""Called with a name where the process may be killed. A simulator gives its own."""


class FailpointRefusedError(ValueError):
    """The environment asks for a crash that may not happen, or can't."""

    def __init__(self, value: str, why: str) -> None:
        super().__init__(f"{VARIABLE}={value}: {why}")


def never(_name: str) -> None:
    """A failpoint that lets everybody live."""


def failpoint_from(environment: Mapping[str, str] | None = None) -> Failpoint:
    """The failpoint that the environment asks for.

    Raises:
        FailpointRefusedError: not in a test, an unknown name, or no count.
    """
    settings = os.environ if environment is None else environment
    value = settings.get(VARIABLE, "")
    if not value:
        return never
    if settings.get(PERMISSION) != "1":
        raise FailpointRefusedError(value, f"crashes on purpose only where {PERMISSION}=1")
    name, _, count = value.partition(":")
    if name not in NAMES:
        raise FailpointRefusedError(value, f"no such failpoint; there are {', '.join(NAMES)}")
    if count and (not count.isdecimal() or count == "0"):
        raise FailpointRefusedError(value, f"the count must be 1 or more, got {count!r}")
    return _Countdown(name, int(count or "1")).reach


class _Countdown:
    """Kills at the last of a number of visits to one failpoint."""

    def __init__(self, name: str, visits: int) -> None:
        self._name = name
        self._left = visits

    def reach(self, name: str) -> None:
        """Count a visit."""
        if name != self._name:
            return
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
