"""sdk/clearance_client/sign_contract.py: a publisher signs without a server, and the server takes what it made."""

import base64
import json
import stat
import subprocess
import sys
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from approvals.core.contract_signing import read_envelope
from approvals.core.contract_text import read_contract
from approvals.selectors.ed25519 import read_public_key, verifies
from audit.core.canonical import canonical_bytes
from sdk.clearance_client.sign_contract import (
    NotSigned,
    canonical,
    main,
    new_key,
    public_key_of,
    sign_contract,
    verify_contract,
)
from tests.core.approvals.documents import refund_document

SDK = Path(__file__).resolve().parents[2] / "sdk"
KEY = new_key()
PUBLIC, FINGERPRINT = public_key_of(KEY)
TEXT = json.dumps(refund_document(), indent=2)
SIGNATURE = sign_contract(TEXT, KEY)


def test_the_server_reads_the_same_document_and_finds_that_the_signature_fits():
    data = canonical_bytes(read_contract(TEXT))
    assert data == canonical(TEXT)
    assert verifies(read_envelope(SIGNATURE), read_public_key(PUBLIC), data)


@pytest.mark.parametrize("number", ["1.0", "1e2", "-0", "0.1", "1E-7", "12345.5e-3", "9007199254740991"])
def test_numbers_are_signed_as_the_server_reads_them(number):
    from audit.core.jsondoor import open_json

    text = f'{{"name": "x", "n": {number}}}'
    assert canonical(text) == canonical_bytes(open_json(text.encode()))


def test_order_and_white_space_between_members_do_not_matter_and_one_space_in_a_text_does():
    document = json.loads(TEXT)
    other_way = json.dumps(dict(reversed(document.items())), separators=(",", ":"))
    assert verify_contract(other_way, f"\n{SIGNATURE}\n", PUBLIC) == FINGERPRINT
    document["title"] += " "
    with pytest.raises(NotSigned, match="does not fit"):
        verify_contract(json.dumps(document), SIGNATURE, PUBLIC)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"name": "a", "name": "b"}', 'says "name" twice'),
        ('{"name": "a", "x": {"y": 1, "y": 1}}', 'says "y" twice'),
        ('{"name": "a", "x": NaN}', "holds NaN"),
        ('{"name": "a", "x": 1e999}', "no canonical form"),
        ('{"name": "a", "x": 9007199254740993}', "no canonical form"),
        ('{"name": "a", "x": "\\ud800"}', "no canonical form"),
        ("[" * 100_000, "nested too deep"),
        ("name: a", "line 1, column 1"),
        ('{"title": "a"}', "no contract"),
        ("[]", "no contract"),
        ('{"name": "' + "a" * 1_048_576 + '"}', "more than 1,048,576 bytes"),
    ],
)
def test_what_has_no_one_meaning_is_not_signed(text, said):
    with pytest.raises(NotSigned, match=said):
        sign_contract(text, KEY)


def test_a_signature_of_the_same_key_for_something_else_is_none_of_a_contract():
    key = load_pem_private_key(KEY.encode(), None)
    header = {"typ": "other+jws", "format": 1, "kid": FINGERPRINT}
    made = jwt.PyJWS().encode(canonical(TEXT), key, "EdDSA", headers=header, is_payload_detached=True)
    with pytest.raises(NotSigned, match="not one of a contract"):
        verify_contract(TEXT, made, PUBLIC)
    header = base64.urlsafe_b64encode(b'{"alg":"none","b64":false,"crit":["b64"]}').rstrip(b"=").decode()
    for bad in (f"{header}..", SIGNATURE[:-3], "", "a..b"):
        with pytest.raises(NotSigned, match="does not fit"):
            verify_contract(TEXT, bad, PUBLIC)


def test_keys_of_another_kind_and_wrong_passwords_are_refused_in_words():
    other = ec.generate_private_key(ec.SECP256R1())
    pem = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    public = other.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    locked = new_key("a long password")
    for act, said in (
        (lambda: sign_contract(TEXT, pem), "another kind"),
        (lambda: sign_contract(TEXT, PUBLIC), "cannot be read"),
        (lambda: sign_contract(TEXT, locked), "a password is needed"),
        (lambda: sign_contract(TEXT, locked, "wrong"), "the password is wrong"),
        (lambda: sign_contract(TEXT, KEY, "word"), "not encrypted"),
        (lambda: verify_contract(TEXT, SIGNATURE, public), "another kind"),
        (lambda: verify_contract(TEXT, SIGNATURE, KEY), "cannot be read"),
    ):
        with pytest.raises(NotSigned, match=said):
            act()
    assert sign_contract(TEXT, locked, "a long password")


def test_the_command_makes_a_key_signs_and_verifies_in_a_process_without_a_server(tmp_path):
    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "clearance_client.sign_contract", *map(str, arguments)],
            cwd=tmp_path, env={"PYTHONPATH": "sdk", "PATH": ""}, capture_output=True, text=True,
        )  # fmt: skip

    (tmp_path / "sdk").symlink_to(SDK)
    (tmp_path / "contract.json").write_text(TEXT)
    made = run("new-key", "key.pem")
    assert made.returncode == 0, made.stderr
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    (tmp_path / "public.pem").write_text(made.stdout.partition("Fingerprint")[0])
    signed = run("sign", "contract.json", "--key", "key.pem")
    (tmp_path / "contract.jws").write_text(signed.stdout)
    assert "Verified" in run("verify", "contract.json", "contract.jws", "--key", "public.pem").stdout
    (tmp_path / "contract.json").write_text(TEXT.replace(": ", ":  ", 1).replace('"Refund', '"Refund ', 1))
    refused = run("verify", "contract.json", "contract.jws", "--key", "public.pem")
    assert (refused.returncode, refused.stderr[:13]) == (1, "NOT VERIFIED.")


def test_a_key_is_never_written_over_another(tmp_path, capsys):
    path = tmp_path / "key.pem"
    assert main(["new-key", str(path)]) == 0
    before = path.read_text()
    assert main(["new-key", str(path)]) == 2
    assert path.read_text() == before
    assert main(["show-key", str(path)]) == 0
    assert public_key_of(before)[1] in capsys.readouterr().out
    assert main(["sign", str(tmp_path / "none.json"), "--key", str(path)]) == 2
