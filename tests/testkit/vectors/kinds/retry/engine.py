"""Kind `engine`: the pure decision over one failure."""

from refloat_common.core.jsontypes import JsonObject
from refloat_scheduler.core.policies.compiled import InvalidPolicyError, compile_policy
from refloat_scheduler.core.policies.document import PolicyDecodeError, decode
from refloat_scheduler.core.retry.engine import decide
from testkit.vectors.kinds.retry.errors import obj, run_error, verdict_json, whole
from testkit.vectors.model import Kind


def answer(question: JsonObject) -> JsonObject:
    """The verdict, or why the policy can't be served."""
    try:
        policy = compile_policy(decode(question["policy"]))
    except InvalidPolicyError as invalid:
        return {"compileError": invalid.why}
    except PolicyDecodeError as invalid:
        return {"decodeError": invalid.problem}
    error = None if question["error"] is None else run_error(obj(question["error"]))
    return verdict_json(decide(policy, error, whole(question["failures"]), whole(question["globalMaxRetries"])))


KIND = Kind("engine", answer)
