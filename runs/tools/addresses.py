"""Where an adapter may connect: the allow-list of a contract, judged on the name *and* on the resolved address.

A listed name whose DNS record points at the loopback or a private network would turn our server into a way in
(S60's kind: the target is what the admin named, not what somebody's DNS says today). So a resolved address must be a
public one, unless the list names that very address too (`10.0.0.5:8443`) or names `localhost` for the loopback.
The connection is then made to the checked address, so a second DNS answer cannot change it.
"""

import ipaddress
import queue
import re
import socket
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_ENTRY: Final = re.compile(r"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<host>[^\[\]:]+))(?::(?P<port>[0-9]{1,5}))?", re.ASCII)

type _Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressRefused(Exception):
    """The target may not, or cannot, be connected to; nothing was sent. `code` is HOST_NOT_ALLOWED, ADDRESS_NOT_ALLOWED
    or DNS_FAILED; `message` a plain sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address that may be connected to, in the form `socket.connect` wants."""

    family: int
    sockaddr: tuple[str, int]


def permitted_endpoints(
    host: str, port: int, *, allowed: Iterable[str], default_port: int, deadline: float
) -> list[Endpoint]:
    """The addresses of `host` that the allow-list permits, in the resolver's order; never empty.

    `host` is a name or an address without brackets; `allowed` holds `host:port` entries, an entry without a port means
    `default_port`, the one of the scheme; `deadline` is in `time.monotonic()` seconds and bounds the name look-up.
    Raises AddressRefused.
    """
    listed = {_split(entry, default_port) for entry in allowed}
    name = host.lower().rstrip(".")
    literal = _literal(name)
    if ((name if literal is None else str(literal)), port) not in listed:
        raise AddressRefused(
            "HOST_NOT_ALLOWED",
            f"{host}:{port} is not among the hosts this tool may call. Add it to the contract's allowed_hosts.",
        )
    addresses = [literal] if literal is not None else _resolve(name, port, deadline)
    for address in addresses:
        if (str(address), port) in listed or _is_public(address) or (name == "localhost" and address.is_loopback):
            continue
        raise AddressRefused(
            "ADDRESS_NOT_ALLOWED",
            f"{host} resolves to {address}, which is not a public address. List {address}:{port} in the contract's "
            "allowed_hosts as well if that is meant.",
        )
    return [
        Endpoint(socket.AF_INET6 if address.version == 6 else socket.AF_INET, (str(address), port))
        for address in addresses
    ]


def _split(entry: str, default_port: int) -> tuple[str, int]:
    """`host`, `host:port` or `[v6]:port` as (lower-case host or normal form of the address, port)."""
    found = _ENTRY.fullmatch(entry.strip().lower())
    if found is None:
        return entry, -1
    host = (found["v6"] or found["host"]).rstrip(".")
    literal = _literal(host)
    return (host if literal is None else str(literal)), int(found["port"] or default_port)


def _literal(host: str) -> _Address | None:
    try:
        return _plain(ipaddress.ip_address(host))
    except ValueError:
        return None


def _plain(address: _Address) -> _Address:
    """::ffff:127.0.0.1 reaches 127.0.0.1, so it is judged as that."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _is_public(address: _Address) -> bool:
    return address.is_global and not address.is_multicast


def _resolve(name: str, port: int, deadline: float) -> list[_Address]:
    """The addresses of a name. getaddrinfo knows no time limit, so it runs in a thread that may be left behind."""
    answers: queue.SimpleQueue[list[str] | None] = queue.SimpleQueue()

    def ask() -> None:
        try:
            found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
            answers.put([str(sockaddr[0]) for *_, sockaddr in found])
        except (OSError, UnicodeError):
            answers.put(None)

    threading.Thread(target=ask, name="resolve-target", daemon=True).start()
    try:
        texts = answers.get(timeout=max(deadline - time.monotonic(), 0.001))
    except queue.Empty:
        raise AddressRefused("DNS_FAILED", f"Looking up {name} took longer than the call may take.") from None
    # A scope (fe80::1%eth0) is only ever link-local; `ip_address` keeps it and the address stays non-public.
    addresses = [_plain(ipaddress.ip_address(text)) for text in dict.fromkeys(texts or [])]
    if not addresses:
        raise AddressRefused("DNS_FAILED", f"The name {name} has no address. Check the contract's base_url.")
    return addresses
