"""Chance by name: each purpose draws from a stream of its own, so that leaving one out shifts no other."""

import random


class Streams:
    """Random streams of one seed, made when first asked for.

    A stream's name says who draws for what, as `net/E1>sched`. Taking away a fault, a job or a link takes away its
    stream and leaves all other draws as they were; that is what lets a failing history be shrunk.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[str, random.Random] = {}

    def of(self, name: str) -> random.Random:
        """The stream of that name; seeded by text, so that it is the same in every interpreter."""
        stream = self._streams.get(name)
        if stream is None:
            stream = self._streams[name] = random.Random(f"{self.seed}|{name}")
        return stream
