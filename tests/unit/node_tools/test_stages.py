"""What `make node-latency` says of the retries that it saw."""

from node_tools.stages import Moments, on_target, summary, table

QUICK = Moments(10.0, 10.1, 10.2, 10.2, 10.3, 10.4, 10.5)
SLOW = Moments(20.0, 20.2, 20.3, 20.4, 21.0, 21.5, 22.5)
LATE = Moments(30.0, 30.1, 30.2, 30.3, 30.4, 33.0, 33.5)


def test_medians_and_maxima_of_every_stage() -> None:
    assert summary([QUICK, SLOW, LATE]) == {
        "retries": 3,
        "stages": {
            "failed_to_deleted": {"median_s": 0.1, "max_s": 0.2},
            "deleted_to_gone": {"median_s": 0.1, "max_s": 0.1},
            "gone_to_reported": {"median_s": 0.1, "max_s": 0.1},
            "reported_to_verdict": {"median_s": 0.1, "max_s": 0.6},
            "verdict_to_leased": {"median_s": 0.5, "max_s": 2.6},
            "leased_to_created": {"median_s": 0.5, "max_s": 1.0},
        },
        "failed_to_created": {"median_s": 2.5, "max_s": 3.5},
    }


def test_a_table_for_people() -> None:
    lines = table([QUICK, QUICK]).splitlines()
    assert lines[0] == "stage                       median       max   of 2 retries"
    assert lines[-1] == "failed_to_created          0.500 s   0.500 s"
    assert len(lines) == 8


def test_the_target_is_a_median_and_a_maximum() -> None:
    assert on_target([QUICK, QUICK, SLOW])
    assert not on_target([QUICK, SLOW, SLOW])
    assert not on_target([QUICK, QUICK, LATE])
