"""What a classification says, and how it explains itself."""

import msgspec

from refloat_common.core.taxonomy import Disposition


class RuleRef(msgspec.Struct, frozen=True, gc=False):
    """A rule of an operator's: its category's name, and its place among that category's rules, from 0."""

    category: str
    index: int


class Classification(msgspec.Struct, frozen=True, gc=False):
    """The name of a failure and what follows from it. `rule` is None where no rule of an operator's decided."""

    category: str = ""
    subcategory: str = ""
    hint: str = ""
    disposition: Disposition = Disposition.RETAIN
    rule: RuleRef | None = None


NOTHING = Classification()
"""The answer where there is no classifier, or no pod."""


class Rejection(msgspec.Struct, frozen=True, gc=False):
    """A rule that came before the deciding one and did not match, and why."""

    category: str
    index: int
    why: str


class Explanation(msgspec.Struct, frozen=True):
    """A classification with every rule that was looked at before it."""

    classification: Classification
    rejected: tuple[Rejection, ...] = ()


class Facts(msgspec.Struct, frozen=True, gc=False):
    """What the executor knows about a failure beside the pod object.

    `deleted_by_other`: somebody other than this executor asked for the pod's deletion before, or with, its end.
    """

    deleted_by_other: bool = False


NO_FACTS = Facts()
