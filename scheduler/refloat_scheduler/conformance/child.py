"""A process that commits and kills itself at once: `python -m refloat_scheduler.conformance.child FACTORY FOLDER`."""

import os
import signal
import sys
from pathlib import Path

import anyio

from refloat_scheduler.conformance.samples import applied, mark
from refloat_scheduler.conformance.subject import find_factory, opened

SEQ = 7


async def main(factory: str, folder: Path) -> None:
    """Commit one transaction and die before anything else can happen."""
    async with opened(find_factory(factory), folder) as subject:
        await applied(subject, mark(SEQ))
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], Path(sys.argv[2]))
