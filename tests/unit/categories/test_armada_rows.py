"""What Armada's own table of classifier tests pins down, row by row."""

from refloat_common.core.categories import (
    NOTHING,
    Classification,
    CompiledCategories,
    Evidence,
    classify,
    failure_of,
    with_hint,
)
from refloat_common.core.pods import Pod
from refloat_common.core.taxonomy import Disposition
from testkit.category_makers import OOM, by_rule, category, event_says, exit_in, exit_not_in, pod_says, rules, says
from testkit.pod_makers import ended, event, pod

GPU_TEXT = "Allocate failed due to no healthy devices present"
PLATFORM = 'no match for platform in manifest: "linux/arm64"'
EXIT_1 = pod(ended("main", 1))
OOM_POD = pod(ended("main", 137, "OOMKilled"))


def containers_only(compiled: CompiledCategories, failed: Pod) -> Classification:
    """Armada's entry point without text and events."""
    return classify(compiled, failure_of(failed, message=""))


def with_text(compiled: CompiledCategories, failed: Pod, text: str) -> Classification:
    return classify(compiled, failure_of(failed, message=text))


def test_01_event_of_a_device_plugin_deletes() -> None:
    compiled = rules(category("gpu", event_says("no healthy devices", subcategory="device_plugin"), action="Delete"))
    events = [event("Normal", "Scheduled", "assigned"), event("Warning", "UnexpectedAdmissionError", GPU_TEXT)]
    named = classify(compiled, failure_of(pod(), events))
    assert named == by_rule("gpu", subcategory="device_plugin", disposition=Disposition.DELETE)


def test_02_event_of_another_reason_does_not_match() -> None:
    compiled = rules(category("gpu", event_says(".*", reason="UnexpectedAdmissionError")))
    assert classify(compiled, failure_of(pod(), [event("Warning", "FailedScheduling", GPU_TEXT)])) == Classification()


def test_03_event_of_another_type_does_not_match() -> None:
    compiled = rules(category("gpu", event_says(".*")))
    assert classify(compiled, failure_of(pod(), [event("Normal", "Pulled", GPU_TEXT)])) == Classification()


def test_04_text_about_the_pod_is_no_event() -> None:
    compiled = rules(category("gpu", event_says(".*")))
    assert with_text(compiled, pod(), GPU_TEXT) == Classification()


def test_05_exit_code_deletes() -> None:
    compiled = rules(category("user", exit_in(42), action="Delete"))
    assert containers_only(compiled, pod(ended("main", 42))) == by_rule("user", disposition=Disposition.DELETE)


def test_06_out_of_memory_with_subcategory() -> None:
    compiled = rules(category("oom", {**OOM, "subcategory": "kernel"}))
    assert containers_only(compiled, OOM_POD) == by_rule("oom", subcategory="kernel")


def test_07_listed_exit_code_matches() -> None:
    assert containers_only(rules(category("io", exit_in(74, 75))), pod(ended("main", 74))) == by_rule("io")


def test_08_exit_code_that_is_not_listed_matches_not_in() -> None:
    assert containers_only(rules(category("odd", exit_not_in(1, 2))), pod(ended("main", 42))) == by_rule("odd")


def test_09_termination_message_is_searched_without_case() -> None:
    compiled = rules(category("gpu", says("(?i)cuda.*error", subcategory="cuda")))
    failed = pod(ended("main", 1, message="CUDA memory error on device 0"))
    assert containers_only(compiled, failed) == by_rule("gpu", subcategory="cuda")


def test_10_first_of_two_matching_categories_wins() -> None:
    compiled = rules(category("oom", OOM), category("killed", exit_in(137)))
    assert containers_only(compiled, OOM_POD) == by_rule("oom")


def test_11_no_match_and_no_default_is_empty() -> None:
    assert containers_only(rules(category("oom", OOM)), EXIT_1) == Classification()


def test_12_no_match_takes_the_default_category() -> None:
    compiled = rules(category("oom", OOM), defaultCategory="other")
    assert containers_only(compiled, EXIT_1) == Classification("other")


def test_13_no_match_takes_both_defaults() -> None:
    compiled = rules(category("oom", OOM), defaultCategory="uncategorized", defaultSubcategory="unknown")
    assert containers_only(compiled, EXIT_1) == Classification("uncategorized", "unknown")


def test_14_a_match_takes_no_default() -> None:
    compiled = rules(
        category("oom", {**OOM, "subcategory": "kernel"}), defaultCategory="uncategorized", defaultSubcategory="unknown"
    )
    assert containers_only(compiled, OOM_POD) == by_rule("oom", subcategory="kernel")


def test_15_no_pod_is_empty() -> None:
    assert classify(rules(category("any", exit_not_in(0)), defaultCategory="other"), None) == NOTHING


def test_16_init_container_counts() -> None:
    assert containers_only(rules(category("init", exit_in(1))), pod(init=[ended("prep", 1)])) == by_rule("init")


def test_17_evicted_without_containers() -> None:
    compiled = rules(category("evicted", {"onConditions": ["Evicted"]}))
    assert containers_only(compiled, pod(reason="Evicted")) == by_rule("evicted")


def test_18_deadline_exceeded() -> None:
    compiled = rules(category("late", {"onConditions": ["DeadlineExceeded"]}))
    assert containers_only(compiled, pod(reason="DeadlineExceeded")) == by_rule("late")


def test_19_second_rule_of_a_category() -> None:
    compiled = rules(category("memory", OOM, exit_in(137)))
    assert containers_only(compiled, pod(ended("main", 137))) == by_rule("memory", 1)


def test_20_message_of_a_container_that_ended_well_is_not_read() -> None:
    failed = pod(ended("sidecar", 0, "Completed", "success"), ended("main", 1, message="failure"))
    assert containers_only(rules(category("odd", says("success"))), failed) == Classification()


def test_21_condition_of_another_container() -> None:
    failed = pod(ended("sidecar", 137, "OOMKilled"), ended("main", 1))
    assert containers_only(rules(category("oom", {**OOM, "containerName": "main"})), failed) == Classification()


def test_22_exit_code_of_the_named_container() -> None:
    compiled = rules(category("user", exit_in(42, containerName="main")))
    assert containers_only(compiled, pod(ended("main", 42))) == by_rule("user")


def test_23_condition_of_any_container() -> None:
    failed = pod(ended("sidecar", 137, "OOMKilled"), ended("main", 1))
    assert containers_only(rules(category("oom", OOM)), failed) == by_rule("oom")


def test_24_no_categories_at_all() -> None:
    assert containers_only(rules(), EXIT_1) == Classification()


def test_25_text_about_a_pending_pod() -> None:
    compiled = rules(category("image", pod_says("no match for platform in manifest", subcategory="platform_mismatch")))
    named = with_text(compiled, pod(phase="Pending"), PLATFORM)
    assert named == by_rule("image", subcategory="platform_mismatch")


def test_26_empty_text_never_matches() -> None:
    assert with_text(rules(category("image", pod_says("anything"))), EXIT_1, "") == Classification()


def test_27_containers_only_have_no_text() -> None:
    assert containers_only(rules(category("image", pod_says(".*"))), EXIT_1) == Classification()


def test_28_text_ignores_the_container_name() -> None:
    compiled = rules(category("image", pod_says("no match for platform", containerName="init")))
    assert with_text(compiled, EXIT_1, PLATFORM) == by_rule("image")


def test_29_text_is_no_termination_message() -> None:
    compiled = rules(category("image", says("no match for platform")))
    assert with_text(compiled, EXIT_1, PLATFORM) == Classification()


def test_hint_follows_after_a_blank_line() -> None:
    assert with_hint("it failed", "look there") == "it failed\n\nlook there"


def test_no_hint_leaves_the_message() -> None:
    assert with_hint("it failed", "") == "it failed"


def test_hint_of_an_empty_message() -> None:
    assert with_hint("", "look there") == "\n\nlook there"


def test_a_block_that_is_not_enabled_names_nothing() -> None:
    compiled = rules(category("any", exit_not_in(0), action="Delete"), enabled=False, defaultCategory="x")
    evidence: Evidence = failure_of(EXIT_1)
    assert classify(compiled, evidence) == NOTHING
