"""The disk of a simulated machine: SQLite in memory, of which a kill leaves exactly what was committed.

The product's own store code runs on these connections, inline. A new incarnation of a process gets a fresh connection
on the committed bytes; the old connection is closed, so that no frame of the dead process can write any more.
"""

import sqlite3
from dataclasses import dataclass

from testkit.virtual.process import SimProcess, current_process


@dataclass(frozen=True, slots=True)
class _Opened:
    """A connection and the incarnation that opened it."""

    connection: sqlite3.Connection
    owner: SimProcess


class SimDisk:
    """The files of one machine, by name."""

    def __init__(self) -> None:
        self._open: dict[str, _Opened] = {}
        self._bytes: dict[str, bytes] = {}

    def connect(self, name: str) -> sqlite3.Connection:
        """A connection in autocommit mode for the current process; what an earlier incarnation committed is there."""
        owner = current_process()
        opened = self._open.get(name)
        if opened is not None:
            if opened.owner is owner:
                return opened.connection
            if opened.owner.alive:
                raise sqlite3.OperationalError(f"{name} is open in {opened.owner.name}")
            self._crash(name, opened)
        connection = sqlite3.connect(":memory:", isolation_level=None)
        if name in self._bytes:
            connection.deserialize(self._bytes[name])
        self._open[name] = _Opened(connection, owner)
        return connection

    def image(self, name: str) -> bytes:
        """The committed bytes of a file, to look at or to put back later as a backup."""
        opened = self._open.get(name)
        if opened is not None and not opened.owner.alive:
            self._crash(name, opened)
        elif opened is not None:
            return _committed(opened.connection)
        return self._bytes[name]

    def restore(self, name: str, image: bytes) -> None:
        """Put a backup back. The process that used the file must be dead."""
        opened = self._open.pop(name, None)
        if opened is not None:
            if opened.owner.alive:
                raise sqlite3.OperationalError(f"{name} is open in {opened.owner.name}")
            opened.connection.close()
        self._bytes[name] = image

    def close(self) -> None:
        """Free everything; called once the run is over."""
        for opened in self._open.values():
            opened.connection.close()
        self._open.clear()

    def _crash(self, name: str, opened: _Opened) -> None:
        """What the dead left behind: committed transactions stay, an open one never was."""
        opened.connection.rollback()
        self._bytes[name] = opened.connection.serialize()
        opened.connection.close()
        del self._open[name]


def _committed(connection: sqlite3.Connection) -> bytes:
    if connection.in_transaction:
        raise sqlite3.OperationalError("a transaction is open; there is no committed image at this instant")
    return connection.serialize()
