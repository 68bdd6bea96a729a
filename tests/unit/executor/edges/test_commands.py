"""`refloat executor run` and `check-config`: exit codes and what they say."""

import socket
from pathlib import Path

import pytest

from refloat_cli.main import main

GOOD = """
application: {clusterId: E1}
link: {control: "tcp://127.0.0.1:1", reports: "tcp://127.0.0.1:2", insecure: true}
"""


def written(folder: Path, text: str) -> str:
    path = folder / "executor.yaml"
    path.write_text(text)
    return str(path)


def test_good_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["executor", "check-config", "--config", written(tmp_path, GOOD)]) == 0
    told = capsys.readouterr()
    assert told.out == "executor E1: settings are good, 0 rules\n"
    assert "warning: application.errorCategories.enabled is false" in told.err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("application: {clusterId: E1}", "link: is required"),
        (GOOD + "kubernets: {}", "kubernets: unknown key; did you mean kubernetes?"),
        (
            GOOD.replace("E1}", "E1, errorCategories: {enabled: true, categories: [{name: a}]}}"),
            "application.errorCategories",
        ),
        ("a: [", "executor.yaml:1"),
        (GOOD.replace("E1", "a b"), "application.clusterId: input should be a name of at most 63 letters"),
        (
            GOOD.replace("tcp://127.0.0.1:1", "127.0.0.1:1"),
            "link.control: '127.0.0.1:1': the link needs tcp://HOST:PORT",
        ),
        (GOOD.replace(":2", ":99999"), "link.reports: 'tcp://127.0.0.1:99999': the link needs tcp://HOST:PORT"),
        (GOOD.replace("127.0.0.1:2", "10.0.0.1:2"), "link.reports: 'tcp://10.0.0.1:2': an insecure link is allowed on"),
        (GOOD + "kubernetes: {namespaces: [Bad]}", "kubernetes.namespaces[0]: string should match pattern"),
    ],
)
@pytest.mark.parametrize("command", ["check-config", "run"])
def test_bad_settings_cost_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, problem: str, command: str
) -> None:
    assert main(["executor", command, "--config", written(tmp_path, text)]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"refloat executor {command}: ")
    assert problem in told.err
    assert told.err.count("\n") == 1


def test_a_run_without_credentials_says_where_it_looked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = GOOD + f"journal: {{path: {tmp_path}/j}}\nkubernetes: {{kubeconfig: {tmp_path}/absent, context: prod}}\n"
    assert main(["executor", "run", "--config", written(tmp_path, text)]) == 1
    source = f"{tmp_path}/absent (context prod)"
    expected = f"refloat executor run: no credentials for the Kubernetes API from {source}: no such file\n"
    assert capsys.readouterr().err == expected
    assert not (tmp_path / "j").exists()


def test_a_failpoint_outside_a_test_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFLOAT_FAILPOINT", "executor.deleted")
    monkeypatch.delenv("REFLOAT_TESTING", raising=False)
    assert main(["executor", "run", "--config", written(tmp_path, GOOD)]) == 1
    assert "REFLOAT_FAILPOINT=executor.deleted" in capsys.readouterr().err


def test_a_port_that_is_taken_costs_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "{clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}], users: [{name: a, user: {}}], "
        "contexts: [{name: a, context: {cluster: a, user: a}}], current-context: a}"
    )
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        text = (
            GOOD
            + f"""
journal: {{path: {tmp_path}/j}}
kubernetes: {{kubeconfig: {kubeconfig}}}
listenAddress: 127.0.0.1
metric: {{port: 0}}
httpPort: {port}
"""
        )
        assert main(["executor", "run", "--config", written(tmp_path, text)]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"refloat executor run: health can't be served on 127.0.0.1:{port}: ")
    assert told.count("\n") == 1
