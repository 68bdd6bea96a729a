"""Decides which objects a label selector and a field selector pick, in the syntax of the Kubernetes API.

Sources: `k8s.io/apimachinery/pkg/labels` and `.../pkg/fields`.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from refloat_fakekube.core.refusals import BadRequestError

_SYMBOLS = {"=", "==", "!=", "in", "notin", "(", ")", ",", "!", ">", "<"}
_NEED = "found '{}', expected: {}"
_OPERATORS = "in, notin, =, ==, !=, gt, lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term: `op` is one of in, notin, exists, absent, gt, lt; a label that is missing satisfies notin."""

    key: str
    op: str
    values: tuple[str, ...] = ()

    def holds(self, found: Mapping[str, str]) -> bool:
        """Whether a map of labels or fields satisfies the term."""
        return _HOLDS[self.op](found.get(self.key), self.values)


def _compare(value: str | None, values: tuple[str, ...], sign: int) -> bool:
    try:
        return value is not None and (int(value) - int(values[0])) * sign > 0
    except ValueError:
        return False


_HOLDS: dict[str, Callable[[str | None, tuple[str, ...]], bool]] = {
    "in": lambda value, values: value is not None and value in values,
    "notin": lambda value, values: value is None or value not in values,
    "exists": lambda value, _: value is not None,
    "absent": lambda value, _: value is None,
    "gt": lambda value, values: _compare(value, values, 1),
    "lt": lambda value, values: _compare(value, values, -1),
}


@dataclass(frozen=True, slots=True)
class Selector:
    """A namespace (empty: all), label terms and field terms; all must hold."""

    namespace: str = ""
    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    @property
    def everything(self) -> bool:
        """Whether nothing but the namespace is asked for."""
        return not self.labels and not self.fields

    def picks(self, namespace: str, labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
        """Whether an object of this namespace with these labels and selectable fields is picked."""
        return (
            (not self.namespace or namespace == self.namespace)
            and all(term.holds(labels) for term in self.labels)
            and all(term.holds(fields) for term in self.fields)
        )


EVERYTHING = Selector()
"""Picks all."""


def parse_labels(selector: str) -> tuple[Requirement, ...]:
    """The terms of a `labelSelector`.

    Raises:
        BadRequestError: the selector can't be understood.
    """
    tokens = _tokens(selector)
    terms: list[Requirement] = []
    while tokens:
        terms.append(_term(tokens))
        if tokens:
            comma = tokens.pop(0)
            if comma != ",":
                raise _bare_fault(comma, "',' or 'end of string'")
            if not tokens:
                raise _bare_fault("", "identifier after ','")
    return tuple(terms)


def _fault(why: str) -> BadRequestError:
    return BadRequestError(f"unable to parse requirement: {why}")


def _bare_fault(found: str, expected: str) -> BadRequestError:
    return BadRequestError(_NEED.format(found, expected))


def _tokens(selector: str) -> list[str]:
    tokens: list[str] = []
    at = 0
    while at < len(selector):
        if selector[at].isspace():
            at += 1
            continue
        end = at + 1
        if selector[at] in "=!<>(),":
            if selector[at] in "=!" and selector[at : at + 2] in {"==", "!="}:
                end = at + 2
        else:
            while end < len(selector) and not selector[end].isspace() and selector[end] not in "=!<>(),":
                end += 1
        tokens.append(selector[at:end])
        at = end
    return tokens


def _word(tokens: list[str], expected: str) -> str:
    word = tokens.pop(0) if tokens else ""
    if not word or word in _SYMBOLS - {"in", "notin"}:
        raise _fault(_NEED.format(word, expected))
    return word


def _term(tokens: list[str]) -> Requirement:
    if tokens[0] == "!":
        tokens.pop(0)
        return Requirement(_word(tokens, "identifier"), "absent")
    if tokens[0] in _SYMBOLS - {"in", "notin"}:
        raise _bare_fault(tokens[0], "!, identifier, or 'end of string'")
    key = tokens.pop(0)
    if not tokens or tokens[0] == ",":
        return Requirement(key, "exists")
    operator = tokens.pop(0)
    if operator in {"in", "notin"}:
        return Requirement(key, operator, _values(tokens))
    if operator in {"=", "==", "!="}:
        value = "" if not tokens or tokens[0] == "," else _word(tokens, "identifier")
        return Requirement(key, "notin" if operator == "!=" else "in", (value,))
    if operator in {">", "<"}:
        return Requirement(key, "gt" if operator == ">" else "lt", (_word(tokens, "identifier"),))
    raise _fault(_NEED.format(operator, _OPERATORS))


def _values(tokens: list[str]) -> tuple[str, ...]:
    opening = tokens.pop(0) if tokens else ""
    if opening != "(":
        raise _fault(f"found '{opening}' expected: '('")
    values: list[str] = []
    while tokens and tokens[0] != ")":
        values.append(_word(tokens, "',', ')' or identifier"))
        if tokens and tokens[0] == ",":
            tokens.pop(0)
    if not tokens:
        raise _fault(_NEED.format("", "',' or ')'"))
    tokens.pop(0)
    return tuple(values)


def parse_fields(selector: str, supported: Collection[str]) -> tuple[Requirement, ...]:
    """The terms of a `fieldSelector`; only the fields that the resource offers.

    Raises:
        BadRequestError: the selector can't be understood, or names another field.
    """
    terms: list[Requirement] = []
    for part in _split(selector):
        at = next((place for place, sign in enumerate(part) if sign in "=!"), -1)
        operator = next((sign for sign in ("!=", "==", "=") if at >= 0 and part.startswith(sign, at)), "")
        if not operator:
            raise BadRequestError(f"invalid selector: '{selector}'; can't understand '{part}'")
        field = part[:at]
        if field not in supported:
            raise BadRequestError(f"field label not supported: {field}")
        value = part[at + len(operator) :].replace("\\,", ",").replace("\\=", "=").replace("\\\\", "\\")
        terms.append(Requirement(field, "notin" if operator == "!=" else "in", (value,)))
    return tuple(terms)


def _split(selector: str) -> list[str]:
    parts, start, escaped = [], 0, False
    for place, sign in enumerate(selector):
        if escaped:
            escaped = False
        elif sign == "\\":
            escaped = True
        elif sign == ",":
            parts.append(selector[start:place])
            start = place + 1
    return [part for part in [*parts, selector[start:]] if part]
