"""The ring of Ed25519 keys that sign access tokens: read once a process, and again when the folder changes.

A folder instead of one key lets keys be rotated without a moment in which a live token is refused: add the new file
(the lexically last name signs), remove the old one ten minutes later.
"""

import logging
import threading
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from django.conf import settings

from audit.core.refusal import Unavailable

logger = logging.getLogger(__name__)

type Signature = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class KeyRing:
    """`signing_kid` names the key that signs; every key in `public` verifies. Never written to a log: see `repr`."""

    signing_kid: str
    private: Ed25519PrivateKey
    public: dict[str, Ed25519PublicKey]

    def __repr__(self) -> str:
        return f"KeyRing(signs={self.signing_kid!r}, verifies={sorted(self.public)})"


_lock = threading.Lock()
_read: tuple[Path, Signature, KeyRing] | None = None


def key_ring() -> KeyRing:
    """The ring of CLEARANCE_TOKEN_KEYS_DIR as it is now. Raises `Unavailable` (TOKEN_KEYS) when it holds no usable key.

    A file that is no Ed25519 key is named in the log and left out: one bad file must not take the good keys with it,
    and a key that was removed must not go on verifying because another file is bad.
    """
    global _read
    folder = Path(settings.TOKEN_KEYS_DIR)
    with _lock:
        signature = _signature(folder)
        if _read is None or _read[:2] != (folder, signature):
            _read = (folder, signature, read_ring(folder))
        return _read[2]


def read_ring(folder: Path) -> KeyRing:
    """Read the folder anew; see `key_ring`."""
    keys: dict[str, Ed25519PrivateKey] = {}
    for path in sorted(_files(folder)):
        try:
            key = load_pem_private_key(path.read_bytes(), password=None)
        except (OSError, ValueError, TypeError) as error:
            logger.error("The token key %s cannot be read and is left out: %s", path.name, type(error).__name__)
            continue
        if isinstance(key, Ed25519PrivateKey):
            keys[path.stem] = key
        else:
            logger.error("The token key %s is no Ed25519 key and is left out", path.name)
    if not keys:
        raise Unavailable(
            "No key to sign and check access tokens is at hand. An operator must put an Ed25519 key (*.pem) into the "
            "folder that CLEARANCE_TOKEN_KEYS_DIR names.",
            code="TOKEN_KEYS",
        )
    signing = max(keys)
    return KeyRing(signing, keys[signing], {kid: key.public_key() for kid, key in keys.items()})


def _files(folder: Path) -> list[Path]:
    return list(folder.glob("*.pem"))


def _signature(folder: Path) -> Signature:
    """Changes whenever a key file is added, removed, replaced or rewritten."""
    found = []
    for path in sorted(_files(folder)):
        try:
            stat = path.stat()
        except FileNotFoundError:  # removed between the listing and now
            continue
        found.append((path.name, stat.st_ino, stat.st_mtime_ns, stat.st_size))
    return tuple(found)
