"""The demo on a real node, `make node-demo [ARGS=…]`: jobs fail in earnest, and the executor is killed on the way."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

import yaml

from refloat_cli.demo.command import add_common_arguments, show
from refloat_cli.demo.scenario import Scenario
from refloat_cli.demo.stage import Clusters, Play, Stage
from refloat_common.core.settings import merge_trees, parse_settings
from refloat_fakekube.kubelet.client import Access
from testkit.live.node_jobs import POLICY, QUEUE, NodeJob, node_jobs
from testkit.live.product import NAMESPACE
from testkit.real_kube import RealNode, node_unavailable

NODE = "real1"
LIMIT_S = 150.0
MAX_ROUNDS = 5


def main(words: Sequence[str] | None = None) -> int:
    """0 if every job ended as its script says; 1 if not, or if a part did not run; 2 for wrong usage."""
    args = arguments(words)
    if reason := node_unavailable():
        sys.stderr.write(f"node-demo: {reason}\n")
        return 1
    sys.stderr.write("starting etcd, kube-apiserver, scheduler, controller manager, containerd and kubelet\n")
    with RealNode([NODE]) as cluster:
        return play_on(cluster, args)


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(prog="node-demo", description=__doc__)
    parser.add_argument("--rounds", type=int, choices=range(1, MAX_ROUNDS + 1), default=1, help="of every job")
    add_common_arguments(parser, "runs-out-of-memory-1")
    return parser.parse_args(words)


def play_on(cluster: RealNode, args: argparse.Namespace) -> int:
    """Play it on a running cluster; the exit code as of `main`."""
    play = Play(_scenario(), _planned(cluster, args.rounds), 1, 0, args.explain, LIMIT_S)
    return show(play, args, _on(cluster))


def _scenario() -> Scenario:
    """Policies and queues; the jobs are not those of a scenario file."""
    nothing = {"name": "none", "queue": QUEUE, "jobs": [{"expect": {"state": "succeeded"}}]}
    queues = [{"name": QUEUE, "policy": POLICY["name"]}]
    return parse_settings(Scenario, {"policies": [POLICY], "queues": queues, "kinds": [nothing]})


def _planned(cluster: RealNode, rounds: int) -> list[NodeJob]:
    """Every job so many times, but for those that another one must run before."""
    node = cluster.api.admin.get(f"/api/v1/nodes/{NODE}").ok()
    jobs = [job for job in node_jobs(NODE, float(node["status"]["allocatable"]["cpu"])) if not job.after]
    return [replace(job, name=f"{job.name}-{number}") for number in range(1, rounds + 1) for job in jobs]


def _on(cluster: RealNode) -> Clusters:
    """The real node as the demo's only cluster."""

    async def real_cluster(stage: Stage) -> Sequence[Access]:
        [name] = stage.layout.clusters
        stage.layout.kubeconfig(name).write_text(cluster.api.kubeconfig().read_text())
        config = stage.layout.executor_config(name)
        namespaces = {"kubernetes": {"namespaces": [NAMESPACE]}}
        config.write_text(yaml.safe_dump(merge_trees([yaml.safe_load(config.read_text()), namespaces])))
        return [Access(cluster.api.url, cluster.api.admin.token, str(cluster.api.ca_file))]

    return real_cluster


if __name__ == "__main__":
    sys.exit(main())
