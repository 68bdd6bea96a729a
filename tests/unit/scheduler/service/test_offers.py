"""Leases under way: sent at once, sent again until they are listed, and called off when their run has ended."""

from itertools import pairwise

import anyio

from refloat_common.core.ids import RunId
from refloat_common.core.messages import HeartbeatAck, Kill, Lease, Leases, RunStatus
from refloat_scheduler.core.model import JobState, RunState
from testkit.scheduling.desk import entry_of
from testkit.scheduling.makers import EXECUTOR, JOB, job_of, run_of
from testkit.scheduling.plugin import Play, PlayedExecutor, play

LEASED = run_of(1, RunState.LEASED, acknowledged=False, attempted=False)
LEASE = Lease(run="run-1", job=JOB, queue="queue-a", job_set="set-a", namespace="default", pod_spec=b"{}", token=1)


async def begun(p: Play) -> PlayedExecutor:
    await p.start()
    east = p.executor()
    await east.hello()
    await east.answered(free=3)
    return east


async def leased(p: Play) -> PlayedExecutor:
    """A job was leased to exec-1, and is offered."""
    east = await begun(p)
    p.host.contents.jobs[JOB] = job_of(LEASED)
    p.lease(LEASE)
    await east.hears(Leases)
    return east


def test_an_offer_is_sent_again_every_four_seconds_until_it_is_listed() -> None:
    async def scenario(p: Play) -> None:
        east = await leased(p)
        await anyio.sleep(13)
        times = [sent.at_s for sent in p.wire.sent if isinstance(sent.message, Leases)]
        assert len(times) == 4
        assert all(4 <= later - sooner <= 5.1 for sooner, later in pairwise(times))
        await east.answered("run-1")
        sent = len(east.offered())
        await anyio.sleep(20)
        assert len(east.offered()) == sent
        assert p.host.contents.jobs[JOB].runs[0].acknowledged

    play(scenario)


def test_offers_count_against_the_free_slots_until_they_are_listed() -> None:
    async def scenario(p: Play) -> None:
        east = await leased(p)
        assert (p.view().free_slots, p.view().unacknowledged) == (2, 1)
        await east.answered("run-1", free=2)
        assert (p.view().free_slots, p.view().unacknowledged) == (2, 0)

    play(scenario)


def test_a_beat_that_lists_a_run_is_answered_only_after_the_commit() -> None:
    async def scenario(p: Play) -> None:
        east = await leased(p)
        p.host.before_s = p.host.after_s = 1.0
        number = east.beat("run-1")
        await east.hears(HeartbeatAck, lambda ack: ack.n == number)
        [answer] = [s for s in p.wire.sent if isinstance(s.message, HeartbeatAck) and s.message.n == number]
        assert answer.at_s >= p.host.commits[-1] + 1.0

    play(scenario)


def test_a_beat_that_lists_a_run_is_not_answered_without_the_store() -> None:
    async def scenario(p: Play) -> None:
        east = await leased(p)
        p.host.down = True
        number = east.beat("run-1")
        plain = await east.answered()
        assert plain.busy
        assert number not in [ack.n for ack in east.heard(HeartbeatAck)]
        p.host.down = False
        assert (await east.answered("run-1")).kills == []

    play(scenario)


def test_a_run_that_ended_before_it_arrived_is_killed_with_the_answer() -> None:
    async def scenario(p: Play) -> None:
        east = await leased(p)
        p.host.contents.jobs[JOB] = job_of(run_of(1, RunState.CANCELLED), state=JobState.CANCELLED)
        assert (await east.answered("run-1")).kills == ["run-1"]

    play(scenario)


def test_a_killed_run_is_told_at_once_and_with_the_next_answer_and_offered_no_more() -> None:
    async def scenario(p: Play) -> None:
        east = await leased(p)
        p.plugin.kill(EXECUTOR, [RunId("run-1")], "cancelled by somebody")
        order = await east.hears(Kill)
        assert (order.runs, order.reason) == (["run-1"], "cancelled by somebody")
        assert (await east.answered()).kills == ["run-1"]
        assert (await east.answered()).kills == []
        sent = len(east.offered())
        await anyio.sleep(10)
        assert (len(east.offered()), p.view().unacknowledged) == (sent, 0)

    play(scenario)


def test_after_a_restart_leases_that_did_not_arrive_are_offered_from_the_store() -> None:
    async def scenario(p: Play) -> None:
        east = await leased(p)
        p.kill()
        await p.start()
        await east.hello()
        await east.hears(Leases)
        assert east.offered() == ["run-1"]
        assert p.view().unacknowledged == 1

    play(scenario)


def test_a_lease_that_the_executor_has_is_not_offered_after_a_restart() -> None:
    async def scenario(p: Play) -> None:
        east = await leased(p)
        p.kill()
        await p.start()
        await east.hello(entry_of("run-1", RunStatus.ACCEPTED))
        await anyio.sleep(10)
        assert east.offered() == []

    play(scenario)


def test_a_full_list_that_lacks_a_lease_brings_it_again() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        p.host.contents.jobs[JOB] = job_of(LEASED)
        await east.answered(runs=[])
        assert (await east.hears(Leases)).leases[0].run == "run-1"

    play(scenario)


def test_too_many_unacknowledged_leases_stop_new_ones() -> None:
    async def scenario(p: Play) -> None:
        await leased(p)
        assert (p.view().may_lease, p.view().why_not) == (False, "too many unacknowledged leases")

    play(scenario, {"scheduling": {"maxUnacknowledgedJobsPerExecutor": 1}})


def test_an_executor_that_took_leave_has_no_room() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        assert p.view().free_slots == 3
        east.bye()
        await p.until(lambda: p.view().free_slots == 0)

    play(scenario)


def test_the_store_may_go_away_between_the_welcome_and_the_offers() -> None:
    async def scenario(p: Play) -> None:
        east = await leased(p)
        p.kill()
        await p.start()
        p.host.fails_on = "_page"
        await east.hello()
        await anyio.sleep(1)
        assert east.offered() == []
        p.host.fails_on = ""
        await east.answered(runs=[])
        await east.hears(Leases)

    play(scenario)


def test_a_beat_of_an_older_session_is_not_answered() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        await east.hello()
        answers = len(east.heard(HeartbeatAck))
        east.epoch -= 1
        east.beat()
        await anyio.sleep(1)
        assert len(east.heard(HeartbeatAck)) == answers

    play(scenario)
