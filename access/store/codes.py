"""Codes of an app (RFC 6238: SHA-1, six digits, thirty seconds, as every app knows them) and recovery codes."""

import base64
import hmac
import secrets
from datetime import datetime
from urllib.parse import quote, urlencode
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.hotp import HOTP

from access.core.confirm import RECOVERY_CODES, code_hash, recovery_code
from access.models import RecoveryCode, SecondFactor
from access.store import cipher
from audit.store import clock

STEP_S = 30
_DIGITS = 6
_AROUND = (0, -1, 1)
"""Steps that are taken: a person types for a while, and their device's clock may be half a minute off."""


def new_secret() -> bytes:
    """160 random bits, as RFC 4226 recommends."""
    return secrets.token_bytes(20)


def text_of(secret: bytes) -> str:
    """The secret as an app takes it by hand."""
    return base64.b32encode(secret).decode()


def address_of(secret: bytes, email: str) -> str:
    """The otpauth: address that the QR code holds."""
    more = urlencode({"secret": text_of(secret), "issuer": "Clearance", "digits": _DIGITS, "period": STEP_S})
    return f"otpauth://totp/{quote(f'Clearance:{email}')}?{more}"


def matching_step(secret: bytes, code: str, at: datetime, after: int) -> int | None:
    """The time step whose code this is, newer than `after`; None where it is none of now."""
    now = int(at.timestamp()) // STEP_S
    hotp = HOTP(secret, _DIGITS, SHA1())  # noqa: S303  # the algorithm of the standard; its HMAC stands
    for step in (now + around for around in _AROUND):
        if step > after and hmac.compare_digest(hotp.generate(step), code.encode()):
            return step
    return None


def seal(user_id: UUID, secret: bytes) -> bytes:
    """The secret as it is kept, bound to its person."""
    return cipher.seal(tenant_id=f"user:{user_id}", name="app for codes", secret=text_of(secret))


def unseal(user_id: UUID, ciphertext: bytes | memoryview) -> bytes:
    """The secret. Raises Unavailable where it cannot be read with the installation's key."""
    text = cipher.unseal(tenant_id=f"user:{user_id}", name="app for codes", ciphertext=bytes(ciphertext))
    return base64.b32decode(text)


def take_app_code(user_id: UUID, code: str) -> bool:
    """Whether this is the app's code of now; it is used up. In the caller's transaction."""
    row = SecondFactor.objects.select_for_update().filter(user_id=user_id).first()
    if row is None or row.ciphertext is None or len(code) != _DIGITS or not code.isdigit():
        return False
    step = matching_step(unseal(user_id, row.ciphertext), code, clock.now(), row.last_step)
    if step is None:
        return False
    row.last_step = step
    row.save(update_fields=["last_step"])
    return True


def take_recovery_code(user_id: UUID, code: str) -> bool:
    """Whether this is an unused recovery code; it is used up by one conditional UPDATE."""
    found = RecoveryCode.objects.filter(user_id=user_id, code_hash=code_hash(code), used_at=None, void_at=None)
    return found.update(used_at=clock.now()) == 1


def new_recovery_codes(user_id: UUID) -> list[str]:
    """Ten new codes; the ones before are void. They are returned once and kept as hashes."""
    now = clock.now()
    RecoveryCode.objects.filter(user_id=user_id, used_at=None, void_at=None).update(void_at=now)
    made = [recovery_code(secrets.token_bytes(16)) for _ in range(RECOVERY_CODES)]
    RecoveryCode.objects.bulk_create(
        [RecoveryCode(user_id=user_id, code_hash=code_hash(code), made_at=now) for code in made]
    )
    return made
