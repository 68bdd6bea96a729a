"""The moments of a pod up to its containers' running: admission, sandbox, and one container after the other."""

import hashlib

from refloat_fakekube.core.objects import Json, objects, text, time_s
from refloat_fakekube.core.play import words
from refloat_fakekube.core.play.containers import NEVER_STARTED_S, Container
from refloat_fakekube.core.play.effects import Hold
from refloat_fakekube.core.play.machine import Machine
from refloat_fakekube.core.play.script import End
from refloat_fakekube.core.play.status import rejected_status

_BLOCKED = {"image-pull-fails", "image-name-invalid", "config-error", "waiting"}
_ENDLESS = {"run", "deadline", "evicted", "disrupted", "node-dies"}
_HAPPENS = {"deadline": "deadline", "evicted": "evict", "disrupted": "disrupt", "node-dies": "lose-node"}
_START_ERROR_CODE = 128
_DOUBLINGS = 6


def admit(machine: Machine, now_s: float, _: str) -> None:
    """The kubelet takes the pod, or refuses it."""
    outcome, run = machine.outcome, machine.run
    run.started_s = now_s
    if outcome.finalizer:
        machine.effects.append(Hold(outcome.finalizer, outcome.hold_s))
    if outcome.kind == "reject":
        run.reason, run.message = outcome.reason or "OutOfcpu", outcome.message or words.OUT_OF_CPU
        machine.record("Warning", run.reason, run.message)
        machine.write(rejected_status(run))
        machine.over = True
        return
    machine.show(now_s)
    if machine.deadline_s is not None:
        machine.at(now_s + machine.deadline_s, "deadline")
    machine.at(now_s + machine.latencies.start_s, "set-up")


def set_up(machine: Machine, now_s: float, _: str) -> None:
    """The sandbox is up, and whatever the outcome does from outside is planned."""
    outcome, run = machine.outcome, machine.run
    if outcome.kind == "waiting" and not outcome.reason:
        machine.record("Warning", *outcome.event)
        return
    run.ready_to_start = True
    if not machine.host_network:
        run.ip = _address(machine.uid)
    start_next(machine, now_s, "")
    _plan_outcome(machine, now_s)


def _plan_outcome(machine: Machine, now_s: float) -> None:
    """Plan what happens to the pod from outside its containers."""
    kind = machine.outcome.kind
    if kind in _HAPPENS and not (kind == "deadline" and machine.deadline_s is not None):
        machine.at(now_s + max(machine.outcome.after_s, 2 * machine.latencies.sync_s), _HAPPENS[kind])


def resume(machine: Machine, pod: Json, now_s: float) -> None:
    """Go on with a pod that an earlier kubelet of the node began: what its status shows has happened."""
    run, latencies = machine.run, machine.latencies
    run.started_s, run.phase = time_s(text(pod, "status", "startTime")), text(pod, "status", "phase")
    for field in ("initContainerStatuses", "containerStatuses"):
        for shown in objects(pod, "status", field):
            machine.find(text(shown, "name")).recall(shown)
    run.ready_to_start = any(one.created for one in run.all)
    if machine.deadline_s is not None:
        machine.at(max(now_s, run.started_s + machine.deadline_s), "deadline")
    if not run.ready_to_start:
        machine.at(now_s + latencies.start_s, "set-up")
    elif run.computed_phase() in {"Failed", "Succeeded"}:
        machine.at(now_s + latencies.finish_s, "finish")
    else:
        for container in run.all:
            end = end_of(machine, container)
            if container.state == "running" and end is not None:
                machine.at(now_s + end.after_s, "exit", container.name)
        if all(one.state != "running" or one.sidecar for one in run.all):
            machine.at(now_s + latencies.start_s, "next")
        _plan_outcome(machine, now_s)


def _address(uid: str) -> str:
    third, fourth = hashlib.sha256(uid.encode()).digest()[:2]
    return f"10.88.{third}.{fourth}"


def start_next(machine: Machine, now_s: float, _: str) -> None:
    """Start the next init container, or all others when the init containers have done their part."""
    run = machine.run
    waiting = next((one for one in run.inits if not (one.created if one.sidecar else one.done)), None)
    if waiting is None:
        for container in run.mains:
            if not container.created:
                _launch(machine, now_s, container)
        return
    _launch(machine, now_s, waiting)
    if waiting.sidecar:
        machine.at(now_s + 2 * machine.latencies.sync_s, "next")


def _launch(machine: Machine, now_s: float, container: Container) -> None:
    outcome = machine.outcome
    target = container.name == outcome.container
    if target and outcome.kind in _BLOCKED:
        _block(machine, now_s, container)
        return
    machine.record("Normal", "Pulled", words.pulled(container.image), container)
    machine.record("Normal", "Created", f"Created container: {container.name}", container)
    if target and outcome.kind == "start-error":
        message = outcome.message or words.START_ERROR
        machine.record("Warning", "Failed", f"Error: {message}", container)
        container.started_s = NEVER_STARTED_S
        container.code = _START_ERROR_CODE
        machine.at(now_s, "start-error", container.name)
        return
    machine.record("Normal", "Started", f"Started container {container.name}", container)
    container.start(now_s)
    _plan_end(machine, now_s, container, target=target)


def _plan_end(machine: Machine, now_s: float, container: Container, *, target: bool) -> None:
    if target and machine.outcome.kind == "hook-fails":
        machine.record("Warning", "FailedPostStartHook", machine.outcome.message or "PostStartHook failed", container)
        machine.record("Normal", "Killing", "FailedPostStartHook", container)
        machine.at(now_s + machine.outcome.after_s, "exit", container.name)
        return
    machine.sync(now_s)
    end = end_of(machine, container)
    if end is not None:
        machine.at(now_s + end.after_s, "exit", container.name)


def end_of(machine: Machine, container: Container) -> End | None:
    """How a container ends by itself; None when it runs until it is stopped."""
    outcome = machine.outcome
    if container.name in outcome.ends:
        return outcome.ends[container.name]
    if container.sidecar:
        return None
    if container.name == outcome.container and outcome.kind not in _ENDLESS:
        reason = outcome.reason or {"oom": "OOMKilled"}.get(outcome.kind, "")
        code = {"hook-fails": 137}.get(outcome.kind, outcome.code)
        return End(outcome.after_s, code, reason, outcome.message)
    if container.init:
        return End(machine.latencies.start_s)
    return None if outcome.kind in _ENDLESS else End(outcome.after_s)


def _block(machine: Machine, now_s: float, container: Container) -> None:
    """The container can't be created: it waits, with a reason, for ever."""
    outcome, image = machine.outcome, container.image
    match outcome.kind:
        case "image-pull-fails":
            pull(machine, now_s, container.name)
            return
        case "image-name-invalid":
            container.reason, container.message = "InvalidImageName", words.image_name_invalid(image)
            machine.record("Warning", "InspectFailed", container.message, container)
            machine.record("Warning", "Failed", "Error: InvalidImageName", container)
        case "config-error":
            container.reason, container.message = "CreateContainerConfigError", outcome.message or words.CONFIG_ERROR
            machine.record("Normal", "Pulled", words.pulled(image), container)
            machine.record("Warning", "Failed", f"Error: {container.message}", container)
        case _:
            container.reason, container.message = outcome.reason, outcome.message
            if outcome.event[0]:
                machine.record("Warning", *outcome.event, container)
    machine.sync(now_s)


def pull(machine: Machine, now_s: float, name: str) -> None:
    """The image is pulled, which fails; after a while it is tried again, for ever."""
    container = machine.find(name)
    why = machine.outcome.message or words.pull_failed(container.image)
    container.reason, container.message = "ErrImagePull", why
    machine.record("Normal", "Pulling", f'Pulling image "{container.image}"', container)
    machine.record("Warning", "Failed", f'Failed to pull image "{container.image}": {why}', container)
    machine.record("Warning", "Failed", "Error: ErrImagePull", container)
    machine.sync(now_s)
    machine.at(now_s + machine.latencies.pull_s, "back-off-pull", name)


def back_off_pull(machine: Machine, now_s: float, name: str) -> None:
    """The next try waits."""
    container = machine.find(name)
    why = machine.outcome.message or words.pull_failed(container.image)
    back = f'Back-off pulling image "{container.image}"'
    container.reason, container.message = "ImagePullBackOff", f"{back}: ErrImagePull: {why}"
    machine.record("Normal", "BackOff", back, container)
    machine.record("Warning", "Failed", "Error: ImagePullBackOff", container)
    machine.sync(now_s)
    container.pulls += 1
    machine.at(now_s + machine.latencies.pull_s * 2 ** min(container.pulls, _DOUBLINGS), "pull", name)
