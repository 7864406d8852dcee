"""A signed decision verifies without the server; every change of it is refused in a sentence."""

import base64
import copy
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from access.selectors.assertion import spki
from approvals.core.digest import call_bytes
from approvals.core.signing import challenge_of as server_challenge
from sdk.clearance_client.verify import NotVerified, challenge_of, main, verify
from tests.support.passkeys import ATTESTED, PRESENT, VERIFIED, Device, client_data

ORIGIN = "http://localhost:8000"
CALL = call_bytes(
    tool="refund_order",
    contract_version=1,
    target="payments/order/ord_1029",
    acting_user="",
    arguments={"order_id": "ord_1029", "amount": 4500, "note": "für Zoë"},
)
SIGNED = {
    "format": 1, "proposal": "3e9a7c51-2b4d-4f86-9c0e-1d5b8a7f6e32", "revision": 1, "round": 2,
    "digest": hashlib.sha256(CALL).hexdigest(), "verdict": "approve", "nonce": "ab" * 32,
}  # fmt: skip


def text(data):
    return base64.b64encode(data).decode()


def made(
    device=None, *, flags=PRESENT | VERIFIED, rp_id="localhost", origin=ORIGIN, kind="webauthn.get", tail=b"", **said
):
    """An exported decision; the arguments make the device sign something else."""
    device = device or Device()
    device.counter = 7
    data = device.authenticator_data(flags, tail, rp_id)
    client = client_data(kind, challenge_of(SIGNED), origin=origin, **said)
    return {
        "document": "clearance/decision/1",
        "signed": dict(SIGNED),
        "call": text(CALL),
        "assertion": {
            "rp_id": rp_id,
            "origin": origin,
            "public_key": text(spki(device.cose)),
            "authenticator_data": text(data),
            "client_data": text(client),
            "signature": text(device.signature(data + hashlib.sha256(client).digest())),
        },
        "told": {
            "reviewer": "Mara Lind", "reviewer_id": "1", "for": "", "reason": "", "at": "2026-11-29T12:00:00+00:00",
            "credential_id": text(device.credential_id),
        },
    }  # fmt: skip


GOOD = made()


def changed(path, value):
    document = copy.deepcopy(GOOD)
    *above, last = path.split(".")
    place = document
    for name in above:
        place = place[name]
    place[last] = value(place[last]) if callable(value) else value
    return json.dumps(document)


def flipped(encoded):
    data = bytearray(base64.b64decode(encoded))
    data[-1] ^= 1
    return text(bytes(data))


@pytest.mark.parametrize("kind", ["ES256", "EdDSA", "RS256"])
def test_a_decision_of_each_kind_of_key_verifies(kind):
    device = Device(kind)
    fingerprint = hashlib.sha256(spki(device.cose)).hexdigest()
    found = verify(json.dumps(made(device)), origin=ORIGIN, key=fingerprint.upper())
    assert (found.verdict, found.round, found.fingerprint) == ("approve", 2, fingerprint)
    assert found.call["arguments"]["note"] == "für Zoë"
    assert found.told["reviewer"] == "Mara Lind"


def test_the_challenge_is_the_servers():
    facts = {
        ("proposal_id" if name == "proposal" else name): value for name, value in SIGNED.items() if name != "format"
    }
    assert challenge_of(SIGNED) == server_challenge(**facts)


OTHER = {
    "signed.format": 2,
    "signed.proposal": "3e9a7c51-2b4d-4f86-9c0e-1d5b8a7f6e33",
    "signed.revision": 2,
    "signed.round": 1,
    "signed.digest": "0" * 64,
    "signed.verdict": "reject",
    "signed.nonce": "ac" * 32,
    "call": flipped,
    "assertion.rp_id": "localhost.example",
    "assertion.origin": "http://localhost:8001",
    "assertion.public_key": text(spki(Device().cose)),
    "assertion.authenticator_data": flipped,
    "assertion.client_data": flipped,
    "assertion.signature": flipped,
}
"""Each member that is signed, with another value that looks as good."""


def test_no_member_that_is_signed_is_left_out_of_the_next_test():
    members = {f"{part}.{name}" for part in ("signed", "assertion") for name in GOOD[part]} | {"call"}
    assert members == set(OTHER)


@pytest.mark.parametrize("path", OTHER)
def test_a_member_that_was_changed_is_refused_in_a_sentence(path):
    with pytest.raises(NotVerified) as refused:
        verify(changed(path, OTHER[path]))
    assert str(refused.value)[0].isupper()
    assert str(refused.value).endswith(".")


NONSENSE: list[object] = [None, True, 1.5, [], {}]


@pytest.mark.parametrize("path", [*OTHER, *(f"told.{name}" for name in GOOD["told"])])
@pytest.mark.parametrize("value", NONSENSE)
def test_a_member_of_another_type_is_refused(path, value):
    with pytest.raises(NotVerified):
        verify(changed(path, value))


@pytest.mark.parametrize("path", OTHER)
def test_a_signed_member_that_reads_as_another_is_refused(path):
    with pytest.raises(NotVerified):
        verify(changed(path, "é\u202e"))


@pytest.mark.parametrize("place", ["", "signed", "assertion", "told"])
def test_members_too_many_or_too_few_are_refused(place):
    more, fewer = copy.deepcopy(GOOD), copy.deepcopy(GOOD)
    (more[place] if place else more)["extra"] = "1"
    (fewer[place] if place else fewer).popitem()
    for document in (more, fewer):
        with pytest.raises(NotVerified, match="too many or too few"):
            verify(json.dumps(document))


@pytest.mark.parametrize(
    "document", ["", "{", "[]", "null", '{"document": "clearance/decision/2"}', '{"a": 1, "a": 1}']
)
def test_what_is_no_document_is_refused(document):
    with pytest.raises(NotVerified):
        verify(document)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"flags": PRESENT}, "did not verify who used it"),
        ({"flags": VERIFIED}, "Nobody was present"),
        ({"flags": PRESENT | VERIFIED | ATTESTED}, "not that of a signature"),
        ({"tail": b"more"}, "not that of a signature"),
        ({"kind": "webauthn.create"}, "another ceremony"),
        ({"cross": True}, "inside the page of somebody else"),
        ({"topOrigin": "https://evil.example"}, "inside the page of somebody else"),
        ({"rp_id": "evil.example"}, "does not belong to"),
        ({"origin": "http://evil-localhost:8000"}, "does not belong to"),
    ],
)
def test_a_true_signature_over_something_else_is_refused(wrong, words):
    with pytest.raises(NotVerified, match=words):
        verify(json.dumps(made(**wrong)))


def test_another_origin_and_another_key_than_the_ones_known_are_refused():
    with pytest.raises(NotVerified, match=r"not at https://clearance\.example"):
        verify(json.dumps(GOOD), origin="https://clearance.example/")
    with pytest.raises(NotVerified, match="signed by another key"):
        verify(json.dumps(GOOD), key="0" * 64)


def test_a_whole_document_under_a_key_of_ones_own_is_told_by_the_key_alone():
    own = Device()
    forged = json.dumps(made(own))
    assert verify(forged).fingerprint == hashlib.sha256(spki(own.cose)).hexdigest()
    with pytest.raises(NotVerified):
        verify(forged, key=hashlib.sha256(base64.b64decode(GOOD["assertion"]["public_key"])).hexdigest())


def test_the_command_says_what_holds_what_it_did_not_compare_and_what_nobody_signed(tmp_path: Path, capsys):
    file = tmp_path / "decision.json"
    file.write_text(json.dumps(GOOD))
    assert main([str(file)]) == 0
    said = capsys.readouterr().out
    assert "Verified: approve of refund_order on payments/order/ord_1029" in said
    assert "NOT COMPARED" in said
    assert "signed by nobody" in said
    file.write_text(changed("signed.verdict", "reject"))
    assert main([str(file)]) == 1
    assert capsys.readouterr().err.startswith("NOT VERIFIED. The challenge is another one")
    assert main([str(tmp_path / "gone.json")]) == 2


def test_the_verifier_runs_as_a_module_without_django(tmp_path: Path):
    file = tmp_path / "decision.json"
    file.write_text(json.dumps(GOOD))
    code = (
        "import sys; sys.modules['django'] = None; from clearance_client.verify import main; "
        f"sys.exit(main([{str(file)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2] / "sdk", capture_output=True)
    assert done.returncode == 0, done.stderr
