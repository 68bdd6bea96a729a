"""Makes a real API server answer 429 to everybody but the administrator, by holding the one write slot it was given."""

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from testkit.real_kube.http_api import HttpApi
from testkit.real_kube.processes import until

# Priority and fairness would queue requests instead of refusing them.
ONE_WRITE_FLAGS = ("--enable-priority-and-fairness=false", "--max-mutating-requests-inflight=1")
HELD_S = 5.0


@contextmanager
def writes_refused(user: HttpApi, path: str) -> Iterator[None]:
    """Inside, each write by a user is answered with 429 and Retry-After; needs a server started with ONE_WRITE_FLAGS.

    `path` is a collection in which `user` may create: a create whose body never ends keeps the slot. Members of
    system:masters are served all the same.
    """
    context = ssl.create_default_context(cafile=str(user.ca_file))
    with (
        socket.create_connection(("127.0.0.1", user.port), timeout=user.timeout_s) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        head = [
            f"POST {path} HTTP/1.1",
            f"Host: 127.0.0.1:{user.port}",
            f"Authorization: Bearer {user.token}",
            "Content-Type: application/json",
            "Content-Length: 1000",
        ]
        connection.sendall("\r\n".join([*head, "", "{"]).encode())
        probe = json.loads('{"apiVersion": "v1", "kind": "Pod", "metadata": {}}')
        until(lambda: user.create(f"{path}?dryRun=All", probe).status == 429, HELD_S, "the write slot is held")
        yield
