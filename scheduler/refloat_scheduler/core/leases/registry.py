"""What the scheduler remembers of its executors while it runs. All of it is rebuilt at a start; times are monotonic.

Every deadline is measured on this process's own clock from what it has itself seen, never from a time in a message or
in the store (reliability, section 4.4).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from refloat_common.core.ids import BootId, ExecutorId
from refloat_scheduler.core.leases.states import ExecutorState
from refloat_scheduler.core.signals import Note, Sample

NO_BOOT = BootId("")
"""The boot of an executor that has not spoken yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSettings:
    """All durations in seconds. Names and defaults: reliability, section 4.3; `settings.py` reads and checks them.

    `preservation_threshold` is a share of the executors: so many may be lost, at least one. `max_swaps` takeovers of
    an executor id within `swap_window_s` mean that two processes fight for it; it then gets nothing for
    `quarantine_s`.
    """

    heartbeat_interval_s: float = 5.0
    placement_timeout_s: float = 60.0
    suspect_after_s: float = 300.0
    lease_timeout_s: float = 3600.0
    startup_grace_s: float = 3600.0
    start_barrier_s: float = 120.0
    tick_s: float = 1.0
    tick_gap_s: float = 5.0
    preservation_threshold: float = 1 / 3
    preservation_leave_s: float = 60.0
    alert_every_s: float = 3600.0
    mass_window_s: float = 600.0
    expiry_interval_s: float = 60.0
    max_unacknowledged: int = 500
    max_swaps: int = 3
    swap_window_s: float = 60.0
    quarantine_s: float = 600.0

    def allowed_losses(self, executors: int) -> int:
        """How many of so many executors may be lost within one mass window: the threshold's share, at least one."""
        return max(1, math.floor(self.preservation_threshold * executors + 1e-9))

    def calm_losses(self, executors: int) -> int:
        """With how many silent executors self-preservation may end: half the threshold's share."""
        return math.floor(self.preservation_threshold / 2 * executors + 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One executor.

    `heard_s` is when it was last heard, or the scheduler's start. `deadline_s` is when its lease runs out; it moves
    with the tick-gap guard and with self-preservation, `heard_s` only with the former. `greeted`: it has said HELLO
    to this scheduler. `drain_to` is the last report that its HELLO announced, None once all are committed. `judging`:
    it spoke again after it was lost, and its runs are not looked through yet. `had_runs`: the start barrier waits
    for it.
    """

    executor: ExecutorId
    heard_s: float
    deadline_s: float
    state: ExecutorState = ExecutorState.UNKNOWN
    greeted: bool = False
    lost: bool = False
    judging: bool = False
    drain_to: int | None = None
    had_runs: bool = False
    cordoned: bool = False
    decommissioned: bool = False
    released: bool = False
    pool: str = "default"
    boot: BootId = NO_BOOT
    swaps_s: tuple[float, ...] = ()
    quarantined_until_s: float = -math.inf
    free_slots: int = 0
    unacknowledged: int = 0
    unlabelled_warned: bool = False
    incapable_warned: bool = False

    @property
    def counted(self) -> bool:
        """Whether it counts for self-preservation: an operator's cordon or farewell takes it out."""
        return not self.cordoned and not self.decommissioned

    @property
    def ready(self) -> bool:
        """Whether nothing of an earlier life is outstanding: greeted, drained, looked through, not lost."""
        return self.greeted and not self.lost and not self.judging and self.drain_to is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """All executors, and the health of the scheduler itself.

    `expired_s` holds when each executor was declared lost without an operator, and `gone_s` with one too, both within
    the mass window. `preserving_since_s` is None outside of self-preservation. `suspended_until_s`: nobody is
    declared lost before. `store_failed_s` is when the store was last down.
    """

    started_s: float
    last_tick_s: float
    members: Mapping[ExecutorId, Member] = field(default_factory=dict)
    barrier_open: bool = False
    preserving_since_s: float | None = None
    calm_since_s: float | None = None
    alerted_s: float = -math.inf
    last_expiry_s: float = -math.inf
    expired_s: tuple[float, ...] = ()
    gone_s: tuple[tuple[float, ExecutorId], ...] = ()
    store_down: bool = False
    store_failed_s: float = -math.inf
    suspended_until_s: float = -math.inf
    probe_ok: bool = True

    def with_member(self, member: Member) -> "Registry":
        """The registry with one executor as it is now."""
        return replace(self, members={**self.members, member.executor: member})


@dataclass(frozen=True, slots=True)
class Lost:
    """Give the runs of this executor verdicts, page by page, and release its holds.

    If it comes back in between, the rest keep their leases, unless it was given up by an operator.
    """

    executor: ExecutorId
    silent_for_s: float
    by_operator: bool


@dataclass(frozen=True, slots=True)
class StateChanged:
    """An executor is seen differently now."""

    executor: ExecutorId
    before: ExecutorState
    after: ExecutorState


@dataclass(frozen=True, slots=True)
class RoomOpened:
    """An executor may be leased to that might not before, or has more room."""

    executor: ExecutorId


@dataclass(frozen=True, slots=True)
class Said:
    """Log lines and samples."""

    notes: tuple[Note, ...] = ()
    samples: tuple[Sample, ...] = ()


LeaseEffect: TypeAlias = Lost | StateChanged | RoomOpened | Said
Answer: TypeAlias = tuple[Registry, tuple[LeaseEffect, ...]]


def state_of(member: Member, now_s: float, settings: LeaseSettings) -> ExecutorState:
    """How an executor is seen: a function of what is known, so that no two facts can disagree."""
    silent_s = now_s - member.heard_s
    if member.lost:
        return ExecutorState.LOST
    if silent_s > settings.suspect_after_s:
        return ExecutorState.SUSPECT
    if not member.greeted:
        return ExecutorState.UNKNOWN
    if silent_s > settings.placement_timeout_s:
        return ExecutorState.SILENT
    return ExecutorState.LIVE if member.ready else ExecutorState.RETURNING
