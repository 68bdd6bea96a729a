"""The tick: once a second it is looked at who is silent, and at most one executor is declared lost.

Only here is anybody declared lost without an operator, and only if nothing speaks against it: the lease has run out,
the store is up and has been for three heartbeats, there is no self-preservation, the last loss is a while ago, and
the mass window has room. A gap in the ticks is our own silence: all deadlines move by it, and stay three heartbeats
away (reliability, rule 9).
"""

from dataclasses import replace

from refloat_scheduler.core.leases.placement import barrier_may_open
from refloat_scheduler.core.leases.preservation import census, preserve
from refloat_scheduler.core.leases.registry import (
    Answer,
    LeaseEffect,
    LeaseSettings,
    Lost,
    Member,
    Registry,
    RoomOpened,
    Said,
    StateChanged,
    state_of,
)
from refloat_scheduler.core.leases.states import ExecutorState
from refloat_scheduler.core.signals import Level, Metric, Note, Sample

HEARTBEATS_TO_CATCH_UP = 3


def tick(registry: Registry, now_s: float, settings: LeaseSettings) -> Answer:
    """The registry a tick later."""
    effects: list[LeaseEffect] = []
    registry = _guard_gap(registry, now_s, settings)
    registry = _forget(replace(registry, last_tick_s=now_s), now_s, settings)
    if not registry.barrier_open and barrier_may_open(registry, now_s, settings):
        registry = replace(registry, barrier_open=True)
        effects += [RoomOpened(name) for name, member in sorted(registry.members.items()) if member.ready]
    registry, said = preserve(registry, now_s, settings)
    effects += said
    lapsed = _next_to_lose(registry, now_s, settings)
    if lapsed is not None:
        registry, lost = lose(registry, lapsed, now_s, by_operator=False)
        effects += lost
    registry, changed = refreshed_states(registry, now_s, settings)
    return registry, (*effects, *changed)


def _guard_gap(registry: Registry, now_s: float, settings: LeaseSettings) -> Registry:
    gap_s = now_s - registry.last_tick_s
    if gap_s <= settings.tick_gap_s:
        return registry
    floor_s = now_s + HEARTBEATS_TO_CATCH_UP * settings.heartbeat_interval_s
    members = {
        name: replace(
            member,
            heard_s=min(now_s, member.heard_s + gap_s),
            deadline_s=max(member.deadline_s + gap_s, floor_s),
        )
        for name, member in registry.members.items()
    }
    return replace(
        registry,
        members=members,
        calm_since_s=None,
        last_expiry_s=registry.last_expiry_s + gap_s,
        expired_s=tuple(at_s + gap_s for at_s in registry.expired_s),
        gone_s=tuple((at_s + gap_s, name) for at_s, name in registry.gone_s),
    )


def _forget(registry: Registry, now_s: float, settings: LeaseSettings) -> Registry:
    """Losses older than the mass window count no more."""
    oldest_s = now_s - settings.mass_window_s
    return replace(
        registry,
        expired_s=tuple(at_s for at_s in registry.expired_s if at_s >= oldest_s),
        gone_s=tuple(entry for entry in registry.gone_s if entry[0] >= oldest_s),
    )


def _next_to_lose(registry: Registry, now_s: float, settings: LeaseSettings) -> Member | None:
    """The executor whose lease ran out first, if anybody may be lost now; one that an operator released always may."""
    if registry.store_down or now_s < registry.suspended_until_s:
        return None
    lapsed = [m for m in registry.members.values() if m.deadline_s <= now_s and not m.lost and not m.decommissioned]
    if registry.preserving_since_s is not None or not _within_pace(registry, now_s, settings):
        lapsed = [member for member in lapsed if member.released]
    return min(lapsed, key=lambda member: (member.deadline_s, member.executor), default=None)


def _within_pace(registry: Registry, now_s: float, settings: LeaseSettings) -> bool:
    if now_s - registry.last_expiry_s < settings.expiry_interval_s:
        return False
    count = census(registry, now_s, settings)
    return len(registry.expired_s) < settings.allowed_losses(count.executors)


def lose(registry: Registry, member: Member, now_s: float, *, by_operator: bool) -> Answer:
    """Declare an executor lost. It stays so until it is heard again."""
    automatic = not by_operator and not member.released
    silent_for_s = now_s - member.heard_s
    after = replace(registry.with_member(replace(member, lost=True, released=False, unacknowledged=0)))
    after = replace(
        after,
        gone_s=(*after.gone_s, (now_s, member.executor)),
        expired_s=(*after.expired_s, now_s) if automatic else after.expired_s,
        last_expiry_s=now_s if automatic else after.last_expiry_s,
    )
    text = f"executor {member.executor} is lost after {silent_for_s:.0f} s of silence; its runs get verdicts"
    return after, (Said((Note(Level.ALERT, text),)), Lost(member.executor, silent_for_s, by_operator=by_operator))


def refreshed_states(registry: Registry, now_s: float, settings: LeaseSettings) -> Answer:
    """The registry with every executor's state as it is now, and the changes."""
    effects: list[LeaseEffect] = []
    members = dict(registry.members)
    for name, member in sorted(registry.members.items()):
        members[name], told = refreshed_state(member, now_s, settings)
        effects += told
    return (replace(registry, members=members), tuple(effects)) if effects else (registry, ())


def refreshed_state(member: Member, now_s: float, settings: LeaseSettings) -> tuple[Member, tuple[LeaseEffect, ...]]:
    """One executor with its state as it is now, and what to say if it changed."""
    state = state_of(member, now_s, settings)
    return (member, ()) if state is member.state else (replace(member, state=state), _told(member, state))


_LEVELS = {ExecutorState.SUSPECT: Level.ALERT, ExecutorState.SILENT: Level.WARNING}


def _told(member: Member, state: ExecutorState) -> tuple[LeaseEffect, ...]:
    name = member.executor
    note = Note(_LEVELS.get(state, Level.INFO), f"executor {name}: {member.state.value} → {state.value}")
    samples = (
        Sample(Metric.EXECUTOR_STATE, (("executor", name), ("state", member.state.value)), 0),
        Sample(Metric.EXECUTOR_STATE, (("executor", name), ("state", state.value)), 1),
    )
    changed: tuple[LeaseEffect, ...] = (StateChanged(name, member.state, state), Said((note,), samples))
    return (*changed, RoomOpened(name)) if state is ExecutorState.LIVE else changed
