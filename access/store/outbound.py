"""One request to an address that an admin named, to a public machine only and with an end in sight."""

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from audit.store.addresses import AddressRefused, Endpoint, public_endpoints

CONNECT_S = 5.0
WHOLE_S = 15.0
"""However slowly an answer drips, it is over after so many seconds."""
GONE = 410
_READ = 2_048  # bytes of an answer that are looked at


@dataclass(frozen=True, slots=True)
class Told:
    """What came of it: the answer's status, 0 where there was none, and words for an admin."""

    status: int
    words: str

    @property
    def arrived(self) -> bool:
        """Any 2xx; a redirect is none, and is not followed: it could lead inside."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered: the status, 0 where there was none, with its first bytes; `words` where there was none."""

    status: int
    body: bytes
    words: str


class _Connection(http.client.HTTPConnection):
    """To an address that was judged, whatever the name means by now."""

    def __init__(self, host: str, port: int, endpoints: list[Endpoint], tls: ssl.SSLContext | None) -> None:
        super().__init__(host, port, timeout=CONNECT_S)
        self._endpoints, self._tls = endpoints, tls

    def connect(self) -> None:
        problem: OSError | None = None
        for endpoint in self._endpoints:
            plain = socket.socket(endpoint.family, socket.SOCK_STREAM)
            plain.settimeout(CONNECT_S)
            try:
                plain.connect(endpoint.sockaddr)
                self.sock = self._tls.wrap_socket(plain, server_hostname=self.host) if self._tls else plain
            except OSError as error:
                plain.close()
                problem = error
            else:
                return
        raise problem or OSError("there is no address")


def post(url: str, body: bytes, headers: Mapping[str, str], *, allowed: Collection[str]) -> Told:
    """Send it, once; never raises for what the network or the receiver does.

    `allowed` are hosts (names or addresses) whose addresses need not be public, by the settings of the installation.
    """
    answer = ask("POST", url, body, headers, allowed=allowed, most=_READ)
    return Told(answer.status, answer.words or f"The receiver answered {answer.status}.")


def ask(
    method: str,
    url: str,
    body: bytes | None,
    headers: Mapping[str, str],
    *,
    allowed: Collection[str],
    most: int,
    who: str = "receiver",
) -> Answer:
    """Send a request, once, and read up to `most` bytes of its answer. Never raises, as `post`; `who` is for words."""
    parts = urlsplit(url)
    tls = ssl.create_default_context() if parts.scheme == "https" else None
    host, port = parts.hostname or "", parts.port or (443 if tls else 80)
    try:
        endpoints = public_endpoints(host, port, allowed=allowed, deadline=time.monotonic() + CONNECT_S)
    except AddressRefused as refused:
        return Answer(0, b"", refused.message)
    connection = _Connection(host, port, endpoints, tls)
    over = threading.Timer(WHOLE_S, _shut, [connection])
    over.daemon = True
    over.start()
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        return Answer(answer.status, answer.read(most), "")
    except ssl.SSLError as error:
        return Answer(0, b"", f"The encrypted connection failed: {error.reason or 'unknown'}.")
    except TimeoutError:
        return Answer(0, b"", f"The {who} did not answer in time.")
    except (OSError, http.client.HTTPException) as error:
        return Answer(0, b"", f"It could not be sent ({type(error).__name__}).")
    finally:
        over.cancel()
        connection.close()


def _shut(connection: http.client.HTTPConnection) -> None:
    try:
        if connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
