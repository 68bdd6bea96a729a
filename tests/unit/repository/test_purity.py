"""Core modules wait for nothing, ask no clock, draw no lots, and touch nothing outside."""

from pathlib import Path

import pytest

from testkit.style.purity import impurities
from testkit.style.tree import core_files


def test_every_core_module_is_pure() -> None:
    assert list(impurities(core_files())) == []


@pytest.mark.parametrize(
    ("source", "finding"),
    [
        ("import time\nx = time.monotonic()", "0002: core-no-clock: uses time.monotonic"),
        ("from time import monotonic as m\nx = m()", "0002: core-no-clock: uses time.monotonic"),
        ("import time as t\nf = t.monotonic", "0002: core-no-clock: uses time.monotonic"),
        ("def f():\n    import time\n    return time.time", "0003: core-no-clock: uses time.time"),
        ("from datetime import datetime\nx = datetime.now()", "0002: core-no-clock: uses datetime.datetime.now"),
        ("import datetime\nx = datetime.date.today()", "0002: core-no-clock: uses datetime.date.today"),
        ("import uuid\nx = uuid.uuid4()", "0002: core-no-chance: uses uuid.uuid4"),
        ("import random\nx = random.Random(1)", "0002: core-no-chance: uses random.Random"),
        ("import secrets\nx = secrets.token_hex()", "0002: core-no-chance: uses secrets.token_hex"),
        ("import os\nx = os.environ['A']", "0002: core-no-environment: uses os.environ"),
        ("x = open('/tmp/f')", "0001: core-no-io: uses open"),
        ("f = print", "0001: core-no-io: uses print"),
        ("import logging\nlogging.info('x')", "0002: core-no-logging: uses logging.info"),
        ("async def f(): ...", "0001: core-no-await: nothing here may wait"),
        ("x = sorted([], key=id)", "0001: core-no-address-order: uses id"),
        ("t = __import__('time')", "0001: core-no-hidden-import: uses __import__"),
    ],
)
def test_each_rule_names_itself_and_the_place(tmp_path: Path, source: str, finding: str) -> None:
    module = tmp_path / "bad.py"
    module.write_text(source)
    assert list(impurities([module])) == [f"{module}:{finding}"]


@pytest.mark.parametrize(
    "source",
    [
        "import re\nx = re.compile('a')",
        "from datetime import UTC, datetime\nx = datetime.fromisoformat('2026-01-01').astimezone(UTC)",
        "from uuid import UUID\nx = UUID(int=1)",
        "def f(id, hash): return id + hash",
        "import timeit_of_ours\nx = timeit_of_ours.time",
        "class P:\n    time = 1\nx = P().time",
        "x = some.time.monotonic",
    ],
)
def test_what_only_looks_alike_is_left_alone(tmp_path: Path, source: str) -> None:
    module = tmp_path / "good.py"
    module.write_text(source)
    assert list(impurities([module])) == []


def test_the_rules_look_at_all_core_packages() -> None:
    packages = {path.parts[path.parts.index("core") - 1] for path in core_files()}
    expected = {"refloat_common", "refloat_executor", "refloat_fakekube", "refloat_scheduler", "refloat_host"}
    assert expected <= packages
