"""What a host name leads to, and whether that is a public machine; for everything that connects outward.

A name whose DNS record points at the loopback or a private network would turn our server into a way in. So an address
is judged after it was looked up, and the connection is then made to that very one: a second answer changes nothing.
"""

import ipaddress
import queue
import socket
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass

type Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_UNICAST = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


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


def public_endpoints(host: str, port: int, *, allowed: Collection[str], deadline: float) -> list[Endpoint]:
    """The addresses of `host`, all of them public or named by `allowed` (itself, or by the host's name); never empty.

    `deadline` is in `time.monotonic()` seconds and bounds the name look-up. Raises AddressRefused.
    """
    name = host.lower().rstrip(".")
    known = literal(name)
    addresses = [known] if known is not None else resolve(name, port, deadline, remedy="Check the address.")
    for address in addresses:
        if name not in allowed and str(address) not in allowed and not is_public(address):
            raise AddressRefused(
                "ADDRESS_NOT_ALLOWED", f"{host} leads to {address}, which is not a public address. Nothing was sent."
            )
    return endpoints(addresses, port)


def endpoints(addresses: list[Address], port: int) -> list[Endpoint]:
    """The same addresses as a socket takes them."""
    return [
        Endpoint(socket.AF_INET6 if address.version == 6 else socket.AF_INET, (str(address), port))
        for address in addresses
    ]


def literal(host: str) -> Address | None:
    """The address that a host is written as; None for a name."""
    try:
        return _plain(ipaddress.ip_address(host))
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """True for what anybody on the internet can reach. Of IPv6 only what is given out for that, and an IPv4 address
    that is written into one by its own: a gateway would carry 64:ff9b::10.0.0.5 to 10.0.0.5."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address not in _UNICAST:
            return False
    return address.is_global and not address.is_multicast


def _plain(address: Address) -> Address:
    """::ffff:127.0.0.1 reaches 127.0.0.1, so it is judged as that."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def resolve(name: str, port: int, deadline: float, *, remedy: str) -> list[Address]:
    """The addresses of a name; never empty. Raises AddressRefused (DNS_FAILED).

    getaddrinfo knows no time limit, so it runs in a thread that may be left behind.
    """
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
        raise AddressRefused("DNS_FAILED", f"The name {name} has no address. {remedy}")
    return addresses
