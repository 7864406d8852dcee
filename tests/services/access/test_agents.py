"""Agents: registered by admins, stopped by their owners too."""

from uuid import uuid4

import pytest
from django.db import DatabaseError

from access.services import agents
from access.services.token import token_issue, token_verify
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from audit.selectors.entries import EntryFilters, entries_page
from audit.services.record import audit_pay_owed
from tests.support import factories


@pytest.fixture
def acme(db):
    return factories.tenant()


def works(client_id: str, secret: str) -> bool:
    try:
        token_issue(client_id=client_id, client_secret=secret)
    except Unauthenticated:
        return False
    return True


def test_an_agent_is_made_with_a_secret_that_is_shown_once(acme):
    owner = factories.person(acme)
    row, secret = agents.agent_create(
        actor=acme.admin.actor, name="Helpdesk", scopes=["orders:read"], owner_user_id=owner.user_id, version="3"
    )
    assert (row.name, row.version, row.scopes, row.owner_user_id, row.active) == (
        "Helpdesk", "3", ("orders:read",), owner.user_id, True,
    )  # fmt: skip
    assert works(row.client_id, secret)
    entry = entries_page(acme.id, EntryFilters(action="agent.created"))[0]
    assert secret not in str(entry)
    assert entry.detail["scopes"] == ["orders:read"]


def test_without_an_owner_named_the_admin_answers_for_it(acme):
    row, _ = agents.agent_create(actor=acme.admin.actor, name="Helpdesk", scopes=[])
    assert row.owner_user_id == acme.admin.user_id


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"name": ""}, Invalid),
        ({"name": "a\u200bb"}, Invalid),
        ({"scopes": ["*"]}, Invalid),
        ({"owner_user_id": str(uuid4())}, NotFound),
        ({"principals": [str(uuid4())]}, NotFound),
        ({"principals": ["nonsense"]}, NotFound),
    ],
)
def test_an_agent_with_a_wrong_field_is_refused(acme, fields, kind):
    with pytest.raises(kind):
        agents.agent_create(actor=acme.admin.actor, **{"name": "Bot", "scopes": [], **fields})


def test_somebody_of_another_organisation_neither_owns_nor_is_acted_for(acme):
    stranger = factories.person(factories.tenant())
    for fields in ({"owner_user_id": stranger.user_id}, {"principals": [stranger.user_id]}):
        with pytest.raises(NotFound):
            agents.agent_create(actor=acme.admin.actor, name="Bot", scopes=[], **fields)


def test_a_name_twice_is_a_conflict(acme):
    factories.agent(acme, name="Bot")
    with pytest.raises(Conflict) as refusal:
        factories.agent(acme, name="Bot")
    assert refusal.value.code == "AGENT_EXISTS"


def test_a_rotated_secret_opens_nothing_and_ends_what_it_opened(acme):
    agent = factories.agent(acme)
    raw = agent.token()
    secret = agents.agent_secret_rotate(actor=acme.admin.actor, agent_id=agent.id)
    assert secret != agent.secret
    assert not works(agent.client_id, agent.secret)
    assert works(agent.client_id, secret)
    with pytest.raises(Unauthenticated) as refusal:
        token_verify(raw=raw)
    assert refusal.value.code == "SESSION_REVOKED"
    assert entries_page(acme.id, EntryFilters(action="agent.secret_rotated"))[0].detail == {"sessions_ended": 1}


def test_a_planned_rotation_may_let_sessions_live(acme):
    agent = factories.agent(acme)
    raw = agent.token()
    agents.agent_secret_rotate(actor=acme.admin.actor, agent_id=agent.id, end_sessions=False)
    assert token_verify(raw=raw)


def test_a_stopped_agent_is_stopped_at_once_with_every_session(acme):
    agent = factories.agent(acme)
    raw = agent.token()
    assert agents.agent_deactivate(actor=acme.admin.actor, agent_id=agent.id, because="misbehaves")
    assert not agents.agent_deactivate(actor=acme.admin.actor, agent_id=agent.id)
    assert not works(agent.client_id, agent.secret)
    with pytest.raises(Unauthenticated):
        token_verify(raw=raw)
    assert [row.detail["because"] for row in entries_page(acme.id, EntryFilters(action="agent.deactivated"))] == [
        "misbehaves"
    ]


def test_stopping_works_without_the_audit_log_and_nothing_else_does(committed_db, owner_sql):
    acme = factories.tenant()
    anna = factories.person(acme)
    agent = factories.agent(acme, scopes=["orders:read", "refunds:write"], acts_for=[anna])
    admin = acme.admin.actor
    owner_sql("REVOKE INSERT ON audit_entry FROM clr_app")
    for attempt in (
        lambda: agents.agent_create(actor=admin, name="Other", scopes=[]),
        lambda: agents.agent_secret_rotate(actor=admin, agent_id=agent.id),
        lambda: agents.agent_scopes_set(actor=admin, agent_id=agent.id, scopes=["orders:read", "admin:all"]),
        lambda: agents.agent_principal_add(actor=admin, agent_id=agent.id, user_id=acme.admin.user_id),
    ):
        with pytest.raises(DatabaseError):
            attempt()
    agents.agent_scopes_set(actor=admin, agent_id=agent.id, scopes=["orders:read"])
    assert agents.agent_principal_remove(actor=admin, agent_id=agent.id, user_id=anna.user_id)
    assert agents.agent_deactivate(actor=admin, agent_id=agent.id)
    owner_sql("GRANT INSERT ON audit_entry TO clr_app")
    assert audit_pay_owed() == 3


def test_the_owner_stops_and_rotates_and_gives_no_rights(acme):
    owner = factories.person(acme)
    agent = factories.agent(acme, owner=owner)
    agents.agent_secret_rotate(actor=owner.actor, agent_id=agent.id)
    for attempt in (
        lambda: agents.agent_scopes_set(actor=owner.actor, agent_id=agent.id, scopes=["admin:all"]),
        lambda: agents.agent_principal_add(actor=owner.actor, agent_id=agent.id, user_id=owner.user_id),
        lambda: agents.agent_create(actor=owner.actor, name="Other", scopes=[]),
    ):
        with pytest.raises(Forbidden):
            attempt()
    assert agents.agent_deactivate(actor=owner.actor, agent_id=agent.id)


def test_other_members_and_the_agent_itself_may_nothing(acme):
    agent = factories.agent(acme)
    mallory = factories.person(acme, ["reviewer", "operator", "auditor"])
    for actor in (mallory.actor, agent.actor()):
        for attempt in (
            lambda a=actor: agents.agent_secret_rotate(actor=a, agent_id=agent.id),
            lambda a=actor: agents.agent_deactivate(actor=a, agent_id=agent.id),
            lambda a=actor: agents.agent_scopes_set(actor=a, agent_id=agent.id, scopes=["admin:all"]),
            lambda a=actor: agents.agent_principal_add(actor=a, agent_id=agent.id, user_id=mallory.user_id),
            lambda a=actor: agents.agent_principal_remove(actor=a, agent_id=agent.id, user_id=acme.admin.user_id),
        ):
            with pytest.raises(Forbidden):
                attempt()


def test_a_person_withdraws_the_right_to_act_for_them_without_an_admin(acme):
    anna, mallory = factories.person(acme), factories.person(acme)
    agent = factories.agent(acme, acts_for=[anna])
    with pytest.raises(Forbidden):
        agents.agent_principal_remove(actor=mallory.actor, agent_id=agent.id, user_id=anna.user_id)
    assert agents.agent_principal_remove(actor=anna.actor, agent_id=agent.id, user_id=anna.user_id)
    assert not agents.agent_principal_remove(actor=anna.actor, agent_id=agent.id, user_id=anna.user_id)
    with pytest.raises(Forbidden):
        agent.pair(on_behalf_of=anna.email)


def test_another_organisations_agent_is_unknown(acme):
    theirs = factories.agent(factories.tenant())
    for agent_id in (theirs.id, str(uuid4()), "nonsense"):
        for attempt in (
            lambda i=agent_id: agents.agent_secret_rotate(actor=acme.admin.actor, agent_id=i),
            lambda i=agent_id: agents.agent_deactivate(actor=acme.admin.actor, agent_id=i),
            lambda i=agent_id: agents.agent_scopes_set(actor=acme.admin.actor, agent_id=i, scopes=[]),
            lambda i=agent_id: agents.agent_principal_add(
                actor=acme.admin.actor, agent_id=i, user_id=acme.admin.user_id
            ),
            lambda i=agent_id: agents.agent_principal_remove(
                actor=acme.admin.actor, agent_id=i, user_id=acme.admin.user_id
            ),
        ):
            with pytest.raises(NotFound):
                attempt()


def test_a_stopped_agent_works_again_with_its_secret_and_not_with_its_old_sessions(acme):
    agent = factories.agent(acme)
    old = agent.token()
    agents.agent_deactivate(actor=acme.admin.actor, agent_id=agent.id)
    assert agents.agent_activate(actor=acme.admin.actor, agent_id=agent.id)
    assert not agents.agent_activate(actor=acme.admin.actor, agent_id=agent.id)
    with pytest.raises(Unauthenticated):
        token_verify(raw=old)
    assert token_verify(raw=agent.token()).id == agent.id


def test_only_an_admin_activates_an_agent_or_gives_it_another_owner(acme):
    owner, other = factories.person(acme), factories.person(acme)
    agent = factories.agent(acme, owner=owner)
    for attempt in (
        lambda: agents.agent_activate(actor=owner.actor, agent_id=agent.id),
        lambda: agents.agent_owner_set(actor=owner.actor, agent_id=agent.id, user_id=other.user_id),
    ):
        with pytest.raises(Forbidden):
            attempt()
    row = agents.agent_owner_set(actor=acme.admin.actor, agent_id=agent.id, user_id=other.user_id)
    assert row.owner_user_id == other.user_id


def test_nobody_of_another_organisation_can_own_an_agent(acme):
    stranger = factories.person(factories.tenant())
    agent = factories.agent(acme)
    with pytest.raises(NotFound):
        agents.agent_owner_set(actor=acme.admin.actor, agent_id=agent.id, user_id=stranger.user_id)
