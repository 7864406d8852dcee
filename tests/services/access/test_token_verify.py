"""Every way an access token can be wrong, and that a right one has the rights of this moment (G1, S61)."""

import base64
import hashlib
import hmac
import json
import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519
from django.conf import settings
from django.db import connection

from access.services import agents, people
from access.services.token import token_revoke, token_verify
from access.store.keys import key_ring
from audit.core.actor import Actor
from audit.core.refusal import Unauthenticated, Unavailable
from audit.selectors.entries import EntryFilters, entries_page
from audit.store import clock
from tests.support import factories


@pytest.fixture
def acme(db):
    return factories.tenant()


@pytest.fixture
def token(acme) -> str:
    return factories.agent(acme).token()


def code_of(raw: str) -> str:
    with pytest.raises(Unauthenticated) as refusal:
        token_verify(raw=raw)
    return refusal.value.code


def b64(data: Any) -> str:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def payload_of(token: str) -> dict[str, Any]:
    return jwt.decode(token, options={"verify_signature": False})


def signed(payload: dict[str, Any], header: dict[str, Any] | None = None, key: Any = None) -> str:
    """Signed with our own key, as far as the caller does not say otherwise."""
    ring = key_ring()
    head = {"alg": "EdDSA", "kid": ring.signing_kid, "typ": "at+jwt", **(header or {})}
    head = {name: value for name, value in head.items() if value is not None}
    signing_input = f"{b64(head)}.{b64(payload)}"
    return f"{signing_input}.{b64((key or ring.private).sign(signing_input.encode()))}"


def test_a_good_token_stands_for_its_agent(acme):
    agent = factories.agent(acme, scopes=["orders:read"])
    pair = agent.pair()
    assert token_verify(raw=pair.access_token) == Actor(
        kind="agent",
        id=agent.id,
        name=agent.name,
        tenant_id=acme.id,
        roles=frozenset(),
        groups=frozenset(),
        scopes=frozenset({"orders:read"}),
        on_behalf_of="",
        session_id=pair.session_id,
        via="token",
    )
    assert token_verify(raw=signed(payload_of(pair.access_token))), "the forging tool of this file makes good ones too"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "raw", ["", "x", "a.b", "a.b.c", "a.b.c.d", ".", "..", "e30.e30.", "\N{SNOWMAN}.e30.e30", "x" * 100_000]
)
def test_what_is_no_token_is_refused(raw):
    assert code_of(raw) == "TOKEN_INVALID"


@pytest.mark.django_db
def test_a_header_nested_without_end_is_refused():
    deep = b64(b'{"kid":' + b"[" * 5900)
    assert code_of(f"{deep}.e30.e30") == "TOKEN_INVALID"


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "nOnE", "", None])
def test_a_token_without_a_signature_is_refused(token, alg):
    for signature in ("", token.split(".")[2]):
        header = {"alg": alg, "kid": key_ring().signing_kid, "typ": "at+jwt"}
        assert code_of(f"{b64(header)}.{b64(payload_of(token))}.{signature}") == "TOKEN_INVALID"


def test_our_public_key_is_no_shared_secret(token):
    """HS256 with the public key as the secret: the classic confusion when a token chooses its own algorithm."""
    public = key_ring().public[key_ring().signing_kid]
    encodings = [
        public.public_bytes_raw(),
        public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH),
    ]
    for algorithm, digest in (("HS256", hashlib.sha256), ("HS384", hashlib.sha384), ("HS512", hashlib.sha512)):
        for secret in encodings:
            header = {"alg": algorithm, "kid": key_ring().signing_kid, "typ": "at+jwt"}
            signing_input = f"{b64(header)}.{b64(payload_of(token))}"
            mac = hmac.new(secret, signing_input.encode(), digest).digest()
            assert code_of(f"{signing_input}.{b64(mac)}") == "TOKEN_INVALID"


@pytest.mark.parametrize("alg", ["HS256", "RS256", "ES256", "PS256", "Ed25519", "eddsa", "EdDSA ", ["EdDSA"], 1])
def test_a_good_signature_under_another_algorithms_name_is_refused(token, alg):
    assert code_of(signed(payload_of(token), {"alg": alg})) == "TOKEN_INVALID"


def test_a_token_signed_with_somebody_elses_key_is_refused(token):
    assert code_of(signed(payload_of(token), key=ed25519.Ed25519PrivateKey.generate())) == "TOKEN_INVALID"
    assert code_of(signed(payload_of(token), key=ed448.Ed448PrivateKey.generate())) == "TOKEN_INVALID"


def test_a_key_that_the_token_brings_along_is_not_looked_at(token):
    mine = ed25519.Ed25519PrivateKey.generate()
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": b64(mine.public_key().public_bytes_raw())}
    for header in (
        {"jwk": jwk},
        {"jku": "https://evil.example/jwks"},
        {"x5u": "https://evil.example/c"},
        {"kid": None, "jwk": jwk},
    ):
        assert code_of(signed(payload_of(token), header, mine)) == "TOKEN_INVALID"


@pytest.mark.parametrize(
    "kid", [None, "", "test-2", "../test-1", "/etc/passwd", "test-1.pem", "test-1\0", 1, ["test-1"], {}]
)
def test_a_key_id_that_is_not_ours_is_refused(token, kid):
    assert code_of(signed(payload_of(token), {"kid": kid})) == "TOKEN_INVALID"


@pytest.mark.parametrize("typ", [None, "JWT", "jwt", "id+jwt", "AT+JWT2", 1])
def test_another_kind_of_token_is_refused(token, typ):
    assert code_of(signed(payload_of(token), {"typ": typ})) == "TOKEN_INVALID"


def test_an_extension_that_we_must_understand_and_do_not_is_refused(token):
    assert code_of(signed(payload_of(token), {"crit": ["exp"]})) == "TOKEN_INVALID"
    assert code_of(signed(payload_of(token), {"crit": ["b64"], "b64": False})) == "TOKEN_INVALID"


@pytest.mark.parametrize(
    "change",
    [
        {"iss": "https://evil.example"},
        {"iss": "http://localhost:8000/"},
        {"iss": ["http://localhost:8000"]},
        {"iss": None},
        {"aud": "payments"},
        {"aud": ""},
        {"aud": []},
        {"aud": None},
        {"tenant": str(uuid4())},
        {"sub": f"agent:{uuid4()}"},
        {"sub": f"user:{uuid4()}"},
        {"sid": str(uuid4())},
        {"sid": "1"},
    ],
)
def test_a_claim_that_does_not_fit_is_refused_although_the_signature_is_ours(token, change):
    assert code_of(signed({**payload_of(token), **change})) == "TOKEN_INVALID"


@pytest.mark.parametrize("claim", ["iss", "aud", "sub", "tenant", "scopes", "sid", "jti", "iat", "exp"])
def test_a_missing_claim_is_refused(token, claim):
    payload = payload_of(token)
    del payload[claim]
    assert code_of(signed(payload)) == "TOKEN_INVALID"


def test_one_changed_letter_is_refused(token):
    head, body, signature = token.split(".")
    for index in (0, len(body) // 2, len(body) - 2):
        other = "A" if body[index] != "A" else "B"
        assert code_of(f"{head}.{body[:index]}{other}{body[index + 1 :]}.{signature}") == "TOKEN_INVALID"


def test_an_agent_cannot_write_itself_a_person_to_act_for(acme):
    anna = factories.person(acme)
    agent = factories.agent(acme, acts_for=[anna])
    alone, acting = agent.token(), agent.token(on_behalf_of=anna.email)
    swapped = {**payload_of(alone), "sub": f"user:{anna.user_id}", "act": {"sub": f"agent:{agent.id}"}}
    assert code_of(signed(swapped)) == "TOKEN_INVALID"
    dropped = {**payload_of(acting), "sub": f"agent:{agent.id}"}
    del dropped["act"]
    assert code_of(signed(dropped)) == "TOKEN_INVALID"


def test_a_scope_that_the_session_lacks_is_worth_nothing_in_a_token(acme):
    token = factories.agent(acme, scopes=["orders:read"]).token()
    widened = signed({**payload_of(token), "scopes": ["orders:read", "refunds:write", "admin"]})
    assert token_verify(raw=widened).scopes == frozenset({"orders:read"})


@pytest.mark.parametrize(("at", "code"), [(-0.001, ""), (0.0, "TOKEN_EXPIRED"), (0.001, "TOKEN_EXPIRED")])
def test_a_token_ends_at_its_second_by_the_databases_clock(committed_db, stand_at, at, code):
    agent = factories.agent(factories.tenant())
    start = clock.now().replace(microsecond=0)
    stand_at(start)
    raw = agent.token()
    stand_at(start + timedelta(seconds=600 + at))
    assert (code_of(raw) if code else token_verify(raw=raw) and "") == code


def test_an_expired_token_is_no_attempt_to_record(committed_db, stand_at):
    acme = factories.tenant()
    raw = factories.agent(acme).token()
    stand_at(clock.now() + timedelta(seconds=700))
    assert code_of(raw) == "TOKEN_EXPIRED"
    assert entries_page(acme.id, EntryFilters(verdict="refused")) == []


def test_the_clock_of_this_machine_decides_nothing(committed_db, stand_at, monkeypatch):
    agent = factories.agent(factories.tenant())
    stand_at(clock.now() + timedelta(days=900))
    assert token_verify(raw=agent.token())
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert token_verify(raw=agent.token())


def test_a_token_from_the_future_is_refused(committed_db, stand_at):
    agent = factories.agent(factories.tenant())
    now = clock.now().replace(microsecond=0)
    stand_at(now + timedelta(seconds=1))
    raw = agent.token()
    stand_at(now + timedelta(microseconds=999_999))
    assert code_of(raw) == "TOKEN_INVALID"
    stand_at(now + timedelta(seconds=1))
    assert token_verify(raw=raw)


def test_a_session_that_ended_takes_its_tokens_along(committed_db, stand_at, owner_sql):
    raw = factories.agent(factories.tenant()).token()
    owner_sql("UPDATE access_tokensession SET expires_at = clearance_now() - interval '1 second'")
    assert code_of(raw) == "SESSION_EXPIRED"


def test_a_revocation_is_in_force_at_the_next_call(acme):
    agent = factories.agent(acme)
    pair, other = agent.pair(), agent.pair()
    assert token_verify(raw=pair.access_token)
    token_revoke(actor=acme.admin.actor, session_id=pair.session_id)
    assert code_of(pair.access_token) == "SESSION_REVOKED"
    assert token_verify(raw=other.access_token), "another session of the agent goes on"
    (row,) = entries_page(acme.id, EntryFilters(action="token.used"))
    assert (row.verdict, row.detail, row.actor_id) == ("refused", {"code": "SESSION_REVOKED"}, agent.id)


def test_a_deactivated_agent_is_refused_at_the_next_call(acme, owner_sql):
    agent = factories.agent(acme)
    raw = agent.token()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE access_agent SET is_active = false WHERE id = %s", [agent.id])
    assert code_of(raw) == "AGENT_INACTIVE"


def test_a_person_who_left_is_acted_for_no_more(acme):
    anna = factories.person(acme)
    agent = factories.agent(acme, acts_for=[anna])
    raw = agent.token(on_behalf_of=anna.email)
    people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=False)
    assert code_of(raw) == "PRINCIPAL_REFUSED"
    people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=True)
    assert token_verify(raw=raw)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE access_user SET is_active = false WHERE id = %s", [anna.user_id])
    assert code_of(raw) == "PRINCIPAL_REFUSED"


def test_a_right_to_act_for_somebody_that_was_taken_is_gone_at_the_next_call(acme):
    anna = factories.person(acme)
    agent = factories.agent(acme, acts_for=[anna])
    raw, alone = agent.token(on_behalf_of=anna.email), agent.token()
    agents.agent_principal_remove(actor=acme.admin.actor, agent_id=agent.id, user_id=anna.user_id)
    assert code_of(raw) == "PRINCIPAL_REFUSED"
    assert token_verify(raw=alone)


def test_scopes_are_those_of_this_moment(acme):
    agent = factories.agent(acme, scopes=["orders:read", "refunds:write"])
    raw = agent.token()
    agents.agent_scopes_set(actor=acme.admin.actor, agent_id=agent.id, scopes=["orders:read"])
    assert token_verify(raw=raw).scopes == frozenset({"orders:read"})
    agents.agent_scopes_set(actor=acme.admin.actor, agent_id=agent.id, scopes=["orders:read", "refunds:write"])
    assert token_verify(raw=raw).scopes == frozenset({"orders:read", "refunds:write"})


def test_a_token_is_read_with_one_statement(acme, django_assert_num_queries):
    agent = factories.agent(acme, acts_for=[factories.person(acme)])
    raw = agent.token()
    with django_assert_num_queries(1):
        token_verify(raw=raw)


def test_a_forged_token_never_reaches_the_database(token, django_assert_num_queries):
    forged = signed(payload_of(token), key=ed25519.Ed25519PrivateKey.generate())
    with django_assert_num_queries(0):
        assert code_of(forged) == "TOKEN_INVALID"


@pytest.mark.parametrize("table", ["access_tokensession", "access_agent", "access_agentprincipal"])
def test_no_token_is_accepted_while_revocation_cannot_be_read(committed_db, owner_sql, table):
    acme = factories.tenant()
    anna = factories.person(acme)
    raw = factories.agent(acme, acts_for=[anna]).token(on_behalf_of=anna.email)
    owner_sql(f"REVOKE SELECT ON {table} FROM clr_app")
    with pytest.raises(Unavailable) as refusal:
        token_verify(raw=raw)
    assert (refusal.value.code, refusal.value.status) == ("RIGHTS_UNREADABLE", 503)
    owner_sql(f"GRANT SELECT ON {table} TO clr_app")
    assert token_verify(raw=raw)


def write_key(folder: Path, name: str, key: Any = None) -> Any:
    key = key or ed25519.Ed25519PrivateKey.generate()
    (folder / name).write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return key


@pytest.fixture
def keys_dir(tmp_path, settings) -> Path:
    settings.TOKEN_KEYS_DIR = str(tmp_path)
    write_key(tmp_path, "2026-01.pem")
    return tmp_path


def test_a_new_key_signs_at_once_and_the_old_one_still_verifies(acme, keys_dir):
    agent = factories.agent(acme)
    old = agent.token()
    write_key(keys_dir, "2026-02.pem")
    new = agent.token()
    assert [jwt.get_unverified_header(raw)["kid"] for raw in (old, new)] == ["2026-01", "2026-02"]
    assert token_verify(raw=old).id == token_verify(raw=new).id == agent.id


def test_a_key_that_was_removed_verifies_nothing_any_more(acme, keys_dir):
    agent = factories.agent(acme)
    old = agent.token()
    write_key(keys_dir, "2026-02.pem")
    (keys_dir / "2026-01.pem").unlink()
    assert code_of(old) == "TOKEN_INVALID"
    assert token_verify(raw=agent.token())


def test_a_key_that_was_replaced_under_its_name_verifies_nothing_of_the_old_one(acme, keys_dir):
    agent = factories.agent(acme)
    old = agent.token()
    write_key(keys_dir, "2026-01.pem")
    assert code_of(old) == "TOKEN_INVALID"


def test_a_bad_file_among_good_keys_is_left_out_and_named(acme, keys_dir, caplog):
    (keys_dir / "2026-09.pem").write_text("not a key")
    write_key(keys_dir, "2027-01.pem", ec.generate_private_key(ec.SECP256R1()))
    raw = factories.agent(acme).token()
    assert jwt.get_unverified_header(raw)["kid"] == "2026-01"
    assert "2026-09.pem" in caplog.text
    assert "2027-01.pem" in caplog.text


def test_without_a_key_nothing_is_signed_and_nothing_accepted(acme, keys_dir):
    agent = factories.agent(acme)
    raw = agent.token()
    (keys_dir / "2026-01.pem").unlink()
    for attempt in (lambda: token_verify(raw=raw), agent.token):
        with pytest.raises(Unavailable) as refusal:
            attempt()
        assert refusal.value.code == "TOKEN_KEYS"


@pytest.mark.django_db
def test_the_ring_is_not_read_again_while_nothing_changes(keys_dir):
    assert key_ring() is key_ring()
    assert "PRIVATE" not in repr(key_ring())
    assert str(keys_dir) == settings.TOKEN_KEYS_DIR
