"""Carries out `update`, `patch` and the subresources `status`, `finalize` and `binding`.

Source: `Store.Update` in `k8s.io/apiserver/pkg/registry/generic/registry/store.go`, and `rest.BeforeUpdate`.
"""

from refloat_fakekube.core.kinds import causes
from refloat_fakekube.core.kinds.metadata import check_metadata, check_update
from refloat_fakekube.core.kinds.strategy import keep_part
from refloat_fakekube.core.objects import (
    Json,
    drop_nulls,
    encode,
    ensure,
    names,
    number,
    section,
    text,
    texts,
    time_text,
)
from refloat_fakekube.core.patches.dispatch import patched
from refloat_fakekube.core.refusals import BadRequestError, Cause, ConflictError, InvalidError, UnforeseenError
from refloat_fakekube.core.resources import NAMESPACES, Resource
from refloat_fakekube.core.store.answers import Done, Found
from refloat_fakekube.core.store.records import Stored
from refloat_fakekube.core.store.requests import Bind, Create, Patch, Replace
from refloat_fakekube.core.store.state import Turn, strategy
from refloat_fakekube.core.store.verbs.creating import create, refuse, settle

STALE = "the object has been modified; please apply your changes to the latest version and try again"
"""The words of an update against an old version (`OptimisticLockErrorMsg`)."""

_KEPT = ("deletionTimestamp", "deletionGracePeriodSeconds", "creationTimestamp", "generation")


def replace(turn: Turn, request: Replace) -> Found:
    """Put a whole object, or one of its subresources.

    Raises:
        RefusalError: there is no such object, it was changed meanwhile, or the new one breaks a rule.
    """
    target = request.target
    before = turn.state.find(target)
    if before is None and strategy(target.resource).creates_on_update and not request.subresource:
        ensure(request.body, "metadata").pop("resourceVersion", None)
        return create(turn, Create(target, request.body, request.options))
    before = before or turn.state.get(target)
    return _write(turn, request, before, request.body)


def patch(turn: Turn, request: Patch) -> Found:
    """Change parts of an object; an apply patch creates what isn't there.

    Raises:
        RefusalError: as `replace`, or the patch can't be applied.
    """
    target = request.target
    before = turn.state.find(target)
    if before is None and request.form == "apply" and not request.subresource:
        body = patched(request, {}, turn.now_s)
        return create(turn, Create(target, body, request.options))
    before = before or turn.state.get(target)
    return _write(turn, request, before, patched(request, before.read(), turn.now_s))


def _write(turn: Turn, request: Replace | Patch, before: Stored, new: Json) -> Found:
    resource, old = request.target.resource, before.read()
    settle(resource, new, request.target)
    _check_identity(resource, new, before, exact=isinstance(request, Replace))
    rules = strategy(resource)
    drop_nulls(new)
    rules.default(new)
    _keep_system_fields(new, old)
    if request.subresource == "status":
        rules.keep_status(new, old)
        judge = rules.check_status
    elif request.subresource == "finalize":
        new["status"] = section(old, "status")
        judge = _no_judge
    else:
        rules.keep(new, old)
        judge = rules.check_update
    refuse(resource, before.name, [*check_update(new, old), *check_metadata(new), *judge(new, old)])
    if rules.generation and not request.subresource and new.get("spec") != old.get("spec"):
        ensure(new, "metadata")["generation"] = (number(old, "metadata", "generation") or 0) + 1
    return store_update(turn, resource, before, new, dry_run=request.options.dry_run)


def _no_judge(_new: Json, _old: Json) -> list[Cause]:
    return []


def store_update(turn: Turn, resource: Resource, before: Stored, new: Json, *, dry_run: bool = False) -> Found:
    """Store the new version; nothing when it says the same, and a removal when the last finalizer has gone."""
    ensure(new, "metadata")["resourceVersion"] = str(before.version)
    if _finished(resource, new, before.read()):
        turn.remove(resource, before, dry_run=dry_run)
        return Found(encode(new))
    if new == before.read():
        return Found(before.data)
    return Found(turn.put(resource, new, before, dry_run=dry_run).data)


def _finished(resource: Resource, new: Json, old: Json) -> bool:
    """`ShouldDeleteDuringUpdate`: being deleted without grace left, and nothing holds it any more."""
    held = bool(names(new, "metadata", "finalizers"))
    if resource.id == NAMESPACES.id:
        return not held and bool(text(old, "metadata", "deletionTimestamp")) and not names(new, "spec", "finalizers")
    return not held and number(old, "metadata", "deletionGracePeriodSeconds") == 0


def _check_identity(resource: Resource, new: Json, before: Stored, *, exact: bool) -> None:
    """A uid in a PUT is a precondition (`exact`); in a PATCH it is a field that can't be changed."""
    metadata = section(new, "metadata")
    uid, version = text(metadata, "uid"), text(metadata, "resourceVersion")
    if version and not version.isdigit():
        raise UnforeseenError(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    if exact and uid and uid != before.uid:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {before.uid}"
        place = f"/registry/{resource.plural}/{before.key}"
        storage = f"StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
        raise ConflictError(resource.group, resource.plural, before.name, storage)
    if not version and strategy(resource).needs_version:
        missing = causes.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise InvalidError(resource.group, resource.plural, before.name, [missing])
    if version and version != str(before.version):
        raise ConflictError(resource.group, resource.plural, before.name, STALE)


def _keep_system_fields(new: Json, old: Json) -> None:
    metadata, was = ensure(new, "metadata"), section(old, "metadata")
    if not text(metadata, "uid"):
        metadata["uid"] = text(was, "uid")
    for field in _KEPT:
        keep_part(metadata, was, field)


def bind(turn: Turn, request: Bind) -> Done:
    """Assign a pod to a node: `spec.nodeName`, and the condition PodScheduled.

    Raises:
        RefusalError: there is no such pod, it is on a node already, or it is being deleted.
    """
    target, body = request.target, request.body
    name = text(body, "metadata", "name")
    if name not in {"", target.name}:
        raise BadRequestError("name in URL does not match name in Binding object")
    node = text(body, "target", "name")
    if not node:
        raise UnforeseenError("target.name: Required value")
    before = turn.state.get(target)
    pod = before.read()
    _check_bindable(pod, before, text(body, "metadata", "uid"))
    ensure(pod, "spec")["nodeName"] = node
    for part in ("annotations", "labels"):
        if texts(body, "metadata", part):
            ensure(pod, "metadata", part).update(section(body, "metadata", part))
    set_condition(pod, {"type": "PodScheduled", "status": "True"}, turn.now_s)
    turn.put(target.resource, pod, before, dry_run=request.options.dry_run)
    return Done(created=True)


def _check_bindable(pod: Json, before: Stored, uid: str) -> None:
    name, node = before.name, text(pod, "spec", "nodeName")
    why = ""
    if uid and uid != before.uid:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {before.uid}"
    elif text(pod, "metadata", "deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif node:
        why = f'pod {name} is already assigned to node "{node}"'
    elif section(pod, "spec").get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    if why:
        raise ConflictError("", "pods/binding", name, why)


def set_condition(pod: Json, condition: Json, now_s: float, *, keep_observed: bool = False) -> None:
    """Add a condition, or change it in place; its transition time moves when its status does.

    `keep_observed`: an `observedGeneration` stays, as in an update of the status; a binding takes it away.
    """
    status = ensure(pod, "status")
    found = status.get("conditions")
    conditions = found if isinstance(found, list) else []
    made: Json = {
        "type": condition["type"],
        "status": condition["status"],
        "lastProbeTime": None,
        "lastTransitionTime": time_text(now_s),
        **{key: value for key, value in condition.items() if key in {"reason", "message"}},
    }
    for place, old in enumerate(conditions):
        if isinstance(old, dict) and old.get("type") == made["type"]:
            if old.get("status") == made["status"]:
                made["lastTransitionTime"] = old.get("lastTransitionTime")
            if keep_observed and old.get("observedGeneration"):
                made["observedGeneration"] = old["observedGeneration"]
            conditions[place] = made
            break
    else:
        conditions.append(made)
    status["conditions"] = conditions
