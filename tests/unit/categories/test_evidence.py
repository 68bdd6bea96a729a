"""What a pod shows about its failure."""

import pytest

from refloat_common.core.categories import (
    ContainerError,
    Death,
    Evidence,
    cause_of,
    container_errors,
    failed,
    failed_reason,
    failure_of,
)
from refloat_common.core.pods import Pod, PodStatus
from refloat_common.core.taxonomy import Cause
from testkit.pod_makers import ended, event, pod, running


@pytest.mark.parametrize("phase", ["", "Pending", "Running", "Succeeded", "Unknown", "failed"])
def test_only_the_phase_failed_is_failed(phase: str) -> None:
    assert not failed(pod(ended("main", 1), phase=phase))


def test_phase_failed_is_failed_without_any_container() -> None:
    assert failed(Pod(status=PodStatus(phase="Failed")))


def test_evidence_of_a_pod_as_a_whole() -> None:
    crashed = pod(
        running("log"), ended("main", 3, message="boom", finished_at="2026-01-15T10:01:00Z"), init=[ended("prep", 0)]
    )
    assert failure_of(crashed) == Evidence(
        pod=crashed,
        deaths=(Death("main", 3, "Error", "boom", "2026-01-15T10:01:00Z"),),
        text="Container main failed with exit code 3 because Error: \n",
        events=(),
    )


def test_containers_come_before_init_containers() -> None:
    both = pod(ended("b", 1), ended("a", 2), init=[ended("z", 3)])
    assert [death.name for death in failure_of(both).deaths] == ["b", "a", "z"]


def test_a_native_sidecar_never_speaks() -> None:
    meshed = pod(
        ended("main", 1), init=[ended("proxy", 137, "OOMKilled", "gone"), ended("prep", 2)], sidecars=["proxy"]
    )
    evidence = failure_of(meshed)
    assert [death.name for death in evidence.deaths] == ["main", "prep"]
    assert "proxy" not in evidence.text
    assert cause_of(meshed) is Cause.ERROR


@pytest.mark.parametrize("reason", ["Error", "Completed", "OOMKilled"])
def test_words_of_the_users_process_are_not_the_platforms(reason: str) -> None:
    evidence = failure_of(pod(ended("main", 1, reason, "The node was low on resource: memory.")))
    assert evidence.text == f"Container main failed with exit code 1 because {reason}: \n"


@pytest.mark.parametrize("reason", ["StartError", "ContainerCannotRun", "ContainerStatusUnknown", ""])
def test_words_of_the_runtime_are_the_platforms(reason: str) -> None:
    evidence = failure_of(pod(ended("main", 128, reason, "exec: no such file")))
    assert evidence.text == f"Container main failed with exit code 128 because {reason}: exec: no such file\n"


def test_the_pods_own_message_is_the_whole_text() -> None:
    assert failure_of(pod(ended("main", 1), message="Pod was rejected")).text == "Pod was rejected"


def test_a_given_text_replaces_the_pods() -> None:
    assert failure_of(pod(ended("main", 1), message="Pod was rejected"), message="stuck").text == "stuck"
    assert failure_of(pod(ended("main", 1), message="Pod was rejected"), message="").text == ""


def test_events_of_an_earlier_pod_of_the_name_are_left_out() -> None:
    mine, earlier, unnamed = (
        event("Warning", "a", "a"),
        event("Warning", "b", "b", uid="other"),
        event("Normal", "c", "c", ""),
    )
    assert list(failure_of(pod(), [mine, earlier, unnamed]).events) == [mine, unnamed]


def test_the_failed_reason_quotes_users_and_sidecars() -> None:
    meshed = pod(
        ended("main", 1, message="boom"),
        ended("done", 0, "Completed", "fine"),
        init=[ended("proxy", 137, "Error", "gone")],
        sidecars=["proxy"],
    )
    assert failed_reason(meshed) == (
        "Container main failed with exit code 1 because Error: boom\n"
        "Container proxy failed with exit code 137 because Error: gone\n"
    )


def test_the_failed_reason_is_the_pods_message_where_it_has_one() -> None:
    assert failed_reason(pod(ended("main", 1), message="Pod was rejected")) == "Pod was rejected"


def test_the_failed_reason_may_be_empty() -> None:
    assert failed_reason(pod()) == ""


@pytest.mark.parametrize(
    ("shown", "cause"),
    [
        (pod(ended("main", 137, "OOMKilled"), reason="Evicted"), Cause.EVICTED),
        (pod(ended("main", 137, "OOMKilled"), reason="DeadlineExceeded"), Cause.DEADLINE_EXCEEDED),
        (pod(ended("main", 1), init=[ended("prep", 137, "OOMKilled")]), Cause.OOM),
        (pod(ended("main", 0, "OOMKilled")), Cause.OOM),
        (pod(ended("main", 1)), Cause.ERROR),
        (pod(), Cause.ERROR),
    ],
)
def test_cause(shown: Pod, cause: Cause) -> None:
    assert cause_of(shown) is cause


def test_container_errors_hold_every_container_that_ended() -> None:
    assert container_errors(
        pod(ended("main", 0, "Completed", "ok"), running("log"), init=[ended("p", 9, "OOMKilled")])
    ) == (
        ContainerError("main", 0, "Completed", "ok", Cause.ERROR),
        ContainerError("p", 9, "OOMKilled", "", Cause.OOM),
    )


def test_a_bare_pod_shows_nothing() -> None:
    assert failure_of(Pod()) == Evidence(Pod(), (), "", ())
    assert container_errors(Pod()) == ()
