"""What a wrong installation is told before it starts: Django system checks with ids and hints."""

import os
import stat
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from access.store import cipher, keys
from audit.core.refusal import Unavailable


@register(Tags.security)
def token_keys(**_: Any) -> list[CheckMessage]:
    """access.E001 no usable key; access.W001 a key that others can read; access.E004 a file that is no key."""
    folder = Path(settings.TOKEN_KEYS_DIR)
    try:
        ring = keys.read_ring(folder)
    except Unavailable as problem:
        return [
            Error(
                f"{folder} holds no usable key for access tokens.",
                hint=problem.message + " For example: openssl genpkey -algorithm ed25519 -out 2026-01.pem",
                id="access.E001",
            )
        ]
    found: list[CheckMessage] = [
        Error(
            f"The token key {path.name} is no Ed25519 private key without a passphrase.",
            hint="Remove the file, or put the right one in its place. Tokens that name it are refused until then.",
            id="access.E004",
        )
        for path in sorted(folder.glob("*.pem"))
        if path.stem not in ring.public
    ]
    found += [_too_open(path, "access.W001") for path in sorted(folder.glob("*.pem")) if _is_open(path)]
    return found


@register(Tags.security)
def credential_key(**_: Any) -> list[CheckMessage]:
    """access.E002 no usable key for backend credentials; access.W002 a key file that others can read."""
    path = Path(settings.CREDENTIAL_KEY_FILE)
    try:
        cipher.read_keys(str(path))
    except (OSError, ValueError):
        return [
            Error(
                f"{path} holds no usable key for backend credentials.",
                hint="CLEARANCE_CREDENTIAL_KEY_FILE names a file with one Fernet key a line; the first one encrypts. "
                "Make one with: python -c 'from cryptography.fernet import Fernet as F; "
                "print(F.generate_key().decode())'",
                id="access.E002",
            )
        ]
    return [_too_open(path, "access.W002")] if _is_open(path) else []


@register(Tags.security)
def base_url(**_: Any) -> list[CheckMessage]:
    """access.E003: CLEARANCE_BASE_URL is the issuer of every token, compared letter by letter."""
    parts = urlsplit(settings.BASE_URL)
    if parts.scheme in ("http", "https") and parts.hostname and not parts.path and not parts.query:
        return []
    return [
        Error(
            f"CLEARANCE_BASE_URL is {settings.BASE_URL!r}, which is no address of a site.",
            hint="Write scheme and host only, without a path or slash at the end: https://clearance.example.org",
            id="access.E003",
        )
    ]


@register(Tags.security)
def behind_a_proxy(**_: Any) -> list[CheckMessage]:
    """access.W003: TLS ends at a proxy, and nobody said so: every caller would share one counter of wrong passwords."""
    if not settings.BASE_URL.startswith("https://") or settings.TRUSTED_PROXIES > 0:
        return []
    return [
        Warning(
            "The site is reached over https, so a proxy stands before it, and CLEARANCE_TRUSTED_PROXIES is 0.",
            hint="Set it to the number of proxies (usually 1). Until then all callers have the proxy's address, and "
            "wrong passwords of one slow everybody's sign-in down.",
            id="access.W003",
        )
    ]


@register(Tags.security)
def mail_set_up(**_: Any) -> list[CheckMessage]:
    """access.W004: an installation that others reach sends no mail, so a forgotten password stays forgotten."""
    if not settings.BASE_URL.startswith("https://") or settings.MAIL.kind == "smtp":
        return []
    return [
        Warning(
            f"{settings.MAIL.words} Nobody gets an invitation or a link for a new password.",
            hint="CLEARANCE_EMAIL_URL=smtp+starttls://user@mail.example.org:587 and CLEARANCE_EMAIL_PASSWORD_FILE; "
            "the page Mail sends a test.",
            id="access.W004",
        )
    ]


def _is_open(path: Path) -> bool:
    """True if others than the owner and its group can read the file (a group is how a service gets its secrets)."""
    return os.name == "posix" and bool(stat.S_IMODE(path.stat().st_mode) & 0o007)


def _too_open(path: Path, check_id: str) -> CheckMessage:
    return Warning(f"{path.name} can be read by everybody on this machine.", hint=f"chmod 600 {path}", id=check_id)
