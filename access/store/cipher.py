"""Encryption of backend credentials with the installation's Fernet key (E5)."""

import json
from functools import lru_cache
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from audit.core.refusal import Unavailable


def seal(*, tenant_id: str, name: str, secret: str) -> bytes:
    """The ciphertext of a secret, bound to its place: moved to another tenant or name it opens no more."""
    inside = json.dumps({"tenant": tenant_id, "name": name, "secret": secret})
    return _cipher(settings.CREDENTIAL_KEY_FILE).encrypt(inside.encode())


def unseal(*, tenant_id: str, name: str, ciphertext: bytes) -> str:
    """The secret. Raises `Unavailable` (CREDENTIAL_UNREADABLE): another key, or the row was changed or moved."""
    try:
        inside = json.loads(_cipher(settings.CREDENTIAL_KEY_FILE).decrypt(ciphertext))
    except InvalidToken:
        inside = None
    if not isinstance(inside, dict) or (inside.get("tenant"), inside.get("name")) != (tenant_id, name):
        raise Unavailable(
            f"The credential {name} cannot be read with the key that CLEARANCE_CREDENTIAL_KEY_FILE names. An operator "
            "must put the right key back, or an admin must store the credential anew.",
            code="CREDENTIAL_UNREADABLE",
        )
    return str(inside["secret"])


def read_keys(path: str) -> list[Fernet]:
    """The keys in the file, one a line: the first seals, all unseal, so that a key can be rotated.

    Raises OSError if the file cannot be read and ValueError if a line is no key or there is none.
    """
    lines = [line.strip() for line in Path(path).read_text().splitlines() if line.strip()]
    if not lines:
        raise ValueError("the file holds no key")
    return [Fernet(line) for line in lines]


@lru_cache(maxsize=4)
def _cipher(path: str) -> MultiFernet:
    try:
        return MultiFernet(read_keys(path))
    except (OSError, ValueError):
        raise Unavailable(
            "The key for backend credentials cannot be read. An operator must correct CLEARANCE_CREDENTIAL_KEY_FILE.",
            code="CREDENTIAL_KEY",
        ) from None
