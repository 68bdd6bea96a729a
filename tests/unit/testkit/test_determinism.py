"""One seed, one trace: across interpreters, hash seeds and heaps."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]


def _hash(seed: int, hash_seed: str, noise: int) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-m", "testkit.virtual.selfcheck", str(seed), str(noise)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=15)
    return done.stdout.strip()


def test_one_seed_gives_one_trace_whatever_the_hash_seed_and_the_heap() -> None:
    hashes = {_hash(5, hash_seed, noise) for hash_seed, noise in (("0", 0), ("1", 1000), ("4242", 70_001))}
    assert len(hashes) == 1


def test_another_seed_gives_another_trace() -> None:
    assert _hash(5, "0", 0) != _hash(6, "0", 0)
