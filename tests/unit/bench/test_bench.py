"""The benchmark's own rules; no figure is asserted here."""

import json
from pathlib import Path

import pytest

from bench import __main__ as command
from bench import row_classify
from bench.harness import Row, interleaved_seconds, where_time_goes

MET = Row("fast", 4.0, 20.0, 5.0, "at least 3 times faster", met=True)
MISSED = Row("slow", 10.0, 20.0, 2.0, "at least 3 times faster", met=False, reason="all of it in sleep")


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows that take no time."""
    rows = {"fast": MET, "slow": MISSED}
    monkeypatch.setattr(command, "row_names", lambda: sorted(rows))
    monkeypatch.setattr(command, "measure", rows.__getitem__)


@pytest.mark.usefixtures("measured")
def test_rows_are_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--out", str(tmp_path / "b.json")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "fast: ours 4, theirs 20, ratio 5; at least 3 times faster: met",
        "slow: ours 10, theirs 20, ratio 2; at least 3 times faster: MISSED (all of it in sleep)",
    ]
    assert json.loads((tmp_path / "b.json").read_text()) == {
        "rows": [
            {"name": "fast", "ours": 4.0, "theirs": 20.0, "ratio": 5.0, "target": "at least 3 times faster",
             "met": True, "reason": ""},
            {"name": "slow", "ours": 10.0, "theirs": 20.0, "ratio": 2.0, "target": "at least 3 times faster",
             "met": False, "reason": "all of it in sleep"},
        ]
    }  # fmt: skip


@pytest.mark.usefixtures("measured")
def test_some_rows_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--rows", "slow"]) == 0
    assert capsys.readouterr().out.startswith("slow: ")


@pytest.mark.usefixtures("measured")
def test_a_row_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command.main(["--rows", "fast,odd"])
    assert caught.value.code == 2
    assert "unknown row odd; known: fast, slow" in capsys.readouterr().err


def test_rows_are_found_by_their_modules() -> None:
    assert "classify" in command.row_names()


def test_rounds_take_turns_and_the_first_is_not_counted() -> None:
    done: list[str] = []
    ours_s, theirs_s = interleaved_seconds(lambda: done.append("ours"), lambda: done.append("theirs"), 2)
    assert done == ["ours", "theirs"] * 3
    assert min(ours_s, theirs_s) >= 0


def test_a_profile_names_functions_and_shares() -> None:
    assert "%" in where_time_goes(lambda: sorted(range(1000), key=str))


def test_both_ways_to_classify_give_armadas_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_classify, "ROUNDS", 1)
    monkeypatch.setattr(row_classify, "PASSES", 1)
    row = row_classify.measure()
    assert (row.name, row.ratio) == ("classify", row.theirs / row.ours)
