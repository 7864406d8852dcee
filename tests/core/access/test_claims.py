"""What a token says: RFC 8693's parties, and nothing accepted that we would not have written."""

import contextlib
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from access.core.claims import ACCESS_SECONDS, TokenClaims, read_claims
from audit.core.refusal import Unauthenticated

AGENT, PERSON, TENANT, SESSION = (UUID(int=n) for n in (1, 2, 3, 4))
CLAIMS = TokenClaims(
    issuer="http://localhost:8000",
    tenant_id=TENANT,
    agent_id=AGENT,
    acting_for=None,
    scopes=("orders:read",),
    session_id=SESSION,
    token_id="abc",
    issued_at=1_000,
    expires_at=1_600,
)


def test_an_agent_on_its_own_is_the_subject():
    payload = CLAIMS.payload()
    assert payload["sub"] == f"agent:{AGENT}"
    assert "act" not in payload


def test_with_delegation_the_person_is_the_subject_and_the_agent_acts():
    payload = replace(CLAIMS, acting_for=PERSON).payload()
    assert payload["sub"] == f"user:{PERSON}"
    assert payload["act"] == {"sub": f"agent:{AGENT}"}


@pytest.mark.parametrize("acting_for", [None, PERSON])
def test_what_is_written_is_read(acting_for):
    claims = replace(CLAIMS, acting_for=acting_for)
    assert read_claims(claims.payload()) == claims


@pytest.mark.parametrize(
    "change",
    [
        {"sub": ""},
        {"sub": str(AGENT)},
        {"sub": f"user:{PERSON}"},
        {"sub": f"agent:{AGENT}", "act": {"sub": f"agent:{AGENT}"}},
        {"sub": f"user:{PERSON}", "act": {"sub": f"user:{PERSON}"}},
        {"sub": f"user:{PERSON}", "act": {"sub": f"agent:{AGENT}", "act": {"sub": "agent:x"}}},
        {"sub": f"user:{PERSON}", "act": f"agent:{AGENT}"},
        {"sub": f"user:{PERSON}", "act": None},
        {"sub": "agent:00000000000000000000000000000001"},
        {"sub": "agent:{00000000-0000-0000-0000-000000000001}"},
        {"tenant": None},
        {"tenant": "acme"},
        {"sid": 4},
        {"scopes": "orders:read"},
        {"scopes": [1]},
        {"iat": 1_000.0},
        {"iat": True},
        {"iat": "1000"},
        {"exp": 1_000},
        {"exp": 999},
        {"exp": 1_000 + ACCESS_SECONDS + 1},
        {"exp": 10**400},
        {"jti": ""},
        {"iss": ["http://localhost:8000"]},
    ],
)
def test_a_claim_that_we_would_not_write_is_refused(change):
    with pytest.raises(Unauthenticated) as refusal:
        read_claims({**CLAIMS.payload(), **change})
    assert refusal.value.code == "TOKEN_INVALID"


@pytest.mark.parametrize("name", sorted(CLAIMS.payload().keys() - {"aud"}))  # aud: verified with the signature
def test_a_missing_claim_is_refused(name):
    payload = CLAIMS.payload()
    del payload[name]
    with pytest.raises(Unauthenticated):
        read_claims(payload)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=50),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*CLAIMS.payload(), "act"]), json_values))
def test_any_other_payload_is_read_or_refused_and_breaks_nothing(change):
    with contextlib.suppress(Unauthenticated):
        claims = read_claims({**CLAIMS.payload(), **change})
        assert claims.agent_id == AGENT
        assert 0 < claims.expires_at - claims.issued_at <= ACCESS_SECONDS
