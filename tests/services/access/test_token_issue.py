"""An agent's secret becomes a session, and nothing else does."""

import jwt
import pytest
from django.conf import settings
from django.db import DatabaseError, connection

from access.core.claims import ACCESS_SECONDS
from access.services import agents, people
from access.services.token import token_issue, token_verify
from access.store import secrets
from audit.core.refusal import Forbidden, Invalid, Unauthenticated
from audit.selectors.entries import EntryFilters, entries_page
from audit.store import clock
from tests.support import factories


def claims_of(token: str) -> dict:
    return jwt.decode(token, options={"verify_signature": False})


def refused(tenant_id: str) -> list[str]:
    rows = entries_page(tenant_id, EntryFilters(action="token.issued", verdict="refused"))
    return [row.detail["code"] for row in rows]


@pytest.fixture
def acme(db):
    return factories.tenant()


def test_a_token_names_the_agent_its_tenant_and_its_scopes(acme):
    agent = factories.agent(acme, scopes=["orders:read", "refunds:write"])
    before = int(clock.now().timestamp())
    pair = agent.pair()
    claims = claims_of(pair.access_token)
    assert claims["iss"] == settings.BASE_URL
    assert claims["aud"] == "clearance"
    assert claims["sub"] == f"agent:{agent.id}"
    assert "act" not in claims
    assert claims["tenant"] == acme.id
    assert claims["scopes"] == ["orders:read", "refunds:write"]
    assert claims["sid"] == pair.session_id
    assert before <= claims["iat"] <= clock.now().timestamp()
    assert claims["exp"] - claims["iat"] == pair.expires_in == ACCESS_SECONDS == 600
    header = jwt.get_unverified_header(pair.access_token)
    assert header == {"alg": "EdDSA", "kid": "test-1", "typ": "at+jwt"}


def test_every_token_has_an_id_of_its_own(acme):
    agent = factories.agent(acme)
    ids = {claims_of(agent.token())["jti"] for _ in range(3)}
    assert len(ids) == 3


def test_an_agent_acts_for_a_person_by_address_or_id(acme):
    anna = factories.person(acme)
    agent = factories.agent(acme, acts_for=[anna])
    for name in (anna.email, anna.email.upper(), f" {anna.email} ", anna.user_id):
        claims = claims_of(agent.token(on_behalf_of=name))
        assert claims["sub"] == f"user:{anna.user_id}"
        assert claims["act"] == {"sub": f"agent:{agent.id}"}
    actor = agent.actor(on_behalf_of=anna.email)
    assert (actor.kind, actor.id, actor.on_behalf_of, actor.via) == ("agent", agent.id, anna.user_id, "token")
    assert actor.roles == frozenset(), "acting for an admin gives an agent no role"


def test_nobody_a_stranger_and_somebody_it_may_not_act_for_are_one_answer(acme):
    other = factories.tenant()
    stranger, colleague = factories.person(other), factories.person(acme)
    agent = factories.agent(acme, acts_for=[factories.person(acme)])
    answers = set()
    for name in (
        "nobody@example.org",
        stranger.email,
        stranger.user_id,
        colleague.email,
        colleague.user_id,
        "00000000-0000-0000-0000-000000000000",
        "",
        "x" * 5000,
    ):
        with pytest.raises(Forbidden) as refusal:
            agent.pair(on_behalf_of=name)
        answers.add((refusal.value.code, refusal.value.message, refusal.value.status))
    assert len(answers) == 1
    assert answers.pop()[0] == "ACTING_FOR_REFUSED"
    assert refused(acme.id) == ["ACTING_FOR_REFUSED"] * 8


def test_nobody_acts_for_a_person_who_was_deactivated(acme):
    anna = factories.person(acme)
    agent = factories.agent(acme, acts_for=[anna])
    people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=False)
    with pytest.raises(Forbidden) as refusal:
        agent.pair(on_behalf_of=anna.email)
    assert refusal.value.code == "ACTING_FOR_REFUSED"


def test_fewer_scopes_can_be_asked_for_and_none(acme):
    agent = factories.agent(acme, scopes=["orders:read", "refunds:write"])
    assert agent.pair(scopes=["orders:read", "orders:read"]).scopes == ("orders:read",)
    assert agent.pair(scopes=[]).scopes == ()
    assert agent.actor(scopes=[]).scopes == frozenset()


def test_a_scope_that_the_agent_lacks_is_refused_and_named(acme):
    agent = factories.agent(acme, scopes=["orders:read"])
    with pytest.raises(Forbidden) as refusal:
        agent.pair(scopes=["orders:read", "refunds:write"])
    assert (refusal.value.code, refusal.value.missing) == ("SCOPE_MISSING", ["refunds:write"])
    assert refused(acme.id) == ["SCOPE_MISSING"]
    with pytest.raises(Invalid):
        agent.pair(scopes=["no scope"])


def test_unknown_client_wrong_secret_and_deactivated_agent_get_one_answer(acme):
    agent, off = factories.agent(acme), factories.agent(acme)
    agents.agent_deactivate(actor=acme.admin.actor, agent_id=off.id)
    answers = []
    for client_id, secret in (
        ("agt_unknown", agent.secret),
        (agent.client_id, "wrong"),
        (agent.client_id, ""),
        (agent.client_id, off.secret),
        (agent.client_id, secrets.hash_of(agent.secret)),
        (off.client_id, off.secret),
        ("", ""),
    ):
        with pytest.raises(Unauthenticated) as refusal:
            token_issue(client_id=client_id, client_secret=secret)
        answers.append(refusal.value.as_dict())
    assert all(answer == answers[0] for answer in answers)
    assert answers[0]["code"] == "CLIENT_REFUSED"
    assert len(refused(acme.id)) == 5
    assert len(refused("")) == 2, "an unknown client belongs to no organisation"


def test_an_unknown_client_costs_the_same_statements_and_one_hash_as_a_wrong_secret(
    acme, django_assert_num_queries, monkeypatch
):
    agent = factories.agent(acme)
    hashed: list[str] = []
    real = secrets.hash_of
    monkeypatch.setattr(secrets, "hash_of", lambda secret: (hashed.append(secret), real(secret))[1])

    def attempt(client_id: str) -> None:
        with pytest.raises(Unauthenticated):
            token_issue(client_id=client_id, client_secret="wrong")

    with django_assert_num_queries(5) as known:
        attempt(agent.client_id)
    with django_assert_num_queries(5) as unknown:
        attempt("agt_000000000000000000000000")
    assert [q["sql"].split()[0] for q in known.captured_queries] == [
        q["sql"].split()[0] for q in unknown.captured_queries
    ]
    assert hashed == ["wrong", "wrong"]


def test_a_mistyped_secret_in_the_place_of_the_client_id_is_not_kept_in_the_log(acme):
    agent = factories.agent(acme)
    with pytest.raises(Unauthenticated):
        token_issue(client_id=agent.secret, client_secret=agent.client_id)
    (row,) = entries_page("")
    assert agent.secret not in f"{row.object_id} {row.actor_id} {row.detail}"


def test_only_hashes_are_kept(acme):
    agent = factories.agent(acme)
    pair = agent.pair()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT string_agg(a::text, ' ') FROM access_agent a)"
            " || (SELECT string_agg(r::text, ' ') FROM access_refreshtoken r)"
            " || (SELECT string_agg(s::text, ' ') FROM access_tokensession s)"
            " || (SELECT string_agg(e::text, ' ') FROM audit_entry e)"
        )
        kept = cursor.fetchone()[0]
    for secret in (agent.secret, pair.refresh_token, pair.access_token):
        assert secret not in kept
    assert secrets.hash_of(agent.secret) in kept
    assert secrets.hash_of(pair.refresh_token) in kept


def test_a_pair_shows_no_secret_when_it_is_logged(acme):
    pair = factories.agent(acme).pair()
    assert pair.access_token not in repr(pair)
    assert pair.refresh_token not in repr(pair)


def test_issuing_is_recorded_with_the_person_acted_for(acme):
    anna = factories.person(acme)
    agent = factories.agent(acme, acts_for=[anna])
    pair = agent.pair(on_behalf_of=anna.email)
    (row,) = entries_page(acme.id, EntryFilters(action="token.issued"))
    assert (row.actor_kind, row.actor_id, row.on_behalf_of) == ("agent", agent.id, anna.user_id)
    assert (row.object_id, row.verdict) == (pair.session_id, "ok")


def test_no_entry_no_session(committed_db, owner_sql):
    agent = factories.agent(factories.tenant())
    owner_sql("REVOKE INSERT ON audit_entry FROM clr_app")
    with pytest.raises(DatabaseError):
        agent.pair()
    assert owner_sql("SELECT count(*) FROM access_tokensession") == [(0,)]


def test_a_token_of_one_tenant_stays_in_it(acme):
    other = factories.tenant()
    assert token_verify(raw=factories.agent(other).token()).tenant_id == other.id
