"""Kind `policy.cache`: which policies are served after each of a row of refreshes."""

from collections.abc import Iterable

from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_scheduler.core.policies.cache import PolicyCache, refresh_failed, refreshed
from refloat_scheduler.core.policies.compiled import CompiledPolicy
from testkit.vectors.kinds.retry.errors import obj, rows, text
from testkit.vectors.model import Kind, Vector


def answer(question: JsonObject) -> JsonObject:
    """What is served after each step."""
    cache = PolicyCache()
    steps: list[JsonValue] = []
    asked = question["ask"]
    assert isinstance(asked, list)
    for number, step in enumerate(rows(question["steps"])):
        if step.get("error"):
            done = refresh_failed(cache, text(step["error"]))
        else:
            documents = step["policies"]
            assert isinstance(documents, list)
            done = refreshed(documents, float(number))
        cache = done.cache
        failed = bool(cache.failures)
        steps.append({"refreshError": failed, "served": {name: _served(cache.get(name)) for name in asked}})
    return {"steps": steps}


def _served(policy: CompiledPolicy | None) -> JsonValue:
    if policy is None:
        return None
    action = "Retry" if policy.default_retry else "Fail"
    return {"defaultAction": action, "retryLimit": policy.retry_limit, "rules": len(policy.rules)}


def expected(vector: Vector) -> JsonObject:
    """Armada's answer; of an error only that there is one, and none where all that came is invalid."""
    steps = [
        {**step, "refreshError": str(step["refreshError"] or "").startswith("get retry policies")}
        for step in rows(vector.armada["steps"])
    ]
    return {"steps": steps}


def specification(vector: Vector, given: JsonObject) -> Iterable[str]:
    """Nothing is served that does not stand, valid, in the last good answer."""
    good: set[str] = set()
    for question, step in zip(rows(vector.input["steps"]), rows(given["steps"]), strict=True):
        if not question.get("error"):
            good = {text(policy.get("name")) for policy in rows(question["policies"]) if _plainly_valid(policy)}
        served = {name for name, policy in obj(step["served"]).items() if policy}
        if served != good:
            yield f"served {sorted(served)} instead of {sorted(good)}"


def _plainly_valid(policy: JsonObject) -> bool:
    """Whether a vector's policy is valid: it has a default action, and its bumps are those of the good examples."""
    bumps = [obj(obj(obj(rule.get("mutate")).get("resources")).get("memory")) for rule in rows(policy.get("rules"))]
    bad = any(bump.get("factor", 2) == 0.5 or text(bump.get("static")).startswith("-") for bump in bumps)
    return bool(policy.get("defaultAction")) and not bad


KIND = Kind("policy.cache", answer, expected=expected, specification=specification)
