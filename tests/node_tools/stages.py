"""Works out how long the stages of retries took: medians and maxima, as a table and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from statistics import median

TARGET_MEDIAN_S, TARGET_MAX_S = 1.0, 3.0


@dataclass(frozen=True, slots=True)
class Moments:
    """When what happened in one retry, in seconds since 1970, in the order in which it must happen.

    Who saw it: `failed`, `deleted` and `created` a watch of the pods by an onlooker; `gone` (confirmed and journaled)
    and `reported` (sent) the executor's own trace; `verdict` and `leased` a client of the host's event stream, which
    tells only of what is committed.
    """

    failed: float
    deleted: float
    gone: float
    reported: float
    verdict: float
    leased: float
    created: float


NAMES = [field.name for field in fields(Moments)]
STAGES = [f"{before}_to_{after}" for before, after in pairwise(NAMES)]
WHOLE = "failed_to_created"
Figures = Mapping[str, float]


def durations(moments: Moments) -> dict[str, float]:
    """Seconds of each stage, and of the whole."""
    times = [getattr(moments, name) for name in NAMES]
    stages = {stage: after - before for stage, (before, after) in zip(STAGES, pairwise(times), strict=True)}
    return stages | {WHOLE: moments.created - moments.failed}


def summary(retries: Sequence[Moments]) -> dict[str, object]:
    """What is written as JSON."""
    rows = [durations(retry) for retry in retries]
    figures = {name: _figures([row[name] for row in rows]) for name in [*STAGES, WHOLE]}
    return {"retries": len(rows), "stages": {name: figures[name] for name in STAGES}, WHOLE: figures[WHOLE]}


def table(retries: Sequence[Moments]) -> str:
    """The same for people."""
    rows = [durations(retry) for retry in retries]
    lines = [f"{'stage':24}{'median':>10}{'max':>10}   of {len(rows)} retries"]
    for name in [*STAGES, WHOLE]:
        figures = _figures([row[name] for row in rows])
        lines.append(f"{name:24}{figures['median_s']:>8.3f} s{figures['max_s']:>8.3f} s")
    return "\n".join(lines)


def on_target(retries: Sequence[Moments]) -> bool:
    """Whether the whole is as fast as it should be."""
    figures = _figures([durations(retry)[WHOLE] for retry in retries])
    return figures["median_s"] <= TARGET_MEDIAN_S and figures["max_s"] <= TARGET_MAX_S


def _figures(seconds: Sequence[float]) -> Figures:
    return {"median_s": round(median(seconds), 3), "max_s": round(max(seconds), 3)}
