"""The simulated transports keep the link's promises: who speaks is known, and a dead connection takes no frame."""

import anyio

from refloat_common.core.link.frames import Channel
from refloat_common.core.link.transport import Arrival, ClientTransport, ServerTransport
from testkit.virtual.run import World, run_virtual
from testkit.world.link import SimClientTransport, SimServerTransport
from testkit.world.network import SimNetwork


def test_frames_go_both_ways_and_name_their_speaker() -> None:
    async def scenario(world: World) -> list[object]:
        network = SimNetwork(world)
        log: list[object] = []

        async def host() -> None:
            server: ServerTransport = SimServerTransport(network)
            while True:
                arrival = await server.receive()
                log.append(arrival)
                log.append(await server.send(arrival.channel, arrival.peer, b"back " + arrival.frame))

        async def executor() -> None:
            client: ClientTransport = SimClientTransport(network, "host")
            log.append(await client.send(Channel.REPORTS, b"report"))
            log.append(await client.receive())

        world.loop.start_process("host", host)
        await anyio.sleep(0.1)
        world.loop.start_process("E1", executor)
        await anyio.sleep(1)
        return log

    assert run_virtual(scenario) == [
        True,
        Arrival(Channel.REPORTS, b"E1#0#0", "E1", b"report"),
        True,
        (Channel.REPORTS, b"back report"),
    ]


def test_nothing_is_taken_for_an_end_that_is_not_there_or_not_there_any_more() -> None:
    async def scenario(world: World) -> list[object]:
        network = SimNetwork(world)
        log: list[object] = []

        async def host() -> None:
            server = SimServerTransport(network)
            arrival = await server.receive()
            await anyio.sleep(1)
            log.append(await server.send(arrival.channel, arrival.peer, b"late"))
            await anyio.sleep_forever()

        async def executor() -> None:
            client = SimClientTransport(network, "host")
            log.append(await client.send(Channel.CONTROL, b"hello"))
            log.append(await client.receive())

        lonely = world.loop.start_process("E2", executor)
        await anyio.sleep(0.1)
        world.loop.kill(lonely)
        world.loop.start_process("host", host)
        await anyio.sleep(0.1)
        first = world.loop.start_process("E1", executor)
        await anyio.sleep(0.5)
        world.loop.kill(first)
        world.loop.start_process("E1", executor)
        await anyio.sleep(10)
        return log

    # The host's late answer was taken by the network, but for the dead incarnation, so nobody ever received it.
    assert run_virtual(scenario) == [False, True, True, True]


def test_a_revoked_key_speaks_for_nobody() -> None:
    async def scenario(world: World) -> list[str | None]:
        network = SimNetwork(world)
        speakers: list[str | None] = []

        async def host() -> None:
            server = SimServerTransport(network)
            server.revoked.add("E1")
            speakers.append((await server.receive()).executor)

        async def executor() -> None:
            await SimClientTransport(network, "host").send(Channel.CONTROL, b"hello")

        world.loop.start_process("host", host)
        await anyio.sleep(0.1)
        world.loop.start_process("E1", executor)
        await anyio.sleep(1)
        return speakers

    assert run_virtual(scenario) == [""]
