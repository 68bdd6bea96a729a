"""What the store answers: an object, a page of objects, a plain success, or a refusal; and the changes it made."""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from refloat_fakekube.core.refusals import RefusalError
from refloat_fakekube.core.store.records import Change, Stored


@dataclass(frozen=True, slots=True)
class Found:
    """One object; `created` when the request made it (HTTP 201)."""

    data: bytes
    created: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a collection at one version. `remaining` is None where it isn't told."""

    items: tuple[Stored, ...]
    version: int
    next_page: str = ""
    remaining: int | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """Success without an object: `Status` Success; details name what it was about."""

    kind: str = ""
    group: str = ""
    name: str = ""
    uid: str = ""
    created: bool = False


Answer: TypeAlias = Found | Page | Done | RefusalError
"""A refusal is a value here: the store raises nothing for a bad request."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The answer, and what watchers hear of."""

    answer: Answer
    changes: tuple[Change, ...] = ()


class Ids(Protocol):
    """Where uids and the random ends of generated names come from."""

    def uid(self) -> str:
        """A fresh UUID."""

    def suffix(self) -> str:
        """Five fresh letters and digits for `generateName`."""
