"""The demo as a user runs it: from an installed wheel, outside the source tree, and with a script that is wrong."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from testkit.style.tree import ROOT

DEMO = [sys.executable, "-P", "-m", "refloat_cli.main", "demo"]
KINDS = {"oom", "peer", "user-error"}
COUNTS = {"failures", "deleted", "confirmed_gone", "retries", "terminal"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed wheel of the tree as it is; its dependencies are those of this interpreter."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "wheel")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=30)
    (wheel,) = (folder / "wheel").glob("*.whl")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        str(folder / "site"),
    ]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True, timeout=60)
    return folder / "site"


def _environment(site: Path) -> Mapping[str, str]:
    return {**os.environ, "PYTHONPATH": str(site)}


@pytest.mark.timeout(120)
def test_every_job_ends_as_its_script_says(installed: Path, tmp_path: Path) -> None:
    command = [*DEMO, "--jobs", "30", "--seed", "7", "--output", "json", "--explain", "oom-1"]
    done = subprocess.run(
        command, cwd=tmp_path, env=_environment(installed), capture_output=True, text=True, check=False, timeout=100
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    told = json.loads(done.stdout)
    assert set(told) == {
        "ok", "seconds", "jobs", "unexpected", "categories", "executors", "events", "explanations",
    }  # fmt: skip
    assert (told["ok"], told["unexpected"]) == (True, [])
    assert told["seconds"] < 60
    assert told["jobs"]["succeeded"] + told["jobs"]["failed"] == 30
    categories = told["categories"]
    assert set(categories) >= KINDS
    assert all(
        set(one) == {"failures", "deleted", "confirmed_gone", "retries", "terminal"} for one in categories.values()
    )
    assert all(one["deleted"] == one["confirmed_gone"] for one in categories.values())
    assert all(one["failures"] == one["retries"] + one["terminal"] for one in categories.values())
    assert categories["oom"]["retries"] > 0
    assert categories["oom"]["deleted"] == categories["oom"]["failures"]
    assert (categories["user-error"]["deleted"], categories["user-error"]["retries"]) == (0, 0)
    killed = told["executors"]["cluster-1"]
    assert (killed["starts"], killed["kills"], killed["exit_code"]) == (2, 1, 0)
    assert sum(one["failures"] for one in told["executors"].values()) == sum(c["failures"] for c in categories.values())
    assert [one["decision"] for one in told["explanations"]] == ["retry", "retry"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(120)
def test_a_script_that_is_wrong_is_noticed(tmp_path: Path) -> None:
    command = [*DEMO, "--scenario", str(ROOT / "tests/data/wrong_script.yaml"), "--jobs", "4", "--output", "json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)
    assert (done.returncode, done.stderr) == (1, "")
    told = json.loads(done.stdout)
    assert told["ok"] is False
    assert told["unexpected"] == [
        {"job": "liar-1", "what": "ended as failed, not succeeded"},
        {"job": "liar-1", "what": "failed with ['user-error/command'], not []"},
    ]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_process_outlives_the_demo(number: signal.Signals, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    with subprocess.Popen([*DEMO, "--keep", str(kept)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as demo:
        _wait(lambda: "the host has started" in _text(kept / "host.log"))
        assert _processes_of(kept)
        demo.send_signal(number)
        code = demo.wait(20)
    assert code == (-number if number is signal.SIGKILL else 128 + number)
    _wait(lambda: not _processes_of(kept))


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["--jobs", "0"], 2, "argument --jobs: must be 1 to 20000, got 0"),
        (["--clusters", "9"], 2, "argument --clusters: must be 1 to 8, got 9"),
        (["--explain", "nobody-1"], 2, "--explain: no job is named 'nobody-1'; the first is fine-1"),
        (["--scenario", "/nowhere.yaml"], 1, "/nowhere.yaml: No such file or directory"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(arguments: list[str], code: int, complaint: str) -> None:
    done = subprocess.run([*DEMO, *arguments], capture_output=True, text=True, check=False, timeout=20)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.splitlines()[-1].endswith(complaint)


def _wait(until: Callable[[], bool], within_s: float = 20.0) -> None:
    ends_s = time.monotonic() + within_s
    while not until():
        assert time.monotonic() < ends_s
        time.sleep(0.1)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _processes_of(folder: Path) -> list[str]:
    """Command lines of living processes that were started with a file of that folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if any(word.startswith(f"{folder}/") for word in words):
            found.append(" ".join(words))
    return found
