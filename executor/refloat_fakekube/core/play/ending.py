"""The moments of a pod from its containers' ends on: exit, restart, deadline, eviction, deletion, final phase."""

from refloat_fakekube.core.play import words
from refloat_fakekube.core.play.containers import Container
from refloat_fakekube.core.play.effects import Disrupt, LoseNode, Remove
from refloat_fakekube.core.play.machine import Machine
from refloat_fakekube.core.play.starting import end_of

_KILLED = 137
_FIRST_BACK_OFF_S = 10


def sync(machine: Machine, now_s: float, _: str) -> None:
    """Show what has happened; a pod with a running container is Running from now on."""
    if machine.run.computed_phase() == "Running":
        machine.run.phase = "Running"
    machine.show(now_s)


def exited(machine: Machine, now_s: float, name: str) -> None:
    """A container's process ended by itself."""
    container = machine.find(name)
    end = end_of(machine, container)
    if end is not None:
        container.end(now_s, end.code, end.reason, end.message)
    _after_exit(machine, now_s, container)


def start_error(machine: Machine, now_s: float, name: str) -> None:
    """A container could not be started."""
    container = machine.find(name)
    container.end(now_s, container.code, "StartError", machine.outcome.message or words.START_ERROR)
    _after_exit(machine, now_s, container)


def _after_exit(machine: Machine, now_s: float, container: Container) -> None:
    machine.sync(now_s)
    run, latencies = machine.run, machine.latencies
    if _restarts(machine, container):
        _plan_restart(machine, now_s, container)
    elif container.init and container.done and not container.sidecar:
        machine.at(now_s + 2 * latencies.sync_s, "next")
    elif container.init and not container.sidecar:
        machine.at(now_s + latencies.sync_s + latencies.finish_s, "finish")
    elif _work_done(machine):
        sidecars = [one for one in run.inits if one.state == "running"]
        for sidecar in sidecars:
            _stop(machine, now_s + latencies.sync_s, sidecar, "end-sidecar")
        if not sidecars:
            machine.at(now_s + latencies.sync_s + latencies.finish_s, "finish")


def _work_done(machine: Machine) -> bool:
    """Whether every main container has ended for good."""
    return all(one.state == "terminated" and not _restarts(machine, one) for one in machine.run.mains)


def _restarts(machine: Machine, container: Container) -> bool:
    policy = machine.run.restart_policy
    if container.sidecar:
        return not _work_done(machine)
    return (policy == "Always" and not container.init) or (policy != "Never" and container.failed)


def _plan_restart(machine: Machine, now_s: float, container: Container) -> None:
    """The first restart comes at once, every later one after a wait that doubles (CrashLoopBackOff)."""
    soon_s = now_s + 2 * machine.latencies.sync_s
    if container.restarts == 0:
        machine.at(soon_s, "restart", container.name)
        return
    message = f"Back-off restarting failed container {container.name} in pod {machine.name}"
    machine.record("Warning", "BackOff", message, container)
    wait_s = machine.latencies.restart_s * 2 ** min(container.restarts, 8)
    machine.at(soon_s + wait_s, "crash-loop", container.name)


def crash_loop(machine: Machine, now_s: float, name: str) -> None:
    """A container that failed again waits."""
    if not _restarts(machine, machine.find(name)):
        return
    _back_off(machine, machine.find(name))
    machine.show(now_s)
    machine.at(now_s + machine.latencies.sync_s, "restart", name)


def _back_off(machine: Machine, container: Container) -> None:
    seconds = _FIRST_BACK_OFF_S * 2 ** max(0, container.restarts - 1)
    container.again("CrashLoopBackOff", words.back_off(machine.name, container.name, seconds))


def restart(machine: Machine, now_s: float, name: str) -> None:
    """A container is started again."""
    container = machine.find(name)
    if container.sidecar and _work_done(machine):
        return
    container.restart(now_s)
    machine.record("Normal", "Pulled", words.pulled(container.image), container)
    machine.record("Normal", "Created", f"Created container: {name}", container)
    machine.record("Normal", "Started", f"Started container {name}", container)
    machine.sync(now_s)
    end = end_of(machine, container)
    if end is not None:
        machine.at(now_s + max(end.after_s, 2 * machine.latencies.sync_s), "exit", name)


def _stop(machine: Machine, now_s: float, container: Container, then: str) -> None:
    """Tell a container to stop; it ends as its script says, at the latest when its grace is over."""
    on_term = machine.outcome.on_term
    ends_s = now_s + (machine.grace_s if on_term.ignore else min(on_term.after_s, machine.grace_s))
    if on_term.stuck_s:
        ends_s = now_s + max(machine.grace_s, on_term.stuck_s)
    machine.record("Normal", "Killing", f"Stopping container {container.name}", container)
    machine.at(ends_s, then, container.name)


def end_sidecar(machine: Machine, now_s: float, name: str) -> None:
    """A sidecar has ended because the pod's work is done."""
    if machine.find(name).state == "running":
        _end_stopped(machine, now_s, machine.find(name))
    if all(one.state != "running" for one in machine.run.inits):
        machine.run.ready_to_start = False
        machine.show(now_s)
        machine.at(now_s + machine.latencies.finish_s, "finish")


def _end_stopped(machine: Machine, now_s: float, container: Container) -> None:
    on_term = machine.outcome.on_term
    killed = on_term.ignore or bool(on_term.stuck_s)
    container.end(now_s, _KILLED if killed else on_term.code)


def stop_all(machine: Machine, now_s: float) -> None:
    """Stop whatever runs, and conclude when nothing does any more."""
    machine.cancel()
    machine.stopping = True
    running = [one for one in machine.run.all if one.state == "running"]
    for container in running:
        _stop(machine, now_s, container, "stopped")
    if not running:
        machine.at(now_s + machine.latencies.sync_s, "finish")


def stopped(machine: Machine, now_s: float, name: str) -> None:
    """A container that was told to stop has ended."""
    _end_stopped(machine, now_s, machine.find(name))
    if all(one.state != "running" for one in machine.run.all):
        machine.conclude(now_s)


def deadline(machine: Machine, now_s: float, _: str) -> None:
    """The pod's `activeDeadlineSeconds` are over."""
    machine.record("Normal", "DeadlineExceeded", words.DEADLINE)
    for container in machine.run.mains:
        if container.state == "terminated" and _restarts(machine, container):
            _back_off(machine, container)
    machine.run.failing = True
    machine.show(now_s)
    machine.run.reason, machine.run.message = "DeadlineExceeded", words.DEADLINE
    stop_all(machine, now_s)


def evict(machine: Machine, now_s: float, _: str) -> None:
    """The kubelet evicts the pod."""
    run, outcome = machine.run, machine.outcome
    run.failing = True
    run.reason, run.message = outcome.reason or "Evicted", outcome.message or words.EVICTED
    run.disruption = (outcome.disruption, run.message) if outcome.disruption else ("", "")
    machine.record("Warning", run.reason, run.message)
    stop_all(machine, now_s)


def disrupt(machine: Machine, _now_s: float, _: str) -> None:
    """Somebody else ends the pod."""
    reason, message = words.TAINT_EVICTION
    machine.effects.append(Disrupt(machine.outcome.reason or reason, machine.outcome.message or message))


def terminate(machine: Machine, now_s: float) -> None:
    """The pod is being deleted: say that this was seen, and stop its containers."""
    started = machine.run.started_s > 0
    machine.cancel()
    if started:
        machine.show(now_s)
        stop_all(machine, now_s)
    else:
        machine.run.started_s = now_s
        machine.conclude(now_s)


def finish(machine: Machine, now_s: float, _: str) -> None:
    """All is cleaned up."""
    if not machine.over:
        machine.conclude(now_s)


def lose(machine: Machine, now_s: float, _: str) -> None:
    """Containers of an ended pod that never got an end of their own get one."""
    for container in machine.run.mains:
        if container.state != "terminated":
            container.lose()
    machine.show(now_s)


def remove(machine: Machine, _now_s: float, _: str) -> None:
    """The kubelet lets the API server forget the pod."""
    machine.effects.append(Remove())


def lose_node(machine: Machine, _now_s: float, _: str) -> None:
    """The node dies."""
    machine.effects.append(LoseNode())
