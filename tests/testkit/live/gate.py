"""A way to a server that can be shut: a network that fails between two processes which both live on."""

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

BLOCK_BYTES = 1 << 16
LOOK_S = 0.05


class Gate:
    """Passes TCP connections on from `port` to another port of loopback while it is open."""

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._open = True
        self._lock = threading.Lock()
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._over = threading.Event()

    def shut(self) -> None:
        """Break off every connection; new ones break off at once."""
        with self._lock:
            self._open = False
            for one in list(self._pairs):
                self._drop(one)

    def open(self) -> None:
        """Let connections through again."""
        with self._lock:
            self._open = True

    def run(self) -> None:
        """Pass on until `end`."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            while not self._over.is_set():
                for key, _ in selector.select(LOOK_S):
                    with self._lock:
                        self._turn(selector, key.fileobj)  # type: ignore[arg-type]  # only sockets are registered
                with self._lock:
                    self._forget(selector)

    def end(self) -> None:
        """Stop passing on."""
        self._over.set()

    def close(self) -> None:
        """Close everything, after `run` has ended."""
        self.shut()
        self._listener.close()

    def _turn(self, selector: selectors.BaseSelector, ready: socket.socket) -> None:
        if ready is self._listener:
            self._accept(selector)
        elif ready in self._pairs:
            self._pass_on(ready)

    def _accept(self, selector: selectors.BaseSelector) -> None:
        caller, _ = self._listener.accept()
        if not self._open:
            caller.close()
            return
        try:
            server = socket.create_connection(("127.0.0.1", self._to_port))
        except OSError:
            caller.close()
            return
        self._pairs |= {caller: server, server: caller}
        for one in (caller, server):
            selector.register(one, selectors.EVENT_READ)

    def _pass_on(self, ready: socket.socket) -> None:
        try:
            data = ready.recv(BLOCK_BYTES)
            if data:
                self._pairs[ready].sendall(data)
                return
        except OSError:
            pass
        self._drop(ready)

    def _drop(self, one: socket.socket) -> None:
        other = self._pairs.pop(one, None)
        if other is not None:
            self._pairs.pop(other, None)
            for each in (one, other):
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def _forget(self, selector: selectors.BaseSelector) -> None:
        for key in list(selector.get_map().values()):
            one = key.fileobj
            if isinstance(one, socket.socket) and one is not self._listener and one not in self._pairs:
                selector.unregister(one)
                one.close()


@contextmanager
def gate_to(port: int) -> Iterator[Gate]:
    """A gate that works for as long as the block lasts."""
    gate = Gate(port)
    thread = threading.Thread(target=gate.run, daemon=True)
    thread.start()
    try:
        yield gate
    finally:
        gate.end()
        thread.join()
        gate.close()
