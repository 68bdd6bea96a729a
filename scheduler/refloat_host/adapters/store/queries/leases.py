"""Reads what an executor is given: the only place where the raw pod spec leaves the store."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection, select

from refloat_common.core.ids import RunId
from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.messages import Lease
from refloat_host.adapters.store.queries.reading import ACTIVE, pages
from refloat_host.adapters.store.queries.rows import AnyRow, record_of, texts_of
from refloat_host.adapters.store.tables import job_specs, jobs, runs
from refloat_scheduler.core.mutations.render import render_pod_spec

_spec: msgspec.json.Decoder[JsonObject] = msgspec.json.Decoder()
_COLUMNS = (
    runs.c.run_id,
    runs.c.ordinal,
    jobs.c.job_id,
    jobs.c.queue,
    jobs.c.job_set,
    jobs.c.record,
    job_specs.c.namespace,
    job_specs.c.owner,
    job_specs.c.labels,
    job_specs.c.annotations,
    job_specs.c.pod_spec,
)


def read_leases(connection: Connection, run_ids: Sequence[RunId], node_id_label: str) -> list[Lease]:
    """The leases of those of these runs that are active, in the order of the ids; pod specs are rendered."""
    found: dict[str, Lease] = {}
    query = select(*_COLUMNS).join_from(runs, jobs).join(job_specs, job_specs.c.job_id == jobs.c.job_id)
    for page in pages(list(run_ids)):
        rows = connection.execute(query.where(runs.c.run_id.in_(page), ACTIVE, jobs.c.state == "leased"))
        found |= {row.run_id: _lease(row, node_id_label) for row in rows}
    return [found[run_id] for run_id in run_ids if run_id in found]


def _lease(row: AnyRow, node_id_label: str) -> Lease:
    return Lease(
        run=row.run_id,
        job=row.job_id,
        queue=row.queue,
        job_set=row.job_set,
        namespace=row.namespace,
        pod_spec=msgspec.json.encode(render_pod_spec(_spec.decode(row.pod_spec), record_of(row.record), node_id_label)),
        owner=row.owner,
        labels=texts_of(row.labels),
        annotations=texts_of(row.annotations),
        token=row.ordinal,
    )
