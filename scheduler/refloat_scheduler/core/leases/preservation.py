"""Self-preservation: when so many executors fall silent that the fault is likelier here than there, none is lost.

Counted are all executors that are silent for longer than the placement timeout, far sooner than a lease runs out, and
all that were declared lost within the mass window; counting later would let them go one by one as each crosses the
line (reliability, rules 7 and 8). With one or two executors "all silent" says nothing about whose fault it is; then
only a failed probe of our own, or a store that was down, does.
"""

from dataclasses import dataclass, replace

from refloat_scheduler.core.leases.registry import Answer, LeaseSettings, Registry, Said
from refloat_scheduler.core.signals import Level, Metric, Note, Sample

FEWEST_TO_COMPARE = 3
"""From so many executors on, their shares mean something."""


@dataclass(frozen=True, slots=True)
class Census:
    """How many executors count, and how many of them are silent or were lost just now."""

    executors: int
    silent: int


def census(registry: Registry, now_s: float, settings: LeaseSettings) -> Census:
    """Count the executors."""
    counted = [member for member in registry.members.values() if member.counted]
    gone = {name for at_s, name in registry.gone_s if now_s - at_s <= settings.mass_window_s}
    silent = [
        member
        for member in counted
        if member.lost or now_s - member.heard_s > settings.placement_timeout_s or member.executor in gone
    ]
    return Census(len(counted), len(silent))


def preserve(registry: Registry, now_s: float, settings: LeaseSettings) -> Answer:
    """Enter self-preservation, stay in it with an alert now and then, or leave it."""
    count = census(registry, now_s, settings)
    if registry.preserving_since_s is None:
        return _enter(registry, count, now_s) if _too_many(registry, count, now_s, settings) else (registry, ())
    if not _calm(registry, count, now_s, settings):
        return _stay(replace(registry, calm_since_s=None), count, now_s, settings)
    since_s = now_s if registry.calm_since_s is None else registry.calm_since_s
    if now_s - since_s < settings.preservation_leave_s:
        return _stay(replace(registry, calm_since_s=since_s), count, now_s, settings)
    return _leave(registry, now_s, settings)


def _too_many(registry: Registry, count: Census, now_s: float, settings: LeaseSettings) -> bool:
    if count.executors >= FEWEST_TO_COMPARE:
        return count.silent > settings.allowed_losses(count.executors)
    return 0 < count.executors == count.silent and _at_fault(registry, now_s, settings)


def _at_fault(registry: Registry, now_s: float, settings: LeaseSettings) -> bool:
    """Whether the silence may be our own: the probe through the public endpoint fails, or the store was down."""
    return not registry.probe_ok or registry.store_down or now_s - registry.store_failed_s <= settings.lease_timeout_s


def _calm(registry: Registry, count: Census, now_s: float, settings: LeaseSettings) -> bool:
    if count.executors >= FEWEST_TO_COMPARE:
        return count.silent <= settings.calm_losses(count.executors)
    return not _too_many(registry, count, now_s, settings)


def _enter(registry: Registry, count: Census, now_s: float) -> Answer:
    text = f"self-preservation: {count.silent} of {count.executors} executors are silent; no lease expires"
    on = Said((Note(Level.ALERT, text),), (Sample(Metric.SELF_PRESERVATION, value=1),))
    return replace(registry, preserving_since_s=now_s, calm_since_s=None, alerted_s=now_s), (on,)


def _stay(registry: Registry, count: Census, now_s: float, settings: LeaseSettings) -> Answer:
    if now_s - registry.alerted_s < settings.alert_every_s:
        return registry, ()
    text = f"self-preservation goes on: {count.silent} of {count.executors} executors are silent"
    return replace(registry, alerted_s=now_s), (Said((Note(Level.ALERT, text),)),)


def _leave(registry: Registry, now_s: float, settings: LeaseSettings) -> Answer:
    """Everybody gets a fresh lease: who has not had its turn to speak must not be lost for it."""
    fresh_s = now_s + settings.lease_timeout_s
    members = {name: replace(m, deadline_s=max(m.deadline_s, fresh_s)) for name, m in registry.members.items()}
    text = "self-preservation ends; every executor has a fresh lease"
    off = Said((Note(Level.INFO, text),), (Sample(Metric.SELF_PRESERVATION, value=0),))
    return replace(registry, members=members, preserving_since_s=None, calm_since_s=None), (off,)
