"""Signs tool contracts as their publisher, without a server:

    python -m clearance_client.sign_contract new-key publisher.pem       writes the private key, prints the public one
    python -m clearance_client.sign_contract show-key publisher.pem      prints the public key and its fingerprint
    python -m clearance_client.sign_contract sign contract.json --key publisher.pem > contract.jws
    python -m clearance_client.sign_contract verify contract.json contract.jws --key public.pem

Needs `cryptography`, `pyjwt` and `rfc8785` (pip install "clearance-client[sign]"), no network. A signature is a JWS
with detached payload over the RFC 8785 form of the contract, so white space between members and their order do not
matter; one space inside a text does. The admins of an installation register the public key; the fingerprint is its
SHA-256, which both of you compare by another way than the one that the key came by.
"""

import argparse
import getpass
import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DOMAIN = "clearance-contract+jws"
FORMAT = 1
ALGORITHM = "EdDSA"
MAX_BYTES = 1_048_576
"""Bytes of a contract that Clearance takes."""


class NotSigned(Exception):
    """Nothing was signed, or a signature does not hold. Its text says why, in a sentence."""


def new_key(password: str = "") -> str:
    """A new private key, as PEM; encrypted where a password is given."""
    _packages()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    how = BestAvailableEncryption(password.encode()) if password else NoEncryption()
    return Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how).decode()


def public_key_of(private_key: str, password: str = "") -> tuple[str, str]:
    """(PEM, fingerprint) of the public half: what an admin registers, and what both of you compare."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    public = _private(private_key, password).public_key()
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode(), _fingerprint(public)


def sign_contract(text: str, private_key: str, password: str = "") -> str:
    """The signature of a contract's JSON text: one line of ASCII. Raises NotSigned."""
    import jwt

    key = _private(private_key, password)
    header = {"typ": DOMAIN, "format": FORMAT, "kid": _fingerprint(key.public_key())}
    return jwt.PyJWS().encode(canonical(text), key, ALGORITHM, headers=header, is_payload_detached=True)


def verify_contract(text: str, signature: str, public_key: str) -> str:
    """The fingerprint of the key (PEM) whose signature this is. Raises NotSigned where it does not fit."""
    _packages()
    import jwt
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(public_key.encode())
    except ValueError:
        raise NotSigned("The public key cannot be read. Give it as PEM, from -----BEGIN PUBLIC KEY----- on.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise NotSigned("The public key is of another kind than Ed25519.")
    try:
        said = jwt.PyJWS().decode_complete(
            signature.strip(), key, algorithms=[ALGORITHM], detached_payload=canonical(text)
        )["header"]
    except jwt.InvalidTokenError:
        raise NotSigned("The signature does not fit: the contract, the signature or the key is another one.") from None
    wanted = {"typ": DOMAIN, "format": FORMAT, "kid": _fingerprint(key)}
    if any(said.get(name) != value for name, value in wanted.items()):
        raise NotSigned("It is a signature of this key, and not one of a contract.")
    return _fingerprint(key)


def canonical(text: str) -> bytes:
    """The RFC 8785 form of a contract's JSON text. Raises NotSigned for what has none, and for members given twice:
    readers would disagree on which one was signed."""
    _packages()
    import rfc8785

    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise NotSigned(f"The contract has more than {MAX_BYTES:,} bytes, and Clearance takes none such.")
    try:
        document = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        if not isinstance(document, dict) or not isinstance(document.get("name"), str):
            raise NotSigned("This is no contract: a JSON object with a name.")
        return rfc8785.dumps(document)
    except RecursionError:
        raise NotSigned("The contract is nested too deep.") from None
    except json.JSONDecodeError as error:
        raise NotSigned(
            f"The contract is no JSON (line {error.lineno}, column {error.colno}). Sign its JSON form; `manage.py "
            "contract show` writes one."
        ) from None
    except ValueError as error:  # a number that JSON cannot keep, half a character
        raise NotSigned(f"The contract has no canonical form: {error}.") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotSigned(f"The contract says {json.dumps(twice[:64])} twice. Take one of them out.")
    return made


def _no_constant(word: str) -> None:
    raise NotSigned(f"The contract holds {word}, which is no JSON.")


def _private(text: str, password: str) -> Any:
    _packages()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(text.encode(), password.encode() if password else None)
    except TypeError:
        raise NotSigned(
            "The private key is encrypted: a password is needed."
            if not password
            else "The private key is not encrypted, and a password was given."
        ) from None
    except ValueError:
        raise NotSigned("The private key cannot be read, or the password is wrong.") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise NotSigned("The private key is of another kind than Ed25519.")
    return key


def _fingerprint(public: Any) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return hashlib.sha256(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def _packages() -> None:
    if not all(importlib.util.find_spec(name) for name in ("cryptography", "jwt", "rfc8785")):
        raise NotSigned('Signing needs three packages more: pip install "clearance-client[sign]".')


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. 0 if it was done or holds, 1 if not, 2 if a file cannot be read or written."""
    parser = argparse.ArgumentParser(
        prog="python -m clearance_client.sign_contract", description=(__doc__ or "").split("\n")[0]
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    make = verbs.add_parser("new-key", help="make a key; the file must not be there yet")
    show = verbs.add_parser("show-key", help="print the public key and its fingerprint")
    sign = verbs.add_parser("sign", help="print the signature of a contract")
    check = verbs.add_parser("verify", help="whether a signature fits a contract and a public key")
    for verb in (make, show):
        verb.add_argument("file", type=Path, help="the private key, PEM")
    for verb in (sign, check):
        verb.add_argument("contract", type=Path, help="the contract, JSON")
    check.add_argument("signature", type=Path)
    sign.add_argument("--key", type=Path, required=True, help="the private key, PEM")
    check.add_argument("--key", type=Path, required=True, help="the public key, PEM")
    for verb in (make, show, sign):
        verb.add_argument("--password", action="store_true", help="ask for the private key's password")
    options = parser.parse_args(arguments)
    try:
        password = getpass.getpass("Password of the private key: ") if getattr(options, "password", False) else ""
        print(_done(options, password))
    except NotSigned as problem:
        print(f"NOT {'VERIFIED' if options.verb == 'verify' else 'DONE'}. {problem}", file=sys.stderr)
        return 1
    except (OSError, UnicodeDecodeError) as error:
        print(f"A file cannot be read or written: {error}", file=sys.stderr)
        return 2
    return 0


def _done(options: argparse.Namespace, password: str) -> str:
    if options.verb == "new-key":
        key = new_key(password)
        # Readable by its owner alone from its first moment, and never over another one.
        with os.fdopen(os.open(options.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(key)
        return _told(key, password)
    if options.verb == "show-key":
        return _told(_read(options.file), password)
    if options.verb == "sign":
        return sign_contract(_read(options.contract), _read(options.key), password)
    fingerprint = verify_contract(_read(options.contract), _read(options.signature), _read(options.key))
    return f"Verified: the signature fits this contract. Key {fingerprint}"


def _told(key: str, password: str) -> str:
    public, fingerprint = public_key_of(key, password)
    return f"{public}Fingerprint {fingerprint}"


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8-sig")


if __name__ == "__main__":
    sys.exit(main())
