"""How fast the API server is asked: tokens, pauses, and one list instead of many reads."""

import pytest

from refloat_executor.core.backoff import backoff_s
from refloat_executor.core.cluster.answers import (
    Broken,
    Conflict,
    Denied,
    Expired,
    Missing,
    Refusal,
    Silent,
    Throttled,
    Unsent,
    describe,
)
from refloat_executor.core.cluster.bucket import Bucket
from refloat_executor.core.cluster.confirming import list_is_cheaper


def test_a_burst_and_then_the_rate() -> None:
    bucket = Bucket(rate_per_s=10.0, burst=2)
    assert [bucket.take(0.0) for _ in range(3)] == [0.0, 0.0, pytest.approx(0.1)]
    assert bucket.take(0.05) == pytest.approx(0.05)
    assert bucket.take(0.1) == 0.0
    assert [bucket.take(100.0) for _ in range(3)] == [0.0, 0.0, pytest.approx(0.1)]


def test_a_reserve_is_left_for_others() -> None:
    bucket = Bucket(rate_per_s=10.0, burst=4)
    assert [bucket.take(0.0, reserve=2.0) for _ in range(3)] == [0.0, 0.0, pytest.approx(0.1)]
    assert bucket.take(0.0) == 0.0


def test_a_reserve_as_large_as_the_burst_still_lets_one_through() -> None:
    bucket = Bucket(rate_per_s=1.0, burst=1)
    assert bucket.take(0.0, reserve=5.0) == 0.0


@pytest.mark.parametrize(
    ("failures", "dice", "pause_s"),
    [(1, 0.0, 0.1), (1, 1.0, 0.2), (2, 1.0, 0.4), (3, 0.5, 0.45), (99, 1.0, 10.0), (0, 1.0, 0.2)],
)
def test_pauses_double_up_to_a_limit_and_are_never_nothing(failures: int, dice: float, pause_s: float) -> None:
    assert backoff_s(failures, dice) == pytest.approx(pause_s)


@pytest.mark.parametrize(
    ("waiting", "pods", "cheaper"),
    [(15, 15, False), (16, 16, True), (16, 384, True), (16, 385, False), (500, 10_000, True), (400, 10_000, False)],
)
def test_when_one_list_is_cheaper(waiting: int, pods: int, *, cheaper: bool) -> None:
    assert list_is_cheaper(waiting, pods) is cheaper


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (Missing("not found"), "missing: not found"),
        (Conflict("exists", already_exists=True), "conflict: exists"),
        (Expired("old"), "expired: old"),
        (Throttled(2.0), "429: asked to wait 2 s"),
        (Denied(422, "Invalid", "no"), "422 Invalid: no"),
        (Broken(500, "etcd"), "500: etcd"),
        (Unsent("refused"), "unsent: refused"),
        (Silent("timeout"), "silent: timeout"),
    ],
)
def test_refusals_in_words(answer: Refusal, line: str) -> None:
    assert describe(answer) == line
