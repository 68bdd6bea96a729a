"""Rule 2: everything that a work applies commits together and durably, or nothing does."""

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from refloat_scheduler.conformance import child
from refloat_scheduler.conformance.rules.conftest import Open
from refloat_scheduler.conformance.samples import EAST, QUEUE, WEST, applied, mark, marked, queued, record, told
from refloat_scheduler.conformance.subject import Subject
from refloat_scheduler.core.effects import EventsAppended, ExecutorSaved
from refloat_scheduler.service.contract import Transaction

pytestmark = pytest.mark.anyio


class OfTheWork(Exception):  # noqa: N818  it is no error of ours
    """Raised by a work."""


async def test_a_work_that_raises_applies_nothing(subject: Subject) -> None:
    """Neither what came before the exception, nor in part."""
    [job] = await queued(subject)
    events = len(await subject.stream(QUEUE, job.job_set))

    def work(tx: Transaction) -> None:
        tx.apply([mark(1), ExecutorSaved(record()), EventsAppended((told(job, 1),))])
        raise OfTheWork

    with pytest.raises(OfTheWork):
        await subject.host.transact(work)
    assert await marked(subject) == 0
    assert await subject.host.transact(lambda tx: tx.executor_record(EAST)) is None
    assert len(await subject.stream(QUEUE, job.job_set)) == events


async def test_the_exception_of_a_work_comes_out_unchanged(subject: Subject) -> None:
    """The same object: its caller knows it."""
    raised = OfTheWork("by this work")

    def work(_tx: Transaction) -> None:
        raise raised

    with pytest.raises(OfTheWork) as caught:
        await subject.host.transact(work)
    assert caught.value is raised


async def test_one_that_raises_takes_nothing_of_the_others_with_it(subject: Subject) -> None:
    """Also where a host commits several works at once."""
    failures: list[int] = []

    async def one(number: int) -> None:
        def work(tx: Transaction) -> None:
            tx.apply([mark(number + 1, EAST if number % 2 else WEST)])
            if number % 2:
                raise OfTheWork

        try:
            await subject.host.transact(work)
        except OfTheWork:
            failures.append(number)

    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(one, number)
    assert sorted(failures) == [1, 3, 5, 7, 9]
    assert await marked(subject, EAST) == 0
    assert await marked(subject, WEST) > 0


async def test_what_is_answered_is_there_for_everybody(subject: Subject) -> None:
    """At once, and all of it."""
    await applied(subject, mark(1), ExecutorSaved(record()))
    assert await marked(subject) == 1
    assert await subject.host.transact(lambda tx: tx.executor_record(EAST)) == record()


async def test_what_is_answered_survives_a_kill(factory_name: str, again: Open, tmp_path: Path) -> None:
    """Another process commits and is killed with SIGKILL in the next moment; a power cut can't be tried here."""
    command = [sys.executable, "-m", child.__name__, factory_name, str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = await anyio.run_process(command, check=False, env=environment, stderr=subprocess.PIPE)
    assert done.returncode == -9, done.stderr.decode()
    async with again() as subject:
        assert await marked(subject) == child.SEQ
