"""Where an adapter may connect: the allow-list of a contract, judged on the name *and* on the resolved address.

A listed name whose DNS record points at the loopback or a private network would turn our server into a way in
(S60's kind: the target is what the admin named, not what somebody's DNS says today). So a resolved address must be a
public one, unless the list names that very address too (`10.0.0.5:8443`) or names `localhost` for the loopback.
The connection is then made to the checked address, so a second DNS answer cannot change it.
"""

import re
from collections.abc import Iterable
from typing import Final

from audit.store.addresses import AddressRefused as AddressRefused
from audit.store.addresses import Endpoint as Endpoint
from audit.store.addresses import endpoints, is_public, literal, resolve

_ENTRY: Final = re.compile(r"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<host>[^\[\]:]+))(?::(?P<port>[0-9]{1,5}))?", re.ASCII)


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
    known = literal(name)
    if ((name if known is None else str(known)), port) not in listed:
        raise AddressRefused(
            "HOST_NOT_ALLOWED",
            f"{host}:{port} is not among the hosts this tool may call. Add it to the contract's allowed_hosts.",
        )
    looked_up = "Check the contract's base_url."
    addresses = [known] if known is not None else resolve(name, port, deadline, remedy=looked_up)
    for address in addresses:
        if (str(address), port) in listed or is_public(address) or (name == "localhost" and address.is_loopback):
            continue
        raise AddressRefused(
            "ADDRESS_NOT_ALLOWED",
            f"{host} resolves to {address}, which is not a public address. List {address}:{port} in the contract's "
            "allowed_hosts as well if that is meant.",
        )
    return endpoints(addresses, port)


def _split(entry: str, default_port: int) -> tuple[str, int]:
    """`host`, `host:port` or `[v6]:port` as (lower-case host or normal form of the address, port)."""
    found = _ENTRY.fullmatch(entry.strip().lower())
    if found is None:
        return entry, -1
    host = (found["v6"] or found["host"]).rstrip(".")
    known = literal(host)
    return (host if known is None else str(known)), int(found["port"] or default_port)
