"""`refloat host check-config`: what is accepted, warned of and refused, with field and value."""

from pathlib import Path

import pytest

from refloat_cli.main import main
from testkit.style.tree import ROOT

INSECURE = "link: {insecure: true}\n"


def check(capsys: pytest.CaptureFixture[str], *files: Path) -> tuple[int, str, str]:
    code = main(["host", "check-config", *[word for file in files for word in ("--config", str(file))]])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_the_example_is_good_and_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = check(capsys, ROOT / "configs" / "host.yaml")
    assert (code, out, err) == (0, "host: settings are good, retry engine off\n", "")


def test_the_kill_switch_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = check(capsys, ROOT / "tests" / "data" / "kill_switch.yaml")
    assert (code, out) == (0, "host: settings are good, retry engine on\n")
    assert "warning: scheduling.retryPolicy.enabled is true but globalMaxRetries is 0" in err


def test_a_default_policy_that_nobody_applies_is_warned_of(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "host.yaml"
    file.write_text(INSECURE + "scheduling: {retryPolicy: {defaultPolicyName: fleet}}\n")
    code, _, err = check(capsys, file)
    assert code == 0
    assert "warning: scheduling.retryPolicy.defaultPolicyName is set, but enabled is false" in err
    assert "warning: link.insecure: anybody on this machine" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "link: is required"),
        ("link: {}", "link: secretKey and executorKeys are required"),
        ("link: {insecure: true, secretKey: /k}", "link: insecure: true, and keys are given too"),
        (
            "link: {insecure: true, control: 'tcp://0.0.0.0:5000'}",
            "link.control: 'tcp://0.0.0.0:5000': an insecure link is allowed on loopback only",
        ),
        ("link: {insecure: true, reports: nowhere}", "link.reports: 'nowhere': the link needs tcp://HOST:PORT"),
        (INSECURE + "store: {url: 'mysql://h/x'}", "store.url: input should be sqlite:///PATH or postgresql://"),
        (INSECURE + "store: {url: 'postgresql://u@h:port/x'}", "store.url: 'postgresql://u@h:port/x' is neither"),
        (INSECURE + "plugin: nosuch", "plugin: 'nosuch' is not installed"),
        (INSECURE + "metrics: {port: 70000}", "metrics.port: must be at most 65535, got 70000"),
        (INSECURE + "logLevel: loud", "logLevel: "),
        (INSECURE + "executorTimeot: 1h", "executorTimeot: unknown key; did you mean executorTimeout?"),
        (
            INSECURE + "executorTimeout: 1m",
            "twice scheduling.executorTimeout (2m) must be at most executorTimeout (1m)",
        ),
        (INSECURE + "schedulePeriod: 5", "schedulePeriod: input should be a duration with units"),
        (
            INSECURE + "scheduling: {retryPolicy: {globalMaxRetries: -1}}",
            "scheduling.retryPolicy.globalMaxRetries: must be at least 0, got -1",
        ),
        (INSECURE + "scheduling: {retryPolicy: {globalMaxRetries: }}", "globalMaxRetries is empty; write a number"),
    ],
)
def test_what_cannot_be_used_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "host.yaml"
    file.write_text(text)
    code, out, err = check(capsys, file)
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_file_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = check(capsys, tmp_path / "none.yaml")
    assert code == 1
    assert "none.yaml: No such file or directory" in err


def test_files_merge_and_the_environment_comes_last(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_text(INSECURE + "scheduling: {retryPolicy: {enabled: true}}\n")
    other.write_text("scheduling: {retryPolicy: {globalMaxRetries: 3}}\n")
    monkeypatch.setenv("REFLOAT_SCHEDULING_RETRYPOLICY_GLOBALMAXRETRIES", "0")
    code, out, err = check(capsys, one, other)
    assert (code, out) == (0, "host: settings are good, retry engine on\n")
    assert "globalMaxRetries is 0" in err
