"""YAML files of settings, on a real disk."""

from datetime import date
from pathlib import Path

import pytest

from refloat_common.adapters import config_files
from refloat_common.adapters.config_files import ConfigFileError, load_settings, read_tree
from refloat_common.core.settings import FileModel, Flag, SettingsError, Whole


class Settings(FileModel):
    cluster_id: str = ""
    enabled: Flag = False
    port: Whole = 0


def read(folder: Path, text: str | bytes) -> object:
    file = folder / "file.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_tree(file)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("No", "No"),
        ("on", "on"),
        ("y", "y"),
        ("T", "T"),
        ("true", True),
        ("TRUE", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("null", None),
        ("nULL", "nULL"),
        ("1:30", "1:30"),
        ("007", 7),
        ("0777", 511),
        ("08", "08"),
        ("0x1F", 31),
        ("0b11", 3),
        ("0o17", "0o17"),
        ("1_000", 1000),
        ("-5", -5),
        ("1.5", 1.5),
        ("1e3", "1e3"),
        ("=", "="),
        ("2026-01-02", date(2026, 1, 2)),
        ("2026-01-02 10:00:00", "2026-01-02 10:00:00"),
        ("'yes'", "yes"),
        ('"\\t"', "\t"),
        ("'\\d+'", "\\d+"),
        ("größe", "größe"),
        ("[a, no, {b: 1}]", ["a", "no", {"b": 1}]),
        ("!!str 7", "7"),
    ],
)
def test_scalars_as_armadas_executor_reads_them(tmp_path: Path, text: str, value: object) -> None:
    assert read(tmp_path, f"key: {text}\n") == {"key": value}


@pytest.mark.parametrize("text", ["", "# nothing\n", "null\n", "---\n", "{}", "\ufeff{}"])
def test_an_empty_file_is_an_empty_map(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == {}


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: 1\nb:\n  c: 1\n  c: 2\n", 4, "key 'c' is written twice"),
        ("a: 1\nA: 2\n", 2, "key 'A' is written twice"),
        ("1: x\n", 1, "a key must be text"),
        ("? [a]\n: x\n", 1, "a key must be text"),
        ("true: x\n", 1, "a key must be text"),
        ("- a\n", 1, "must be a map of keys to values"),
        ("text\n", 1, "must be a map of keys to values"),
        ("a: 1\n---\nb: 2\n", 2, "but found another document"),
        ("a: *b\n", 1, "found undefined alias 'b'"),
        ("a: b: c\n", 1, "mapping values are not allowed here"),
        ("a:\n\tb: 1\n", 2, "found character '\\t' that cannot start any token"),
        ('a: "\\d"\n', 1, "found unknown escape character 'd'"),
        ("a: !!python/object/apply:os.system [x]\n", 1,
         "the tag tag:yaml.org,2002:python/object/apply:os.system is not known"),
        ("a: !!binary eA==\n", 1, "the tag tag:yaml.org,2002:binary is not known"),
        ("a: !secret x\n", 1, "the tag !secret is not known"),
        ("a: !!int x\n", 1, "'x' does not fit its tag tag:yaml.org,2002:int"),
        ("a: !!bool x\n", 1, "'x' does not fit its tag tag:yaml.org,2002:bool"),
        ("a: !!timestamp x\n", 1, "'x' does not fit its tag tag:yaml.org,2002:timestamp"),
        ("a: 2026-13-45\n", 1, "'2026-13-45' does not fit its tag tag:yaml.org,2002:timestamp"),
        ("a: 1\nb: \x01\n", 2, "holds the character 1"),
        (b"a: 1\nb: \xff\n", 2, "is not UTF-8"),
        ("a: " + "[" * 5000, None, "is nested too deep"),
        ("a: {<<: 1}\n", 1, "<< takes a map, or a list of at most 32 maps"),
        ("a: &a {b: 1}\nc: {<<: [" + "*a, " * 33 + "]}\n", 2, "<< takes a map, or a list of at most 32 maps"),
        ("a: &a [*a]\n", None, "stands for more than 100000 values"),
        ("a: &a [x, x, x, x, x, x, x, x, x, x]\n"
         + "".join(f"{n}: &{n} [{', '.join([f'*{p}'] * 10)}]\n" for p, n in zip("abcde", "bcdef", strict=True)),
         None, "stands for more than 100000 values"),
    ],
)  # fmt: skip
def test_files_that_are_refused_with_their_line(
    tmp_path: Path, text: str | bytes, line: int | None, problem: str
) -> None:
    with pytest.raises(ConfigFileError) as caught:
        read(tmp_path, text)
    assert (caught.value.line, caught.value.problem) == (line, problem)
    assert str(caught.value) == f"{tmp_path / 'file.yaml'}{f':{line}' if line else ''}: {problem}"


def test_merged_maps_lie_under_the_maps_own_keys(tmp_path: Path) -> None:
    text = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b], Z: 3}\nd: {w: &w {<<: *a, x: 4}}\ne: {<<: *w}\n"
    assert read(tmp_path, text) == {
        "a": {"x": 1, "y": 1},
        "b": {"y": 2, "z": 2},
        "c": {"x": 1, "y": 1, "Z": 3},
        "d": {"w": {"x": 4, "y": 1}},
        "e": {"x": 4, "y": 1},
    }


def test_a_file_of_the_greatest_size_and_one_byte_more(tmp_path: Path) -> None:
    padding = b"#" * (config_files.MAX_FILE_BYTES - 6)
    assert read(tmp_path, b"a: 1\n" + padding + b"\n") == {"a": 1}
    with pytest.raises(ConfigFileError, match="is larger than 262144 bytes"):
        read(tmp_path, b"a: 1\n" + padding + b"#\n")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigFileError, match=r"missing\.yaml: No such file or directory"):
        read_tree(tmp_path / "missing.yaml")


def test_several_files_and_the_environment(tmp_path: Path) -> None:
    (tmp_path / "1.yaml").write_text("clusterId: one\nport: 1\n")
    (tmp_path / "2.yaml").write_text("CLUSTERID: two\nenabled: true\n")
    files = [tmp_path / "1.yaml", tmp_path / "2.yaml"]
    found = load_settings(Settings, files, {"REFLOAT_ENABLED": "false", "PATH": "/bin"})
    assert found == Settings.model_validate({"clusterId": "two", "port": 1, "enabled": False})


def test_the_processs_environment_is_read_unless_one_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFLOAT_PORT", "7")
    assert load_settings(Settings, []).port == 7
    assert load_settings(Settings, [], {}).port == 0


def test_what_does_not_fit_the_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "1.yaml").write_text("prot: 1\n")
    with pytest.raises(SettingsError, match=r"^prot: unknown key; did you mean port\?$"):
        load_settings(Settings, [tmp_path / "1.yaml"], {})
