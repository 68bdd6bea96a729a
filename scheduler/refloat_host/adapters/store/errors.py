"""What can be wrong with the store itself, named by its condition.

`StoreUnavailable`, the passing one, is the contract's own (see `refloat_scheduler.service.contract`).
"""

import re
from pathlib import Path

_PASSWORD = re.compile(r"(//[^/@]*:)[^/@]*@")


class StoreLockedError(Exception):
    """Another process has this SQLite file open as its host."""

    def __init__(self, lock: Path) -> None:
        super().__init__(f"{lock} is held by another host: a SQLite store has one host at a time")


class StoreTooNewError(Exception):
    """The schema was written by a later version of Refloat."""

    def __init__(self, found: str, known: str) -> None:
        super().__init__(
            f"the store has schema {found}, and this version knows none later than {known}: "
            "upgrade Refloat, or restore a copy of the store from before the upgrade"
        )


class StoreForeignError(Exception):
    """The database has tables, but not ours."""

    def __init__(self, tables: tuple[str, ...]) -> None:
        super().__init__(f"the database is no store of Refloat's: it holds {', '.join(tables[:5])}")


class StoreUrlError(ValueError):
    """The setting `store.url` names no database that can be used. A password in it is not shown."""

    def __init__(self, url: str) -> None:
        shown = _PASSWORD.sub(r"\1***@", url)
        super().__init__(
            f"store.url: {shown!r} is neither sqlite:///PATH nor postgresql://USER@HOST/NAME: no other store is "
            "supported"
        )


class StoreBrokenError(Exception):
    """A write failed in such a way that nobody can say what is on the disk: the process must end.

    After a failed fsync a second try may report success for pages that were never written, so there is none.
    """

    def __init__(self, why: str) -> None:
        super().__init__(f"the store is broken: {why}")
