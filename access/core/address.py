"""Network addresses as throttles and the audit log keep them."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network


def address_of(remote: str, forwarded: str, proxies: int) -> str:
    """The caller's address: `remote`, or with `proxies` trusted ones before us the entry that the outermost one wrote.

    `forwarded` is X-Forwarded-For. Entries further left come from the caller and are never believed. "" if unknown.
    """
    if proxies > 0:
        entries = [entry.strip() for entry in forwarded.split(",") if entry.strip()]
        if len(entries) >= proxies:
            remote = entries[-proxies]
    known = _parsed(remote)
    return "" if known is None else str(known)


def throttled_as(address: str) -> str:
    """What counts as one caller: an IPv4 address, or the /64 of an IPv6 one, in which every host is free to move."""
    known = _parsed(address)
    if isinstance(known, IPv6Address):
        return str(ip_network((known, 64), strict=False))
    return str(known) if known is not None else ""


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    try:
        known = ip_address(text)
    except ValueError:
        return None
    if isinstance(known, IPv6Address) and known.ipv4_mapped is not None:
        return known.ipv4_mapped
    return known
