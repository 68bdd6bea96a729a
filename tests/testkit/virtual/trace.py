"""What happened in a run, in order, and one hash over it."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that happened: virtual time in seconds, what, and named values as text."""

    at_s: float
    what: str
    values: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"{self.at_s:.6f} {self.what} " + " ".join(f"{name}={value}" for name, value in self.values)

    def get(self, name: str) -> str:
        """A named value, or the empty text."""
        return dict(self.values).get(name, "")


@dataclass(slots=True)
class Trace:
    """The records of one run, oldest first."""

    now_s: Callable[[], float]
    records: list[Record] = field(default_factory=list)

    def add(self, what: str, **values: object) -> None:
        """Note something now. Values become text at once: a later change of the object must not show."""
        self.records.append(
            Record(self.now_s(), what, tuple((name, str(value)) for name, value in values.items())),
        )

    def named(self, what: str) -> Iterator[Record]:
        """The records of one kind."""
        return (record for record in self.records if record.what == what)

    def digest(self) -> str:
        """SHA-256 over all records: equal for equal runs, in whichever interpreter."""
        digest = hashlib.sha256()
        for record in self.records:
            digest.update(f"{record}\n".encode())
        return digest.hexdigest()

    def text(self) -> str:
        """All records, one a line, for a failed assertion."""
        return "\n".join(map(str, self.records))
