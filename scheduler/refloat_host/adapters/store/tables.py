"""The schema of the host's store, the same for SQLite and PostgreSQL.

The migrations in `adapters/migrations` build exactly this; a test compares the two. Rules of the schema:

* JSON is kept as text, never as a JSON type: PostgreSQL's refuses U+0000, which users' messages may hold, and text
  keeps content hashes stable.
* A list that grows with the number of jobs is only ever read through an index that starts with what is looked for.
* The partial indices hold unfinished jobs and runs only, so that they stay as small as the work in hand.
* Times are UTC milliseconds, for display and for order of submission; no decision compares them with a clock.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    text,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class CleanText(TypeDecorator[str]):
    """Text that is compared, sorted or comes from outside: sorted by code point in every database.

    U+0000, which PostgreSQL can't hold, is stored as the replacement character.
    """

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        """PostgreSQL would sort by the language of its cluster."""
        return Text(collation="C") if dialect.name == "postgresql" else Text()

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Replaces what a database refuses."""
        del dialect
        return value if value is None else value.replace("\0", "\ufffd")


_SERIAL = BigInteger().with_variant(Integer, "sqlite")
"""SQLite counts by itself only in a column of exactly this type."""

_QUEUED = text("state = 'queued'")
_LEASED = text("state = 'leased'")
_HELD = text("state = 'queued' AND hold_for_uid <> ''")
_ACTIVE_RUN = text("state IN ('leased', 'pending', 'running')")

store = Table(
    "store",
    metadata,
    Column("one", Integer, CheckConstraint("one = 1", name="single"), primary_key=True, autoincrement=False),
    Column("generation", CleanText, nullable=False),
    Column("leader_epoch", BigInteger, nullable=False),
    Column("commits", BigInteger, nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
)
"""One row. `generation` is random, made with the store; `leader_epoch` rises by one with every process that takes the
store over. Each write transaction begins by counting `commits` up where the epoch is still its own: that one statement
fences an earlier leader (invariant S33), puts writers in a line, and tells afterwards whether a commit whose answer was
lost took place."""

retry_policies = Table(
    "retry_policies",
    metadata,
    Column("name", CleanText, primary_key=True),
    Column("document", Text, nullable=False),
    Column("content_hash", CleanText, nullable=False),
    Column("updated_at_ms", BigInteger, nullable=False),
)

queues = Table(
    "queues",
    metadata,
    Column("name", CleanText, primary_key=True),
    Column("priority_factor", Double, nullable=False),
    Column("cordoned", Boolean, nullable=False),
    Column("document", Text, nullable=False),
    Column("updated_at_ms", BigInteger, nullable=False),
)
"""`document` holds what only the API shows: owners, permissions, labels, limits."""

queue_retry_policies = Table(
    "queue_retry_policies",
    metadata,
    Column("queue", CleanText, ForeignKey("queues.name", ondelete="CASCADE"), primary_key=True),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("policy", CleanText, ForeignKey("retry_policies.name", ondelete="RESTRICT"), nullable=False, index=True),
)
"""A queue's policies in order of precedence; a policy that is listed here can't be deleted."""

jobs = Table(
    "jobs",
    metadata,
    Column("job_id", CleanText, primary_key=True),
    Column("queue", CleanText, nullable=False),
    Column("job_set", CleanText, nullable=False),
    Column("state", CleanText, nullable=False),
    Column("priority", BigInteger, nullable=False),
    Column("submitted_at_ms", BigInteger, nullable=False),
    Column("ended_at_ms", BigInteger, nullable=False),
    Column("queued_version", Integer, nullable=False),
    Column("cancel_requested", Boolean, nullable=False),
    Column("hold_for_uid", CleanText, nullable=False),
    Column("requirements", Text, nullable=False),
    Column("record", Text, nullable=False),
    Index("ix_jobs_job_set", "job_set", "queue", "job_id"),
    Index(
        "ix_jobs_queued",
        "queue",
        "priority",
        "submitted_at_ms",
        "job_id",
        sqlite_where=_QUEUED,
        postgresql_where=_QUEUED,
    ),
    Index("ix_jobs_held", "job_id", sqlite_where=_HELD, postgresql_where=_HELD),
    Index("ix_jobs_leased", "queue", sqlite_where=_LEASED, postgresql_where=_LEASED),
)
"""What changes in a job's life, and what leasing sorts by.

No index of all jobs begins with the queue: a planner might prefer it to the small ones of unfinished jobs, and then
walk through all that a queue ever ran.
"""

job_specs = Table(
    "job_specs",
    metadata,
    Column("job_id", CleanText, ForeignKey("jobs.job_id", ondelete="CASCADE"), primary_key=True),
    Column("namespace", CleanText, nullable=False),
    Column("owner", CleanText, nullable=False),
    Column("labels", Text, nullable=False),
    Column("annotations", Text, nullable=False),
    Column("pod_spec", Text, nullable=False),
)
"""What was submitted and never changes; the pod spec, by far the largest, is last and read only for a lease."""

client_ids = Table(
    "client_ids",
    metadata,
    Column("queue", CleanText, primary_key=True),
    Column("client_id", CleanText, primary_key=True),
    Column("job_id", CleanText, ForeignKey("jobs.job_id", ondelete="CASCADE"), nullable=False, index=True),
)
"""Which job a client's own id stands for: a submission that is sent again makes no second job."""

runs = Table(
    "runs",
    metadata,
    Column("run_id", CleanText, primary_key=True),
    Column("job_id", CleanText, ForeignKey("jobs.job_id", ondelete="CASCADE"), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("executor", CleanText, nullable=False),
    Column("pool", CleanText, nullable=False),
    Column("state", CleanText, nullable=False),
    Column("node", CleanText, nullable=False),
    Column("node_label", CleanText, nullable=False),
    Column("pod_uid", CleanText, nullable=False),
    Column("acknowledged", Boolean, nullable=False),
    Column("attempted", Boolean, nullable=False),
    Column("preempted", Boolean, nullable=False),
    Column("returned", Boolean, nullable=False),
    Column("leased_at_ms", BigInteger, nullable=False),
    Column("running_at_ms", BigInteger, nullable=False),
    Column("ended_at_ms", BigInteger, nullable=False),
    Column("error", Text, nullable=True),
    Index("ix_runs_job_id_ordinal", "job_id", "ordinal", unique=True),
    Index("ix_runs_active", "executor", "run_id", sqlite_where=_ACTIVE_RUN, postgresql_where=_ACTIVE_RUN),
)

claims = Table(
    "claims",
    metadata,
    Column("run_id", CleanText, primary_key=True),
    Column("job_id", CleanText, nullable=False, index=True),
    Column("executor", CleanText, nullable=False, index=True),
    Column("pod_uid", CleanText, nullable=False),
)
"""Runs that an executor holds and that this store doesn't know: only after a restore."""

verdicts = Table(
    "verdicts",
    metadata,
    Column("run_id", CleanText, primary_key=True),
    Column("job_id", CleanText, nullable=False, index=True),
    Column("decision", CleanText, nullable=False),
    Column("explanation", Text, nullable=False),
    Column("decided_at_ms", BigInteger, nullable=False),
)
"""At most one verdict per run, whatever is delivered how often (invariant S13)."""

events = Table(
    "events",
    metadata,
    Column("id", _SERIAL, primary_key=True),
    Column("queue", CleanText, nullable=False),
    Column("job_set", CleanText, nullable=False),
    Column("job_id", CleanText, nullable=False),
    Column("run_id", CleanText, nullable=False),
    Column("kind", CleanText, nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("payload", Text, nullable=False),
    Index("ix_events_queue_job_set_id", "queue", "job_set", "id"),
    Index("ix_events_job_id", "job_id", "id"),
    sqlite_autoincrement=True,
)
"""The event stream. `id` is the message id that readers resume from: writers are serialised, so it rises in the order
of the commits and never fills a gap later."""

executors = Table(
    "executors",
    metadata,
    Column("executor", CleanText, primary_key=True),
    Column("last_epoch", BigInteger, nullable=False),
    Column("pool", CleanText, nullable=False),
    Column("journal", CleanText, nullable=False),
    Column("capabilities", Text, nullable=False),
    Column("node_id_label", CleanText, nullable=False),
    Column("cordoned", Boolean, nullable=False),
    Column("decommissioned", Boolean, nullable=False),
    Column("last_seen_at_ms", BigInteger, nullable=False),
    Column("runs_expired_at_ms", BigInteger, nullable=False),
)
"""`last_epoch` is the highest session epoch ever granted: epochs never repeat (invariant S29)."""

executor_nodes = Table(
    "executor_nodes",
    metadata,
    Column("executor", CleanText, primary_key=True),
    Column("name", CleanText, primary_key=True),
    Column("facts", Text, nullable=False),
)

report_marks = Table(
    "report_marks",
    metadata,
    Column("executor", CleanText, primary_key=True),
    Column("journal", CleanText, primary_key=True),
    Column("have", BigInteger, nullable=False),
)
"""The highest contiguous report sequence that is committed, per executor and journal."""

late_reports = Table(
    "late_reports",
    metadata,
    Column("id", _SERIAL, primary_key=True),
    Column("run_id", CleanText, nullable=False, index=True),
    Column("job_id", CleanText, nullable=False),
    Column("executor", CleanText, nullable=False),
    Column("kind", CleanText, nullable=False),
    Column("why", CleanText, nullable=False),
    Column("reported_at_ms", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)
"""Reports of fenced runs: recorded, without effect (invariant S28)."""
