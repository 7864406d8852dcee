"""Small texts: a browser's name, the address of a link, somebody who is not signed in."""

from audit.core.actor import Actor


def browser_words(header: str) -> str:
    """`Firefox on Linux` from a User-Agent header; what it cannot name is left out. A hint for its owner, no proof."""
    browser = next((name for mark, name in _BROWSERS if mark in header), "")
    system = next((name for mark, name in _SYSTEMS if mark in header), "")
    return " on ".join(word for word in (browser, system) if word) or "Unknown browser"


# In this order: each browser also claims to be those further down.
_BROWSERS = (
    ("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("FxiOS/", "Firefox"), ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"), ("Safari/", "Safari"), ("curl/", "curl"), ("python-httpx/", "A Python program"),
)  # fmt: skip
_SYSTEMS = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"), ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"), ("Linux", "Linux"),
)  # fmt: skip


def link_address(base_url: str, token: str) -> str:
    """Where a single-use link leads."""
    return f"{base_url}/password/new/?link={token}"


def nobody(tenant_id: str) -> Actor:
    """Somebody at a browser who has not shown who they are."""
    return Actor(
        kind="person", id="", name="somebody not signed in", tenant_id=tenant_id, roles=frozenset(),
        groups=frozenset(), scopes=frozenset(), via="session",
    )  # fmt: skip
