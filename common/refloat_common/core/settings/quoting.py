"""Quotes a text as Go's `%q` does, so that messages read like Armada's, byte for byte."""

_SHORT = {
    '"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"
}  # fmt: skip
_FIRST_WIDE, _FIRST_LONG = 0x80, 0x10000


def go_quote(text: str) -> str:
    """`text` between double quotes; what Go does not print is escaped."""
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if character.isprintable():
        return character
    if code < _FIRST_WIDE:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < _FIRST_LONG else f"\\U{code:08x}"
