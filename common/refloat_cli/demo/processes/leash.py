"""Runs a module as `python -m MODULE` would, in a process that the kernel ends when its parent's does (Linux only).

Asked for by the process itself: what is done between fork and exec may stand still where the parent has threads.
"""

import ctypes
import os
import runpy
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1


def leashed(module: str, *arguments: str) -> list[str]:
    """The command that runs a module on a leash, in this interpreter."""
    return [sys.executable, "-m", __name__, str(os.getpid()), module, *arguments]


def main(words: Sequence[str]) -> None:
    """Put the leash on and run; `words` are the parent's process id, the module, and its arguments."""
    parent, module, *arguments = words
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):
            # It ended before the leash was on.
            return
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
