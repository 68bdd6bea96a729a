"""The states of an executor as the scheduler sees it, and what an operator may order about one."""

from enum import StrEnum


class ExecutorState(StrEnum):
    """How the plugin sees an executor (reliability: states of an executor)."""

    UNKNOWN = "unknown"
    """Not heard of since this scheduler started."""
    LIVE = "live"
    SILENT = "silent"
    """Nothing heard for the placement timeout: gets no new runs."""
    SUSPECT = "suspect"
    """Silent for so long that somebody should look."""
    LOST = "lost"
    """Its runs have been given verdicts."""
    RETURNING = "returning"
    """It speaks again and hands in what it has; gets no new runs yet."""


class OperatorAction(StrEnum):
    """What an operator may order about an executor."""

    CORDON = "cordon"
    UNCORDON = "uncordon"
    EXPIRE = "expire"
    """Declare it lost now, self-preservation or not."""
    RELEASE = "release"
    """Let self-preservation go for this executor: ordinary expiry applies to it again."""
    DECOMMISSION = "decommission"
    """It is not coming back: expire its runs, and count it nowhere any more."""
