"""Kind `config.scheduler`: what the scheduler understands of a file and of environment variables."""

from collections.abc import Iterable, Mapping

from refloat_common.adapters.config_files import parse_tree
from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_common.core.settings import SettingsError, Tree, overlay_environment, parse_settings
from refloat_scheduler.settings import SchedulerSettings
from testkit.vectors.kinds.retry.errors import obj, text
from testkit.vectors.model import Kind, Vector

PLAIN = {
    "enabled": bool,
    "globalmaxretries": int,
    "defaultpolicyname": str,
    "nodeidlabel": str,
    "retrypolicy": dict,
    "indexednodelabels": list,
}
"""The type of a value that is written as it should be; anything else may be refused."""


def answer(question: JsonObject) -> JsonObject:
    """What was understood, or the key that is refused."""
    try:
        settings = parse_settings(SchedulerSettings, _tree(question))
    except SettingsError as error:
        return {"refused": _key(error)}
    retry = settings.scheduling.retry_policy
    return {
        "refused": None,
        "retryPolicy": {
            "enabled": retry.enabled,
            "globalMaxRetries": retry.global_max_retries,
            "defaultPolicyName": retry.default_policy_name,
        },
        "nodeIdLabel": settings.scheduling.node_id_label,
        "indexedNodeLabels": list(settings.scheduling.indexed_node_labels),
        "maxRetries": settings.scheduling.max_retries,
    }


def _tree(question: JsonObject) -> Tree:
    environment = {
        name.replace("ARMADA_", "REFLOAT_", 1): text(value) for name, value in obj(question.get("env")).items()
    }
    return overlay_environment(parse_tree(text(question["yaml"])), environment, SchedulerSettings)


def _key(error: SettingsError) -> str:
    """The last step of the path; a rule over a whole block names the key in its text."""
    return (error.path or error.problem.partition(" ")[0]).rpartition(".")[2].casefold()


def expected(vector: Vector) -> JsonObject:
    """Armada's answer; a stricter reader is no error, as long as it refuses what is not written as it should be."""
    armada = vector.armada
    refused = answer(vector.input)["refused"]
    if refused is not None and (not _plain(vector, text(refused)) or _unknown(vector, text(refused))):
        return {"refused": refused}
    trouble = [armada.get(key) for key in ("readError", "decodeError", "validationError")]
    if any(trouble) and "validationError" not in vector.differs_in:
        return {"refused": next(key for key in PLAIN if key in str(trouble).casefold())}
    kept = {key: armada[key] for key in ("retryPolicy", "nodeIdLabel", "maxRetries")}
    return {"refused": None, **kept, "indexedNodeLabels": armada["indexedNodeLabels"] or [], **_environment(vector)}


def _environment(vector: Vector) -> JsonObject:
    """Honouring a variable that Armada ignores is no error."""
    name = obj(vector.input.get("env")).get("ARMADA_SCHEDULING_RETRYPOLICY_DEFAULTPOLICYNAME")
    return {"retryPolicy": {**obj(vector.armada["retryPolicy"]), "defaultPolicyName": name}} if name else {}


def _plain(vector: Vector, key: str) -> bool:
    """Whether the value at a key is written in the type that it should have, and is not empty or negative."""
    value = _find(_tree(vector.input), key)
    wanted = PLAIN.get(key)
    if wanted is None or not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        return False
    return value != "" and not (isinstance(value, int) and value < 0)


def _unknown(vector: Vector, key: str) -> bool:
    return any(text(unused).casefold().endswith(f".{key}") for unused in _texts(vector.armada.get("unusedKeys")))


def _texts(value: JsonValue) -> Iterable[JsonValue]:
    return value if isinstance(value, list) else ()


def _find(tree: object, key: str) -> object:
    """The first value of a key anywhere in a tree."""
    if not isinstance(tree, Mapping):
        return None
    for name, value in tree.items():
        found = value if str(name).casefold() == key else _find(value, key)
        if found is not None:
            return found
    return None


def specification(vector: Vector, given: JsonObject) -> Iterable[str]:
    """No error where one node-label entry is enough; an error that names the field where there is no such setting."""
    if vector.spec_differs.startswith("one node-label entry"):
        if given["refused"] is not None:
            yield f"{given['refused']} is refused"
    elif given["refused"] is None:
        yield "nothing is refused"


KIND = Kind("config.scheduler", answer, expected=expected, specification=specification)
