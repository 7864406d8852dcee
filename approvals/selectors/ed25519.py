"""Ed25519 keys as publishers give them, and whether a contract's envelope verifies. Of `cryptography` and PyJWT."""

import base64
import binascii
import hashlib
import re

import jwt
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
    load_pem_public_key,
)

from approvals.core.contract_signing import ALGORITHM, Envelope
from audit.core.refusal import Invalid

MAX_KEY_TEXT = 4_096
_JWS = jwt.PyJWS(algorithms=[ALGORITHM])
# R is the neutral point and S is zero: verifies exactly where the key times the message's hash vanishes, which it does
# for one message in eight (or more) under the keys of small order, and never under an honest one.
_FORGED = bytes([1]) + bytes(63)
_TRIES = 128


def read_public_key(text: str) -> bytes:
    """A public key given as PEM, or as the base64 of its SubjectPublicKeyInfo; as DER. Raises Invalid (KEY_INVALID)."""
    given = text.strip()
    if "PRIVATE KEY" in given:
        raise _invalid(
            "This is a private key. It was not kept, but it has left its place: make a new pair, and give the public "
            "half here."
        )
    if len(given) > MAX_KEY_TEXT:
        raise _invalid(f"This text has {len(given):,} characters; a public key has about 110.")
    try:
        if given.startswith("-----BEGIN"):
            key = load_pem_public_key(given.encode())
        else:
            key = load_der_public_key(base64.b64decode(re.sub(r"\s", "", given), validate=True))
    except (ValueError, binascii.Error):
        raise _invalid(
            "This is no public key. Give the text from -----BEGIN PUBLIC KEY----- to its end, or its base64 alone."
        ) from None
    except Exception as error:  # a kind that the library knows of and does not support
        raise _invalid(f"This key cannot be read ({type(error).__name__}). Only Ed25519 keys are taken.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise _invalid("This is a key of another kind. Only Ed25519 keys are taken.")
    if _is_weak(key):
        raise _invalid(
            "Under this key anybody can make signatures: it is one of the few of small order. Ask for another."
        )
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def fingerprint(public_key: bytes) -> str:
    """SHA-256 of the SubjectPublicKeyInfo, as for people's passkeys."""
    return hashlib.sha256(public_key).hexdigest()


def verifies(envelope: Envelope, public_key: bytes, payload: bytes) -> bool:
    """Whether this key signed `payload` in this envelope. The envelope's form was judged when it was read."""
    key = load_der_public_key(public_key)
    if not isinstance(key, Ed25519PublicKey) or fingerprint(public_key) != envelope.fingerprint:
        return False
    try:
        _JWS.decode_complete(envelope.raw, key, algorithms=[ALGORITHM], detached_payload=payload)
    except jwt.InvalidTokenError:
        return False
    return True


def _is_weak(key: Ed25519PublicKey) -> bool:
    for number in range(_TRIES):
        try:
            key.verify(_FORGED, number.to_bytes(2, "big"))
        except InvalidSignature:
            continue
        return True
    return False


def _invalid(message: str) -> Invalid:
    return Invalid(f"{message} Nothing was stored.", code="KEY_INVALID", missing=["public_key"])
