"""`refloat host run` as a process: what it opens, how it ends, and what it says when it can't start."""

import sqlite3
import subprocess
import urllib.request
from contextlib import closing
from pathlib import Path

import grpc
import pytest
from armada_client.armada import submit_pb2, submit_pb2_grpc

from testkit.host.process import HostProcess, host_command, running_host, write_settings

pytestmark = pytest.mark.timeout(60)


def get(port: object, path: str) -> tuple[int, str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as response:
        return response.status, response.read().decode()


def create_queue(host: HostProcess, name: str) -> None:
    with grpc.insecure_channel(str(host.logged("the host has started")["api"])) as channel:
        queue = submit_pb2.Queue(name=name, priority_factor=1)
        submit_pb2_grpc.SubmitStub(channel).CreateQueue(queue, timeout=5)


def queues(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "host.db")) as connection:
        return [row[0] for row in connection.execute("SELECT name FROM queues ORDER BY name")]


def refusal(settings: Path) -> str:
    done = subprocess.run(host_command(settings), capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr


def test_a_host_opens_its_ports_and_ends_in_order(tmp_path: Path) -> None:
    with running_host(write_settings(tmp_path)) as host:
        started = host.logged("the host has started")
        assert get(started["health_port"], "/healthz") == (204, "")
        status, text = get(started["metrics_port"], "/metrics")
        assert status == 200
        assert "refloat_host_store_works_total" in text
        assert "refloat_policies_served" in text
        create_queue(host, "q")
        assert host.stop() == 0
        host.logged("the host has stopped")
    assert queues(tmp_path) == ["q"]


def test_what_was_answered_survives_a_kill(tmp_path: Path) -> None:
    settings = write_settings(tmp_path)
    with running_host(settings) as host:
        create_queue(host, "q")
        host.kill()
    with running_host(settings) as host:
        assert host.logged("the host has started")["epoch"] == 2
        create_queue(host, "r")
    assert queues(tmp_path) == ["q", "r"]


def test_one_store_has_one_host(tmp_path: Path) -> None:
    settings = write_settings(tmp_path)
    with running_host(settings) as host:
        assert "host.db.lock is held by another host" in refusal(settings)
        create_queue(host, "q")


@pytest.mark.parametrize("name", ["metrics", "http", "grpc"])
def test_a_port_that_is_taken_is_named(tmp_path: Path, name: str) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with running_host(write_settings(first)) as host:
        started = host.logged("the host has started")
        ports = {
            "metrics": started["metrics_port"],
            "http": started["health_port"],
            "grpc": int(str(started["api"]).rpartition(":")[2]),
        }
        said = refusal(write_settings(second, **{name: {"port": ports[name]}}))
    assert f":{ports[name]}" in said
    assert '"level": "error"' in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"store": {"url": "sqlite:////dev/null/at/all/host.db"}}, "Not a directory: '/dev/null/at"),
        ({"store": {"url": "postgresql://nobody@127.0.0.1:1/none"}}, "store.url: the database can't be used: "),
        ({"plugin": "other"}, "plugin: 'other' is not installed; the entry-point group refloat.scheduler_plugins has"),
        (
            {"link": {"secretKey": "/nowhere/s.secret", "executorKeys": "/nowhere/keys.yaml"}},
            "/nowhere/s.secret: No such file or directory",
        ),
        ({"link": {"insecure": True, "control": "tcp://0.0.0.0:1"}}, "link.control: 'tcp://0.0.0.0:1': an insecure"),
        ({"schedulePeriod": "never"}, "schedulePeriod: input should be a duration"),
    ],
)
def test_a_host_that_cannot_start_says_why_in_one_line(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    said = refusal(write_settings(tmp_path, **changes))
    assert said.startswith("refloat host run: ")
    assert message in said
    assert said.count("\n") == 1


def test_a_store_of_a_later_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    settings = write_settings(tmp_path)
    with running_host(settings) as host:
        host.stop()
    with closing(sqlite3.connect(tmp_path / "host.db")) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    assert "the store has schema 9999, and this version knows none later than" in refusal(settings)
