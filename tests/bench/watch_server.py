"""A server for the row `watch`: answers a list with nothing and a watch with 50,000 events of 9 KB, as fast as it can.

A process of its own, so that it takes no time of the client's. Prints its port; ends with its standard input.
"""

import asyncio
import json
import sys

PODS = 5_000
STATES = 10
"""Each pod is shown so many times; the last time it has failed."""
EVENTS = PODS * STATES
EVENT_BYTES = 9 * 1024
VARIABLES, MOUNTS = 6, 3
"""Of each container."""
CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled", "Extra")
_EVENTS_PER_WRITE = 16
_UID, _RUN, _NAME, _VERSION = "UID-000000", "RUN-000000", "JOB-000000", "9000000000"


def _pod(phase: str) -> dict[str, object]:
    """A pod as a real API server sends it: three containers with environment, six conditions, managed fields."""
    names = ("main", "logs", "proxy")
    conditions = [
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": "2026-11-30T10:00:00Z"}
        for kind in CONDITIONS
    ]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": f"armada-{_NAME}-0",
            "namespace": "jobs",
            "uid": _UID,
            "resourceVersion": _VERSION,
            "creationTimestamp": "2026-11-30T09:59:59Z",
            "labels": {"armada_job_id": _NAME, "armada_job_run_id": _RUN, "armada_queue_id": "q", "team": "research"},
            "annotations": {f"example.com/note-{number}": "x" * 60 for number in range(5)},
            "managedFields": [_managed("executor", _managed_spec(names)), _managed("kubelet", _managed_status())],
        },
        "spec": {
            "nodeName": "node-17",
            "restartPolicy": "Never",
            "containers": [_container(name) for name in names],
            "tolerations": [
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
                for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
            ],
            "volumes": [{"name": f"data-{n}", "persistentVolumeClaim": {"claimName": f"claim-{n}"}} for n in range(3)],
            "padding": "",
        },
        "status": {
            "phase": phase,
            "conditions": conditions,
            "containerStatuses": [
                {"name": name, "state": _state(name, phase), "lastState": {}, "ready": False, "restartCount": 0,
                 "image": f"registry.example/{name}:1.2.3", "containerID": "containerd://" + "0" * 64}
                for name in names
            ],
        },
    }  # fmt: skip


def _container(name: str) -> dict[str, object]:
    """`spec.containers[]`, as jobs have them."""
    return {
        "name": name,
        "image": f"registry.example/{name}:1.2.3",
        "args": ["--level", "info"],
        "env": [{"name": f"VARIABLE_{n}", "value": f"value-{n}"} for n in range(VARIABLES)],
        "resources": {"limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": "1", "memory": "2Gi"}},
        "volumeMounts": [{"name": f"data-{n}", "mountPath": f"/data/{n}"} for n in range(MOUNTS)],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }


def _set(*fields: str) -> dict[str, object]:
    """An object of `fieldsV1` whose fields have been set."""
    return {".": {}, **{f"f:{field}": {} for field in fields}}


def _managed_spec(names: tuple[str, ...]) -> dict[str, object]:
    """What the creator of the pod has set, down to each variable of the environment."""
    fields = ("args", "image", "imagePullPolicy", "name", "terminationMessagePath", "terminationMessagePolicy")
    containers = {
        f'k:{{"name":"{name}"}}': _set(*fields)
        | {"f:env": {f'k:{{"name":"VARIABLE_{n}"}}': _set("name", "value") for n in range(VARIABLES)}}
        | {"f:resources": _set("limits", "requests")}
        | {"f:volumeMounts": {f'k:{{"mountPath":"/data/{n}"}}': _set("mountPath", "name") for n in range(MOUNTS)}}
        for name in names
    }
    return {"f:spec": {"f:containers": containers, "f:restartPolicy": {}, "f:tolerations": {}}}


def _managed_status() -> dict[str, object]:
    """What the kubelet has set."""
    each = ("lastProbeTime", "lastTransitionTime", "status", "type")
    conditions = {f'k:{{"type":"{kind}"}}': _set(*each) for kind in CONDITIONS}
    return {
        "f:status": {"f:conditions": {".": {}} | conditions} | _set("containerStatuses", "hostIP", "phase", "podIP")
    }


def _managed(manager: str, fields: dict[str, object]) -> dict[str, object]:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-11-30T09:59:59Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


def _state(container: str, phase: str) -> dict[str, object]:
    """The first container fails; the others end well once it has."""
    if phase != "Failed":
        return {"running": {"startedAt": "2026-11-30T10:00:00Z"}}
    at = {"startedAt": "2026-11-30T10:00:00Z", "finishedAt": "2026-11-30T10:01:00Z"}
    if container == "main":
        return {"terminated": {"exitCode": 1, "reason": "Error", "message": "panic: no such table"} | at}
    return {"terminated": {"exitCode": 0, "reason": "Completed"} | at}


def _template(kind: str, phase: str) -> bytes:
    """One line of 9 KB; what differs between pods is replaced in place."""
    pod = _pod(phase)
    spec = pod["spec"]
    assert isinstance(spec, dict)
    bare = len(json.dumps({"type": kind, "object": pod}))
    spec["padding"] = "p" * (EVENT_BYTES - bare - 1)
    return json.dumps({"type": kind, "object": pod}).encode() + b"\n"


def _parts(template: bytes) -> list[bytes]:
    """The template cut at everything that differs; between the pieces stand the places' names."""
    pieces = [template]
    for mark in (_UID, _RUN, _NAME, _VERSION):
        pieces = [part for piece in pieces for part in _cut(piece, mark.encode())]
    return pieces


def _cut(piece: bytes, mark: bytes) -> list[bytes]:
    head, *rest = piece.split(mark)
    return [head, *(part for after in rest for part in (mark, after))]


def _line(parts: list[bytes], pod: int, version: int) -> bytes:
    values = {
        _UID.encode(): b"UID-%06d" % pod,
        _RUN.encode(): b"RUN-%06d" % pod,
        _NAME.encode(): b"JOB-%06d" % pod,
        _VERSION.encode(): b"9%09d" % version,
    }
    return b"".join([values.get(part, part) for part in parts])


def _all_lines() -> list[bytes]:
    """Writes of a few events each, every pod's first state before any pod's second.

    Each event is a chunk of its own, as a real API server flushes them.
    """
    kinds = [_parts(_template("ADDED", "Running"))] + [_parts(_template("MODIFIED", "Running"))] * (STATES - 2)
    kinds.append(_parts(_template("MODIFIED", "Failed")))
    lines = [_line(kinds[n // PODS], n % PODS, n) for n in range(EVENTS)]
    chunks = [b"%x\r\n%b\r\n" % (len(line), line) for line in lines]
    return [b"".join(chunks[n : n + _EVENTS_PER_WRITE]) for n in range(0, EVENTS, _EVENTS_PER_WRITE)]


async def _serve() -> None:
    writes = _all_lines()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"watch=true" in head:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
            for chunks in writes:
                writer.write(chunks)
                await writer.drain()
            writer.write(b"0\r\n\r\n")
        else:
            body = b'{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[]}'
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_serve())
