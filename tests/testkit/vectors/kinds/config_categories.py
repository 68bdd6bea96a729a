"""Kind `config.categories`: is an `errorCategories` block one that an executor can use?"""

import msgspec

from refloat_common.core.categories import CategoryConfigError, ErrorCategories, check_categories
from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.settings import SettingsError, parse_settings
from testkit.vectors.kinds.classify import armadas_words
from testkit.vectors.model import Kind, Vector


def answer(question: JsonObject) -> JsonObject:
    """Validity, the first error, and whether the block is switched on; a block that is off is checked all the same."""
    try:
        config = parse_settings(ErrorCategories, msgspec.convert(question["config"], dict[str, object]))
    except SettingsError as error:
        return {"valid": False, "refusedKey": error.path.rpartition(".")[2].casefold(), "enabled": True}
    try:
        check_categories(config)
    except CategoryConfigError as error:
        return {"valid": False, "error": armadas_words(error.problem), "enabled": config.enabled}
    return {"valid": True, "error": None, "enabled": config.enabled}


def expected(vector: Vector) -> JsonObject:
    """Armada's answer, but a key that it only warns about is refused by its name."""
    unused = vector.armada["unusedKeys"]
    if isinstance(unused, list) and unused:
        return {"valid": False, "refusedKey": str(unused[0]).rpartition(".")[2].casefold(), "enabled": True}
    return {**vector.armada, "error": armadas_words(vector.armada["error"])}


KIND = Kind(
    "config.categories",
    answer,
    information=frozenset({"startsUp", "fatal", "unusedKeys", "decodeError"}),
    expected=expected,
)
