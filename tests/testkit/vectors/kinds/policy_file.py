"""Kind `policy.file`: a policy file for the command line: what becomes of it, and what is printed."""

import json
import re

from refloat_common.core.jsontypes import JsonObject
from refloat_ctl.core.resources.envelope import RETRY_POLICY, head_for
from refloat_ctl.core.resources.fields import FieldError
from refloat_ctl.core.resources.policies import read_policy
from refloat_ctl.core.text.reading import TextError, read_text
from refloat_ctl.core.text.writing import write_document
from refloat_scheduler.core.policies.document import encode
from refloat_scheduler.core.policies.validation import compile_error, write_error
from testkit.vectors.model import Kind, Vector

_NAMED = (
    re.compile(r'unknown field "([^"]*)"'),
    re.compile(r'key "([^"]*)" already set'),
    re.compile(r"Go struct field \S*?([A-Za-z]+) of type"),
    re.compile(r"^file \S+ error: (apiVersion|kind) must be"),
)
_VALUES = {"invalid version": "apiVersion", "invalid kind": "kind"}


def answer(question: JsonObject) -> JsonObject:
    """The field that makes the file unusable, or what the server says, what is stored and what is printed."""
    text = question["text"]
    if text is None:
        return {"fileError": ""}
    assert isinstance(text, str)
    try:
        policy = read_policy(read_text(text))
    except TextError as error:
        return {"fileError": error.key.casefold()}
    except FieldError as error:
        return {"fileError": error.path.rpartition(".")[2].partition("[")[0].casefold()}
    return {
        "fileError": None,
        "writeError": write_error(policy),
        "compileError": compile_error(policy),
        "json": json.loads(json.dumps(encode(policy))),
        "printed": f"Created retry policy {policy.name}\n",
        "get": write_document(head_for(RETRY_POLICY), encode(policy)),
    }


def expected(vector: Vector) -> JsonObject:
    """Armada's answer, but of an error about the file only the field that it names."""
    error = vector.armada["fileError"]
    if error is None:
        return vector.armada
    assert isinstance(error, str)
    return {"fileError": _field_in(error, str(vector.input["text"])).casefold()}


def _field_in(error: str, text: str) -> str:
    for pattern in _NAMED:
        found = pattern.search(error)
        if found:
            return found[1]
    for words, field in _VALUES.items():
        if words in error:
            return field
    if "RetryAction" in error:
        return "defaultAction" if "rules:" not in text else "action"
    return ""


KIND = Kind("policy.file", answer, expected=expected)
