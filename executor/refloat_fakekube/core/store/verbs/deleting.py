"""Carries out `delete`, `deletecollection` and `eviction`: preconditions, grace, finalizers.

Source: `Store.Delete` in `k8s.io/apiserver/pkg/registry/generic/registry/store.go`, `rest.BeforeDelete`, and
`k8s.io/kubernetes/pkg/registry/core/pod/storage/eviction.go`.
"""

from dataclasses import replace
from enum import Enum, auto

from refloat_fakekube.core.objects import Json, ensure, names, number, section, text, time_s, time_text
from refloat_fakekube.core.refusals import BadRequestError, ConflictError
from refloat_fakekube.core.resources import NAMESPACES, PODS, Resource
from refloat_fakekube.core.store.answers import Done, Found, Page
from refloat_fakekube.core.store.records import Stored
from refloat_fakekube.core.store.requests import Delete, DeleteMany, DeleteOptions, Evict
from refloat_fakekube.core.store.state import Turn, strategy
from refloat_fakekube.core.store.verbs.updating import set_condition


class _Next(Enum):
    """What a deletion does: wait as before, store a mark and wait, or mark and remove at once."""

    WAIT = auto()
    MARK = auto()
    REMOVE = auto()


def delete(turn: Turn, request: Delete) -> Found | Done:
    """Delete one object.

    Raises:
        RefusalError: there is no such object, or a precondition does not hold.
    """
    before = turn.state.get(request.target)
    return _delete(turn, request.target.resource, before, request.options)


def _delete(turn: Turn, resource: Resource, before: Stored, options: DeleteOptions) -> Found | Done:
    _check_preconditions(resource.kind, before, options)
    obj = before.read()
    next_step = _mark(turn, resource, obj, options.grace_s)
    if next_step is _Next.WAIT:
        return _answer(resource, before, before.data)
    if obj != before.read():
        before = turn.put(resource, obj, before, dry_run=options.dry_run)
    if next_step is _Next.MARK or options.dry_run:
        return _answer(resource, before, before.data)
    return _answer(resource, before, turn.remove(resource, before))


def _answer(resource: Resource, before: Stored, data: bytes) -> Found | Done:
    if strategy(resource).returns_deleted:
        return Found(data)
    return Done(resource.plural, resource.group, before.name, before.uid)


def _mark(turn: Turn, resource: Resource, obj: Json, asked_s: int | None) -> _Next:
    if resource.id == NAMESPACES.id:
        return _mark_namespace(turn, obj)
    metadata = section(obj, "metadata")
    held = bool(names(metadata, "finalizers"))
    if text(metadata, "deletionTimestamp"):
        return _shorten(turn, metadata, asked_s, held=held)
    grace_s = strategy(resource).grace(obj, asked_s)
    if grace_s is None:
        if not held:
            return _Next.REMOVE
        metadata["deletionTimestamp"] = time_text(turn.now_s)
        metadata["deletionGracePeriodSeconds"] = 0
        return _Next.MARK
    metadata["deletionTimestamp"] = time_text(turn.now_s + grace_s)
    metadata["deletionGracePeriodSeconds"] = grace_s
    generation = number(metadata, "generation")
    if generation:
        metadata["generation"] = generation + 1
    return _Next.MARK if held or grace_s > 0 else _Next.REMOVE


def _shorten(turn: Turn, metadata: Json, asked_s: int | None, *, held: bool) -> _Next:
    """A deletion that is under way can only be made shorter; without grace left it is over unless a finalizer holds."""
    left_s = number(metadata, "deletionGracePeriodSeconds") or 0
    if left_s == 0:
        return _Next.MARK if held else _Next.REMOVE
    wanted_s = left_s if asked_s is None else 1 if asked_s < 0 else asked_s
    if wanted_s >= left_s:
        return _Next.WAIT
    started_s = time_s(text(metadata, "deletionTimestamp")) - left_s
    ends_s = started_s + wanted_s
    if ends_s < turn.now_s:
        ends_s, wanted_s = turn.now_s, min(wanted_s, 1)
    metadata["deletionTimestamp"] = time_text(ends_s)
    metadata["deletionGracePeriodSeconds"] = wanted_s
    return _Next.MARK if held or wanted_s > 0 else _Next.REMOVE


def _mark_namespace(turn: Turn, obj: Json) -> _Next:
    """A namespace is emptied by its controller, which then takes `spec.finalizers` away."""
    metadata = section(obj, "metadata")
    if not text(metadata, "deletionTimestamp"):
        metadata["deletionTimestamp"] = time_text(turn.now_s)
        ensure(obj, "status")["phase"] = "Terminating"
    held = names(obj, "spec", "finalizers") or names(metadata, "finalizers")
    return _Next.MARK if held else _Next.REMOVE


def _check_preconditions(kind: str, before: Stored, options: DeleteOptions) -> None:
    if options.uid is not None and options.uid != before.uid:
        words = f"the UID in the precondition ({options.uid}) does not match the UID in record ({before.uid}). "
        raise ConflictError("", kind, before.name, words + "The object might have been deleted and then recreated")
    version = str(before.version)
    if options.resource_version is not None and options.resource_version != version:
        words = f"the ResourceVersion in the precondition ({options.resource_version}) does not match the "
        words += f"ResourceVersion in record ({version}). The object might have been modified"
        raise ConflictError("", kind, before.name, words)


def delete_many(turn: Turn, request: DeleteMany) -> Page:
    """Delete what the selector picks; gives the objects as they were.

    Raises:
        RefusalError: a precondition does not hold for one of them.
    """
    found = [one for one in turn.state.read(request.target, "", turn.state.version) if one.picked_by(request.selector)]
    for stored in found:
        _delete(turn, request.target.resource, stored, request.options)
    return Page(tuple(found), turn.state.version)


def evict(turn: Turn, request: Evict) -> Done:
    """Evict a pod: condition DisruptionTarget, then an ordinary deletion (there are no disruption budgets here).

    Raises:
        RefusalError: there is no such pod, or a precondition does not hold.
    """
    if text(request.body, "metadata", "name") not in {"", request.target.name}:
        raise BadRequestError("name in URL does not match name in Eviction object")
    before, options = turn.state.get(request.target), request.options
    _check_preconditions(PODS.kind, before, options)
    if not options.dry_run:
        pod = before.read()
        target: Json = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
        set_condition(pod, {**target, "message": "Eviction API: evicting"}, turn.now_s, keep_observed=True)
        if pod != before.read():
            before = turn.put(PODS, pod, before)
    _delete(turn, PODS, before, replace(options, resource_version=None))
    return Done(created=True)
