"""Refresh tokens are used once. A second use, racing or late, ends the session."""

from datetime import timedelta

import pytest
from django.db import DatabaseError

from access.core.claims import REFRESH_SECONDS, SESSION_SECONDS
from access.services import agents, people
from access.services.token import TokenPair, token_refresh, token_revoke, token_verify
from audit.core.refusal import Unauthenticated
from audit.selectors.entries import EntryFilters, entries_page
from audit.store import clock
from tests.support import factories


def code_of(refresh_token: str) -> str:
    with pytest.raises(Unauthenticated) as refusal:
        token_refresh(refresh_token=refresh_token)
    return refusal.value.code


def test_a_refresh_gives_a_new_pair_of_the_same_session(committed_db):
    acme = factories.tenant()
    anna = factories.person(acme)
    agent = factories.agent(acme, acts_for=[anna])
    first = agent.pair(on_behalf_of=anna.email, scopes=["orders:read"])
    second = token_refresh(refresh_token=first.refresh_token)
    assert second.session_id == first.session_id
    assert second.refresh_token != first.refresh_token
    assert second.access_token != first.access_token
    actor = token_verify(raw=second.access_token)
    assert (actor.id, actor.on_behalf_of, actor.scopes) == (agent.id, anna.user_id, frozenset({"orders:read"}))
    assert token_verify(raw=first.access_token) == actor, "the older access token lives out its minutes"
    third = token_refresh(refresh_token=second.refresh_token)
    assert token_verify(raw=third.access_token)


def test_a_second_use_revokes_the_session_and_every_token_of_it(committed_db):
    acme = factories.tenant()
    first = factories.agent(acme).pair()
    second = token_refresh(refresh_token=first.refresh_token)
    assert code_of(first.refresh_token) == "REFRESH_REUSED"
    for raw in (first.access_token, second.access_token):
        with pytest.raises(Unauthenticated) as refusal:
            token_verify(raw=raw)
        assert refusal.value.code == "SESSION_REVOKED"
    assert code_of(second.refresh_token) == "SESSION_REVOKED"
    (revoked,) = entries_page(acme.id, EntryFilters(action="session.revoked"))
    assert revoked.object_id == first.session_id
    assert revoked.detail["because"] == "a refresh token was used twice"
    refused = entries_page(acme.id, EntryFilters(action="token.refreshed", verdict="refused"))
    assert [row.detail["code"] for row in refused] == ["SESSION_REVOKED", "REFRESH_REUSED"]


def test_twenty_racers_get_one_pair_and_the_race_itself_ends_the_session(committed_db, race):
    acme = factories.tenant()
    agent = factories.agent(acme)
    first = agent.pair()
    results = race(lambda _: token_refresh(refresh_token=first.refresh_token), 20)
    won = [result for result in results if isinstance(result, TokenPair)]
    lost = [result for result in results if isinstance(result, Unauthenticated)]
    assert (len(won), len(lost)) == (1, 19), results
    assert {refusal.code for refusal in lost} == {"REFRESH_REUSED"}
    with pytest.raises(Unauthenticated) as refusal:
        token_verify(raw=won[0].access_token)
    assert refusal.value.code == "SESSION_REVOKED"
    assert code_of(won[0].refresh_token) == "SESSION_REVOKED"
    assert len(entries_page(acme.id, EntryFilters(action="session.revoked"))) == 1, "one revocation, one entry"
    assert agent.actor(), "the secret opens a new session at once"


def test_the_end_of_a_session_by_reuse_does_not_need_the_audit_log(committed_db, owner_sql):
    first = factories.agent(factories.tenant()).pair()
    second = token_refresh(refresh_token=first.refresh_token)
    owner_sql("REVOKE INSERT ON audit_entry FROM clr_app")
    assert code_of(first.refresh_token) == "REFRESH_REUSED"
    with pytest.raises(Unauthenticated):
        token_verify(raw=second.access_token)
    assert owner_sql("SELECT count(*) FROM audit_owed") == [(1,)]


def test_no_entry_no_refresh_and_the_token_is_not_used_up(committed_db, owner_sql):
    first = factories.agent(factories.tenant()).pair()
    owner_sql("REVOKE INSERT ON audit_entry FROM clr_app")
    with pytest.raises(DatabaseError):
        token_refresh(refresh_token=first.refresh_token)
    owner_sql("GRANT INSERT ON audit_entry TO clr_app")
    assert token_refresh(refresh_token=first.refresh_token)


@pytest.mark.parametrize(("late_by", "refused"), [(-0.001, False), (0.0, True), (0.001, True)])
def test_a_refresh_token_ends_at_its_instant_by_the_databases_clock(committed_db, stand_at, late_by, refused):
    agent = factories.agent(factories.tenant())
    start = clock.now()
    stand_at(start)
    first = agent.pair()
    stand_at(start + timedelta(seconds=REFRESH_SECONDS + late_by))
    if refused:
        assert code_of(first.refresh_token) == "REFRESH_EXPIRED"
        assert code_of(first.refresh_token) == "REFRESH_EXPIRED", "late is not reuse: nobody else is suspected"
    else:
        assert token_refresh(refresh_token=first.refresh_token)


def test_a_session_ends_however_often_it_was_refreshed(committed_db, stand_at):
    agent = factories.agent(factories.tenant())
    start = clock.now()
    stand_at(start)
    pair = agent.pair()
    for step in range(1, SESSION_SECONDS // 3000 + 1):
        stand_at(start + timedelta(seconds=step * 3000))
        pair = token_refresh(refresh_token=pair.refresh_token)
    stand_at(start + timedelta(seconds=SESSION_SECONDS))
    assert code_of(pair.refresh_token) == "REFRESH_EXPIRED", "a refresh token never outlives its session"


@pytest.mark.django_db
@pytest.mark.parametrize("token", ["", "clrt_unknown", "x" * 10_000, "\N{SNOWMAN}"])
def test_an_unknown_token_is_refused(token):
    assert code_of(token) == "REFRESH_INVALID"


@pytest.mark.django_db
def test_an_access_token_is_no_refresh_token_and_the_hash_is_neither():
    from access.store import secrets

    pair = factories.agent(factories.tenant()).pair()
    assert code_of(pair.access_token) == "REFRESH_INVALID"
    assert code_of(secrets.hash_of(pair.refresh_token)) == "REFRESH_INVALID"


@pytest.mark.django_db
def test_whoever_lost_the_right_refreshes_nothing():
    acme = factories.tenant()
    anna = factories.person(acme)
    agent = factories.agent(acme, acts_for=[anna])
    pair, alone = agent.pair(on_behalf_of=anna.email), agent.pair()
    agents.agent_principal_remove(actor=acme.admin.actor, agent_id=agent.id, user_id=anna.user_id)
    assert code_of(pair.refresh_token) == "PRINCIPAL_REFUSED"
    agents.agent_principal_add(actor=acme.admin.actor, agent_id=agent.id, user_id=anna.user_id)
    people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=False)
    assert code_of(pair.refresh_token) == "PRINCIPAL_REFUSED"
    token_revoke(actor=acme.admin.actor, session_id=pair.session_id)
    assert code_of(pair.refresh_token) == "SESSION_REVOKED"
    agents.agent_deactivate(actor=acme.admin.actor, agent_id=agent.id)
    assert code_of(alone.refresh_token) == "SESSION_REVOKED"


@pytest.mark.django_db
def test_a_refresh_brings_no_scope_that_was_taken_away_or_given_since():
    acme = factories.tenant()
    agent = factories.agent(acme, scopes=["orders:read", "refunds:write"])
    pair = agent.pair(scopes=["orders:read", "refunds:write"])
    agents.agent_scopes_set(actor=acme.admin.actor, agent_id=agent.id, scopes=["orders:read", "orders:write"])
    assert token_refresh(refresh_token=pair.refresh_token).scopes == ("orders:read",)
