"""A publisher's signature of a contract: the form of its envelope, and what is said of it (R10: judged by its origin).

The envelope is a JWS with detached, unencoded payload (RFC 7515 appendix F, RFC 7797) in compact form; the payload is
the RFC 8785 form of the contract's document. One header is taken and no other: its `typ` is the domain, so that what
was signed for anything else never verifies here. Why this form: docs/decisions/0018-signed-contracts.md.
"""

import base64
import binascii
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import open_json
from audit.core.refusal import Invalid, Refusal, TooLarge
from audit.core.visible import visible

DOMAIN = "clearance-contract+jws"
FORMAT = 1
ALGORITHM = "EdDSA"
MAX_BYTES = 1_024
"""Bytes that an envelope may have; a right one has about 310."""
SIGNATURE_BYTES = 64
LONGEST_PUBLISHER = 100
LONGEST_REASON = 2_000

_FINGERPRINT = re.compile(r"[0-9a-f]{64}")
_PART = re.compile(r"[A-Za-z0-9_-]+")

type State = Literal["none", "valid", "unregistered", "misfit", "revoked"]

TONES: dict[str, str] = {"none": "still", "valid": "good", "unregistered": "unsure", "misfit": "bad", "revoked": "bad"}
"""How each state is marked on a page."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A well-formed envelope: its ASCII bytes without white space around, and the fingerprint of the key it names."""

    raw: bytes
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """What holds of a contract's signature now. `named` is the publisher that the contract itself names."""

    state: State = "none"
    publisher: str = ""
    fingerprint: str = ""
    envelope: str = ""
    stored_by: str = ""
    stored_at: datetime | None = None
    revoked_by: str = ""
    revoked_at: datetime | None = None
    revoked_because: str = ""
    named: str = ""

    @property
    def tone(self) -> str:
        """The mark of the state."""
        return TONES[self.state]

    @property
    def short(self) -> str:
        """The state in a word or two, for lists."""
        return {
            "none": "not signed",
            "valid": "signed",
            "unregistered": "signed by an unknown key",
            "misfit": "signature does not fit",
            "revoked": "key revoked",
        }[self.state]

    @property
    def words(self) -> str:
        """One sentence that says it. The publisher's name is one that an admin registered; it hides nothing."""
        key = key_words(self.fingerprint)
        if self.state == "valid":
            return f"Signed by {self.publisher} with the key {key}; the signature fits this very document."
        if self.state == "unregistered":
            return f"Signed by the key {key}, which nobody registered here: it says nothing about who wrote this."
        if self.state == "misfit":
            return (
                f"The signature that came with it, of the key {key}, does not fit: the document or the signature was "
                "changed, or another key made it."
            )
        if self.state == "revoked":
            at = f" at {self.revoked_at:%Y-%m-%d %H:%M} UTC" if self.revoked_at else ""
            return (
                f"Signed by {self.publisher} with the key {key}, which {self.revoked_by} revoked{at}: "
                f"{self.revoked_because}"
            )
        return "Not signed."

    @property
    def other_name(self) -> str:
        """A sentence where the contract names another publisher than the one that signed it; else ""."""
        if self.state != "valid" or not self.named or folded(self.named) == folded(self.publisher):
            return ""
        return (
            f"The contract names another publisher than {self.publisher}, who signed it. Ask why before you admit it."
        )

    def as_dict(self) -> dict[str, str]:
        """For programs."""
        return {
            "state": self.state,
            "words": self.words,
            "publisher": self.publisher if self.state in ("valid", "revoked") else "",
            "fingerprint": self.fingerprint,
        }


NOT_SIGNED = Signed()


def key_words(fingerprint: str) -> str:
    """The first sixteen digits of a fingerprint as people read them. For recognising, never for comparing."""
    return " ".join(fingerprint[at : at + 4] for at in range(0, 16, 4)) if fingerprint else ""


def header_of(fingerprint: str) -> bytes:
    """The one protected header that is taken, in its one byte form."""
    return canonical_bytes(
        {"alg": ALGORITHM, "b64": False, "crit": ["b64"], "format": FORMAT, "kid": fingerprint, "typ": DOMAIN}
    )


def read_envelope(text: str | bytes) -> Envelope:
    """The envelope in a text. Says nothing about whether the signature fits.

    Raises TooLarge (SIGNATURE_TOO_LARGE), Invalid (SIGNATURE_MALFORMED) with what is wrong with it.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    raw = raw.strip(b" \t\r\n")
    if len(raw) > MAX_BYTES:
        raise TooLarge(
            f"The signature has {len(raw):,} bytes; one of a contract has about 310, and at most {MAX_BYTES:,} are "
            "taken. Give the file that sign_contract wrote, not the contract.",
            code="SIGNATURE_TOO_LARGE",
        )
    parts = raw.decode("ascii", "replace").split(".")
    if len(parts) != 3:
        raise _malformed("It has not the form header..signature. Give the line that sign_contract wrote, whole")
    if parts[1]:
        raise _malformed("Something stands between its two dots, where a contract's document is left out")
    header = _decoded(parts[0], "header")
    fingerprint = _fingerprint(header)
    if header != header_of(fingerprint):
        raise _malformed("Its header says the right things in another form than sign_contract writes. Sign it anew")
    signature = _decoded(parts[2], "signature")
    if len(signature) != SIGNATURE_BYTES:
        raise _malformed(
            f"An Ed25519 signature has {SIGNATURE_BYTES} bytes, and this one has {len(signature)}; perhaps it was cut "
            "when it was copied"
        )
    return Envelope(raw, fingerprint)


def _fingerprint(header: bytes) -> str:
    """The key that a header names, where it says what a header of ours says."""
    try:
        said = open_json(header, limit=MAX_BYTES)
    except Refusal as refusal:
        raise _malformed(f"Its header cannot be read: {refusal.message}") from None
    if not isinstance(said, dict):
        raise _malformed("Its header is no JSON object")
    if said.get("alg") != ALGORITHM:
        alg = said.get("alg")
        shown = f"“{alg}”" if isinstance(alg, str) and alg.isascii() and alg.isalnum() and len(alg) < 20 else "another"
        raise _malformed(f"Its algorithm is {shown}, and only {ALGORITHM} (Ed25519) is taken")
    if said.get("typ") != DOMAIN:
        raise _malformed(f"It was made for something else than a contract: its type is not {DOMAIN}")
    if said.get("format") != FORMAT:
        raise _malformed(f"Its format is not {FORMAT}, the only one that is known here")
    kid = said.get("kid")
    if not isinstance(kid, str) or not _FINGERPRINT.fullmatch(kid):
        raise _malformed("It names no key: kid is the SHA-256 of the public key, in 64 digits")
    return kid


def _decoded(part: str, what: str) -> bytes:
    # Strict: no padding, nothing from another alphabet, no bits to spare. One signature has one writing.
    try:
        if not _PART.fullmatch(part):
            raise ValueError
        data = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except (ValueError, binascii.Error):
        raise _malformed(f"The {what} is no base64url; perhaps it was cut when it was copied") from None
    if base64.urlsafe_b64encode(data).rstrip(b"=").decode() != part:
        raise _malformed(f"The {what} is base64url of another writing; perhaps it was cut when it was copied")
    return data


def _malformed(why: str) -> Invalid:
    end = "" if why.endswith(".") else "."
    return Invalid(f"This is no signature of a contract. {why}{end} Nothing was stored.", code="SIGNATURE_MALFORMED")


def folded(name: str) -> str:
    """A name for comparing: what people read as the same is the same."""
    return " ".join(name.casefold().split())


def publisher_of(text: str, known: Collection[str]) -> str:
    """A publisher's name, without spaces around it. `known` are the names that keys have already.

    Raises Invalid (PUBLISHER_INVALID: empty, too long, hidden or look-alike characters; written in another way than the
    same name before).
    """
    name = text.strip(" \t\r\n")
    if not name or len(name) > LONGEST_PUBLISHER:
        raise _no_name(f"The name of a publisher has 1 to {LONGEST_PUBLISHER} characters.")
    for piece in visible(name, multiline=False):
        if piece.kind == "escape":
            raise _no_name(
                f"The name holds {piece.text} {piece.note}".rstrip() + ", which people cannot see. Remove it; what you "
                "copied it from may want to look like somebody else."
            )
        if piece.kind == "lookalike":
            raise _no_name(f"A word of the name may be misread: {piece.note}. Write it plainly.")
    for other in known:
        if other != name and folded(other) == folded(name):
            raise _no_name(
                f"There is a publisher {other} already, which reads the same. Write the name as it is there."
            )
    return name


def _no_name(message: str) -> Invalid:
    return Invalid(message, code="PUBLISHER_INVALID", missing=["publisher"])


def admission_problem(signed: Signed, *, signed_only: bool) -> tuple[str, str]:
    """(code, sentence) of why a contract with this signature is not admitted; ("", "") if it may be.

    A signature that does not fit, or whose key was revoked, is worse than none: it has to go before anything else.
    """
    if signed.state == "misfit":
        return "SIGNATURE_MISFIT", (
            "The signature does not fit this document, so it is not admitted. Remove the signature, or import the "
            "contract anew with the right one."
        )
    if signed.state == "revoked":
        return "SIGNATURE_REVOKED", (
            f"The key of {signed.publisher} that signed it was revoked, so it is not admitted. Have it signed anew by "
            "another key, or remove the signature."
        )
    if signed_only and signed.state != "valid":
        why = "a key that nobody registered signed it" if signed.state == "unregistered" else "it is not signed"
        return "SIGNATURE_REQUIRED", (
            f"This organisation admits only signed contracts, and {why}. Have a registered publisher sign it, or "
            "register the publisher's key first."
        )
    return "", ""
