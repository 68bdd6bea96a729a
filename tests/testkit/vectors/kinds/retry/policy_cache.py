"""Kind `policy.cache`: which policies are served after each of a row of refreshes."""

from collections.abc import Iterable

from refloat_common.core import quantity
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
    """Whether a vector's policy is valid, told in the plainest way."""
    actions = ("Retry", "Fail")
    rules = rows(policy.get("rules"))
    named = bool(policy.get("name")) and policy.get("defaultAction") in actions
    return named and all(
        rule.get("action") in actions and bool(rule.get("onCategory")) and _bump_is_valid(rule) for rule in rules
    )


def _bump_is_valid(rule: JsonObject) -> bool:
    memory = obj(obj(rule.get("mutate")).get("resources")).get("memory")
    if memory is None:
        return True
    static, factor = text(obj(memory).get("static")), obj(memory).get("factor") or 0
    if bool(static) is bool(factor):
        return False
    if static:
        try:
            return quantity.parse(static).nanos > 0
        except ValueError:
            return False
    return isinstance(factor, int | float) and factor > 1


KIND = Kind("policy.cache", answer, expected=expected, specification=specification)
