"""A webhook's address, and when what did not arrive is tried again."""

import re
from collections.abc import Collection
from datetime import timedelta
from ipaddress import IPv6Address

from audit.core.refusal import Invalid
from audit.core.visible import visible

LEASE = timedelta(minutes=2)
"""Whoever takes an event to send it has it for so long; longer than one try may take."""
TRIES = (
    timedelta(seconds=10),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
)
"""How long after each try that failed the next one comes; after the last there is none."""
_HOST = r"\[[0-9a-f:.]+\]|[a-z0-9._-]+"
_ADDRESS = re.compile(rf"(?P<scheme>https?)://(?P<host>{_HOST})(?::(?P<port>[0-9]{{1,5}}))?(?:/[!-~]*)?", re.ASCII)


def next_try(attempts: int) -> timedelta | None:
    """How long to wait after so many tries; None when it is given up."""
    return TRIES[attempts - 1] if attempts <= len(TRIES) else None


def _can_be_reached(found: re.Match[str]) -> bool:
    """Not so with a port over 65535, or with brackets around what is no IPv6 address."""
    host, port = found["host"], found["port"]
    try:
        return (not host.startswith("[") or bool(IPv6Address(host[1:-1]))) and (port is None or 0 < int(port) < 65_536)
    except ValueError:
        return False


def url_of(text: str, *, insecure: Collection[str]) -> str:
    """The address as it is kept. Raises `Invalid` (WEBHOOK_URL): not https (or http to one of the `insecure` hosts that
    the settings name), user information, a fragment, characters that people cannot see."""
    url = text.strip()
    found = _ADDRESS.fullmatch(url) if len(url) <= 2_000 and "#" not in url else None
    if found is None or not _can_be_reached(found) or any(piece.kind == "escape" for piece in visible(url)):
        raise Invalid(
            "An address is written like https://example.org/hooks/clearance: lower-case host, no user name, no #.",
            code="WEBHOOK_URL",
        )
    if found["scheme"] != "https" and found["host"].strip("[]") not in insecure:
        raise Invalid("Events are sent by https only. Use an https address.", code="WEBHOOK_URL")
    return url
