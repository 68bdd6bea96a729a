"""The queues on both sides of a socket: bounded for each peer, and fair among them."""

import anyio
import pytest
import zmq
import zmq.asyncio

from refloat_common.adapters.zmq_link import inbox as inboxes
from refloat_common.adapters.zmq_link import outbox as outboxes
from refloat_common.adapters.zmq_link.inbox import Inbox
from refloat_common.adapters.zmq_link.outbox import Outboxes

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_peers_take_turns() -> None:
    inbox: Inbox[str] = Inbox()
    for item in ("a1", "a2", "a3", "b1", "c1", "c2"):
        inbox.put(item[:1].encode(), item, 1)
    assert [await inbox.get() for _ in range(6)] == ["a1", "b1", "c1", "a2", "c2", "a3"]


async def test_one_peer_can_fill_its_own_share_only() -> None:
    inbox: Inbox[int] = Inbox()
    for i in range(inboxes.MAX_FRAMES_PER_PEER + 10):
        inbox.put(b"loud", i, 1)
    inbox.put(b"quiet", -1, 1)
    assert (len(inbox), inbox.dropped) == (inboxes.MAX_FRAMES_PER_PEER + 1, 10)
    assert [await inbox.get() for _ in range(3)] == [0, -1, 1]


async def test_bytes_count_for_each_peer_and_for_all_together() -> None:
    inbox: Inbox[int] = Inbox()
    inbox.put(b"a", 0, inboxes.MAX_BYTES_PER_PEER)
    inbox.put(b"a", 1, 1)
    assert inbox.dropped == 1
    peers = inboxes.MAX_BYTES // inboxes.MAX_BYTES_PER_PEER
    for i in range(peers):
        inbox.put(b"p%d" % i, i, inboxes.MAX_BYTES_PER_PEER)
    assert (len(inbox), inbox.dropped) == (peers, 2)
    await inbox.get()
    inbox.put(b"a", 2, 1)
    assert inbox.dropped == 2


async def test_a_receiver_that_waits_is_woken_and_one_that_is_cancelled_takes_nothing() -> None:
    inbox: Inbox[str] = Inbox()
    with anyio.move_on_after(0):
        await inbox.get()
    inbox.put(b"a", "kept", 1)
    assert await inbox.get() == "kept"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_put_soon, inbox)
        assert await inbox.get() == "late"


async def _put_soon(inbox: Inbox[str]) -> None:
    await anyio.lowlevel.checkpoint()
    inbox.put(b"a", "late", 1)


class FakeRouter:
    """A socket that can be full for some peers, and has lost others."""

    def __init__(self) -> None:
        self.full: set[bytes] = set()
        self.gone: set[bytes] = set()
        self.sent: list[list[bytes]] = []

    async def send_multipart(self, parts: list[bytes], flags: int) -> None:
        assert flags == zmq.NOBLOCK
        if parts[0] in self.gone:
            raise zmq.ZMQError(zmq.EHOSTUNREACH)
        if parts[0] in self.full:
            raise zmq.Again
        self.sent.append(parts)


def boxes() -> tuple[FakeRouter, Outboxes]:
    router = FakeRouter()
    return router, Outboxes(router)  # type: ignore[arg-type]  # all that is used of a socket


async def test_what_a_slow_peer_cannot_take_waits_in_order_and_holds_nobody_up() -> None:
    router, out = boxes()
    router.full.add(b"slow")
    assert [await out.send(b"slow", frame) for frame in (b"1", b"2")] == [True, True]
    assert await out.send(b"fast", b"x")
    await out.flush()
    router.full.clear()
    assert await out.send(b"slow", b"3")
    assert router.sent == [[b"fast", b"x"]]
    await out.flush()
    assert router.sent[1:] == [[b"slow", b"1"], [b"slow", b"2"], [b"slow", b"3"]]
    assert await out.send(b"slow", b"4")
    assert router.sent[-1] == [b"slow", b"4"]


async def test_a_slow_peer_has_so_much_room_and_no_more() -> None:
    router, out = boxes()
    router.full.add(b"slow")
    taken = [await out.send(b"slow", b"%d" % i) for i in range(outboxes.MAX_FRAMES_PER_PEER + 5)]
    assert taken == [True] * outboxes.MAX_FRAMES_PER_PEER + [False] * 5
    assert out.dropped == 5


async def test_so_many_slow_peers_are_kept_for_and_no_more() -> None:
    router, out = boxes()
    router.full.update(b"%d" % i for i in range(outboxes.MAX_PEERS + 1))
    taken = [await out.send(b"%d" % i, b"x") for i in range(outboxes.MAX_PEERS + 1)]
    assert taken == [True] * outboxes.MAX_PEERS + [False]


async def test_what_waits_for_a_peer_that_goes_is_dropped() -> None:
    router, out = boxes()
    router.full.add(b"slow")
    await out.send(b"slow", b"1")
    await out.send(b"slow", b"2")
    router.gone.add(b"slow")
    await out.flush()
    assert out.dropped == 2
    assert not await out.send(b"slow", b"3")
    router.gone.clear()
    router.full.clear()
    assert await out.send(b"slow", b"4")
    assert router.sent == [[b"slow", b"4"]]


async def test_any_other_error_of_the_socket_is_not_hidden() -> None:
    class Broken(FakeRouter):
        async def send_multipart(self, parts: list[bytes], flags: int) -> None:
            del parts, flags
            raise zmq.ZMQError(zmq.ENOTSOCK)

    with pytest.raises(zmq.ZMQError):
        await Outboxes(Broken()).send(b"p", b"f")  # type: ignore[arg-type]  # all that is used of a socket
