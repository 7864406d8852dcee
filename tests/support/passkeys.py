"""A device with passkeys, in Python: makes keys and signs as an authenticator does. Every part can be made wrong."""

import hashlib
import json
import os
import struct
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from fido2 import cbor
from fido2.cose import ES256, RS256, EdDSA
from fido2.utils import websafe_decode, websafe_encode

ORIGIN = "http://localhost:8000"
RP_ID = "localhost"
PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


@dataclass
class Device:
    """One passkey. `counts` False is a synced one, whose counter stays 0."""

    kind: str = "ES256"
    counts: bool = True
    credential_id: bytes = field(default_factory=lambda: os.urandom(16))
    counter: int = 0

    def __post_init__(self) -> None:
        if self.kind == "ES256":
            self.key: Any = ec.generate_private_key(ec.SECP256R1())
            self.cose = cbor.encode(dict(ES256.from_cryptography_key(self.key.public_key())))
        elif self.kind == "EdDSA":
            self.key = ed25519.Ed25519PrivateKey.generate()
            self.cose = cbor.encode(dict(EdDSA.from_cryptography_key(self.key.public_key())))
        else:
            self.key = rsa.generate_private_key(65537, 2048)
            self.cose = cbor.encode(dict(RS256.from_cryptography_key(self.key.public_key())))

    def make(self, options: dict[str, Any], **wrong: Any) -> str:
        """The answer to `navigator.credentials.create`, as JSON."""
        challenge = websafe_decode(options["publicKey"]["challenge"])
        attested = b"\0" * 16 + struct.pack(">H", len(self.credential_id)) + self.credential_id + self.cose
        data = self.authenticator_data(
            wrong.pop("flags", PRESENT | VERIFIED | ATTESTED), attested, wrong.pop("rp_id", RP_ID)
        )
        client = client_data("webauthn.create", wrong.pop("challenge", challenge), **wrong)
        response = {
            "clientDataJSON": websafe_encode(client),
            "attestationObject": websafe_encode(cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})),
        }
        return self.answer(response)

    def sign(self, options: dict[str, Any], **wrong: Any) -> str:
        """The answer to `navigator.credentials.get`, as JSON. `wrong`: type, challenge, origin, rp_id, flags, tail,
        cross (see `client_data`)."""
        challenge = wrong.pop("challenge", websafe_decode(options["publicKey"]["challenge"]))
        self.counter += 1 if self.counts else 0
        data = self.authenticator_data(wrong.pop("flags", PRESENT | VERIFIED), b"", wrong.pop("rp_id", RP_ID))
        client = client_data(wrong.pop("type", "webauthn.get"), challenge, **wrong)
        return self.answer(
            {
                "clientDataJSON": websafe_encode(client),
                "authenticatorData": websafe_encode(data),
                "signature": websafe_encode(self.signature(data + hashlib.sha256(client).digest())),
            }
        )

    def authenticator_data(self, flags: int, more: bytes, rp_id: str) -> bytes:
        return hashlib.sha256(rp_id.encode()).digest() + struct.pack(">BI", flags, self.counter) + more

    def signature(self, message: bytes) -> bytes:
        if self.kind == "ES256":
            return bytes(self.key.sign(message, ec.ECDSA(hashes.SHA256())))
        if self.kind == "EdDSA":
            return bytes(self.key.sign(message))
        return bytes(self.key.sign(message, padding.PKCS1v15(), hashes.SHA256()))

    def answer(self, response: dict[str, str]) -> str:
        named = websafe_encode(self.credential_id)
        return json.dumps({"id": named, "rawId": named, "type": "public-key", "response": response})


def client_data(kind: str, challenge: bytes, *, origin: str = ORIGIN, cross: bool = False, **more: Any) -> bytes:
    """What the browser says of the request, as bytes."""
    said = {"type": kind, "challenge": websafe_encode(challenge), "origin": origin, "crossOrigin": cross, **more}
    return json.dumps(said, separators=(",", ":")).encode()
