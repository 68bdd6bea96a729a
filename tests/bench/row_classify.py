"""Row `classify`: one pod to its category, on the corpus on which Armada's Go code was measured (51 µs a pod there)."""

import json
from pathlib import Path

import msgspec

from refloat_common.core.categories import Classification, ErrorCategories, classify, compile_categories, failure_of
from refloat_common.core.pods import Event, Pod
from refloat_common.core.settings import parse_settings

from .harness import Row, interleaved_seconds, where_time_goes
from .one_by_one import Found, OneByOne

CORPUS = Path(__file__).parents[1] / "data" / "bench" / "classify_corpus.json"
ROUNDS = 15
PASSES = 5
MIN_RATIO = 3.5
MAX_MICROSECONDS = 12.0

Case = tuple[Pod, str, list[Event]]


def measure() -> Row:
    """Medians of microseconds a pod, from the pod as decoded to the whole result."""
    corpus = json.loads(CORPUS.read_text())
    config = parse_settings(ErrorCategories, corpus["config"])
    cases: list[Case] = [
        (msgspec.convert(c["pod"], Pod), c["podErrorMessage"], msgspec.convert(c["podEvents"] or [], list[Event]))
        for c in corpus["cases"]
    ]
    compiled, one_by_one = compile_categories(config), OneByOne(config)

    def ours() -> list[Classification]:
        return [classify(compiled, failure_of(pod, events, text)) for pod, text, events in cases]

    def theirs() -> list[Found]:
        return [one_by_one.classify(pod, text, events) for pod, text, events in cases]

    wanted = [_armadas(case["expected"]["pod"]) for case in corpus["cases"]]
    assert [_refloats(config, found) for found in ours()] == wanted
    assert theirs() == wanted
    ours_s, theirs_s = interleaved_seconds(
        lambda: [ours() for _ in range(PASSES)], lambda: [theirs() for _ in range(PASSES)], ROUNDS
    )
    ours_us, theirs_us = (seconds / PASSES / len(cases) * 1e6 for seconds in (ours_s, theirs_s))
    ratio = theirs_us / ours_us
    met = ratio >= MIN_RATIO and ours_us <= MAX_MICROSECONDS
    target = f"at least {MIN_RATIO} times faster and at most {MAX_MICROSECONDS:g} µs a pod"
    return Row("classify", ours_us, theirs_us, ratio, target, met, "" if met else where_time_goes(ours))


def _armadas(result: dict[str, object]) -> Found:
    rule = result["rule"]
    place = (rule[0], rule[1]) if isinstance(rule, list) else None
    category, subcategory, hint, action = (str(result[key]) for key in ("category", "subcategory", "hint", "action"))
    return Found(category, subcategory, hint, action, place)


def _refloats(config: ErrorCategories, found: Classification) -> Found:
    names = [category.name for category in config.categories]
    place = (names.index(found.rule.category), found.rule.index) if found.rule else None
    return Found(found.category, found.subcategory, found.hint, found.disposition.value, place)
