"""The fake cluster as a command: what it says, how it ends, what it refuses; with a token, with TLS, own nodes."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from testkit.fake_process import FakeProcess
from testkit.kube_api import KubeApi

NODES = "/api/v1/nodes"


def test_it_says_when_it_is_ready_and_ends_with_0() -> None:
    with FakeProcess("--nodes", "3") as running:
        config = yaml.safe_load(running.kubeconfig.read_text())
        nodes = KubeApi(running.url).get(NODES).ok()["items"]
        assert [node["metadata"]["name"] for node in nodes] == ["node-1", "node-2", "node-3"]
        assert config["clusters"][0]["cluster"] == {"server": running.url}
    assert running.code == 0
    assert not running.kubeconfig.exists()


def test_it_asks_for_its_token(tmp_path: Path) -> None:
    path = tmp_path / "config"
    with FakeProcess("--nodes", "0", "--token", "secret", "--kubeconfig", str(path)) as running:
        assert yaml.safe_load(path.read_text())["users"][0]["user"] == {"token": "secret"}
        assert KubeApi(running.url).get(NODES).refusal == (401, "Unauthorized", "Unauthorized")
        assert KubeApi(running.url, {"Authorization": "Bearer secret"}).get(NODES).code == 200


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_it_speaks_tls(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*request, *names], check=True, capture_output=True)
    with FakeProcess("--nodes", "1", "--tls-cert", str(certificate), "--tls-key", str(key)) as running:
        cluster = yaml.safe_load(running.kubeconfig.read_text())["clusters"][0]["cluster"]
        assert cluster == {"server": running.url, "certificate-authority": str(certificate)}
        nodes = KubeApi(running.url, ca_file=certificate).get(NODES).ok()["items"]
        assert [node["metadata"]["name"] for node in nodes] == ["node-1"]


def test_its_nodes_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "nodes.yaml"
    taint = {"key": "k", "effect": "NoSchedule"}
    rows = [{"name": "big", "labels": {"size": "big"}, "allocatable": {"cpu": 64}}, {"name": "odd", "taints": [taint]}]
    path.write_text(yaml.safe_dump(rows))
    with FakeProcess("--node-file", str(path), "--label", "pool=a") as running:
        big, odd = KubeApi(running.url).get(NODES).ok()["items"]
        assert (big["metadata"]["labels"]["size"], big["metadata"]["labels"]["pool"]) == ("big", "a")
        assert (big["status"]["allocatable"]["cpu"], big["spec"].get("taints")) == ("64", None)
        assert odd["spec"]["taints"] == [taint]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{}", "nodes.yaml: {} is not possible"),
        ("[{labels: {a: b}}]", "nodes.yaml[0]: {'labels': {'a': 'b'}} is not possible"),
        ("[{name: a}, {name: b, colour: red}]", "nodes.yaml[1]: 'colour' is not possible"),
        ("[{name: a, labels: 5}]", "nodes.yaml[0].labels: 5 is not possible"),
    ],
)
def test_a_bad_node_file_is_named(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "nodes.yaml"
    path.write_text(content)
    command = [sys.executable, "-m", "refloat_fakekube.cluster", "--node-file", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=15)
    assert done.returncode == 2
    assert done.stderr.strip().endswith(words)


def test_the_same_seed_gives_the_same_ids() -> None:
    def uids(seed: str) -> list[str]:
        with FakeProcess("--nodes", "0", "--seed", seed) as running:
            items = KubeApi(running.url).get("/api/v1/namespaces").ok()["items"]
            return [json.dumps(item["metadata"]["uid"]) for item in items]

    assert uids("5") == uids("5") != uids("6")
