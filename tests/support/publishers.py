"""Publishers who sign contracts with the program that real ones use."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import jwt
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from sdk.clearance_client.sign_contract import canonical, new_key, public_key_of, sign_contract


class Publisher:
    """A publisher with a key of its own."""

    def __init__(self, name: str = "Payments Team") -> None:
        self.name = name
        self.private = new_key()
        self.public, self.fingerprint = public_key_of(self.private)

    def signed(self, document: Mapping[str, Any]) -> str:
        """The signature of a contract."""
        return sign_contract(json.dumps(document), self.private)

    def forged(self, document: Mapping[str, Any], **header: Any) -> str:
        """A signature that really is of this key, with another header than the program writes."""
        key = load_pem_private_key(self.private.encode(), None)
        said = {"typ": "clearance-contract+jws", "format": 1, "kid": self.fingerprint} | header
        data = canonical(json.dumps(document))
        return jwt.PyJWS().encode(data, key, "EdDSA", headers=said, is_payload_detached=True)  # type: ignore[arg-type]


def with_header(signature: str, header: bytes) -> str:
    """The same signature under another header."""
    written = base64.urlsafe_b64encode(header).rstrip(b"=").decode()
    return ".".join([written, *signature.split(".")[1:]])
