"""RFC 8785 canonical JSON and the SHA-256 over it: the bytes that are shown, hashed and executed (data rule 14)."""

import hashlib

import rfc8785

from audit.core.refusal import Invalid


def canonical_bytes(value: object) -> bytes:
    """The RFC 8785 form of a JSON value, as UTF-8 bytes.

    Raises `Invalid` (NOT_CANONICAL) for what has no such form: NaN, infinities, integers beyond ±(2^53-1), lone
    surrogates, keys that are not text, other Python types, and nesting too deep to write. A value that came through
    the JSON door never does.
    """
    try:
        return rfc8785.dumps(value)  # type: ignore[arg-type]
    except (ValueError, RecursionError) as error:  # CanonicalizationError is a ValueError, as is a bad key
        raise Invalid(
            f"This value has no canonical JSON form ({error}). Read it through the JSON door first.",
            code="NOT_CANONICAL",
        ) from error


def sha256_hex(data: bytes) -> str:
    """SHA-256 of `data` as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def short_digest(digest: str) -> str:
    """The first eight digits of a hex digest as people read them: `a1f3 9c07`. For recognising, never for comparing."""
    return f"{digest[:4]} {digest[4:8]}"
