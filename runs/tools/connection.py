"""A connected socket to an allow-listed target, and the clock that every socket operation of one request shares.

All of this happens before the caller's last check, so whatever fails here was before any effect.
"""

import socket
import ssl
import time
from collections.abc import Sequence
from functools import cache
from typing import Final
from urllib.parse import SplitResult, urlsplit

from runs.tools.addresses import AddressRefused, Endpoint, permitted_endpoints

_PORTS: Final = {"http": 80, "https": 443}


class NotConnected(Exception):
    """There is no connection, so nothing was sent. `code` and `message` as in HttpAnswer."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code)
        self.code = code
        self.message = message


class Clock:
    """The time that is left for one request."""

    def __init__(self, deadline: float) -> None:
        self.started = time.monotonic()
        self.deadline = deadline

    def left(self, phase: float) -> float:
        """Seconds for the next socket operation, at most `phase`; TimeoutError when the total is used up."""
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        return min(remaining, phase)

    def elapsed_ms(self) -> int:
        """Milliseconds since this clock was made."""
        return round((time.monotonic() - self.started) * 1000)


def split_url(url: str) -> SplitResult:
    """The parts of a target's address; raises NotConnected (BAD_REQUEST) unless it is plain http(s) in ASCII without
    user information, query or fragment."""
    try:
        parts = urlsplit(url)
        usable = (
            parts.scheme in _PORTS
            and bool(parts.hostname)
            and (parts.port or _PORTS[parts.scheme]) > 0
            and url.isascii()
            and parts.username is None
            and not parts.query
            and not parts.fragment
        )
    except ValueError:
        usable = False
    if not usable:
        raise NotConnected("BAD_REQUEST", "The tool's address is not a plain http or https address.")
    return parts


def connect(
    parts: SplitResult, *, allowed_hosts: Sequence[str], clock: Clock, timeout: float, tls: ssl.SSLContext | None
) -> socket.socket:
    """A socket connected to an allow-listed address of the target, with TLS where it says https.

    `timeout` in seconds bounds name look-up, connecting and the TLS handshake, each. Raises NotConnected.
    """
    host = parts.hostname or ""
    port = parts.port or _PORTS[parts.scheme]
    try:
        endpoints = permitted_endpoints(
            host,
            port,
            allowed=allowed_hosts,
            default_port=_PORTS[parts.scheme],
            deadline=time.monotonic() + clock.left(timeout),
        )
    except AddressRefused as refused:
        raise NotConnected(refused.code, refused.message) from None
    except TimeoutError:
        raise NotConnected("DEADLINE_PASSED", "The time for this call was over before it began.") from None
    plain = _connect_any(endpoints, clock, timeout, f"{host}:{port}")
    return _start_tls(plain, host, clock, timeout, tls) if parts.scheme == "https" else plain


def _connect_any(endpoints: Sequence[Endpoint], clock: Clock, timeout: float, where: str) -> socket.socket:
    code, reason = "CONNECT_TIMEOUT", "it did not answer in time"
    for endpoint in endpoints:
        plain = socket.socket(endpoint.family, socket.SOCK_STREAM)
        try:
            plain.settimeout(clock.left(timeout))
            # A request of a few hundred bytes goes out at once instead of waiting for an acknowledgement.
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.connect(endpoint.sockaddr)
            return plain
        except TimeoutError:
            plain.close()
        except OSError as error:
            plain.close()
            code, reason = "CONNECT_FAILED", (error.strerror or type(error).__name__).lower()
    raise NotConnected(code, f"{where} cannot be reached: {reason}. Nothing was sent.")


def _start_tls(
    plain: socket.socket, host: str, clock: Clock, timeout: float, tls: ssl.SSLContext | None
) -> socket.socket:
    try:
        plain.settimeout(clock.left(timeout))
        return (tls or _system_trust()).wrap_socket(plain, server_hostname=host)
    except (OSError, ValueError) as error:
        plain.close()
        reason = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else type(error).__name__
        raise NotConnected(
            "TLS_FAILED", f"No trusted TLS connection to {host} could be made ({reason}). Nothing was sent."
        ) from None


@cache
def _system_trust() -> ssl.SSLContext:
    # Loading the certificates takes tens of milliseconds, so it is done once in a process.
    return ssl.create_default_context()
