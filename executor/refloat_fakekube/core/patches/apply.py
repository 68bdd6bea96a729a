"""Server-side apply: merge a configuration, remember who named which field, refuse what another applier owns.

Ownership is recorded for appliers only: an ordinary update owns nothing here, so it never conflicts (the real server
also records updates). Source: the Kubernetes documentation on server-side apply.
"""

from refloat_fakekube.core.objects import Json, JsonValue, clone, ensure, objects, section, text, time_text
from refloat_fakekube.core.patches.fields import Path, drop, from_fields, look_up, named_fields, shown, to_fields
from refloat_fakekube.core.patches.strategic import merge_strategic
from refloat_fakekube.core.refusals import ApplyConflictError, BadRequestError, Cause


def apply_config(live: Json, config: Json, manager: str, now_s: float, *, force: bool) -> Json:
    """The object after `manager` applied `config`.

    Raises:
        ApplyConflictError: another applier owns a field with another value, and `force` is not set.
        BadRequestError: the configuration carries managedFields.
    """
    if section(config, "metadata").get("managedFields"):
        raise BadRequestError("metadata.managedFields must be nil")
    wanted = named_fields(config)
    owners = {text(entry, "manager"): from_fields(section(entry, "fieldsV1")) for entry in _entries(live)}
    previous = owners.pop(manager, set())
    taken = _conflicts(live, config, wanted, owners)
    if taken and not force:
        raise _refusal(taken)
    for path in taken:
        owners[taken[path]].discard(path)
    result = merge_strategic(live, clone(config))
    held = set().union(*owners.values()) if owners else set()
    for path in sorted(previous - wanted - held, key=len, reverse=True):
        drop(result, path)
    owners[manager] = wanted
    _write(result, config, owners, manager, now_s)
    return result


def _entries(live: Json) -> list[Json]:
    return [entry for entry in objects(live, "metadata", "managedFields") if entry.get("operation") == "Apply"]


def _conflicts(live: Json, config: Json, wanted: set[Path], owners: dict[str, set[Path]]) -> dict[Path, str]:
    found: dict[Path, str] = {}
    for owner, fields in sorted(owners.items()):
        for path in sorted(wanted & fields):
            if look_up(live, path) != look_up(config, path):
                found[path] = owner
    return found


def _refusal(taken: dict[Path, str]) -> ApplyConflictError:
    found = [Cause("FieldManagerConflict", f'conflict with "{owner}"', shown(path)) for path, owner in taken.items()]
    if len(found) == 1:
        return ApplyConflictError(f"Apply failed with 1 conflict: {found[0].message}: {found[0].field}", found)
    lines: list[str] = []
    for owner in dict.fromkeys(taken.values()):
        lines.append(f'conflicts with "{owner}":')
        lines += [f"- {shown(path)}" for path, other in taken.items() if other == owner]
    told = "\n".join(lines)
    return ApplyConflictError(f"Apply failed with {len(found)} conflicts: {told}", found)


def _write(result: Json, config: Json, owners: dict[str, set[Path]], manager: str, now_s: float) -> None:
    others: list[JsonValue] = [
        entry for entry in objects(result, "metadata", "managedFields") if entry.get("operation") != "Apply"
    ]
    known = {text(entry, "manager"): entry for entry in _entries(result)}
    for owner, fields in owners.items():
        entry = clone(known.get(owner, {}))
        entry.update({"manager": owner, "operation": "Apply"})
        if owner == manager:
            entry.update({"apiVersion": text(config, "apiVersion"), "time": time_text(now_s)})
        entry.update({"fieldsType": "FieldsV1", "fieldsV1": to_fields(fields)})
        if fields:
            others.append(entry)
    ensure(result, "metadata")["managedFields"] = others
