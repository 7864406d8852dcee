"""Agents, their sessions and credentials as admins and owners see them."""

from uuid import UUID, uuid4

import pytest

from access.selectors import programs
from access.services import agents, people
from access.services.credentials import credential_store
from access.services.token import token_refresh, token_revoke
from audit.core.refusal import Forbidden, NotFound
from tests.support import factories


@pytest.fixture
def acme(db):
    return factories.tenant()


def test_an_agent_shows_its_scopes_people_owner_and_last_token(acme):
    anna, owner = factories.person(acme, name="Anna"), factories.person(acme, name="Olga")
    agent = factories.agent(acme, scopes=["orders:read"], acts_for=[anna], owner=owner)
    row = programs.agent_detail(acme.admin.actor, UUID(agent.id))
    assert (row.scopes, row.acts_for, row.owner, row.token_at) == (
        ("orders:read",), ((anna.user_id, "Anna", True),), "Olga", None,
    )  # fmt: skip
    pair = agent.pair()
    first = programs.agent_detail(acme.admin.actor, UUID(agent.id))
    assert first.live_sessions == 1
    token_refresh(refresh_token=pair.refresh_token)
    assert programs.agent_detail(acme.admin.actor, UUID(agent.id)).token_at > first.token_at
    people.member_change(actor=acme.admin.actor, membership_id=owner.membership_id, active=False)
    assert not programs.agent_detail(acme.admin.actor, UUID(agent.id)).owner_active


def test_an_owner_sees_their_own_agents_and_no_others(acme):
    owner, other = factories.person(acme), factories.person(acme)
    mine = factories.agent(acme, owner=owner)
    theirs = factories.agent(acme)
    mine.pair()
    theirs.pair()
    assert [row.id for row in programs.agents_of(owner.actor)] == [mine.id]
    assert [row.agent_id for row in programs.tokens_page(owner.actor)[0]] == [mine.id]
    with pytest.raises(NotFound):
        programs.agent_detail(owner.actor, UUID(theirs.id))
    for attempt in (lambda: programs.agents_of(other.actor), lambda: programs.tokens_page(other.actor)):
        with pytest.raises(Forbidden) as refusal:
            attempt()
        assert "you own none" in refusal.value.message


def test_another_organisations_agents_and_tokens_are_unknown(acme):
    theirs = factories.agent(factories.tenant())
    theirs.pair()
    for agent_id in (UUID(theirs.id), uuid4()):
        with pytest.raises(NotFound):
            programs.agent_detail(acme.admin.actor, agent_id)
    assert programs.tokens_page(acme.admin.actor, ended=True) == ([], False)


def test_revoked_ended_and_stopped_sessions_are_listed_only_when_asked_for(acme):
    agent, stopped = factories.agent(acme), factories.agent(acme)
    live, revoked = agent.pair(), agent.pair()
    stopped.pair()
    agents.agent_deactivate(actor=acme.admin.actor, agent_id=stopped.id)
    token_revoke(actor=acme.admin.actor, session_id=revoked.session_id, because="laptop lost")
    rows, _ = programs.tokens_page(acme.admin.actor)
    assert [row.id for row in rows] == [live.session_id]
    everything, _ = programs.tokens_page(acme.admin.actor, ended=True)
    assert len(everything) == 3
    found = next(row for row in everything if row.id == revoked.session_id)
    assert (found.live, found.revoked_because) == (False, "laptop lost")


def test_lists_ask_the_database_the_same_number_of_times_whatever_their_length(acme, django_assert_num_queries):
    for _ in range(4):
        agent = factories.agent(acme, acts_for=[factories.person(acme), factories.person(acme)])
        agent.pair()
    actor = acme.admin.actor
    with django_assert_num_queries(4):
        programs.agents_of(actor)
    with django_assert_num_queries(1):
        programs.tokens_page(actor)


def test_a_credential_is_told_by_name_time_and_who_and_never_by_its_secret(acme):
    second = factories.person(acme, ["admin"], name="Second")
    credential_store(actor=acme.admin.actor, name="payments", secret="sk_live_1234567890")
    (first,) = programs.credentials_of(acme.admin.actor)
    assert first.changed_by == acme.admin.name
    credential_store(actor=second.actor, name="payments", secret="sk_live_0987654321")
    (row,) = programs.credentials_of(acme.admin.actor)
    assert (row.name, row.changed_by) == ("payments", "Second")
    assert row.changed_at > first.changed_at
    assert "sk_live" not in repr(row)
    with pytest.raises(Forbidden):
        programs.credentials_of(factories.person(acme, ["operator", "auditor"]).actor)
