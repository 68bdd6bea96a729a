"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
QUEUED = sa.text("state = 'queued'")
LEASED = sa.text("state = 'leased'")
HELD = sa.text("state = 'queued' AND hold_for_uid <> ''")
ACTIVE_RUN = sa.text("state IN ('leased', 'pending', 'running')")


def upgrade() -> None:
    _policies_and_queues()
    _jobs()
    _runs()
    _events()
    _executors()


def downgrade() -> None:
    raise NotImplementedError("a store is taken back by restoring a copy of it")


def _policies_and_queues() -> None:
    op.create_table(
        "store",
        sa.Column("one", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("generation", NAME, nullable=False),
        sa.Column("leader_epoch", sa.BigInteger(), nullable=False),
        sa.Column("commits", sa.BigInteger(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("one = 1", name=op.f("ck_store_single")),
        sa.PrimaryKeyConstraint("one", name="pk_store"),
    )
    op.create_table(
        "retry_policies",
        sa.Column("name", NAME, nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("content_hash", NAME, nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_retry_policies"),
    )
    op.create_table(
        "queues",
        sa.Column("name", NAME, nullable=False),
        sa.Column("priority_factor", sa.Double(), nullable=False),
        sa.Column("cordoned", sa.Boolean(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_queues"),
    )
    op.create_table(
        "queue_retry_policies",
        sa.Column("queue", NAME, nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("policy", NAME, nullable=False),
        sa.ForeignKeyConstraint(
            ["policy"], ["retry_policies.name"], name="fk_queue_retry_policies_policy", ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(["queue"], ["queues.name"], name="fk_queue_retry_policies_queue", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("queue", "ordinal", name="pk_queue_retry_policies"),
    )
    op.create_index("ix_queue_retry_policies_policy", "queue_retry_policies", ["policy"])


def _jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("job_id", NAME, nullable=False),
        sa.Column("queue", NAME, nullable=False),
        sa.Column("job_set", NAME, nullable=False),
        sa.Column("state", NAME, nullable=False),
        sa.Column("priority", sa.BigInteger(), nullable=False),
        sa.Column("submitted_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("ended_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("queued_version", sa.Integer(), nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("hold_for_uid", NAME, nullable=False),
        sa.Column("requirements", sa.Text(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("job_id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_held", "jobs", ["job_id"], sqlite_where=HELD, postgresql_where=HELD)
    op.create_index("ix_jobs_leased", "jobs", ["queue"], sqlite_where=LEASED, postgresql_where=LEASED)
    op.create_index("ix_jobs_job_set", "jobs", ["job_set", "queue", "job_id"])
    op.create_index(
        "ix_jobs_queued",
        "jobs",
        ["queue", "priority", "submitted_at_ms", "job_id"],
        sqlite_where=QUEUED,
        postgresql_where=QUEUED,
    )
    op.create_table(
        "job_specs",
        sa.Column("job_id", NAME, nullable=False),
        sa.Column("namespace", NAME, nullable=False),
        sa.Column("owner", NAME, nullable=False),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.Column("annotations", sa.Text(), nullable=False),
        sa.Column("pod_spec", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.job_id"], name="fk_job_specs_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", name="pk_job_specs"),
    )
    op.create_table(
        "client_ids",
        sa.Column("queue", NAME, nullable=False),
        sa.Column("client_id", NAME, nullable=False),
        sa.Column("job_id", NAME, nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.job_id"], name="fk_client_ids_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("queue", "client_id", name="pk_client_ids"),
    )
    op.create_index("ix_client_ids_job_id", "client_ids", ["job_id"])


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("run_id", NAME, nullable=False),
        sa.Column("job_id", NAME, nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("executor", NAME, nullable=False),
        sa.Column("pool", NAME, nullable=False),
        sa.Column("state", NAME, nullable=False),
        sa.Column("node", NAME, nullable=False),
        sa.Column("node_label", NAME, nullable=False),
        sa.Column("pod_uid", NAME, nullable=False),
        sa.Column("acknowledged", sa.Boolean(), nullable=False),
        sa.Column("attempted", sa.Boolean(), nullable=False),
        sa.Column("preempted", sa.Boolean(), nullable=False),
        sa.Column("returned", sa.Boolean(), nullable=False),
        sa.Column("leased_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("running_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("ended_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.job_id"], name="fk_runs_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", name="pk_runs"),
    )
    op.create_index(
        "ix_runs_active", "runs", ["executor", "run_id"], sqlite_where=ACTIVE_RUN, postgresql_where=ACTIVE_RUN
    )
    op.create_index("ix_runs_job_id_ordinal", "runs", ["job_id", "ordinal"], unique=True)
    op.create_table(
        "claims",
        sa.Column("run_id", NAME, nullable=False),
        sa.Column("job_id", NAME, nullable=False),
        sa.Column("executor", NAME, nullable=False),
        sa.Column("pod_uid", NAME, nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_claims"),
    )
    op.create_index("ix_claims_executor", "claims", ["executor"])
    op.create_index("ix_claims_job_id", "claims", ["job_id"])
    op.create_table(
        "verdicts",
        sa.Column("run_id", NAME, nullable=False),
        sa.Column("job_id", NAME, nullable=False),
        sa.Column("decision", NAME, nullable=False),
        sa.Column("explanation", sa.Text(), nullable=False),
        sa.Column("decided_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_verdicts"),
    )
    op.create_index("ix_verdicts_job_id", "verdicts", ["job_id"])


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("queue", NAME, nullable=False),
        sa.Column("job_set", NAME, nullable=False),
        sa.Column("job_id", NAME, nullable=False),
        sa.Column("run_id", NAME, nullable=False),
        sa.Column("kind", NAME, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_job_id", "events", ["job_id", "id"])
    op.create_index("ix_events_queue_job_set_id", "events", ["queue", "job_set", "id"])
    op.create_table(
        "late_reports",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("run_id", NAME, nullable=False),
        sa.Column("job_id", NAME, nullable=False),
        sa.Column("executor", NAME, nullable=False),
        sa.Column("kind", NAME, nullable=False),
        sa.Column("why", NAME, nullable=False),
        sa.Column("reported_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_late_reports"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_late_reports_run_id", "late_reports", ["run_id"])


def _executors() -> None:
    op.create_table(
        "executors",
        sa.Column("executor", NAME, nullable=False),
        sa.Column("last_epoch", sa.BigInteger(), nullable=False),
        sa.Column("pool", NAME, nullable=False),
        sa.Column("journal", NAME, nullable=False),
        sa.Column("capabilities", sa.Text(), nullable=False),
        sa.Column("node_id_label", NAME, nullable=False),
        sa.Column("cordoned", sa.Boolean(), nullable=False),
        sa.Column("decommissioned", sa.Boolean(), nullable=False),
        sa.Column("last_seen_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("runs_expired_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("executor", name="pk_executors"),
    )
    op.create_table(
        "executor_nodes",
        sa.Column("executor", NAME, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("executor", "name", name="pk_executor_nodes"),
    )
    op.create_table(
        "report_marks",
        sa.Column("executor", NAME, nullable=False),
        sa.Column("journal", NAME, nullable=False),
        sa.Column("have", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("executor", "journal", name="pk_report_marks"),
    )
