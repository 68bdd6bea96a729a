"""On the real socket: a report that should not be believed changes nothing, and costs nobody but its sender."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import msgspec
import pytest
import zmq
import zmq.asyncio

from refloat_common.adapters.config_files import read_tree
from refloat_common.adapters.zmq_link.client import ClientKeys, connect
from refloat_common.adapters.zmq_link.gate import Gate, Outcome, probe
from refloat_common.adapters.zmq_link.keys import KeyBook, Secret, read_secret
from refloat_common.adapters.zmq_link.options import EndpointRefusedError, new_socket
from refloat_common.adapters.zmq_link.server import ServerKeys, ZmqServer, serve
from refloat_common.core.ids import ExecutorId
from refloat_common.core.link.frames import HEADER, Channel, MessageType, encode
from refloat_common.core.messages import MAX_FRAME_BYTES, Ack, Refused, Report, ReportKind, Reports, Stale
from refloat_scheduler.core.model import JobState, RunState
from testkit.link.real import ANYWHERE, Keys, Running, Speaker, plain_dealer, plugin, speaker, stranger
from testkit.scheduling.makers import JOB, job_of, report_of, run_of
from testkit.scheduling.memory import MemoryHost

pytestmark = pytest.mark.anyio
HONEST, OTHER = "exec-1", "exec-2"
RUNNING = report_of(ReportKind.RUNNING)
SUCCEEDED = report_of(ReportKind.SUCCEEDED)
C, R = Channel.CONTROL, Channel.REPORTS


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Scene:
    """The plugin, a job whose run is on the honest executor, that executor with an open session, and a second one."""

    keys: Keys
    running: Running
    honest: Speaker
    other: Speaker
    other_secret: Secret

    async def honest_still_works(self, first_seq: int = 1) -> None:
        """The honest executor's heartbeat is answered, and its reports are applied and acknowledged."""
        await self.honest.beat()
        await self.honest.acknowledged(first_seq, SUCCEEDED)
        assert self.running.host.contents.jobs[JOB].state is JobState.SUCCEEDED


@asynccontextmanager
async def scene(folder: Path) -> AsyncIterator[Scene]:
    keys, host = Keys(folder), MemoryHost()
    host.contents.jobs[JOB] = job_of(run_of(1, RunState.LEASED, executor=ExecutorId(HONEST)))
    secrets = {name: keys.add(name) for name in (HONEST, OTHER)}
    async with (
        plugin(keys, host) as running,
        speaker(keys, running.endpoints, HONEST, secrets[HONEST]) as honest,
        speaker(keys, running.endpoints, OTHER, secrets[OTHER]) as other,
    ):
        await honest.hello()
        await other.hello()
        yield Scene(keys, running, honest, other, secrets[OTHER])


async def test_a_report_with_a_wrong_key_does_not_arrive(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        before = it.running.state()
        secret = stranger()
        with zmq.asyncio.Context() as context:
            for endpoint in it.running.endpoints.values():
                assert await probe(context, endpoint, it.keys.server_public, secret) is Outcome.REFUSED
        async with connect(
            it.running.endpoints[C], it.running.endpoints[R], ClientKeys(secret, it.keys.server_public)
        ) as client:
            assert not await client.send(R, encode(it.honest.batch(1, SUCCEEDED)))
            assert it.running.state() == before
        await it.honest_still_works()


async def test_a_client_that_expects_another_scheduler_does_not_get_in(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        with zmq.asyncio.Context() as context:
            outcome = await probe(context, it.running.endpoints[R], stranger().public(), it.other_secret)
        assert outcome is not Outcome.ADMITTED
        await it.honest_still_works()


async def test_a_client_without_a_key_does_not_get_in(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        before = it.running.state()
        for endpoint in it.running.endpoints.values():
            async with plain_dealer(endpoint) as socket:
                with pytest.raises(zmq.Again):
                    await socket.send(encode(it.honest.batch(1, SUCCEEDED)), flags=zmq.NOBLOCK)
        assert it.running.state() == before
        await it.honest_still_works()


async def test_a_hello_with_another_executors_id_is_refused(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        before = it.running.state()
        await it.other.say(C, it.honest.greeting().model_copy(update={"boot": "evil", "attempt": 99}))
        refused = await it.other.hears(Refused)
        assert (refused.code, refused.detail) == ("identity", "this key does not speak for exec-1")
        assert it.running.state() == before
        await it.honest_still_works()


async def test_a_report_with_another_executors_epoch_and_journal_changes_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        before = it.running.state()
        stolen = Reports(it.honest.epoch, it.honest.journal, 1, [SUCCEEDED])
        await it.other.say(R, msgspec.structs.replace(stolen, journal="journal-of-honest"))
        assert (await it.other.hears(Refused)).code == "journal"
        await it.other.say(R, msgspec.structs.replace(stolen, epoch=it.honest.epoch + 5))
        assert (await it.other.hears(Stale)).reason == "unknown"
        assert it.running.state() == before
        await it.honest_still_works()


async def test_a_report_about_another_executors_run_is_acknowledged_and_changes_no_job(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        jobs, events = dict(it.running.host.contents.jobs), list(it.running.host.contents.events)
        await it.other.acknowledged(1, SUCCEEDED)
        assert it.running.host.contents.jobs == jobs
        assert it.running.host.contents.events == events
        assert it.running.host.contents.verdicts == {}
        await it.honest_still_works()


async def test_another_executors_routing_id_gives_nothing_of_its_identity(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        before = it.running.state()
        with zmq.asyncio.Context() as context:
            socket = new_socket(context, zmq.DEALER, it.running.endpoints[C])
            socket.setsockopt(zmq.ROUTING_ID, HONEST.encode())
            socket.setsockopt(zmq.CURVE_SERVERKEY, it.keys.server_public)
            socket.setsockopt(zmq.CURVE_PUBLICKEY, it.other_secret.public())
            socket.setsockopt(zmq.CURVE_SECRETKEY, it.other_secret.reveal())
            socket.connect(it.running.endpoints[C])
            hello = it.honest.greeting().model_copy(update={"boot": "evil", "attempt": 99})
            await socket.send(encode(hello))
            with anyio.fail_after(8):
                answer = await socket.recv_multipart()
            assert answer[0][1] == MessageType.REFUSED
            socket.close(linger=0)
        assert it.running.state() == before
        await it.honest_still_works()


async def test_a_replayed_report_is_acknowledged_again_and_changes_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        await it.honest.acknowledged(1, RUNNING)
        before = it.running.state()
        for _ in range(20):
            await it.honest.say(R, it.honest.batch(1, RUNNING))
        with anyio.fail_after(8):
            while len([message for message in it.honest.got if isinstance(message, Ack)]) < 21:  # noqa: ASYNC110  counted
                await anyio.sleep(0.005)
        assert it.running.state() == before
        await it.honest_still_works(first_seq=2)


async def test_a_report_out_of_order_is_dropped_until_the_missing_one_came(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        before = it.running.state()
        await it.honest.say(R, it.honest.batch(2, SUCCEEDED))
        assert (await it.honest.hears(Ack)).have == 0
        assert it.running.state() == before
        await it.honest.acknowledged(1, RUNNING)
        assert it.running.host.contents.jobs[JOB].state is JobState.LEASED
        await it.honest_still_works(first_seq=2)


async def test_a_report_of_an_earlier_session_changes_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        old = it.honest.batch(1, SUCCEEDED)
        await it.honest.hello()
        before = it.running.state()
        await it.honest.say(R, old)
        assert (await it.honest.hears(Stale)).epoch == old.epoch
        assert it.running.state() == before
        await it.honest_still_works()


@pytest.mark.parametrize(
    ("reports", "detail"),
    [
        ([RUNNING] * 257, "Expected `array` of length <= 256 - at `$.reports`"),
        (
            [report_of(ReportKind.FAILED, message="x" * 4097)],
            "Expected `str` of length <= 4096 - at `$.reports[0].message`",
        ),
        ([report_of(ReportKind.RUNNING, run="r" * 129)], "Expected `str` of length <= 128 - at `$.reports[0].run`"),
    ],
    ids=["too many", "too long a message", "too long an id"],
)
async def test_a_report_over_a_limit_is_refused_by_name(tmp_path: Path, reports: list[Report], detail: str) -> None:
    async with scene(tmp_path) as it:
        before = it.running.state()
        await it.other.say(R, Reports(it.other.epoch, it.other.journal, 1, reports))
        refused = await it.other.hears(Refused)
        assert (refused.code, refused.detail) == ("invalid", detail)
        assert it.running.state() == before
        await it.honest_still_works()


async def test_a_frame_over_the_limit_costs_its_sender_the_connection(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        before = it.running.state()
        await it.other.say(R, HEADER.pack(1, MessageType.REPORTS, 0, 0) + bytes(2 * MAX_FRAME_BYTES))
        await it.honest_still_works()
        unchanged = it.running.state()
        assert unchanged != before
        await it.other.acknowledged(1, report_of(ReportKind.RUNNING, run="run-9", job="job-9"))
        assert [text for level, text in it.running.log if level == "error"] == []


async def test_garbage_mutes_its_connection_and_no_other(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        before = it.running.state()
        for _ in range(200):
            await it.other.say(C, b"\x01\x03\x00\x00\x00\x00\x00\x00\xc1")
        await it.honest.beat()
        refusals = [message for message in it.other.got if isinstance(message, Refused)]
        assert len(refusals) <= 16
        assert it.running.state() == before
        await it.honest_still_works()


async def test_a_key_that_is_taken_off_the_list_speaks_for_nobody_without_a_restart(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        before = it.running.state()
        it.keys.revoke(OTHER)
        with anyio.fail_after(8):
            while not any(isinstance(message, Stale) for message in it.other.got):
                it.other.beats += 1
                await it.other.say(C, it.other.heartbeat())
                await anyio.sleep(0.05)
        assert (await it.other.hears(Stale)).reason == "revoked"
        await it.other.say(R, it.other.batch(1, SUCCEEDED))
        assert it.running.state() == before
        await it.honest_still_works()


async def test_after_a_restart_on_the_same_address_everybody_is_asked_for_a_hello(tmp_path: Path) -> None:
    keys, host = Keys(tmp_path), MemoryHost()
    host.contents.jobs[JOB] = job_of(run_of(1, RunState.LEASED, executor=ExecutorId(HONEST)))
    secret = keys.add(HONEST)
    async with plugin(keys, host) as first:
        at = first.endpoints
    async with speaker(keys, at, HONEST, secret) as honest:
        async with plugin(keys, host, at):
            await honest.hello()
            epoch = honest.epoch
        async with plugin(keys, host, at):
            honest.beats += 1
            await honest.say(C, honest.heartbeat())
            assert (await honest.hears(Stale)).reason == "restarted"
            await honest.hello()
            assert honest.epoch > epoch
            await honest.acknowledged(1, SUCCEEDED)
            assert host.contents.jobs[JOB].state is JobState.SUCCEEDED


@asynccontextmanager
async def bare_server(keys: Keys) -> AsyncIterator[tuple[ZmqServer, Gate]]:
    """The listening sockets alone, and their gate."""
    book = KeyBook(keys.folder / "executors.yaml", read_tree)
    own = ServerKeys(read_secret(keys.folder / "scheduler.secret"), book)
    async with serve(ANYWHERE, ANYWHERE, own, lambda _: None) as server:
        gate = server._gate
        assert gate is not None
        yield server, gate


async def test_when_the_authenticator_is_stopped_nobody_gets_in(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    secret = keys.add(HONEST)
    async with bare_server(keys) as (server, gate), speaker(keys, server.endpoints, HONEST, secret) as inside:
        await inside.say(C, b"before")
        assert (await server.receive()).executor == HONEST
        gate.stop()
        with zmq.asyncio.Context() as context:
            for key in (secret, stranger()):
                outcome = await probe(context, server.endpoints[C], keys.server_public, key, within_s=1.0)
                assert outcome is not Outcome.ADMITTED
        await inside.say(C, b"after")
        assert (await server.receive()).frame == b"after"


async def test_a_dead_authenticator_is_noticed_and_started_again(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    secret = keys.add(HONEST)
    async with bare_server(keys) as (server, gate):
        gate.stop()
        await server.try_gate(gate, keys.server_public, server.endpoints[C], within_s=1.0)
        assert server.statistics().gate_restarts == 1
        with zmq.asyncio.Context() as context:
            assert await probe(context, server.endpoints[C], keys.server_public, secret) is Outcome.ADMITTED


@pytest.mark.parametrize(
    "endpoint", ["tcp://0.0.0.0:0", "tcp://*:0", "tcp://[::]:0", "tcp://10.1.2.3:5000", "tcp://localhost:5000"]
)
async def test_an_insecure_link_is_refused_off_loopback(endpoint: str) -> None:
    reason = "an insecure link is allowed on loopback only"
    for control, reports in ((endpoint, ANYWHERE), (ANYWHERE, endpoint)):
        with pytest.raises(EndpointRefusedError, match=reason):
            async with serve(control, reports, None, lambda _: None):
                pass
        with pytest.raises(EndpointRefusedError, match=reason):
            async with connect(control, reports, None):
                pass


@pytest.mark.parametrize("endpoint", ["ipc:///tmp/x", "tcp://", "tcp://host", "127.0.0.1:5000", "tcp://host:port"])
async def test_an_address_that_is_none_is_refused(endpoint: str) -> None:
    with pytest.raises(EndpointRefusedError, match="the link needs tcp://HOST:PORT"):
        async with connect(endpoint, ANYWHERE, ClientKeys(stranger(), stranger().public())):
            pass


async def test_an_insecure_link_on_loopback_carries_frames_of_nobody_in_particular() -> None:
    async with (
        serve(ANYWHERE, ANYWHERE, None, lambda _: None) as server,
        connect(server.endpoints[C], server.endpoints[R], None) as client,
    ):
        with anyio.fail_after(8):
            while not await client.send(R, b"frame"):  # noqa: ASYNC110  nothing tells of a connection
                await anyio.sleep(0.01)
        arrival = await server.receive()
        assert (arrival.channel, arrival.executor, arrival.frame) == (R, None, b"frame")
        assert await server.send(R, arrival.peer, b"answer")
        assert await client.receive() == (R, b"answer")
        assert not await server.send(R, b"nobody", b"answer")
