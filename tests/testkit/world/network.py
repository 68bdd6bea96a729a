"""The network between simulated processes: frames that are late, lost, doubled or overtaken, by chance or on order.

What was sent travels on by itself: the death of the sender takes nothing back, and what reaches a dead or deaf
address is gone. Each direction draws from its own stream, so that cutting one wire shifts nothing on the others.
"""

from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass

from testkit.virtual.process import SimProcess, current_process
from testkit.virtual.run import World

Frames = tuple[bytes, ...]
Deliver = Callable[[str, Frames], None]


@dataclass(frozen=True, slots=True)
class Weather:
    """How a wire treats each message: chances between 0 and 1, and the range of its delay in seconds.

    A message that is not overtaken arrives after those sent before it on the same wire, as on one TCP connection.
    """

    drop: float = 0.0
    duplicate: float = 0.0
    overtake: float = 0.0
    delay_s: tuple[float, float] = (0.001, 0.005)


FAIR = Weather()


@dataclass(frozen=True, slots=True)
class _Listener:
    owner: SimProcess
    deliver: Deliver


class SimNetwork:
    """All wires of a run. An address is any text; a wire is a pair of them and has one direction."""

    def __init__(self, world: World, weather: Weather = FAIR) -> None:
        self._world = world
        self._weather = weather
        self._own_weather: dict[tuple[str, str], Weather] = {}
        self._cut: set[tuple[str, str]] = set()
        self._listeners: dict[str, _Listener] = {}
        self._last_arrival_s: dict[tuple[str, str], float] = {}
        self.delivered = 0
        self.lost = 0

    def listen(self, address: str, deliver: Deliver) -> None:
        """The current process takes what arrives at `address`; `deliver(source, frames)` must not wait."""
        self._listeners[address] = _Listener(current_process(), deliver)

    def reachable(self, source: str, target: str) -> bool:
        """Whether a message from one to the other could arrive now: what a connected socket would know."""
        listener = self._listeners.get(target)
        return listener is not None and listener.owner.alive and (source, target) not in self._cut

    def send(self, source: str, target: str, frames: Frames) -> None:
        """Put a message on the wire; its fate is drawn now."""
        current_process()
        wire = (source, target)
        weather = self._own_weather.get(wire, self._weather)
        stream = self._world.streams.of(f"net/{source}>{target}")
        lost, doubled, overtakes = (stream.random() for _ in range(3))
        delays = [stream.uniform(*weather.delay_s) for _ in range(2)]
        if lost < weather.drop or wire in self._cut:
            self.lost += 1
            return
        for delay_s in delays if doubled < weather.duplicate else delays[:1]:
            self._post(wire, frames, delay_s, in_order=overtakes >= weather.overtake)

    def set_weather(self, source: str, target: str, weather: Weather) -> None:
        """Give one wire weather of its own."""
        self._own_weather[source, target] = weather

    def cut(self, source: str, target: str) -> None:
        """From now on nothing that `source` sends reaches `target`; the other direction is a wire of its own."""
        self._cut.add((source, target))

    def heal(self, source: str, target: str) -> None:
        """Undo `cut`."""
        self._cut.discard((source, target))

    def _post(self, wire: tuple[str, str], frames: Frames, delay_s: float, *, in_order: bool) -> None:
        arrival_s = self._world.loop.time() + delay_s
        if in_order:
            # Equal times would leave the order to the loop's shuffle.
            arrival_s = max(arrival_s, self._last_arrival_s.get(wire, 0.0) + 1e-6)
            self._last_arrival_s[wire] = arrival_s
        self._world.loop.call_at(arrival_s, self._arrive, wire, frames, context=Context())

    def _arrive(self, wire: tuple[str, str], frames: Frames) -> None:
        if not self.reachable(*wire):
            self.lost += 1
            return
        self.delivered += 1
        self._listeners[wire[1]].deliver(wire[0], frames)
