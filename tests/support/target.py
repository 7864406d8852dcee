"""A real HTTP target that misbehaves on purpose: raw sockets, one thread a connection, every received byte kept."""

import contextlib
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

type Behaviour = Callable[["Visit"], None]


@dataclass
class Visit:
    """One connection: the request's bytes as they came, and the socket to answer on."""

    connection: socket.socket
    raw: bytearray = field(default_factory=bytearray)

    @property
    def head(self) -> str:
        return self.raw.partition(b"\r\n\r\n")[0].decode("latin-1")

    @property
    def body(self) -> str:
        return self.raw.partition(b"\r\n\r\n")[2].decode()

    @property
    def line(self) -> str:
        return self.head.split("\r\n")[0]

    @property
    def headers(self) -> dict[str, str]:
        pairs = (line.partition(": ") for line in self.head.split("\r\n")[1:])
        return {name.lower(): value for name, _, value in pairs}

    def read_request(self) -> None:
        """Read until the headers and the announced body are there, or the peer closes."""
        while not self._complete():
            piece = self.connection.recv(65_536)
            if not piece:
                return
            self.raw += piece

    def _complete(self) -> bool:
        if b"\r\n\r\n" not in self.raw:
            return False
        return len(self.raw.partition(b"\r\n\r\n")[2]) >= int(self.headers.get("content-length", "0"))

    def reset(self) -> None:
        """End the connection with RST instead of FIN."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def answer(
        self,
        body: bytes = b"{}",
        *,
        status: str = "200 OK",
        content_type: str = "application/json",
        headers: tuple[str, ...] = (),
    ) -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
        if content_type:
            lines.append(f"Content-Type: {content_type}")
        self.connection.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)

    def answer_json(self, value: object, *, status: str = "200 OK", headers: tuple[str, ...] = ()) -> None:
        self.answer(json.dumps(value).encode(), status=status, headers=headers)


class Target:
    """Listens on a free loopback port; `behaviour` decides what each connection gets. Use as a context manager."""

    def __init__(self, behaviour: Behaviour, *, tls: ssl.SSLContext | None = None, read_first: bool = True) -> None:
        self.behaviour = behaviour
        self.visits: list[Visit] = []
        self._tls = tls
        self._read_first = read_first
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"{'https' if tls else 'http'}://{self.host}"
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._servers: list[threading.Thread] = []
        self._last_port = 0
        self._last_seen = threading.Event()

    def __enter__(self) -> Self:
        self._acceptor.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # close() alone leaves a thread blocked in accept().
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for visit in self.visits:
            with contextlib.suppress(OSError):
                visit.connection.shutdown(socket.SHUT_RDWR)
        for thread in (self._acceptor, *self._servers):
            thread.join(5)

    def settled(self) -> list[Visit]:
        """The visits, once every connection that was made has been served to its end."""
        # Connections are accepted in order: when this one has been seen, every earlier one has been too.
        with socket.socket() as last:
            last.bind(("127.0.0.1", 0))
            self._last_port = last.getsockname()[1]
            last.connect(("127.0.0.1", self.port))
            assert self._last_seen.wait(5)
        for thread in self._servers:
            thread.join(5)
            assert not thread.is_alive(), "a connection is still being served"
        return self.visits

    def _accept(self) -> None:
        while True:
            try:
                connection, peer = self._listener.accept()
            except OSError:
                return
            if peer[1] == self._last_port:
                connection.close()
                self._last_seen.set()
                continue
            visit = Visit(connection)
            self.visits.append(visit)
            thread = threading.Thread(target=self._serve, args=(visit,), daemon=True)
            thread.start()
            self._servers.append(thread)

    def _serve(self, visit: Visit) -> None:
        with contextlib.suppress(OSError):
            if self._tls is not None:
                visit.connection = self._tls.wrap_socket(visit.connection, server_side=True)
            if self._read_first:
                visit.read_request()
            self.behaviour(visit)
        with contextlib.suppress(OSError):
            visit.connection.close()


def closed_port() -> int:
    """A loopback port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def deaf_target() -> Iterator[str]:
    """host:port of a listener whose queue is full, so that connecting gets no answer."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        host, port = listener.getsockname()
        fillers = []
        try:
            for _ in range(4):
                filler = socket.socket()
                filler.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    filler.connect((host, port))
                fillers.append(filler)
            yield f"{host}:{port}"
        finally:
            for filler in fillers:
                filler.close()
