"""Verifies one signed decision offline: python -m clearance_client.verify decision.json [--origin URL] [--key SHA256]

Needs no server and no network, only `cryptography` (pip install "clearance-client[verify]"). What is verified: that the
call is the one whose digest was signed, that the challenge was made from exactly this decision, and that a device which
had verified its user signed it for this origin. *Whose* key it is stands in the installation's audit log (action
passkey.added, `fingerprint`): give it as --key, else anybody could have made the document with a key of their own.
"""

import argparse
import base64
import binascii
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

DOCUMENT = "clearance/decision/1"
FORMAT = 1
PRESENT, VERIFIED, ATTESTED, EXTENDED = 0x01, 0x04, 0x40, 0x80

_FORM: dict[str, dict[str, type]] = {
    "signed": {
        "format": int, "proposal": str, "revision": int, "round": int, "digest": str, "verdict": str, "nonce": str,
    },
    "assertion": {
        "rp_id": str, "origin": str, "public_key": str, "authenticator_data": str, "client_data": str, "signature": str,
    },
    "told": {"reviewer": str, "reviewer_id": str, "for": str, "reason": str, "at": str, "credential_id": str},
}  # fmt: skip


class NotVerified(Exception):
    """The document does not hold. Its text says what does not fit, in a sentence."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What holds. `fingerprint` is the SHA-256 of the key that signed; `told` was signed by nobody."""

    verdict: str
    proposal: str
    revision: int
    round: int
    digest: str
    call: Mapping[str, Any]
    origin: str
    fingerprint: str
    told: Mapping[str, str]


def verify(text: str, *, origin: str = "", key: str = "") -> Verified:
    """Verify an exported decision. `origin` is the address that people open, as a browser writes it; `key` the SHA-256
    of the reviewer's passkey; each is compared where it is given. Raises NotVerified."""
    document = _opened(text)
    signed, assertion = document["signed"], document["assertion"]
    call = _bytes(document["call"], "the call")
    if hashlib.sha256(call).hexdigest() != signed["digest"]:
        raise NotVerified("The call is not the one that was signed: its SHA-256 is not the digest.")
    if signed["verdict"] not in ("approve", "reject"):
        raise NotVerified("The verdict is neither approve nor reject.")
    client = _bytes(assertion["client_data"], "the client data")
    _check_client(client, challenge_of(signed), assertion["origin"], origin)
    device = _bytes(assertion["authenticator_data"], "the authenticator data")
    _check_device(device, assertion["rp_id"], assertion["origin"])
    public_key = _bytes(assertion["public_key"], "the public key")
    fingerprint = hashlib.sha256(public_key).hexdigest()
    if key and key.lower() != fingerprint:
        raise NotVerified(f"It was signed by another key: the SHA-256 of this one is {fingerprint}.")
    _check_signature(
        public_key, device + hashlib.sha256(client).digest(), _bytes(assertion["signature"], "the signature")
    )
    return Verified(
        verdict=signed["verdict"],
        proposal=signed["proposal"],
        revision=signed["revision"],
        round=signed["round"],
        digest=signed["digest"],
        call=_call(call),
        origin=assertion["origin"],
        fingerprint=fingerprint,
        told=document["told"],
    )


def challenge_of(signed: Mapping[str, Any]) -> bytes:
    """SHA-256 over the RFC 8785 form of what was signed. Its members are texts in ASCII and whole numbers, for which
    sorted keys and no white space are that form."""
    if not all(value.isascii() and value.isprintable() for value in signed.values() if isinstance(value, str)):
        raise NotVerified("A text that was signed holds a character that none of ours does.")
    return hashlib.sha256(json.dumps(signed, sort_keys=True, separators=(",", ":")).encode()).digest()


def _check_client(client: bytes, challenge: bytes, origin: str, wanted: str) -> None:
    said = _json(client.decode("utf-8", "replace"), "The client data")
    if said.get("type") != "webauthn.get":
        raise NotVerified("The client data is of another ceremony: its type is not webauthn.get.")
    if said.get("challenge") != base64.urlsafe_b64encode(challenge).rstrip(b"=").decode():
        raise NotVerified(
            "The challenge is another one: format, proposal, revision, round, digest, verdict or nonce was changed."
        )
    if said.get("origin") != origin:
        raise NotVerified(f"It was signed at another origin than {origin}.")
    if wanted and origin != wanted.rstrip("/"):
        raise NotVerified(f"It was signed at {origin}, not at {wanted.rstrip('/')}.")
    if said.get("crossOrigin") or "topOrigin" in said:
        raise NotVerified("It was signed inside the page of somebody else.")


def _check_device(device: bytes, rp_id: str, origin: str) -> None:
    if len(device) < 37:
        raise NotVerified("The authenticator data is too short.")
    if device[:32] != hashlib.sha256(rp_id.encode()).digest():
        raise NotVerified(f"The device signed for another party than {rp_id}: the hash in its data is another one.")
    host = urlsplit(origin).hostname or ""
    if host != rp_id and not host.endswith(f".{rp_id}"):
        raise NotVerified(f"The origin {origin} does not belong to {rp_id}.")
    flags = device[32]
    if not flags & PRESENT:
        raise NotVerified("Nobody was present at the device.")
    if not flags & VERIFIED:
        raise NotVerified("The device did not verify who used it (no PIN, finger or face).")
    if flags & ATTESTED or (len(device) > 37) != bool(flags & EXTENDED):
        raise NotVerified("The authenticator data is not that of a signature.")


def _check_signature(public_key: bytes, message: bytes, signature: bytes) -> None:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
        from cryptography.hazmat.primitives.serialization import load_der_public_key
    except ImportError:
        raise NotVerified('Signatures need one package more: pip install "clearance-client[verify]".') from None
    try:
        key = load_der_public_key(public_key)
    except Exception:
        raise NotVerified("The public key cannot be read.") from None
    try:
        if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name == "secp256r1":
            key.verify(signature, message, ec.ECDSA(hashes.SHA256()))
        elif isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(signature, message)
        elif isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, message, padding.PKCS1v15(), hashes.SHA256())
        else:
            raise NotVerified("The public key is of a kind that Clearance does not take.")
    except InvalidSignature:
        raise NotVerified("The signature is not of this key over these bytes.") from None


def _opened(text: str) -> dict[str, Any]:
    document = _json(text, "The document")
    if document.get("document") != DOCUMENT:
        raise NotVerified(f"This is no document of the form {DOCUMENT}.")
    if document.keys() != {"document", "call", *_FORM} or not isinstance(document["call"], str):
        raise NotVerified("The document has members too many or too few.")
    for name, form in _FORM.items():
        part = document[name]
        if not isinstance(part, dict) or part.keys() != form.keys():
            raise NotVerified(f"The part {name} has members too many or too few.")
        for member, kind in form.items():
            if type(part[member]) is not kind:
                raise NotVerified(f"{name}.{member} is not of its type.")
    if document["signed"]["format"] != FORMAT:
        raise NotVerified(f"The format is not {FORMAT}; this verifier knows no other.")
    return document


def _call(data: bytes) -> Mapping[str, Any]:
    return _json(data.decode("utf-8", "replace"), "The call")


def _json(text: str, what: str) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            raise NotVerified(f"{what} says something twice.")
        return made

    try:
        found = json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise NotVerified(f"{what} is no JSON.") from None
    if not isinstance(found, dict):
        raise NotVerified(f"{what} is no JSON object.")
    return found


def _bytes(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise NotVerified(f"{what.capitalize()} is no base64.") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. 0 if everything holds, 1 if not, 2 if the file cannot be read."""
    parser = argparse.ArgumentParser(
        prog="python -m clearance_client.verify", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("file", help="the decision, as its page gave it")
    parser.add_argument("--origin", default="", help="the address that people open, such as https://clearance.example")
    parser.add_argument("--key", default="", help="the SHA-256 of the reviewer's passkey, from the audit log")
    options = parser.parse_args(arguments)
    try:
        text = Path(options.file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        print(f"The file cannot be read: {error}", file=sys.stderr)
        return 2
    try:
        found = verify(text, origin=options.origin, key=options.key)
    except NotVerified as problem:
        print(f"NOT VERIFIED. {problem}", file=sys.stderr)
        return 1
    print(f"Verified: {found.verdict} of {found.call.get('tool')} on {found.call.get('target')}")
    print(f"  proposal {found.proposal}, revision {found.revision}, round {found.round}")
    print(f"  digest   {found.digest}")
    print(f"  signed   at {found.origin}, by the key {found.fingerprint}")
    if not options.key or not options.origin:
        print("  NOT COMPARED: whose key this is, and whose origin. Give --key and --origin as you know them.")
    print(f"  told, and signed by nobody: {json.dumps(found.told, ensure_ascii=True)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
