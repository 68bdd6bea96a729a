r"""Says what RE2 is to read for a name in `\p{…}` that only Go knows.

Go (from 1.25 on) takes long names of categories, ignores case, spaces, `-` and `_`, and adds `ASCII`, `Assigned`,
`Cn` and `LC`. Names from the Unicode Standard, annex 44, table 12; Go's from its package `unicode`.
"""

import re
from dataclasses import dataclass

_LONG_NAMES = {
    "casedletter": "LC", "closepunctuation": "Pe", "cntrl": "Cc", "combiningmark": "M", "connectorpunctuation": "Pc",
    "control": "Cc", "currencysymbol": "Sc", "dashpunctuation": "Pd", "decimalnumber": "Nd", "digit": "Nd",
    "enclosingmark": "Me", "finalpunctuation": "Pf", "format": "Cf", "initialpunctuation": "Pi", "letter": "L",
    "letternumber": "Nl", "lineseparator": "Zl", "lowercaseletter": "Ll", "mark": "M", "mathsymbol": "Sm",
    "modifierletter": "Lm", "modifiersymbol": "Sk", "nonspacingmark": "Mn", "number": "N", "openpunctuation": "Ps",
    "other": "C", "otherletter": "Lo", "othernumber": "No", "otherpunctuation": "Po", "othersymbol": "So",
    "paragraphseparator": "Zp", "privateuse": "Co", "punct": "P", "punctuation": "P", "separator": "Z",
    "spaceseparator": "Zs", "spacingmark": "Mc", "surrogate": "Cs", "symbol": "S", "titlecaseletter": "Lt",
    "unassigned": "Cn", "uppercaseletter": "Lu",
}  # fmt: skip

_SPECIAL = {
    "ascii": (r"\x00-\x7F", r"\x{80}-\x{10FFFF}"),
    "any": (r"\x{0}-\x{10FFFF}", None),
    "assigned": (r"\pL\pM\pN\pP\pS\pZ\pC", None),
    "lc": (r"\p{Lu}\p{Ll}\p{Lt}", None),
}
"""Items of a bracket expression, and those of its complement where they can be listed."""

_IGNORED = re.compile(r"[ _-]+")
_LONGEST_CATEGORY = 2


@dataclass(frozen=True, slots=True)
class ClassItems:
    """What goes between brackets; `complement` means that the brackets must be negated."""

    text: str
    complement: bool

    def bracketed(self) -> str:
        """The class standing alone."""
        return f"[{'^' if self.complement else ''}{self.text}]"


def class_items(name: str, *, inverted: bool) -> ClassItems | None:
    r"""What RE2 is to read for `\p{name}`, or None if the name is to be handed on as it is."""
    squeezed = _IGNORED.sub("", name).casefold()
    squeezed = _LONG_NAMES.get(squeezed, squeezed).casefold()
    if squeezed == "cn":
        squeezed, inverted = "assigned", not inverted
    if squeezed in _SPECIAL:
        positive, negative = _SPECIAL[squeezed]
        if not inverted:
            return ClassItems(positive, complement=False)
        return ClassItems(positive, complement=True) if negative is None else ClassItems(negative, complement=False)
    if len(squeezed) <= _LONGEST_CATEGORY:
        known = squeezed.capitalize()
    elif squeezed == "signwriting":
        known = "SignWriting"
    else:
        # Scripts are words in title case joined by underscores: `old italic` is `Old_Italic`.
        known = "_".join(word.capitalize() for word in _IGNORED.split(name) if word)
    if not known or known == name:
        return None
    return ClassItems(rf"\{'P' if inverted else 'p'}{{{known}}}", complement=False)
