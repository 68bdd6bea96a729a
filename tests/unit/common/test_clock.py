"""Ids are well formed, and come in the order in which they are made."""

import re
import uuid

from refloat_common.adapters.clock import SystemChance, SystemClock, ulid_from, uuid7_from


def test_a_ulid_is_48_bits_of_time_then_80_of_chance() -> None:
    # The time part of the ULID specification's own example.
    assert ulid_from(1469918176385, 0) == "01aryz6s41" + "0" * 16
    assert ulid_from(0, (1 << 80) - 1) == "0" * 10 + "z" * 16


def test_ulids_of_one_process_are_in_order_even_within_a_millisecond() -> None:
    chance = SystemChance()
    made = [chance.ulid() for _ in range(5000)]
    assert made == sorted(set(made))
    assert all(re.fullmatch("[0-9a-hjkmnp-tv-z]{26}", ulid) for ulid in made)


def test_a_uuid_names_its_version_and_variant() -> None:
    made = uuid.UUID(uuid7_from(0x0123456789AB, (1 << 74) - 1))
    assert (made.version, made.variant, made.int >> 80) == (7, uuid.RFC_4122, 0x0123456789AB)
    assert uuid7_from(0, 0) == "00000000-0000-7000-8000-000000000000"


def test_chance_gives_nothing_twice() -> None:
    chance = SystemChance()
    assert len({chance.uuid7() for _ in range(1000)}) == len({chance.token() for _ in range(1000)}) == 1000
    assert all(0 <= chance.fraction() < 1 for _ in range(1000))


def test_monotonic_time_never_goes_back() -> None:
    clock = SystemClock()
    seen = [clock.monotonic_s() for _ in range(1000)]
    assert seen == sorted(seen)
