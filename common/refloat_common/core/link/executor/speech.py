"""Composes what an executor sends: hellos and nodes in parts, heartbeats, report batches, the farewell."""

from dataclasses import replace
from typing import Final, TypeAlias

from refloat_common.core.link.executor import held, window
from refloat_common.core.link.executor.values import Beat, Effect, ExecutorLink, Send
from refloat_common.core.link.frames import Channel
from refloat_common.core.link.parts import digest_text, in_parts, weigh_node, weigh_run
from refloat_common.core.messages import (
    MAX_NODES_PER_MESSAGE,
    PROTOCOL_VERSION,
    Bye,
    Heartbeat,
    Hello,
    NodeFacts,
    Nodes,
    Report,
    Reports,
    RunEntry,
)

Step: TypeAlias = tuple[ExecutorLink, tuple[Effect, ...]]
FULL_EVERY_BEATS: Final = 12
PENDING_BEATS: Final = 16
JITTER: Final = 0.2
GREET_FIRST_S: Final = 1.0
GREET_MAX_S: Final = 30.0
TURNED_AWAY_S: Final = 60.0
HELLOS_REMEMBERED: Final = 8


def hello(link: ExecutorLink, now_s: float, chance: float, *, wait_s: float | None = None) -> Step:
    """Say HELLO, and again after `wait_s` if nothing comes back: from 1 s doubling to 30 s, half of it random."""
    before = link.greeting
    attempt = before.attempt + 1
    sent = {**before.sent_at_s, attempt: now_s}
    while len(sent) > HELLOS_REMEMBERED:
        del sent[min(sent)]
    wait_s = before.wait_s if wait_s is None else wait_s
    greeting = replace(
        before,
        attempt=attempt,
        sent_at_s=sent,
        due_s=now_s + wait_s * (0.5 + chance / 2),
        wait_s=min(GREET_MAX_S, max(GREET_FIRST_S, wait_s) * 2),
        parts=0,
        verdicts={},
    )
    after = replace(link, greeting=greeting)
    parts = in_parts(link.held.runs.values(), weigh_run)
    last = len(parts) - 1
    return after, tuple(_hello_part(after, i, part, more=i < last) for i, part in enumerate(parts))


def _hello_part(link: ExecutorLink, number: int, runs: tuple[RunEntry, ...], *, more: bool) -> Send:
    who = link.identity
    message = Hello(
        executor=who.executor,
        boot=who.boot,
        journal=who.journal,
        attempt=link.greeting.attempt,
        versions=(PROTOCOL_VERSION, PROTOCOL_VERSION),
        last_epoch=link.last_epoch,
        next_seq=link.window.next_seq,
        acked_seq=link.window.acked,
        oldest_seq=link.window.oldest_seq,
        part=number,
        more=more,
        runs=list(runs),
        capabilities=list(who.capabilities),
        node_id_label=who.node_id_label,
        pool=who.pool,
    )
    return Send(Channel.CONTROL, message)


def beat(link: ExecutorLink, now_s: float, chance: float) -> Step:
    """Send a heartbeat now; the next one is due after the interval, a fifth more or less."""
    before = link.beating
    n = before.n + 1
    listed = held.to_list(link.held)
    full = _all_runs(link) if before.full_in <= 1 else None
    interval_s = link.timing.heartbeat_interval_s
    beating = replace(
        before,
        n=n,
        due_s=now_s + interval_s * (1 - JITTER + 2 * JITTER * chance),
        pending=(*before.pending, Beat(n, now_s, listed))[-PENDING_BEATS:],
        full_in=FULL_EVERY_BEATS if before.full_in <= 1 else before.full_in - 1,
    )
    message = Heartbeat(
        epoch=link.epoch,
        n=n,
        acked_seq=link.window.acked,
        next_seq=link.window.next_seq,
        runs_count=len(link.held.runs),
        runs_hash=digest_text(link.held.digest),
        listed=list(listed),
        runs=full,
        free_slots=0 if link.leaving else link.free_slots,
        journal_free_bytes=link.journal_free_bytes,
        nodes_revision=link.nodes.revision,
    )
    return replace(link, beating=beating), (Send(Channel.CONTROL, message),)


def _all_runs(link: ExecutorLink) -> list[RunEntry] | None:
    """Every held run, if they fit one message; where they don't, only HELLO tells them all."""
    parts = in_parts(link.held.runs.values(), weigh_run)
    return list(parts[0]) if len(parts) == 1 else None


def all_nodes(link: ExecutorLink) -> tuple[Send, ...]:
    """Everything known of the nodes, in parts; the scheduler forgets what it knew."""
    parts = in_parts(link.nodes.facts.values(), weigh_node, MAX_NODES_PER_MESSAGE)
    last = len(parts) - 1
    return tuple(
        Send(
            Channel.CONTROL,
            Nodes(
                epoch=link.epoch,
                revision=link.nodes.revision,
                full=True,
                part=i,
                more=i < last,
                upserted=list(part),
            ),
        )
        for i, part in enumerate(parts)
    )


def changed_nodes(link: ExecutorLink, upserted: tuple[NodeFacts, ...], removed: tuple[str, ...]) -> tuple[Send, ...]:
    """A change of the nodes in one message; where it does not fit one, everything is told anew."""
    parts = in_parts(upserted, weigh_node, MAX_NODES_PER_MESSAGE)
    if len(parts) > 1 or len(removed) > MAX_NODES_PER_MESSAGE:
        return all_nodes(link)
    message = Nodes(
        epoch=link.epoch,
        revision=link.nodes.revision,
        upserted=list(upserted),
        removed=list(removed),
    )
    return (Send(Channel.CONTROL, message),)


def fetch(link: ExecutorLink, now_s: float) -> Step:
    """Ask the journal for the next reports, if any may be sent."""
    wanted = window.next_fetch(link.window, now_s)
    if wanted is None:
        return link, ()
    return replace(link, window=replace(link.window, fetching=wanted.first_seq)), (wanted,)


def batch(link: ExecutorLink, first_seq: int, reports: tuple[Report, ...]) -> Send:
    """The message of a batch."""
    return Send(Channel.REPORTS, Reports(link.epoch, link.identity.journal, first_seq, list(reports)))


def bye(link: ExecutorLink) -> tuple[Send, ...]:
    """The farewell."""
    return (Send(Channel.CONTROL, Bye(epoch=link.epoch)),)
