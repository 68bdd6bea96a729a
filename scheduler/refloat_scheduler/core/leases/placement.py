"""Whether an executor may be leased to, and why not."""

from dataclasses import dataclass

from refloat_scheduler.core.leases.registry import LeaseSettings, Member, Registry, state_of
from refloat_scheduler.core.leases.states import ExecutorState


@dataclass(frozen=True, slots=True)
class Placement:
    """The answer for one executor; `why_not` is empty when it may be leased to."""

    state: ExecutorState
    free_slots: int
    why_not: str

    @property
    def may_lease(self) -> bool:
        """Whether a host may make a run for it."""
        return not self.why_not


def placement(registry: Registry, member: Member, now_s: float, settings: LeaseSettings) -> Placement:
    """How an executor stands for placement. Free slots leave out what was offered and not acknowledged yet."""
    state = state_of(member, now_s, settings)
    return Placement(
        state=state,
        free_slots=max(0, member.free_slots - member.unacknowledged),
        why_not=_why_not(registry, member, state, now_s, settings),
    )


def _why_not(registry: Registry, member: Member, state: ExecutorState, now_s: float, settings: LeaseSettings) -> str:
    if member.decommissioned:
        return "decommissioned"
    if member.cordoned:
        return "cordoned"
    if state is not ExecutorState.LIVE:
        return state.value
    if now_s < member.quarantined_until_s:
        return "two processes fight for this id"
    if not registry.barrier_open:
        return "start barrier: executors with runs have not all spoken yet"
    if registry.store_down:
        return "the store is down"
    if member.unacknowledged >= settings.max_unacknowledged:
        return "too many unacknowledged leases"
    return ""


def barrier_may_open(registry: Registry, now_s: float, settings: LeaseSettings) -> bool:
    """Whether every executor with runs has said HELLO and handed in its reports, or the time for it is over.

    Before that a lease could go out for a job whose run the store has forgotten (reliability, rule 4).
    """
    if now_s - registry.started_s >= settings.start_barrier_s:
        return True
    return all(m.ready or m.lost or m.decommissioned for m in registry.members.values() if m.had_runs)
