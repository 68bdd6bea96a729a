"""Commits works on the store, many in one transaction, and says of each how it ended.

Each commit is fenced: it holds only while this process is still the store's leader (see `tables.store`).
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from refloat_host.adapters.store.errors import StoreBrokenError
from refloat_host.adapters.store.migrate import create, migrate
from refloat_host.adapters.store.opening import Opened
from refloat_host.adapters.store.queries.transaction import Changes, SqlTransaction
from refloat_host.adapters.store.tables import store
from refloat_scheduler.service.contract import StoreUnavailable

T = TypeVar("T")
Work: TypeAlias = Callable[[SqlTransaction], T]
"""Reads and writes inside one transaction; synchronous, and without effect outside of what it returns."""

_FATAL_SQLITE = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PASSING_SQLITE = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PROTOCOL,
)
FIND_OUT_S = 30.0
"""How long the outcome of a commit is asked for after PostgreSQL was lost in the middle of it."""

ASK_AGAIN_AFTER_S = 0.2


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """A work's value; it is committed."""

    value: T


@dataclass(frozen=True, slots=True)
class Raised:
    """A work that applied nothing, and why."""

    error: Exception


Outcome: TypeAlias = Done[T] | Raised


class Deposed(StoreUnavailable):
    """Another process has taken the store over: nothing that this one writes may count any more."""

    def __init__(self) -> None:
        super().__init__("another host has taken it over")


class Database:
    """One store, held by one process. Not for use by two threads at once, except for `read`."""

    def __init__(self, opened: Opened, generation: str, epoch: int, node_id_label: str) -> None:
        self.generation = generation
        self.epoch = epoch
        self._opened = opened
        self._node_id_label = node_id_label
        self._fence = (
            update(store)
            .where(store.c.one == 1, store.c.leader_epoch == epoch)
            .values(commits=store.c.commits + 1)
            .returning(store.c.commits)
        )

    @classmethod
    def take_over(
        cls, opened: Opened, *, generation: str, now_ms: int, node_id_label: str, fresh: bool = False
    ) -> "Database":
        """Bring the schema up to date and become the store's leader; every earlier leader is fenced from here on.

        Args:
            opened: the engines.
            generation: a random name, used if the store is new.
            now_ms: the wall clock, for display.
            node_id_label: the label by whose value a retry avoids nodes (`scheduling.nodeIdLabel`).
            fresh: whether the database is known to be empty, so that the schema can be made at once.
        """
        with opened.writer.begin() as connection:
            (create if fresh else migrate)(connection)
            row = connection.execute(select(store.c.generation, store.c.leader_epoch).with_for_update()).one_or_none()
            if row is None:
                values = {"one": 1, "generation": generation, "leader_epoch": 1, "commits": 0, "created_at_ms": now_ms}
                connection.execute(insert(store).values(values))
                return cls(opened, generation, 1, node_id_label)
            epoch = int(row.leader_epoch) + 1
            connection.execute(update(store).values(leader_epoch=epoch))
            return cls(opened, row.generation, epoch, node_id_label)

    def execute(self, works: Sequence[Work[T]]) -> tuple[list[Outcome[T]], Changes]:
        """Run works one after another and commit them together; one that raises takes back only its own.

        Raises:
            StoreBrokenError: what is on the disk is not known; the process must end.
        """
        try:
            return self._execute(works)
        except StoreUnavailable as error:
            return [Raised(error) for _ in works], Changes()

    def read(self, work: Work[T]) -> T:
        """Run a work that only reads, on a consistent view, beside the writer.

        Raises:
            StoreUnavailable: the database does not answer.
        """
        with _translating(), self._opened.reader.connect() as connection:
            return work(SqlTransaction(connection, self._node_id_label))

    def close(self) -> None:
        """Close the connections and give back the lock."""
        self._opened.close()

    def _execute(self, works: Sequence[Work[T]]) -> tuple[list[Outcome[T]], Changes]:
        with _translating(), self._opened.writer.connect() as connection:
            number = connection.execute(self._fence).scalar()
            if number is None:
                raise Deposed
            changes = Changes()
            alone = len(works) == 1
            outcomes = [self._one(connection, work, changes, alone=alone) for work in works]
            if alone and isinstance(outcomes[0], Raised):
                return outcomes, Changes()
            self._commit(connection, number)
            return outcomes, changes

    def _one(self, connection: Connection, work: Work[T], changes: Changes, *, alone: bool) -> Outcome[T]:
        """Run one work; a failing one is taken back to where it began, or with the whole transaction if it is alone."""
        transaction = SqlTransaction(connection, self._node_id_label)
        savepoint = None if alone else connection.begin_nested()
        try:
            value = work(transaction)
        except Exception as error:  # the contract: whatever a work raises comes out of `transact`
            if (isinstance(error, DBAPIError) and _unavailable(error)) or isinstance(error, StoreUnavailable):
                raise
            if savepoint is not None:
                savepoint.rollback()
            return Raised(error)
        if savepoint is not None:
            savepoint.commit()
        changes.add(transaction.changes)
        return Done(value)

    def _commit(self, connection: Connection, number: int) -> None:
        try:
            connection.commit()
        except (OperationalError, InterfaceError) as error:
            if not error.connection_invalidated or not self._was_committed(number):
                raise

    def _was_committed(self, number: int) -> bool:
        """Ask the database itself, once it answers again, how the commit ended whose answer was lost.

        The row is read under its lock, so a commit that is still under way on the old connection is waited for.
        """
        epoch, commits = self._epoch_and_commits()
        if epoch != self.epoch:
            raise StoreBrokenError("the outcome of a commit can't be found out: another host has taken the store over")
        return commits >= number

    def _epoch_and_commits(self) -> tuple[int, int]:
        query = select(store.c.leader_epoch, store.c.commits).with_for_update()
        deadline_s = time.monotonic() + FIND_OUT_S
        while True:
            try:
                with self._opened.writer.connect() as connection:
                    row = connection.execute(query).one()
                    return row.leader_epoch, row.commits
            except (OperationalError, InterfaceError) as error:
                if time.monotonic() > deadline_s:
                    raise StoreBrokenError(f"the outcome of a commit can't be found out: {error}") from error
                time.sleep(ASK_AGAIN_AFTER_S)


@contextmanager
def _translating() -> Iterator[None]:
    """Names what the database says in the contract's terms; what is a defect of ours stays as it is."""
    try:
        yield
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error) and _sqlite_code(error.orig) in _FATAL_SQLITE:
            raise StoreBrokenError(str(error.orig)) from error
        if _unavailable(error):
            raise StoreUnavailable(str(error.orig)) from error
        raise


def _unavailable(error: DBAPIError) -> bool:
    """Whether the fault is the database's. SQLite's general error is a wrong statement, a defect of ours."""
    if isinstance(error.orig, sqlite3.Error):
        return _sqlite_code(error.orig) in (*_PASSING_SQLITE, *_FATAL_SQLITE)
    return isinstance(error, OperationalError | InterfaceError)


def _sqlite_code(error: sqlite3.Error) -> int:
    """The primary result code: the low byte of the extended one."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF
