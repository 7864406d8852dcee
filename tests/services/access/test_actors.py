"""Who somebody is: read when it is asked, never remembered."""

from uuid import uuid4

import pytest

from access.selectors.actors import (
    actor_for_session,
    decider_facts,
    group_members,
    memberships_of,
    requester_facts,
    tenant_slug,
)
from access.services import agents, people
from access.services.token import token_revoke
from tests.support import factories


@pytest.fixture
def acme(db):
    return factories.tenant()


def test_a_person_has_the_roles_and_groups_of_one_organisation(acme):
    other = factories.tenant()
    anna = factories.person(acme, ["reviewer", "operator"], groups=["finance", "support"])
    people.member_add(actor=other.admin.actor, email=anna.email, name="x", roles=["admin"])
    factories.group(other, "legal")
    people.group_add(actor=other.admin.actor, group="legal", user_id=anna.user_id)
    here, there = actor_for_session(anna.user_id, acme.id), actor_for_session(anna.user_id, other.id)
    assert here is not None
    assert there is not None
    assert (here.roles, here.groups) == (frozenset({"reviewer", "operator"}), frozenset({"finance", "support"}))
    assert (there.roles, there.groups) == (frozenset({"admin"}), frozenset({"legal"}))
    assert (here.kind, here.via, here.scopes, here.name) == ("person", "session", frozenset(), anna.name)


def test_without_a_choice_the_oldest_membership_that_still_stands_counts(acme):
    other = factories.tenant()
    anna = factories.person(acme)
    people.member_add(actor=other.admin.actor, email=anna.email, name="x", roles=["auditor"])
    first = actor_for_session(anna.user_id, None)
    assert first is not None
    assert first.tenant_id == acme.id
    people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=False)
    second = actor_for_session(anna.user_id, None)
    assert second is not None
    assert second.tenant_id == other.id
    assert [row.tenant_id for row in memberships_of(anna.user_id)] == [other.id]


def test_a_sessions_key_does_not_get_into_the_actor(acme):
    anna = factories.person(acme)
    actor = actor_for_session(anna.user_id, acme.id, session_id="the-key-in-the-cookie")
    assert actor is not None
    assert "the-key-in-the-cookie" not in repr(actor)
    same = actor_for_session(anna.user_id, acme.id, session_id="the-key-in-the-cookie")
    assert same is not None
    assert actor.session_id == same.session_id != ""


@pytest.mark.parametrize("user_id", ["4b1f6c1e-0d53-4c7e-9f0a-0c4f2f6f3a11", "nonsense", ""])
def test_nobody_is_none(acme, user_id):
    assert actor_for_session(user_id, acme.id) is None
    assert actor_for_session(user_id, None) is None
    assert memberships_of(user_id) == []


@pytest.mark.parametrize("tenant_id", ["4b1f6c1e-0d53-4c7e-9f0a-0c4f2f6f3a11", "nonsense", ""])
def test_a_person_is_nobody_elsewhere(acme, tenant_id):
    assert actor_for_session(acme.admin.user_id, tenant_id) is None
    assert decider_facts(tenant_id=tenant_id, user_id=acme.admin.user_id) is None
    assert tenant_slug(tenant_id) == ""


def test_a_decider_who_left_is_known_and_not_active(acme):
    anna = factories.person(acme, groups=["finance"])
    facts = decider_facts(tenant_id=acme.id, user_id=anna.user_id)
    assert facts is not None
    assert (facts.active, facts.groups, facts.name) == (True, frozenset({"finance"}), anna.name)
    people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=False)
    facts = decider_facts(tenant_id=acme.id, user_id=anna.user_id)
    assert facts is not None
    assert not facts.active


def test_a_group_lists_who_is_active(acme):
    anna = factories.person(acme, groups=["finance"], name="Anna")
    bert = factories.person(acme, groups=["finance"], name="Bert")
    people.member_change(actor=acme.admin.actor, membership_id=bert.membership_id, active=False)
    assert group_members(acme.id, "finance") == [(anna.user_id, "Anna")]
    people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, roles=["auditor"])
    assert group_members(acme.id, "finance", role="reviewer") == []
    assert group_members(acme.id, "finance", role="auditor") == [(anna.user_id, "Anna")]
    assert group_members(factories.tenant().id, "finance") == []
    assert group_members("nonsense", "finance") == []


def test_a_requester_in_good_standing_has_the_scopes_both_agent_and_session_have(acme):
    anna = factories.person(acme, ["operator"], groups=["finance"])
    agent = factories.agent(acme, scopes=["orders:read", "refunds:write"], acts_for=[anna])
    pair = agent.pair(on_behalf_of=anna.email, scopes=["refunds:write"])
    facts = requester_facts(
        tenant_id=acme.id, agent_id=agent.id, acting_user_id=anna.user_id, token_session_id=pair.session_id
    )
    assert facts.ok
    assert facts.scopes == frozenset({"refunds:write"})
    assert facts.agent == {
        "id": agent.id, "name": agent.name, "version": "1", "owner_user_id": acme.admin.user_id,
    }  # fmt: skip
    assert facts.user == {
        "id": anna.user_id, "name": anna.name, "email": anna.email, "roles": ["operator"], "groups": ["finance"],
    }  # fmt: skip
    agents.agent_scopes_set(actor=acme.admin.actor, agent_id=agent.id, scopes=["orders:read"])
    assert requester_facts(tenant_id=acme.id, agent_id=agent.id, token_session_id=pair.session_id).scopes == frozenset()


def test_each_way_to_lose_ones_standing_has_its_code(acme):
    anna = factories.person(acme)
    agent = factories.agent(acme, acts_for=[anna])
    pair = agent.pair(on_behalf_of=anna.email)

    def facts():
        return requester_facts(
            tenant_id=acme.id, agent_id=agent.id, acting_user_id=anna.user_id, token_session_id=pair.session_id
        )

    assert facts().ok
    people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=False)
    assert (facts().code, facts().scopes) == ("PRINCIPAL_REFUSED", frozenset())
    people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=True)
    agents.agent_principal_remove(actor=acme.admin.actor, agent_id=agent.id, user_id=anna.user_id)
    assert facts().code == "PRINCIPAL_REFUSED"
    agents.agent_principal_add(actor=acme.admin.actor, agent_id=agent.id, user_id=anna.user_id)
    assert facts().ok
    token_revoke(actor=acme.admin.actor, session_id=pair.session_id)
    assert facts().code == "SESSION_REVOKED"
    agents.agent_deactivate(actor=acme.admin.actor, agent_id=agent.id)
    assert facts().code == "AGENT_INACTIVE"
    assert agent.name in facts().message


def test_what_was_asked_in_a_session_that_only_ended_may_still_be_carried_out(committed_db, owner_sql):
    acme = factories.tenant()
    agent = factories.agent(acme)
    pair = agent.pair()
    owner_sql("UPDATE access_tokensession SET expires_at = clearance_now() - interval '1 hour'")
    assert requester_facts(tenant_id=acme.id, agent_id=agent.id, token_session_id=pair.session_id).ok


def test_another_tenants_agent_session_and_person_are_not_good_for_anything(acme):
    other = factories.tenant()
    theirs, ours = factories.agent(other), factories.agent(acme)
    anna = factories.person(other)
    for fields in (
        {"agent_id": theirs.id},
        {"agent_id": "nonsense"},
        {"agent_id": ours.id, "token_session_id": theirs.pair().session_id},
        {"agent_id": ours.id, "token_session_id": str(uuid4())},
        {"agent_id": ours.id, "token_session_id": ""},
        {"agent_id": ours.id, "acting_user_id": anna.user_id},
        {"agent_id": ours.id, "acting_user_id": ""},
    ):
        facts = requester_facts(tenant_id=acme.id, **fields)
        assert not facts.ok
        assert facts.user is None, "nobody of another organisation is described"


def test_one_statement_tells_who_a_person_is(acme, django_assert_num_queries):
    anna = factories.person(acme, groups=["a", "b"])
    with django_assert_num_queries(1):
        actor_for_session(anna.user_id, acme.id)
