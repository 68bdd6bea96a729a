"""Whether the scheduler's own doors answer: asked where all of a few executors are silent at once."""

import socket

import pytest

from refloat_common.adapters.zmq_link.gate import Outcome, plain_probe
from refloat_common.adapters.zmq_link.keys import new_secret
from refloat_common.adapters.zmq_link.server import ServerKeys, serve
from refloat_common.core.link.transport import SelfProbing

pytestmark = pytest.mark.anyio
ANY = "tcp://127.0.0.1:0"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class NoKeys:
    """Nobody but the gate itself may speak."""

    def executor_of(self, public_key: str) -> str:
        del public_key
        return ""

    def refresh(self) -> bool:
        return False


@pytest.mark.parametrize("secure", [False, True])
async def test_the_doors_of_a_link_answer_from_here(*, secure: bool) -> None:
    keys = ServerKeys(new_secret(), NoKeys()) if secure else None
    async with serve(ANY, ANY, keys, print) as server:
        assert isinstance(server, SelfProbing)
        assert await server.reachable()


async def test_an_address_where_nobody_listens_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refloat_common.adapters.zmq_link.gate.PROBE_S", 0.2)
    # Bound and not listening: nobody else can have the port meanwhile.
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        assert await plain_probe(f"tcp://127.0.0.1:{held.getsockname()[1]}") is Outcome.NO_ANSWER
