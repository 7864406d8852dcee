"""What a passkey signed, verified by the fido2 library: at the page, when a decision is recorded, when it is executed.

Beside the library's own checks (type, challenge, origin, relying party, presence, verification, signature): the origin
is exactly ours, and no page of somebody else framed it.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from struct import pack
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from fido2 import cbor
from fido2.cose import ES256, RS256, CoseKey, EdDSA
from fido2.server import Fido2Server
from fido2.utils import websafe_encode
from fido2.webauthn import (
    Aaguid,
    AttestedCredentialData,
    AuthenticationResponse,
    AuthenticatorAssertionResponse,
    AuthenticatorData,
    CollectedClientData,
    PublicKeyCredentialParameters,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialType,
    UserVerificationRequirement,
)

from audit.core.refusal import Invalid

KEYS: dict[int, type[CoseKey]] = {-7: ES256, -8: EdDSA, -257: RS256}
"""The kinds of keys that are taken, by COSE algorithm. The verifier in sdk/ knows the same ones."""


@dataclass(frozen=True, slots=True)
class Party:
    """Whom passkeys sign for. `problem` is "" or says why none can be used here."""

    id: str
    origin: str
    problem: str


@dataclass(frozen=True, slots=True)
class Assertion:
    """The three byte strings of an assertion, and which passkey it is of."""

    credential_id: bytes
    authenticator_data: bytes
    client_data: bytes
    signature: bytes


def party() -> Party:
    """The relying party of this installation, from CLEARANCE_BASE_URL."""
    return party_at(settings.BASE_URL)


@lru_cache(maxsize=8)
def party_at(base_url: str) -> Party:
    """The relying party of an address. Browsers take no number as its id, and no plain http but at localhost."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    origin = f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")
    problem = ""
    try:
        ip_address(host)
        problem = (
            f"Passkeys need a name, and this installation is set up as {host}: browsers refuse numbers. On this "
            "machine use http://localhost; else CLEARANCE_BASE_URL has to name a host."
        )
    except ValueError:
        local = host == "localhost" or host.endswith(".localhost")
        if parts.scheme != "https" and not local:
            problem = "Passkeys need https, and CLEARANCE_BASE_URL is not: browsers offer none without it."
    return Party(host, origin, problem)


def server_for(wanted: Party) -> Fido2Server:
    """The library's server, for exactly our origin and the kinds of keys that we take."""
    server = Fido2Server(
        PublicKeyCredentialRpEntity(id=wanted.id, name="Clearance"),
        verify_origin=lambda origin: origin == wanted.origin,
    )
    server.allowed_algorithms = [
        PublicKeyCredentialParameters(type=PublicKeyCredentialType.PUBLIC_KEY, alg=number) for number in KEYS
    ]
    return server


def verify_assertion(given: Assertion, *, challenge: bytes, public_key: bytes, wanted: Party) -> int:
    """The passkey's counter, once everything holds. Raises Invalid (PASSKEY_REFUSED) with the reason."""
    try:
        client_data = CollectedClientData(given.client_data)
        refuse_framed(client_data)
        answer = AuthenticationResponse(
            raw_id=given.credential_id,
            response=AuthenticatorAssertionResponse(
                client_data=client_data,
                authenticator_data=AuthenticatorData(given.authenticator_data),
                signature=given.signature,
            ),
        )
        cose_key(public_key)  # only of the kinds that are taken
        stored = Aaguid.NONE + pack(">H", len(given.credential_id)) + given.credential_id + public_key
        known, _ = AttestedCredentialData.unpack_from(stored)
        state = {"challenge": websafe_encode(challenge), "user_verification": UserVerificationRequirement.REQUIRED}
        server_for(wanted).authenticate_complete(state, [known], answer)
        return int(answer.response.authenticator_data.counter)
    except Invalid:
        raise
    except Exception as error:  # the library answers damaged bytes with whatever its readers raise
        raise refused_because(error) from None


def refused_because(error: Exception) -> Invalid:
    """The refusal of an answer that does not fit what was asked."""
    return Invalid(
        f"The passkey's answer does not fit what was asked ({str(error)[:200] or type(error).__name__}). Nothing was "
        "recorded; try again.",
        code="PASSKEY_REFUSED",
    )


def refuse_framed(client_data: CollectedClientData) -> None:
    """Raises ValueError where another page held the one that asked: what the person saw around it was not ours."""
    if client_data.cross_origin or "topOrigin" in json.loads(bytes(client_data)):
        raise ValueError("It was asked for by a page inside another one.")


def cose_key(data: bytes) -> CoseKey:
    """The key in these COSE bytes. Raises ValueError for a kind that is not taken, or for bytes that are no key."""
    members = cbor.decode(data)
    kind = KEYS.get(members.get(3, 0)) if isinstance(members, dict) else None
    if kind is None or not isinstance(members, dict):
        raise ValueError("This kind of key is not taken here.")
    return kind(members)


def spki(public_key: bytes) -> bytes:
    """The same key as other programs read it: SubjectPublicKeyInfo, DER."""
    key = cose_key(public_key)
    made: ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey | rsa.RSAPublicKey
    if isinstance(key, ES256):
        if key[-1] != 1:
            raise ValueError("This kind of key is not taken here.")
        x, y = int.from_bytes(key[-2]), int.from_bytes(key[-3])
        made = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
    elif isinstance(key, EdDSA):
        made = ed25519.Ed25519PublicKey.from_public_bytes(key[-2])
    else:
        made = rsa.RSAPublicNumbers(int.from_bytes(key[-2]), int.from_bytes(key[-1])).public_key()
    return made.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def fingerprint(public_key: bytes) -> str:
    """SHA-256 over `spki`, in hex: by which people and the log tell which key it is."""
    return hashlib.sha256(spki(public_key)).hexdigest()
