"""Reads what an executor is given: the only place where the raw pod spec leaves the store."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from refloat_common.core.ids import RunId
from refloat_common.core.messages import Lease


def read_leases(connection: Connection, run_ids: Sequence[RunId]) -> list[Lease]:
    raise NotImplementedError
