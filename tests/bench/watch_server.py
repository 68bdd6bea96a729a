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
_EVENTS_PER_WRITE = 16
_UID, _RUN, _NAME, _VERSION = "UID-000000", "RUN-000000", "JOB-000000", "9000000000"


def _pod(phase: str) -> dict[str, object]:
    """A pod as a real API server sends it: managed fields, annotations, three containers, six conditions."""
    names = ("main", "logs", "proxy")
    spec = [
        {"name": name, "image": f"registry.example/{name}:1.2.3", "args": ["--level", "info"], "resources": {}}
        for name in names
    ]
    conditions = [
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": "2026-11-30T10:00:00Z"}
        for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled", "Extra")
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
            "managedFields": [
                {"manager": manager, "operation": "Update", "fieldsV1": {f"f:{key}": {} for key in range(40)}}
                for manager in ("refloat-executor", "kubelet")
            ],
        },
        "spec": {"nodeName": "node-17", "restartPolicy": "Never", "containers": spec, "padding": ""},
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
