"""What the executor's end does with each event: the entries of the table in `executor_side`.

Every handler takes (link, event or message, now, random number) and returns the link after it and the effects.
"""

from dataclasses import replace

from refloat_common.core.link.executor import held, window
from refloat_common.core.link.executor.speech import (
    FULL_EVERY_BEATS,
    GREET_FIRST_S,
    TURNED_AWAY_S,
    Step,
    all_nodes,
    batch,
    beat,
    changed_nodes,
    hello,
)
from refloat_common.core.link.executor.values import (
    Acknowledged,
    Beating,
    CapacityChanged,
    DeadLettered,
    Effect,
    ExecutorLink,
    JournalBehind,
    Journaled,
    KillRuns,
    LeasesOffered,
    Leave,
    MayStart,
    NodeBook,
    NodesObserved,
    NotSent,
    Phase,
    ReportsFetched,
    RunsChanged,
    SessionLost,
    SessionOpened,
    Tick,
    Unexpected,
    WentPassive,
)
from refloat_common.core.link.frames import Channel
from refloat_common.core.messages import (
    Ack,
    HeartbeatAck,
    Kill,
    Leases,
    Nack,
    Refused,
    RunStatus,
    Stale,
    Verdict,
    Welcome,
)

BEAT_GAP_S = 0.05

# ---- news of this process


def nothing(link: ExecutorLink, _event: object, _now_s: float, _chance: float) -> Step:
    """Left over from an earlier session, or of no use any more."""
    return link, ()


def greet_when_due(link: ExecutorLink, _event: Tick, now_s: float, chance: float) -> Step:
    """HELLO, first or again; one that was turned away asks at long intervals."""
    if now_s < link.greeting.due_s:
        return link, ()
    return hello(link, now_s, chance, wait_s=TURNED_AWAY_S if link.phase is Phase.TURNED_AWAY else None)


def greet_sooner(link: ExecutorLink, _event: NotSent, now_s: float, chance: float) -> Step:
    """Nobody is connected: HELLO goes out soon after somebody is."""
    due_s = min(link.greeting.due_s, now_s + GREET_FIRST_S * (0.5 + chance))
    return replace(link, greeting=replace(link.greeting, due_s=due_s, wait_s=GREET_FIRST_S)), ()


def beat_when_due(link: ExecutorLink, _event: Tick, now_s: float, chance: float) -> Step:
    """A heartbeat, if it is time."""
    return beat(link, now_s, chance) if now_s >= link.beating.due_s else (link, ())


def send_later(link: ExecutorLink, event: NotSent, now_s: float, chance: float) -> Step:
    """Reports go back to unsent; a heartbeat is tried again soon, so that a new connection is used at once."""
    if event.channel is Channel.REPORTS:
        return replace(link, window=window.held_back(link.window, now_s, chance)), ()
    due_s = min(link.beating.due_s, now_s + window.RETRY_SEND_S * (0.5 + chance))
    return replace(link, beating=replace(link.beating, due_s=due_s)), ()


def journaled(link: ExecutorLink, event: Journaled, _now_s: float, _chance: float) -> Step:
    """There are more reports to send; `step` fetches them."""
    after = replace(link.window, next_seq=max(link.window.next_seq, event.next_seq), oldest_seq=event.oldest_seq)
    return replace(link, window=after), ()


def send_reports(link: ExecutorLink, event: ReportsFetched, now_s: float, chance: float) -> Step:
    """What was asked of the journal goes out; an answer to an earlier session's question is dropped."""
    if not link.window.fetching or event.first_seq != link.window.fetching:
        return link, ()
    if not event.reports:
        hole = Unexpected("journal-hole", f"the journal has no report {event.first_seq}")
        return replace(link, window=window.held_back(link.window, now_s + window.RESEND_FIRST_S, chance)), (hole,)
    after = window.sending(link.window, event.first_seq, len(event.reports), now_s, chance)
    return replace(link, window=after), (batch(link, event.first_seq, event.reports),)


def hold(link: ExecutorLink, event: RunsChanged, _now_s: float, _chance: float) -> Step:
    """Remember the runs; the next HELLO tells them."""
    return replace(link, held=held.changed(link.held, event.changed, event.removed)), ()


def hold_and_list(link: ExecutorLink, event: RunsChanged, now_s: float, chance: float) -> Step:
    """New accepted runs are listed in a heartbeat at once: their start waits for its answer."""
    known = link.held.runs
    news = any(entry.run not in known and entry.status is RunStatus.ACCEPTED for entry in event.changed)
    after, _ = hold(link, event, now_s, chance)
    return _beat_soon(after, now_s, chance) if news else (after, ())


def _beat_soon(link: ExecutorLink, now_s: float, chance: float) -> Step:
    """A heartbeat at once, or as soon as the last one is `BEAT_GAP_S` old: a burst of news makes few of them."""
    pending = link.beating.pending
    earliest_s = pending[-1].sent_at_s + BEAT_GAP_S if pending else now_s
    if now_s >= earliest_s:
        return beat(link, now_s, chance)
    return replace(link, beating=replace(link.beating, due_s=min(link.beating.due_s, earliest_s))), ()


def note_nodes(link: ExecutorLink, event: NodesObserved, _now_s: float, _chance: float) -> Step:
    """Remember the nodes; they are all told when a session opens."""
    facts = dict(link.nodes.facts)
    facts.update({node.name: node for node in event.upserted})
    for name in event.removed:
        facts.pop(name, None)
    if facts == link.nodes.facts:
        return link, ()
    return replace(link, nodes=NodeBook(facts=facts, revision=link.nodes.revision + 1)), ()


def tell_nodes(link: ExecutorLink, event: NodesObserved, now_s: float, chance: float) -> Step:
    """Tell what changed of the nodes."""
    after, _ = note_nodes(link, event, now_s, chance)
    if after is link:
        return link, ()
    return after, changed_nodes(after, event.upserted, event.removed)


def capacity(link: ExecutorLink, event: CapacityChanged, _now_s: float, _chance: float) -> Step:
    """Told with the next heartbeat."""
    return replace(link, free_slots=event.free_slots, journal_free_bytes=event.journal_free_bytes), ()


def tell_capacity(link: ExecutorLink, event: CapacityChanged, now_s: float, chance: float) -> Step:
    """Told at once where the first room comes or the last one goes: it decides whether leases are given."""
    turned = (link.free_slots == 0) is not (event.free_slots == 0)
    after, _ = capacity(link, event, now_s, chance)
    return _beat_soon(after, now_s, chance) if turned else (after, ())


def leave(link: ExecutorLink, _event: Leave, _now_s: float, _chance: float) -> Step:
    """Start nothing more; `step` says BYE when everything is acknowledged."""
    return replace(link, leaving=True), ()


# ---- sessions


def welcome(link: ExecutorLink, message: Welcome, now_s: float, chance: float) -> Step:
    """A session opens with the last part of a WELCOME that answers a hello of ours and has a new epoch."""
    greeting = link.greeting
    if message.attempt not in greeting.sent_at_s or message.epoch <= link.last_epoch:
        return link, ()
    first = message.part == 0
    if not first and (message.part != greeting.parts or message.epoch != greeting.parts_epoch):
        return link, ()
    before = {} if first else greeting.verdicts
    verdicts = {**before, **{verdict.run: verdict.verdict for verdict in message.verdicts}}
    greeting = replace(greeting, parts=message.part + 1, parts_epoch=message.epoch, verdicts=verdicts)
    after = replace(link, greeting=greeting)
    if message.more:
        return after, ()
    if message.have >= link.window.next_seq:
        return replace(after, phase=Phase.GONE), (JournalBehind(message.have),)
    return _open(after, message, now_s, chance)


def _open(link: ExecutorLink, message: Welcome, now_s: float, chance: float) -> Step:
    verdicts = link.greeting.verdicts
    keep = frozenset(run for run, verdict in verdicts.items() if verdict == Verdict.KEEP)
    killed = tuple(run for run, verdict in verdicts.items() if verdict == Verdict.KILL)
    unknown = tuple(run for run, verdict in verdicts.items() if verdict == Verdict.UNKNOWN)
    runs = held.unsettled(held.forbid(link.held, killed), keep)
    sent_at_s = link.greeting.sent_at_s[message.attempt]
    fresh = link.beating.fresh_from_s
    opened = replace(
        link,
        phase=Phase.OPEN,
        epoch=message.epoch,
        last_epoch=message.epoch,
        scheduler_boot=message.scheduler_boot,
        timing=message.timing,
        held=runs,
        window=window.opened(link.window, message.have, message.credits),
        beating=Beating(
            n=link.beating.n,
            full_in=FULL_EVERY_BEATS,
            fresh_from_s=sent_at_s if fresh is None else max(fresh, sent_at_s),
        ),
        greeting=replace(link.greeting, wait_s=GREET_FIRST_S, verdicts={}, parts=0),
    )
    effects: list[Effect] = [SessionOpened(message.epoch, message.scheduler_boot, unknown)]
    if message.have != link.window.acked:
        effects.append(Acknowledged(message.have))
    effects += _kills(killed, "ended at the scheduler")
    after, spoken = beat(opened, now_s, chance)
    effects += [*all_nodes(opened), *spoken]
    effects += _starts(held.in_order(runs, runs.confirmed))
    return after, tuple(effects)


def stale_session(link: ExecutorLink, message: Stale, now_s: float, chance: float) -> Step:
    """The session is no more, unless the word is about an earlier one."""
    return _lose(link, message, now_s, chance) if message.epoch == link.epoch else (link, ())


def stale_hello(link: ExecutorLink, message: Stale, now_s: float, chance: float) -> Step:
    """The hello was turned away; words about a session that is gone anyway are old."""
    return _lose(link, message, now_s, chance) if message.epoch == 0 else (link, ())


def _lose(link: ExecutorLink, message: Stale, now_s: float, chance: float) -> Step:
    lost = SessionLost(message.reason)
    match message.reason:
        case "superseded":
            return replace(link, phase=Phase.PASSIVE), (lost, WentPassive())
        case "version" | "revoked":
            due_s = now_s + TURNED_AWAY_S * (0.5 + chance / 2)
            greeting = replace(link.greeting, due_s=due_s, wait_s=GREET_FIRST_S)
            return replace(link, phase=Phase.TURNED_AWAY, greeting=greeting), (lost,)
        case "restarted" | "unknown":
            if link.phase is not Phase.OPEN:
                return link, ()
            after = replace(link, phase=Phase.GREETING)
            after, spoken = (after, ()) if link.leaving else hello(after, now_s, chance)
            return after, (lost, *spoken)


def refused(link: ExecutorLink, message: Refused, _now_s: float, _chance: float) -> Step:
    """The scheduler could not use something of ours: a defect or other versions; timers try again."""
    return link, (Unexpected(f"refused-{message.code}", message.detail),)


# ---- within a session


def beat_answered(link: ExecutorLink, message: HeartbeatAck, now_s: float, _chance: float) -> Step:
    """The lease is as fresh as the beat was when it was sent; the runs that it listed may start, but for kills."""
    answered = next((sent for sent in link.beating.pending if sent.n == message.n), None)
    if message.epoch != link.epoch or answered is None:
        return link, ()
    since_s = link.beating.fresh_from_s
    was_fresh = since_s is not None and now_s - since_s < link.timing.start_window_s
    runs, news = held.confirm(held.forbid(link.held, message.kills), answered.listed)
    beating = replace(
        link.beating,
        pending=tuple(sent for sent in link.beating.pending if sent.n > message.n),
        fresh_from_s=answered.sent_at_s if since_s is None else max(since_s, answered.sent_at_s),
        full_in=0 if message.want_runs else link.beating.full_in,
    )
    after = replace(link, held=runs, beating=beating, window=window.granted(link.window, message.credits))
    starts = news if was_fresh else held.in_order(runs, runs.confirmed)
    told = all_nodes(after) if message.want_nodes else ()
    return after, (*_kills(tuple(message.kills), "ended at the scheduler"), *told, *_starts(starts))


def kill(link: ExecutorLink, message: Kill, _now_s: float, _chance: float) -> Step:
    """End these runs."""
    if message.epoch != link.epoch:
        return link, ()
    runs = tuple(message.runs)
    return replace(link, held=held.forbid(link.held, runs)), _kills(runs, message.reason)


def leases(link: ExecutorLink, message: Leases, _now_s: float, _chance: float) -> Step:
    """New runs, less those that are held: leases are sent again until a heartbeat lists them."""
    news = tuple(lease for lease in message.leases if lease.run not in link.held.runs)
    if message.epoch != link.epoch or link.leaving or not news:
        return link, ()
    return link, (LeasesOffered(news),)


def ack(link: ExecutorLink, message: Ack, now_s: float, _chance: float) -> Step:
    """Reports are committed."""
    if message.epoch != link.epoch or message.journal != link.identity.journal:
        return link, ()
    if message.have >= link.window.next_seq:
        return replace(link, phase=Phase.GONE), (JournalBehind(message.have),)
    after = replace(link, window=window.acknowledged(link.window, message.have, message.credits, now_s))
    moved = after.window.acked > link.window.acked
    return after, (Acknowledged(message.have),) if moved else ()


def nack(link: ExecutorLink, message: Nack, now_s: float, _chance: float) -> Step:
    """A report was skipped for good, and all before it are committed; a passing refusal is left to the timer."""
    mine = message.epoch == link.epoch and message.journal == link.identity.journal
    if not mine or not message.permanent or not link.window.acked < message.seq < link.window.next_seq:
        return link, ()
    after = window.acknowledged(link.window, message.seq, link.window.credits, now_s)
    return replace(link, window=after), (DeadLettered(message.seq, message.code), Acknowledged(message.seq))


def _kills(runs: tuple[str, ...], reason: str) -> tuple[Effect, ...]:
    return (KillRuns(runs, reason),) if runs else ()


def _starts(runs: tuple[str, ...]) -> tuple[Effect, ...]:
    return (MayStart(runs),) if runs else ()
