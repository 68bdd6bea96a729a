"""What the registry makes of each thing that can happen besides a tick.

The link tells that an executor spoke, said HELLO or BYE; the intake how far its reports are committed; the store
whether it is up; an operator what is ordered. Each function returns the new registry and what follows from it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from refloat_common.core.ids import BootId, ExecutorId
from refloat_common.core.messages import CAPABILITY_DELETE_ACTION, NodeFacts
from refloat_scheduler.core.effects import ExecutorRecord
from refloat_scheduler.core.leases.placement import barrier_may_open
from refloat_scheduler.core.leases.registry import (
    NO_BOOT,
    Answer,
    LeaseEffect,
    LeaseSettings,
    Member,
    Registry,
    RoomOpened,
    Said,
)
from refloat_scheduler.core.leases.states import OperatorAction
from refloat_scheduler.core.leases.ticking import HEARTBEATS_TO_CATCH_UP, lose, refreshed_state, refreshed_states
from refloat_scheduler.core.signals import Level, Note


def started(
    records: Iterable[ExecutorRecord],
    active_counts: Mapping[ExecutorId, int],
    now_s: float,
    settings: LeaseSettings,
) -> Registry:
    """The registry of a scheduler that has just begun: everybody is unknown and has the start-up grace."""
    members = {
        record.executor: Member(
            executor=record.executor,
            heard_s=now_s,
            deadline_s=now_s + settings.startup_grace_s,
            had_runs=active_counts.get(record.executor, 0) > 0,
            cordoned=record.cordoned,
            decommissioned=record.decommissioned,
            pool=record.pool,
        )
        for record in records
    }
    return Registry(started_s=now_s, last_tick_s=now_s, members=members)


def heard(registry: Registry, executor: ExecutorId, now_s: float, settings: LeaseSettings) -> Answer:
    """A message of the executor's session was handled: its lease is renewed. One that was lost is looked through."""
    member = registry.members.get(executor)
    if member is None:
        return registry, ()
    renewed = replace(
        member,
        heard_s=now_s,
        deadline_s=max(member.deadline_s, now_s + settings.lease_timeout_s),
        judging=member.judging or member.lost,
        lost=False,
        released=False,
    )
    renewed, effects = refreshed_state(renewed, now_s, settings)
    return registry.with_member(renewed), effects


def greeted(
    registry: Registry,
    record: ExecutorRecord,
    boot: BootId,
    last_reported: int,
    have: int,
    now_s: float,
    settings: LeaseSettings,
) -> Answer:
    """A HELLO was answered: the runs it listed are looked through already; its reports may still be under way.

    `last_reported` is the last sequence that the HELLO announced, `have` what was committed then.
    """
    known = registry.members.get(record.executor)
    if known is None:
        known = Member(executor=record.executor, heard_s=now_s, deadline_s=now_s + settings.lease_timeout_s)
    member, effects = _taken_over(known, boot, now_s, settings)
    member = replace(
        member,
        heard_s=now_s,
        deadline_s=max(member.deadline_s, now_s + settings.lease_timeout_s),
        greeted=True,
        lost=False,
        judging=False,
        released=False,
        drain_to=last_reported if last_reported > have else None,
        cordoned=record.cordoned,
        decommissioned=record.decommissioned,
        pool=record.pool,
        unacknowledged=0,
    )
    registry, changed = _settled(registry.with_member(member), now_s, settings)
    return registry, (*effects, *changed)


def _taken_over(member: Member, boot: BootId, now_s: float, settings: LeaseSettings) -> tuple[Member, tuple[Said, ...]]:
    """The member with this process in charge; too many takeovers in a short time are two processes of one id."""
    if member.boot in (boot, NO_BOOT):
        return replace(member, boot=boot), ()
    recent = tuple(at_s for at_s in member.swaps_s if now_s - at_s <= settings.swap_window_s)
    member = replace(member, boot=boot, swaps_s=(*recent, now_s))
    if len(member.swaps_s) <= settings.max_swaps:
        return member, ()
    text = f"executor {member.executor}: {len(member.swaps_s)} takeovers in {settings.swap_window_s:.0f} s; quarantined"
    return (
        replace(member, quarantined_until_s=now_s + settings.quarantine_s),
        (Said((Note(Level.ALERT, text),)),),
    )


def committed(registry: Registry, executor: ExecutorId, have: int, now_s: float, settings: LeaseSettings) -> Answer:
    """Reports up to `have` are committed; once all that the HELLO announced are, the executor is drained."""
    member = registry.members.get(executor)
    if member is None or member.drain_to is None or have < member.drain_to:
        return registry, ()
    return _settled(registry.with_member(replace(member, drain_to=None)), now_s, settings)


def judged(registry: Registry, executor: ExecutorId, now_s: float, settings: LeaseSettings) -> Answer:
    """All runs of an executor that came back without a HELLO were looked through."""
    member = registry.members.get(executor)
    if member is None or not member.judging:
        return registry, ()
    return _settled(registry.with_member(replace(member, judging=False)), now_s, settings)


def _settled(registry: Registry, now_s: float, settings: LeaseSettings) -> Answer:
    """The states as they are now, and the start barrier if this was the last executor it waited for."""
    registry, effects = refreshed_states(registry, now_s, settings)
    if registry.barrier_open or not barrier_may_open(registry, now_s, settings):
        return registry, effects
    room = (RoomOpened(name) for name, member in sorted(registry.members.items()) if member.ready)
    return replace(registry, barrier_open=True), (*effects, *room)


def slots(registry: Registry, executor: ExecutorId, free_slots: int) -> Answer:
    """A heartbeat said how many more runs the executor takes."""
    member = registry.members.get(executor)
    if member is None or member.free_slots == free_slots:
        return registry, ()
    more = free_slots > member.free_slots
    return registry.with_member(replace(member, free_slots=free_slots)), (RoomOpened(executor),) if more else ()


def offered(registry: Registry, executor: ExecutorId, unacknowledged: int) -> Registry:
    """So many leases are sent and not acknowledged now."""
    member = registry.members.get(executor)
    return registry if member is None else registry.with_member(replace(member, unacknowledged=unacknowledged))


def store_changed(registry: Registry, *, up: bool, now_s: float, settings: LeaseSettings) -> Registry:
    """The store went down or came back. Nobody is lost until three heartbeats after it has come back."""
    if not up:
        return replace(registry, store_down=True, store_failed_s=now_s)
    if not registry.store_down:
        return registry
    until_s = now_s + HEARTBEATS_TO_CATCH_UP * settings.heartbeat_interval_s
    return replace(registry, store_down=False, store_failed_s=now_s, suspended_until_s=until_s)


def probed(registry: Registry, *, ok: bool) -> Registry:
    """Whether a client of our own could reach the public endpoint just now."""
    return replace(registry, probe_ok=ok)


def nodes_told(registry: Registry, executor: ExecutorId, nodes: Iterable[NodeFacts], node_id_label: str) -> Answer:
    """Node facts came. Nodes without the label that avoidSameNode needs are warned about, once per executor."""
    member = registry.members.get(executor)
    if member is None or member.unlabelled_warned or all(node_id_label in node.labels for node in nodes):
        return registry, ()
    text = (
        f'executor {executor} reports nodes without the node id label "{node_id_label}": retry node anti-affinity '
        "cannot work; add the label to the executor's trackedNodeLabels"
    )
    return registry.with_member(replace(member, unlabelled_warned=True)), (Said((Note(Level.WARNING, text),)),)


def capability_told(registry: Registry, record: ExecutorRecord, *, engine: bool) -> Answer:
    """An executor said HELLO without `delete_action`: its jobs get no engine decisions, which is warned about once."""
    member = registry.members.get(record.executor)
    if not engine or member is None or member.incapable_warned or CAPABILITY_DELETE_ACTION in record.capabilities:
        return registry, ()
    text = (
        f"executor {record.executor} does not remove failed pods before it reports them (no "
        f"{CAPABILITY_DELETE_ACTION}): the retry engine decides none of its failures; upgrade it"
    )
    return registry.with_member(replace(member, incapable_warned=True)), (Said((Note(Level.WARNING, text),)),)


def operated(
    registry: Registry, executor: ExecutorId, action: OperatorAction, now_s: float, settings: LeaseSettings
) -> Answer:
    """An operator's order. The flags that must outlive this process are stored by `operated_record`.

    Raises:
        KeyError: no such executor.
    """
    member = registry.members[executor]
    effects: tuple[LeaseEffect, ...] = ()
    match action:
        case OperatorAction.CORDON:
            registry = registry.with_member(replace(member, cordoned=True))
        case OperatorAction.UNCORDON:
            free = replace(member, cordoned=False, decommissioned=False, quarantined_until_s=now_s)
            registry, effects = registry.with_member(free), (RoomOpened(executor),)
        case OperatorAction.RELEASE:
            registry = registry.with_member(replace(member, released=True))
        case OperatorAction.EXPIRE:
            registry, effects = lose(registry, member, now_s, by_operator=True)
        case OperatorAction.DECOMMISSION:
            registry, effects = lose(registry, replace(member, decommissioned=True), now_s, by_operator=True)
    registry, changed = _settled(registry, now_s, settings)
    return registry, (*effects, *changed)


def lost_record(record: ExecutorRecord, now_ms: int) -> ExecutorRecord:
    """What is stored of an executor once the last of its runs has expired."""
    return replace(record, runs_expired_at_ms=now_ms)


def operated_record(record: ExecutorRecord, action: OperatorAction) -> ExecutorRecord:
    """What is stored of an operator's order."""
    match action:
        case OperatorAction.CORDON:
            return replace(record, cordoned=True)
        case OperatorAction.UNCORDON:
            return replace(record, cordoned=False, decommissioned=False)
        case OperatorAction.DECOMMISSION:
            return replace(record, decommissioned=True)
        case OperatorAction.EXPIRE | OperatorAction.RELEASE:
            return record
