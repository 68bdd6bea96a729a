"""Row `watch`: 50,000 events of 9 KB pods, one in ten a new failure, from the socket to the journal's record.

Ours is the daemon's own path: HTTP stream, reflector, pod store, detectors, classification, ledger. Theirs reads lines
and decodes them into the same structs, and does nothing with them: a floor that nothing can go below.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import anyio
import msgspec

from refloat_common.core.categories import ErrorCategories, compile_categories
from refloat_common.core.pods import Pod
from refloat_common.core.settings import parse_settings
from refloat_executor.adapters.kube import Source, load_credentials, open_kube
from refloat_executor.adapters.kube.api import KubeHttp
from refloat_executor.adapters.kube.stream import HttpWatch
from refloat_executor.core.brain import Brain
from refloat_executor.core.cluster import reflector
from refloat_executor.core.cluster.reflector import Apply, EventsArrived, PageArrived, Reflector, WatchClosed
from refloat_executor.core.cluster.wire import Codec, Page, WatchEvent
from refloat_executor.core.ledger.fold import Books
from refloat_executor.core.ledger.handlers.step import Limits, Moment
from refloat_executor.core.ledger.values.entry import Entry, Progress, State
from refloat_executor.core.ledger.values.records import Judged
from refloat_executor.daemon.following import YIELD_EVERY_EVENTS

from .harness import Row, interleaved_seconds, where_time_goes
from .watch_server import EVENTS, PODS

ROUNDS = 5
MIN_RATIO = 0.7
CORPUS = Path(__file__).parents[1] / "data" / "bench" / "classify_corpus.json"
SERVER = Path(__file__).with_name("watch_server.py")
BUFFER_BYTES = 1 << 21
"""What kubernetes-asyncio gives its own session."""
YIELD_EVERY = 32


def measure() -> Row:
    """Medians of events a second."""
    with _server() as port:

        def ours() -> None:
            assert asyncio.run(_ours(port)) == PODS

        def theirs() -> None:
            assert asyncio.run(_theirs(port)) == EVENTS

        ours_s, theirs_s = interleaved_seconds(ours, theirs, ROUNDS)
        ratio = theirs_s / ours_s
        met = ratio >= MIN_RATIO
        reason = "" if met else where_time_goes(ours)
    target = f"at least {MIN_RATIO} of the events a second of a bare readline and decode"
    return Row("watch", EVENTS / ours_s, EVENTS / theirs_s, ratio, target, met, reason)


@contextlib.contextmanager
def _server() -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


async def _theirs(port: int) -> int:
    """Read and decode every line."""
    decoder = msgspec.json.Decoder(WatchEvent[Pod])
    count = 0
    async with (
        aiohttp.ClientSession(read_bufsize=BUFFER_BYTES) as session,
        session.get(f"http://127.0.0.1:{port}/api/v1/pods?watch=true") as response,
    ):
        while line := await response.content.readline():
            decoder.decode(line)
            count += 1
            if count % YIELD_EVERY == 0:
                await asyncio.sleep(0)
    return count


async def _ours(port: int) -> int:
    """Follow the pods as the daemon does; how many failures were judged."""
    brain = _brain()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kubeconfig"
        path.write_text(json.dumps(_kubeconfig(port)))
        credentials = await load_credentials(Source(str(path)))
    async with open_kube(credentials) as kube:
        return await _follow(kube, brain)


async def _follow(kube: KubeHttp, brain: Brain) -> int:
    codec = Codec(Pod)
    judged = busy = 0
    state: Reflector[Pod]
    state, _ = reflector.step(Reflector(), PageArrived(Page[Pod]()), 0.0, 0.5)
    stream = await kube.watch_pods("", "1", 300.0)
    assert isinstance(stream, HttpWatch), stream
    try:
        while True:
            block = await stream.next_block()
            if isinstance(block, WatchClosed):
                return judged
            at = Moment(asyncio.get_running_loop().time(), 0, 0.5)
            events = codec.block(block)
            state, effects = reflector.step(state, EventsArrived(events), at.now_s, at.dice)
            for effect in effects:
                assert isinstance(effect, Apply)
                brain.watched(effect.events, at)
            judged += sum(isinstance(record, Judged) for record in brain.take().records)
            busy += len(events)
            if busy >= YIELD_EVERY_EVENTS:
                busy = 0
                await anyio.lowlevel.checkpoint()
    finally:
        stream.close()


def _brain() -> Brain:
    """A brain that knows the runs, as after a restart, with the rules of the corpus."""
    rules = parse_settings(ErrorCategories, json.loads(CORPUS.read_text())["config"])
    entries = {}
    for n in range(PODS):
        run, job = f"RUN-{n:06}", f"JOB-{n:06}"
        entries[run] = Entry(
            run=run,
            job=job,
            namespace="jobs",
            name=f"armada-{job}-0",
            state=State.ACTIVE,
            uid=f"UID-{n:06}",
            progress=Progress.RUNNING,
        )
    return Brain(Books(entries=entries), Limits(), compile_categories(rules), str)


def _kubeconfig(port: int) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "bench", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "bench", "user": {}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        "current-context": "bench",
    }
