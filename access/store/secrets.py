"""Secrets of agents and refresh tokens: made here, shown once, kept only as hashes (E5).

Both are 256 random bits, so one SHA-256 is the right hash: there is nothing to guess that a slow hash could slow down,
while Argon2 as Django sets it would cost 100 MB and a tenth of a second for every exchange and every attack. People's
passwords, which can be guessed, are Argon2 (settings.PASSWORD_HASHERS).
"""

import hashlib
import hmac
import secrets

CLIENT_PREFIX = "agt_"
SECRET_PREFIX = "clrs_"  # noqa: S105 - a mark by which leaked secrets are found, no secret
REFRESH_PREFIX = "clrt_"

NOBODY = hashlib.sha256(b"no secret has this hash").hexdigest()
"""What an unknown client's secret is compared with, so that it costs the same as a wrong one."""


def new_client_id() -> str:
    """A public identifier of 96 random bits."""
    return CLIENT_PREFIX + secrets.token_hex(12)


def new_secret() -> str:
    """An agent's secret: 256 random bits."""
    return SECRET_PREFIX + secrets.token_urlsafe(32)


def new_refresh_token() -> str:
    """A refresh token: 256 random bits."""
    return REFRESH_PREFIX + secrets.token_urlsafe(32)


def new_password() -> str:
    """A password to be shown once: 100 random bits in five groups that can be read aloud."""
    alphabet = "abcdefghjkmnpqrstuvwxyz23456789"
    return "-".join("".join(secrets.choice(alphabet) for _ in range(4)) for _ in range(5))


def new_link_token() -> str:
    """The token of a single-use link: 256 random bits."""
    return secrets.token_urlsafe(32)


def new_token_id() -> str:
    """A token's `jti`: 128 random bits."""
    return secrets.token_hex(16)


def hash_of(secret: str) -> str:
    """SHA-256 as 64 hexadecimal digits; what is kept instead of the secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def matches(secret: str, kept: str) -> bool:
    """Compare in constant time; `kept` is a hash from `hash_of`."""
    return hmac.compare_digest(hash_of(secret), kept)
