"""A process that writes to a store until it is killed, for tests of what is left: `python -m testkit.host.killed`.

It prints the number of each transaction once it is committed. Called with a second argument, it stops in the middle
of that transaction, prints `torn`, and waits to be killed.
"""

import sys
import time

from refloat_common.core.ids import ExecutorId, JobId, JournalId
from refloat_host.adapters.store.database import Done
from refloat_host.adapters.store.opening import open_store
from refloat_host.adapters.store.queries.jobs import add_jobs
from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_scheduler.core.effects import EventsAppended, HighWaterMoved
from refloat_scheduler.core.events import JobQueued
from refloat_scheduler.core.model import Job
from testkit.host.stores import take_over

EXECUTOR, JOURNAL = ExecutorId("e"), JournalId("j")


def write(tx: SqlTransaction, number: int) -> None:
    """One transaction: a job, its event, and the mark that counts it."""
    job_id = JobId(f"job-{number:06}")
    add_jobs(tx.connection, [(Job(job_id=job_id, queue="q", job_set="s"), "{}", "")])
    queued = JobQueued(job_id=job_id, job_set_id="s", queue="q", created_ms=number)
    tx.apply([EventsAppended((queued,)), HighWaterMoved(EXECUTOR, JOURNAL, number)])


def main(url: str, torn_at: int) -> None:
    """Write for ever, or up to the torn transaction."""
    database = take_over(open_store(url))
    number = database.read(lambda tx: tx.high_water(EXECUTOR, JOURNAL))
    while True:
        number += 1

        def work(tx: SqlTransaction, number: int = number) -> None:
            write(tx, number)
            if number == torn_at:
                sys.stdout.write("torn\n")
                sys.stdout.flush()
                time.sleep(60)

        assert database.execute([work])[0] == [Done(None)]
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
