"""Reading what a person wrote into a model."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated

import pytest
from pydantic import Field

from refloat_common.core.settings import Duration, FileModel, Flag, SettingsError, Whole, parse_settings


class Inner(FileModel):
    pod_kill_timeout: Annotated[Duration, Field(gt=timedelta())] = timedelta(seconds=30)
    port: Annotated[Whole, Field(ge=0, le=65535)] = 8080
    names: tuple[str, ...] = ()
    wait: Annotated[Duration, Field(ge=timedelta(days=1, seconds=5))] = timedelta(days=2)


class Outer(FileModel):
    enabled: Flag = False
    cluster_id: str
    inner: Inner | None = None
    all_inner: tuple[Inner, ...] = ()


def problem(tree: Mapping[str, object]) -> str:
    with pytest.raises(SettingsError) as caught:
        parse_settings(Outer, {"clusterId": "c", **tree}, "root")
    return str(caught.value)


def test_keys_in_any_case_and_null_as_not_written() -> None:
    tree = {"CLUSTERID": "c", "Inner": {"podKillTimeout": "1m30s", "PORT": "9001", "names": None}, "enabled": "t"}
    assert parse_settings(Outer, tree) == Outer.model_construct(
        enabled=True, cluster_id="c", inner=Inner.model_construct(pod_kill_timeout=timedelta(seconds=90), port=9001)
    )


def test_nothing_written_is_an_empty_map() -> None:
    assert parse_settings(Inner, None) == Inner()


@pytest.mark.parametrize("text", ["1", "t", "T", "true", "TRUE", "True"])
def test_flags_that_are_on(text: str) -> None:
    assert parse_settings(Outer, {"clusterId": "c", "enabled": text}).enabled is True


@pytest.mark.parametrize("text", ["0", "f", "F", "false", "FALSE", "False"])
def test_flags_that_are_off(text: str) -> None:
    assert parse_settings(Outer, {"clusterId": "c", "enabled": text}).enabled is False


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({"clusterId": None}, "root.clusterId: is required"),
        ({"clusterId": 7}, "root.clusterId: input should be a valid string, got 7"),
        ({"enabled": "yes"}, "root.enabled: input should be true or false, got 'yes'"),
        ({"enabled": 1}, "root.enabled: input should be true or false, got 1"),
        ({"inner": {"port": "0x10"}}, "root.inner.port: input should be a whole number, got '0x10'"),
        ({"inner": {"port": "010"}}, "root.inner.port: input should be a whole number, got '010'"),
        ({"inner": {"port": True}}, "root.inner.port: input should be a whole number, got True"),
        ({"inner": {"port": 1.0}}, "root.inner.port: input should be a whole number, got 1.0"),
        ({"inner": {"port": 65536}}, "root.inner.port: must be at most 65535, got 65536"),
        (
            {"inner": {"podKillTimeout": 30}},
            "root.inner.podKillTimeout: input should be a duration with units, such as 30s, 5m or 1h30m, got 30",
        ),
        ({"inner": {"podKillTimeout": "0"}}, "root.inner.podKillTimeout: must be more than 0s, got '0'"),
        ({"inner": {"wait": "1m"}}, "root.inner.wait: must be at least 24h5s, got '1m'"),
        ({"inner": []}, "root.inner: input should be a map of keys to values, got []"),
        ({"allInner": [{}, {"port": "x"}]}, "root.allInner[1].port: input should be a whole number, got 'x'"),
        ({"allInner": {"port": 1}}, "root.allInner: input should be a list, got {'port': 1}"),
        ({"inner": {"names": "a,b"}}, "root.inner.names: input should be a list, got 'a,b'"),
        ({"inner": {"pot": 1}}, "root.inner.pot: unknown key; did you mean port?"),
        ({"allInner": [{"zzz": 1}]}, "root.allInner[0].zzz: unknown key; known: names, podKillTimeout, port, wait"),
        ({"cluster_id": "c"}, "root.cluster_id: unknown key; did you mean clusterId?"),
        ({"enabled": "x" * 1000}, f"root.enabled: input should be true or false, got '{'x' * 79}…"),
    ],
)
def test_one_error_that_names_the_setting_and_the_value(tree: Mapping[str, object], expected: str) -> None:
    assert problem(tree) == expected
