"""Decides how a leased run comes to have a pod, and what becomes of it if it can't.

A create is sent at most once per run unless it is certain that the one before did not take effect: a create without
an answer may still land, so it is followed by reads, and if these find nothing until it can't land any more the lease
is returned. Two pods of one run would be the one mistake that no later step can mend.
"""

from msgspec.structs import replace

from refloat_common.core.pods import Pod
from refloat_executor.core.cluster.answers import (
    Broken,
    Conflict,
    Denied,
    Expired,
    Missing,
    Refusal,
    Silent,
    Throttled,
    Unsent,
    describe,
)
from refloat_executor.core.cluster.store import run_label
from refloat_executor.core.ledger.handlers.reports import killed_report, not_created_report, returned_report
from refloat_executor.core.ledger.handlers.step import Context, Step, again, report_record, then, write
from refloat_executor.core.ledger.values.effects import CreatePod, DeletePod, ReadPod
from refloat_executor.core.ledger.values.entry import Doing, Entry, State
from refloat_executor.core.ledger.values.news import (
    Confirmed,
    CreateForbidden,
    CreateImpossible,
    CreateRefused,
    Due,
    KillOrdered,
    NameFreed,
    PodCreated,
    PodRead,
    ReadFailed,
)
from refloat_executor.core.ledger.values.records import Created, Creating, Killing

UNAUTHORIZED = 401
"""Our credentials are at fault, not the job: a token may just be about to be renewed."""

CREATE_UNKNOWN = "the create of the pod got no answer, and no pod was found: it may have run"


# ---- ACCEPTED and WAITING


def confirmed(entry: Entry, _news: Confirmed, context: Context) -> Step:
    """The scheduler knows that the lease arrived and has not fenced it: start."""
    if context.name_busy():
        until_s = context.at.now_s + context.limits.name_wait_s
        return Step(replace(entry, state=State.WAITING, due_s=until_s))
    return _create(entry)


def name_freed(entry: Entry, _news: NameFreed, context: Context) -> Step:
    """The older run's pod is gone; another may still be going."""
    return Step(entry) if context.name_busy() else _create(entry)


def waited_long(entry: Entry, _news: Due, _context: Context) -> Step:
    """The older pod does not go. The API decides whether the name is free."""
    return _create(entry)


def killed_unborn(entry: Entry, _news: KillOrdered, context: Context) -> Step:
    """No create was sent, so there is nothing to remove."""
    return write(entry, Killing(entry.run), report_record(context, killed_report(entry, attempted=False)))


def _create(entry: Entry) -> Step:
    assert entry.lease is not None
    return then(write(entry, Creating(entry.run)), CreatePod(entry.lease), doing=Doing.CREATE)


# ---- CREATING


def created(entry: Entry, news: PodCreated, _context: Context) -> Step:
    """The pod exists."""
    return _has_pod(entry, news.pod)


def create_forbidden(entry: Entry, _news: CreateForbidden, context: Context) -> Step:
    """The lease went stale before the request was sent. Once it is fresh again the link says anew what may start."""
    if entry.kill:
        return _killed(entry, context)
    return Step(replace(entry, doing=Doing.NOTHING, due_s=None))


def confirmed_again(entry: Entry, _news: Confirmed, _context: Context) -> Step:
    """The lease is fresh again: send the create that was held back."""
    if entry.doing is not Doing.NOTHING:
        return Step(entry)
    assert entry.lease is not None
    return Step(replace(entry, doing=Doing.CREATE), effects=(CreatePod(entry.lease),))


def create_impossible(entry: Entry, news: CreateImpossible, context: Context) -> Step:
    """The lease itself is at fault: a failure of the job, not of the cluster."""
    return _never_created(entry, news.problem, context)


def create_refused(entry: Entry, news: CreateRefused, context: Context) -> Step:
    """What is known now decides: the name is taken, the pod is refused, nothing happened, or nobody can say."""
    answer = news.answer
    match answer:
        case Conflict(message, already_exists=True):
            return Step(replace(entry, refusal=message, doing=Doing.READ), effects=(_read(entry),))
        case Denied(code) if code == UNAUTHORIZED:
            return _create_later(entry, answer, context)
        case Denied(_, _, message):
            return _never_created(entry, message, context)
        case Conflict() | Missing() | Expired():
            ended = _never_created if news.fatal else _returned
            return ended(entry, answer.message, context)
        case Throttled(retry_after_s):
            return _create_later(entry, answer, context, retry_after_s)
        case Unsent():
            return _create_later(entry, answer, context)
        case Broken():
            return then(again(entry, Doing.READ, context), refusal=describe(answer))
        case Silent():
            open_until_s = context.at.now_s + context.limits.create_open_s
            return then(again(entry, Doing.READ, context), create_open_until_s=open_until_s)


def name_read(entry: Entry, news: PodRead, context: Context) -> Step:
    """What has the run's name: our own pod, another one, or nothing."""
    if news.pod is not None and run_label(news.pod) == entry.run:
        return _has_pod(entry, news.pod)
    if context.at.now_s < entry.create_open_until_s:
        # It may still land, also where another pod has the name: that one may go.
        return again(entry, Doing.READ, context)
    if news.pod is not None:
        return _collided(entry, news.pod, context)
    if entry.create_open_until_s:
        return _returned(entry, CREATE_UNKNOWN, context)
    if entry.failures >= context.limits.create_attempts:
        return _returned(entry, entry.refusal or CREATE_UNKNOWN, context)
    return again(entry, Doing.CREATE, context)


def name_unread(entry: Entry, _news: ReadFailed, context: Context) -> Step:
    """Nothing is known yet."""
    return again(entry, Doing.READ, context)


def create_due(entry: Entry, _news: Due, context: Context) -> Step:
    """Time for what was put off."""
    if entry.doing is Doing.CREATE:
        if entry.kill:
            return _returned(entry, "", context)
        assert entry.lease is not None
        return Step(replace(entry, due_s=None), effects=(CreatePod(entry.lease),))
    return Step(replace(entry, due_s=None, doing=Doing.READ), effects=(_read(entry),))


def kill_creating(entry: Entry, news: KillOrdered, context: Context) -> Step:
    """Whether there is a pod to remove is not known yet; it is removed as soon as it is."""
    if entry.kill:
        return Step(entry)
    if entry.doing is Doing.NOTHING:
        return killed_unborn(entry, news, context)
    step = write(entry, Killing(entry.run))
    return then(step, doing=entry.doing, due_s=entry.due_s, failures=entry.failures)


def _read(entry: Entry) -> ReadPod:
    return ReadPod(entry.run, entry.namespace, entry.name)


def _create_later(entry: Entry, answer: Refusal, context: Context, at_least_s: float = 0.0) -> Step:
    """The create certainly did not take effect."""
    if entry.kill or entry.failures + 1 >= context.limits.create_attempts:
        return _returned(entry, describe(answer), context)
    return again(entry, Doing.CREATE, context, at_least_s)


def _has_pod(entry: Entry, pod: Pod) -> Step:
    """The run's one create has taken effect, so none is open any more."""
    step = write(entry, Created(entry.run, pod.metadata.uid))
    after = step.entry
    assert after is not None
    step = then(step, version=pod.metadata.resource_version, refusal="", create_open_until_s=0.0)
    if after.state is not State.KILLING:
        return step
    return then(step, DeletePod(entry.run, entry.namespace, entry.name, after.uid), doing=Doing.DELETE)


def _collided(entry: Entry, holder: Pod, context: Context) -> Step:
    """Another pod has the name. The lease goes back, and the holder makes room where it is an ended run's."""
    message = entry.refusal or f'pods "{entry.name}" already exists'
    whose = run_label(holder)
    held_by = f"the name is held by the pod of run {whose}" if whose else "the name is held by a pod of no run"
    return replace(_returned(entry, f"{message} ({held_by}, uid {holder.metadata.uid})", context), frees=holder)


def _returned(entry: Entry, message: str, context: Context) -> Step:
    if entry.kill:
        return _killed(entry, context)
    return write(entry, report_record(context, returned_report(entry, message)))


def _never_created(entry: Entry, message: str, context: Context) -> Step:
    if entry.kill:
        return _killed(entry, context)
    return write(entry, report_record(context, not_created_report(entry, message, context.at.utc_ms)))


def _killed(entry: Entry, context: Context) -> Step:
    """No pod of the run exists. Whether one ever did is unknown where a create got no answer."""
    attempted = entry.create_open_until_s > 0
    return write(entry, report_record(context, killed_report(entry, attempted=attempted)))
