"""Messages are late, lost, doubled or overtaken as the weather says, and each wire has its own chance."""

from collections.abc import Callable

import anyio
import pytest

from testkit.virtual.run import World, run_virtual
from testkit.world.network import SimNetwork, Weather

MESSAGES = 200


def _talk(weather: Weather, seed: int = 1, before: Callable[[SimNetwork], None] = lambda _: None) -> list[int]:
    """What E1's numbered messages look like when they reach the host."""
    got: list[int] = []

    async def scenario(world: World) -> None:
        network = SimNetwork(world, weather)
        before(network)

        async def host() -> None:
            network.listen("host", lambda _, frames: got.append(int(frames[0])))
            await anyio.sleep_forever()

        async def executor() -> None:
            for number in range(MESSAGES):
                network.send("E1", "host", (str(number).encode(),))

        world.loop.start_process("host", host)
        await anyio.sleep(0.001)
        world.loop.start_process("E1", executor)
        await anyio.sleep(10)

    run_virtual(scenario, seed=seed)
    return got


def test_a_fair_wire_delivers_all_in_order() -> None:
    assert _talk(Weather()) == list(range(MESSAGES))


@pytest.mark.parametrize(
    ("weather", "holds"),
    [
        (Weather(drop=0.3), lambda got: 100 < len(got) < 180 and got == sorted(set(got))),
        (Weather(duplicate=0.3), lambda got: 220 < len(got) < 300 and set(got) == set(range(MESSAGES))),
        (Weather(overtake=0.3), lambda got: sorted(got) == list(range(MESSAGES)) != got),
    ],
)
def test_bad_weather_does_what_it_says(weather: Weather, holds: Callable[[list[int]], bool]) -> None:
    got = _talk(weather)
    assert holds(got)
    assert got == _talk(weather)
    assert got != _talk(weather, seed=2)


def test_a_cut_wire_carries_nothing_and_other_wires_draw_as_before() -> None:
    def draw_elsewhere(network: SimNetwork) -> None:
        network._world.streams.of("net/E2>host").random()

    assert _talk(Weather(), before=lambda network: network.cut("E1", "host")) == []
    assert _talk(Weather(drop=0.5), before=draw_elsewhere) == _talk(Weather(drop=0.5))


def test_what_was_sent_outlives_its_sender_but_not_its_receiver() -> None:
    got: list[str] = []

    async def scenario(world: World) -> tuple[int, int]:
        network = SimNetwork(world, Weather(delay_s=(1.0, 1.0)))

        async def listen() -> None:
            network.listen("host", lambda source, _: got.append(source))
            await anyio.sleep_forever()

        async def send() -> None:
            network.send("E1", "host", (b"x",))
            await anyio.sleep_forever()

        host = world.loop.start_process("host", listen)
        sender = world.loop.start_process("E1", send)
        await anyio.sleep(0.5)
        world.loop.kill(sender)
        await anyio.sleep(1)
        world.loop.start_process("E1", send)
        await anyio.sleep(0.5)
        world.loop.kill(host)
        await anyio.sleep(1)
        assert not network.reachable("E1", "host")
        return network.delivered, network.lost

    assert run_virtual(scenario) == (1, 1)
    assert got == ["E1"]
