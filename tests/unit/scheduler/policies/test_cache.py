"""What the cache serves after good, bad and mixed refreshes, and what it says of them."""

from refloat_common.core.jsontypes import JsonValue
from refloat_scheduler.core.policies.cache import PolicyCache, refresh_failed, refreshed
from refloat_scheduler.core.signals import Level, Metric, Note, Sample

GOOD: JsonValue = {"name": "a", "retryLimit": 1, "defaultAction": "Fail"}
OTHER: JsonValue = {"name": "b", "retryLimit": 2, "defaultAction": "Retry"}
BAD: JsonValue = {"name": "bad", "retryLimit": 1}


def served(cache: PolicyCache) -> dict[str, int]:
    return {name: policy.retry_limit for name, policy in cache.policies.items()}


def test_nothing_is_served_before_the_first_answer() -> None:
    failed = refresh_failed(PolicyCache(), "connection refused")
    assert served(failed.cache) == {}
    assert failed.cache.failures == 1
    assert failed.notes == (Note(Level.WARNING, "error fetching retry policies: connection refused"),)
    assert failed.samples == (Sample(Metric.POLICY_REFRESH_FAILED),)
    assert served(refreshed([GOOD], 5.0).cache) == {"a": 1}


def test_a_failed_refresh_changes_nothing_that_is_served() -> None:
    cache = refreshed([GOOD, OTHER], 5.0).cache
    for _ in range(3):
        cache = refresh_failed(cache, "down").cache
    assert served(cache) == {"a": 1, "b": 2}
    assert (cache.failures, cache.age_s(65.0, 0.0)) == (3, 60.0)
    assert refreshed([GOOD], 70.0).cache.failures == 0


def test_an_invalid_policy_is_skipped_named_and_counted() -> None:
    done = refreshed([GOOD, BAD], 5.0)
    assert served(done.cache) == {"a": 1}
    assert done.cache.skipped == ("bad",)
    assert [note.text for note in done.notes] == [
        'skipping invalid retry policy "bad": default_action: unknown action "RETRY_ACTION_UNSPECIFIED"'
    ]
    assert Sample(Metric.POLICY_SKIPPED, (("policy", "bad"),)) in done.samples


def test_a_policy_that_turns_invalid_is_served_no_more_even_if_all_are() -> None:
    assert served(refreshed([BAD], 6.0).cache) == {}
    assert refreshed([BAD, {"name": "worse", "rules": "x"}], 6.0).cache.skipped == ("bad", "worse")


def test_an_empty_answer_empties_the_cache() -> None:
    assert served(refreshed([], 6.0).cache) == {}


def test_of_two_documents_of_one_name_the_later_counts() -> None:
    twice: list[JsonValue] = [GOOD, {"name": "a", "retryLimit": 9, "defaultAction": "Retry"}]
    assert served(refreshed(twice, 6.0).cache) == {"a": 9}


def test_age_before_the_first_answer_is_counted_from_the_start() -> None:
    assert PolicyCache().age_s(30.0, 10.0) == 20.0
    assert refreshed([], 25.0).cache.age_s(30.0, 10.0) == 5.0


def test_the_content_hash_names_what_a_policy_says_however_it_is_written() -> None:
    shouted: JsonValue = {"NAME": "a", "retrylimit": 1, "defaultaction": "FAIL", "rules": None}
    first, second = refreshed([GOOD], 0.0).cache.get("a"), refreshed([shouted], 0.0).cache.get("a")
    third = refreshed([{"name": "a", "retryLimit": 2, "defaultAction": "Fail"}], 0.0).cache.get("a")
    assert first is not None
    assert second is not None
    assert third is not None
    assert first.content_hash == second.content_hash != third.content_hash
