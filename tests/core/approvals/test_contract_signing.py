"""approvals/core/contract_signing.py: the form of a signature, what is said of one, publishers' names. And keys."""

import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, x25519
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from approvals.core.contract_signing import (
    MAX_BYTES,
    Signed,
    admission_problem,
    header_of,
    publisher_of,
    read_envelope,
)
from approvals.selectors.ed25519 import fingerprint, read_public_key, verifies
from audit.core.canonical import canonical_bytes
from audit.core.refusal import Invalid, TooLarge
from sdk.clearance_client.sign_contract import sign_contract
from tests.core.approvals.documents import refund_document
from tests.support.publishers import Publisher, with_header

TEAM = Publisher()
CONTRACT = refund_document()
SIGNATURE = TEAM.signed(CONTRACT)
HEADER, _, TAIL = SIGNATURE.split(".")
RIGHT = header_of(TEAM.fingerprint)


def refused(text):
    with pytest.raises(Invalid) as caught:
        read_envelope(text)
    assert caught.value.code == "SIGNATURE_MALFORMED"
    assert caught.value.message.endswith("Nothing was stored.")
    return caught.value.message


def fits(signature, document, publisher=TEAM):
    return verifies(read_envelope(signature), read_public_key(publisher.public), canonical_bytes(document))


def test_a_signature_of_the_publishers_program_fits_its_contract_and_names_its_key():
    assert read_envelope(SIGNATURE).fingerprint == TEAM.fingerprint
    assert fits(SIGNATURE, CONTRACT)
    assert fits(f"\n  {SIGNATURE}\r\n", CONTRACT)


def test_one_space_inside_a_text_is_another_contract():
    changed = refund_document({"/description": CONTRACT["description"].replace(" ", "  ", 1)})
    assert changed != CONTRACT
    assert not fits(SIGNATURE, changed)


def test_a_signature_by_another_key_under_this_ones_name_does_not_fit():
    other = Publisher()
    assert not fits(other.forged(CONTRACT, kid=TEAM.fingerprint), CONTRACT)
    assert not fits(other.signed(CONTRACT), CONTRACT), "of its own name, held against the wrong key"
    assert not fits(TEAM.forged(CONTRACT, kid="0" * 64), CONTRACT), "of the right key, under another's name"


def test_every_changed_bit_of_a_signature_is_noticed():
    data = base64.urlsafe_b64decode(TAIL + "==")
    for at in range(0, 512, 7):
        changed = bytearray(data)
        changed[at // 8] ^= 1 << at % 8
        tail = base64.urlsafe_b64encode(bytes(changed)).rstrip(b"=").decode()
        assert not fits(f"{HEADER}..{tail}", CONTRACT), at


def test_the_form_never_changes_under_what_was_signed_before():
    """A key and a document that are always the same: Ed25519 then signs the same, and so does the program."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    made = sign_contract('{"name": "x", "n": 1.0, "t": "é\\u2028"}', pem)
    assert hashlib.sha256(made.encode()).hexdigest() == GOLDEN
    data = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert verifies(read_envelope(made), data, '{"n":1,"name":"x","t":"é\u2028"}'.encode())


GOLDEN = "9012a35d6667eb5d821e0d991ed106ccbb5f064a1018ea9d204c84f27e56585f"

BAD_TEXTS = {
    "nothing": ("", "header..signature"),
    "no dots": (TAIL, "header..signature"),
    "four parts": (SIGNATURE + ".a", "header..signature"),
    "cut off": (SIGNATURE[:-2], "has 64 bytes, and this one has 63"),
    "cut within a group": (SIGNATURE[:-5], "base64url"),
    "padded": (SIGNATURE + "==", "no base64url"),
    "other alphabet": (f"{HEADER}..+/{TAIL[2:]}", "no base64url"),
    "spare bits": (SIGNATURE[:-1] + chr(ord(TAIL[-1]) + 1), "another writing"),
    "with a document": (f"{HEADER}.e30.{TAIL}", "between its two dots"),
    "not ASCII": (SIGNATURE.replace("e", "е"), "no base64url"),
    "half a character": ("\ud800..a", "no base64url"),
    "NUL": ("\0" + SIGNATURE, "no base64url"),
    "alg none": (with_header(f"{HEADER}..", b'{"alg":"none"}'), "algorithm is “none”"),
    "alg HS256": (with_header(SIGNATURE, RIGHT.replace(b"EdDSA", b"HS256")), "algorithm is “HS256”"),
    "alg missing": (with_header(SIGNATURE, b"{}"), "algorithm is another"),
    "a token": (TEAM.forged(CONTRACT, typ="at+jwt"), "made for something else"),
    "another format": (TEAM.forged(CONTRACT, format=2), "format is not 1"),
    "format true": (TEAM.forged(CONTRACT, format=True), "another form"),
    "no key": (TEAM.forged(CONTRACT, kid="key-1"), "names no key"),
    "one member more": (TEAM.forged(CONTRACT, jku="https://example.test/keys"), "another form"),
    "members twice": (with_header(SIGNATURE, RIGHT[:-1] + b',"alg":"none"}'), "cannot be read"),
    "spaces in its header": (with_header(SIGNATURE, RIGHT.replace(b":", b": ")), "another form"),
    "a header too deep": (with_header(SIGNATURE, b"[" * 300), "cannot be read"),
    "a list": (with_header(SIGNATURE, b"[]"), "no JSON object"),
}


@pytest.mark.parametrize("what", BAD_TEXTS)
def test_what_is_no_signature_is_refused_in_words(what):
    text, said = BAD_TEXTS[what]
    assert said in refused(text)


def test_a_mebibyte_is_no_signature_and_is_not_read():
    with pytest.raises(TooLarge) as caught:
        read_envelope("a" * 1_048_576)
    assert caught.value.code == "SIGNATURE_TOO_LARGE"
    assert "1,048,576 bytes" in caught.value.message
    assert len(SIGNATURE) < MAX_BYTES / 3


def test_a_public_key_is_taken_as_pem_or_as_its_base64():
    data = read_public_key(f"\n{TEAM.public}\n")
    assert fingerprint(data) == TEAM.fingerprint
    assert read_public_key("".join(TEAM.public.splitlines()[1:-1])) == data
    assert read_public_key("\n".join(TEAM.public.splitlines()[1:-1])) == data


def pem(key):
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


_EIGHTH = "176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03"
SMALL_ORDER = ["01" + "00" * 31, "00" * 32, "ec" + "ff" * 30 + "7f", f"c7{_EIGHTH}7a", f"c7{_EIGHTH}fa"]
BAD_KEYS = {
    "empty": ("", "no public key"),
    "a word": ("key", "no public key"),
    "cut": (TEAM.public[:60], "no public key"),
    "cut base64": (TEAM.public.splitlines()[1][:-3], "no public key"),
    "private": (TEAM.private, "private key"),
    "P-256": (pem(ec.generate_private_key(ec.SECP256R1()).public_key()), "another kind"),
    "X25519": (pem(x25519.X25519PrivateKey.generate().public_key()), "another kind"),
    "too long": ("A" * 5_000, "5,000 characters"),
    "not ASCII": ("ключ", "no public key"),
    "half a character": ("-----BEGIN \ud800", "no public key"),
} | {
    f"small order {point[:4]}…{point[-2:]}": (
        pem(Ed25519PublicKey.from_public_bytes(bytes.fromhex(point))),
        "anybody can make signatures",
    )
    for point in SMALL_ORDER
}


@pytest.mark.parametrize("what", BAD_KEYS)
def test_what_is_no_key_of_a_publisher_is_refused_in_words(what):
    text, said = BAD_KEYS[what]
    with pytest.raises(Invalid, match=said) as caught:
        read_public_key(text)
    assert (caught.value.code, caught.value.missing) == ("KEY_INVALID", ["public_key"])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "1 to 100"),
        ("   ", "1 to 100"),
        ("x" * 101, "1 to 100"),
        ("Pay\u202ements", "U\\+202E RIGHT-TO-LEFT OVERRIDE, which people cannot see"),
        ("Payments\u200b", "U\\+200B"),
        ("Pay\nments", "U\\+000A"),
        ("\u3164", "U\\+3164"),
        ("Pаyments", "mixes Latin and Cyrillic"),
        ("\ud800", "U\\+D800"),
        ("payments  TEAM", "There is a publisher Payments Team already"),
    ],
)
def test_a_publisher_whose_name_may_mislead_is_refused(name, said):
    with pytest.raises(Invalid, match=said) as caught:
        publisher_of(name, {"Payments Team"})
    assert caught.value.code == "PUBLISHER_INVALID"


@pytest.mark.parametrize("name", ["Payments Team", " Payments Team ", "Zoë & Söhne GmbH", "株式会社"])
def test_an_honest_name_is_taken_as_it_is(name):
    assert publisher_of(name, {"Payments Team"}) == name.strip()


@pytest.mark.parametrize(
    ("state", "signed_only", "code"),
    [
        ("none", False, ""), ("valid", False, ""), ("unregistered", False, ""),
        ("misfit", False, "SIGNATURE_MISFIT"), ("revoked", False, "SIGNATURE_REVOKED"),
        ("none", True, "SIGNATURE_REQUIRED"), ("valid", True, ""), ("unregistered", True, "SIGNATURE_REQUIRED"),
        ("misfit", True, "SIGNATURE_MISFIT"), ("revoked", True, "SIGNATURE_REVOKED"),
    ],
)  # fmt: skip
def test_what_is_admitted_by_its_signature(state, signed_only, code):
    assert admission_problem(Signed(state=state), signed_only=signed_only)[0] == code


def test_a_contract_that_names_another_publisher_than_its_signer_says_so():
    signed = Signed(state="valid", publisher="Payments Team", named="Treasury")
    assert "names another publisher than Payments Team" in signed.other_name
    assert Signed(state="valid", publisher="Payments Team", named="payments team").other_name == ""
    assert Signed(state="valid", publisher="Payments Team").other_name == ""
    assert Signed(named="Treasury").other_name == ""
