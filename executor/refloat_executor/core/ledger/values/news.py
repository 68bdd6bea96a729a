"""Names everything that can happen to one run: a closed union, one row of the table for each state."""

from dataclasses import dataclass
from typing import TypeAlias

from refloat_common.core.pods import Event, Pod
from refloat_executor.core.cluster.answers import Refusal


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A heartbeat that listed the run, sent after its lease was journaled, was answered without a kill."""


@dataclass(frozen=True, slots=True)
class KillOrdered:
    """The scheduler ends the run: cancelled, preempted, or fenced while we were silent."""


@dataclass(frozen=True, slots=True)
class NameFreed:
    """The pod of an older run of the job is gone."""


@dataclass(frozen=True, slots=True)
class PodCreated:
    """The create was answered with this pod."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class CreateRefused:
    """The create came to something else. `fatal`: no later try could do better."""

    answer: Refusal
    fatal: bool


@dataclass(frozen=True, slots=True)
class CreateForbidden:
    """The create was not sent: between the decision and the request the lease had gone stale."""


@dataclass(frozen=True, slots=True)
class CreateImpossible:
    """The lease can't become a pod; nothing was sent."""

    problem: str


@dataclass(frozen=True, slots=True)
class PodRead:
    """A consistent read, begun after the request it follows: the pod that has the run's name, or None."""

    pod: Pod | None


@dataclass(frozen=True, slots=True)
class PodListed:
    """A complete list, begun after the request it follows, still holds the run's uid."""


@dataclass(frozen=True, slots=True)
class ReadFailed:
    """The read came to nothing, so nothing is known."""

    answer: Refusal


@dataclass(frozen=True, slots=True)
class DeleteAccepted:
    """The API took the DELETE. That is not yet an absence."""


@dataclass(frozen=True, slots=True)
class DeleteRefused:
    """The DELETE came to something else, a failed precondition among them."""

    answer: Refusal


@dataclass(frozen=True, slots=True)
class EventsRead:
    """The events of the failed pod; None if they could not be read."""

    events: tuple[Event, ...] | None


@dataclass(frozen=True, slots=True)
class PodPending:
    """The pod is there, not running."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class PodRunning:
    """The pod runs."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class PodSucceeded:
    """Every container of the pod ended well, and nobody had asked for its deletion."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class PodFailed:
    """The pod ended otherwise. `foreign_delete`: somebody else had asked for its deletion before.

    `wait_s`: how long something may still come that decides the category.
    """

    pod: Pod
    foreign_delete: bool = False
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class PodUnseen:
    """The watch or a list no longer shows the pod. Prompts a read; proves nothing."""

    last: Pod | None


@dataclass(frozen=True, slots=True)
class StrayFound:
    """A pod that says it is of this run was found although the run has ended, or has another pod."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class Unwanted:
    """The run's pod should go if the run has ended: past its retention, or a newer run needs its name."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The scheduler has committed the run's last report."""


@dataclass(frozen=True, slots=True)
class Due:
    """The entry's own timer has run out."""


News: TypeAlias = (
    Confirmed
    | KillOrdered
    | NameFreed
    | PodCreated
    | CreateRefused
    | CreateForbidden
    | CreateImpossible
    | PodRead
    | PodListed
    | ReadFailed
    | DeleteAccepted
    | DeleteRefused
    | EventsRead
    | PodPending
    | PodRunning
    | PodSucceeded
    | PodFailed
    | PodUnseen
    | StrayFound
    | Unwanted
    | Acknowledged
    | Due
)
"""Everything that can happen to a run."""

ALL_NEWS: tuple[type[News], ...] = News.__args__
