"""Decides which runs a heartbeat must list, and which accepted runs may start.

A pod is created only after a heartbeat that listed its run, sent after the acceptance was synced, was answered without
a kill (reliability rule 13): only then does the scheduler know that the lease arrived, and the executor that the run
was not fenced meanwhile.
"""

from collections.abc import Iterable
from dataclasses import replace

from refloat_common.core.link.executor.values import Held
from refloat_common.core.link.parts import run_digest
from refloat_common.core.messages import MAX_RUNS_PER_HELLO, RunEntry, RunStatus


def changed(held: Held, entries: Iterable[RunEntry], removed: Iterable[str]) -> Held:
    """The runs after a change. New accepted ones wait for confirmation; ones that went on need none."""
    runs = dict(held.runs)
    unconfirmed = dict(held.unconfirmed)
    confirmed = set(held.confirmed)
    digest = held.digest
    for entry in entries:
        if entry.run not in runs:
            digest ^= run_digest(entry.run)
            if entry.status is RunStatus.ACCEPTED:
                unconfirmed[entry.run] = None
        if entry.status is not RunStatus.ACCEPTED:
            unconfirmed.pop(entry.run, None)
            confirmed.discard(entry.run)
        runs[entry.run] = entry
    for run in removed:
        if runs.pop(run, None) is not None:
            digest ^= run_digest(run)
        unconfirmed.pop(run, None)
        confirmed.discard(run)
    return Held(runs=runs, unconfirmed=unconfirmed, confirmed=frozenset(confirmed), digest=digest)


def to_list(held: Held) -> tuple[str, ...]:
    """The runs that the next heartbeat lists: the oldest unconfirmed ones."""
    return tuple(held.unconfirmed)[:MAX_RUNS_PER_HELLO]


def confirm(held: Held, listed: Iterable[str]) -> tuple[Held, tuple[str, ...]]:
    """The scheduler knows these runs and did not kill them. Also returns those that may start by it."""
    news = tuple(run for run in listed if run in held.unconfirmed)
    if not news:
        return held, ()
    kept = {run: None for run in held.unconfirmed if run not in set(news)}
    return replace(held, unconfirmed=kept, confirmed=held.confirmed | frozenset(news)), news


def forbid(held: Held, killed: Iterable[str]) -> Held:
    """These runs never start any more; they stay held until their end is acknowledged."""
    gone = frozenset(killed)
    kept = {run: None for run in held.unconfirmed if run not in gone}
    return replace(held, unconfirmed=kept, confirmed=held.confirmed - gone)


def unsettled(held: Held, kept: frozenset[str]) -> Held:
    """A new session: of the accepted runs, only those that it keeps by name are confirmed; the rest ask again.

    Runs that an earlier session has killed stay forbidden.
    """
    allowed = {run: None for run in held.unconfirmed if run not in kept}
    allowed.update({run: None for run in held.runs if run in held.confirmed and run not in kept})
    stays = frozenset(run for run in held.runs if run in kept and (run in held.confirmed or run in held.unconfirmed))
    return replace(held, unconfirmed=allowed, confirmed=stays)


def in_order(held: Held, runs: frozenset[str]) -> tuple[str, ...]:
    """These runs in the order in which they were accepted."""
    return tuple(run for run in held.runs if run in runs)
