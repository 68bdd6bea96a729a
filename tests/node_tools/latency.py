"""Measures on a real node how long the stages of a retry take: `make node-latency [OUT=FILE] [ARGS="--retries N"]`."""

import argparse
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import grpc
from armada_client.armada import event_pb2, event_pb2_grpc

from node_tools.stages import TARGET_MAX_S, TARGET_MEDIAN_S, Moments, on_target, summary, table
from refloat_cli.demo.books import JOB_SET
from refloat_common.core.ids import JobId, pod_name
from testkit.live.onlooker import Onlooker, looking_on
from testkit.live.product import NAMESPACE, Json, NotSeenError, Product, Setup
from testkit.real_kube import IMAGE, RealNode, node_unavailable

QUEUE = "q"
POLICY: Json = {"name": "once", "retryLimit": 1, "defaultAction": "Retry", "rules": []}
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 3.0
"""Between two jobs: they fall on every moment of whatever ticks."""
END_S = 60.0
LOST_PEER = "echo 'NCCL ERROR: collective operation timeout' >/dev/termination-log; exit 1"
"""Fails in a category of the shipped rules whose pods are deleted."""


@dataclass(slots=True)
class Listener:
    """A client of the host's event stream: what it was told of each job, and when."""

    told: dict[str, list[tuple[float, str]]] = field(default_factory=dict)

    def listen(self, channel: grpc.Channel) -> None:
        """Listen until the channel closes."""
        request = event_pb2.JobSetRequest(id=JOB_SET, queue=QUEUE, watch=True)
        try:
            for message in event_pb2_grpc.EventStub(channel).GetJobSetEvents(request):
                kind = message.message.WhichOneof("events")
                job = getattr(message.message, kind).job_id
                self.told.setdefault(job, []).append((time.time(), kind))
        except grpc.RpcError:
            return

    def times(self, job: JobId, kind: str) -> list[float]:
        """When events of this kind came."""
        return [at_s for at_s, told in self.told.get(job, ()) if told == kind]


def measure(product: Product, onlooker: Onlooker, listener: Listener, retries: int) -> list[Moments]:
    """Let so many jobs fail, one after another, and see each retried once."""
    chance = random.Random(1)
    jobs = []
    for number in range(retries):
        jobs += product.submit(_pod())
        _show(number + 1, retries)
        time.sleep(chance.uniform(SHORTEST_PAUSE_S, LONGEST_PAUSE_S))
        product.crew.check()
    product.until_over(jobs, END_S)
    product.until(lambda: all(len(listener.times(job, "failed")) == 2 for job in jobs), END_S, "all was told")
    trace = product.log()
    return [_moments(job, onlooker, listener, trace) for job in jobs]


def _pod() -> Json:
    amounts = {"cpu": "10m", "memory": "16Mi"}
    container = {
        "name": "main",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "command": ["sh", "-c", LOST_PEER],
        "resources": {"requests": amounts, "limits": {"memory": "16Mi"}},
    }
    return {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}


def _moments(job: JobId, onlooker: Onlooker, listener: Listener, trace: Sequence[Json]) -> Moments:
    first, second = onlooker.uids(pod_name(job))
    failed, deleted = onlooker.first(first, phase="Failed"), onlooker.first(first, "DELETED")
    created = onlooker.first(second, "ADDED")
    if failed is None or deleted is None or created is None:
        raise NotSeenError(f"the pods of job {job}", 0.0, onlooker.of(pod_name(job)))
    [gone] = [line for line in trace if line["message"] == "pod.gone" and line["uid"] == first]
    [synced] = [line for line in trace if _is_failure(line) and line["run"] == gone["run"]]
    [sent] = [line for line in trace if line["message"] == "rep.sent" and line["seq"] == synced["seq"]]
    return Moments(
        failed=failed.at_s,
        deleted=deleted.at_s,
        gone=_logged(gone),
        reported=_logged(sent),
        verdict=listener.times(job, "failed")[0],
        leased=listener.times(job, "leased")[1],
        created=created.at_s,
    )


def _is_failure(line: Json) -> bool:
    return bool(line["message"] == "jrn.synced" and line["report"] == "failed")


def _logged(line: Json) -> float:
    return datetime.fromisoformat(line["time"]).timestamp()


def measure_on(cluster: RealNode, folder: Path, retries: int) -> list[Moments]:
    """Start host and executor on a running cluster, in a folder that is theirs, and measure so many retries."""
    setup = Setup(policies=[POLICY], queues={QUEUE: str(POLICY["name"])})
    api, listener = cluster.api, Listener()
    with (
        looking_on(api.admin, NAMESPACE) as onlooker,
        Product(folder, api.kubeconfig(), setup) as product,
        grpc.insecure_channel(product.address) as channel,
    ):
        product.start_host()
        product.start_executor()
        thread = threading.Thread(target=listener.listen, args=(channel,), daemon=True)
        thread.start()
        moments = measure(product, onlooker, listener, retries)
    thread.join()
    return moments


def main(words: Sequence[str] | None = None) -> int:
    """0 if the target is met, 1 if not, or if it could not be measured."""
    parser = argparse.ArgumentParser(prog="node-latency", description=__doc__)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--retries", type=int, default=30, metavar="N")
    args = parser.parse_args(words)
    if reason := node_unavailable():
        sys.stderr.write(f"node-latency: {reason}\n")
        return 1
    load, processors = os.getloadavg()[0], os.cpu_count()
    with RealNode() as cluster, tempfile.TemporaryDirectory(prefix="refloat-latency-") as folder:
        retries = measure_on(cluster, Path(folder), args.retries)
    if args.out is not None:
        args.out.write_text(json.dumps(summary(retries), indent=2) + "\n")
    sys.stdout.write(f"{table(retries)}\nload average at the start {load:.1f} on {processors} processors\n")
    sys.stdout.write(f"target: median {TARGET_MEDIAN_S:g} s, max {TARGET_MAX_S:g} s: ")
    sys.stdout.write("met\n" if on_target(retries) else "MISSED\n")
    return 0 if on_target(retries) else 1


def _show(number: int, retries: int) -> None:
    """How far it is, for a person who waits."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\rretry {number} of {retries}" + "\n" * (number == retries))
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
