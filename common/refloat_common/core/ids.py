"""Identifiers, a type each, so that one can't stand where another is meant."""

from typing import NewType

JobId = NewType("JobId", str)
"""A job's id: a ULID in lower case, as Armada's."""

RunId = NewType("RunId", str)
"""One attempt of a job: a UUIDv7, new for each run, never a counter of a restorable store."""

PodUid = NewType("PodUid", str)
"""`metadata.uid` of a pod: the only identity of a pod that is never used twice."""

ExecutorId = NewType("ExecutorId", str)
"""The name of one executor, one per cluster (setting `application.clusterId`)."""

BootId = NewType("BootId", str)
"""One process start of an executor or a scheduler: random, never stored as current."""

JournalId = NewType("JournalId", str)
"""One executor's journal: random, made with the journal. Report sequences belong to it."""

POD_NAME_PREFIX = "armada-"
"""Pods are named `armada-<jobId>-0`, one name for all attempts (specification, *Pod naming*)."""


def pod_name(job_id: JobId) -> str:
    """The name of the pod of every attempt of a job."""
    return f"{POD_NAME_PREFIX}{job_id}-0"
