"""Sessions end at once: by the agent, its owner or an admin, and without the audit log if need be."""

from dataclasses import replace
from uuid import uuid4

import pytest

from access.services.token import token_revoke, token_verify
from audit.core.refusal import Forbidden, NotFound, Unauthenticated
from audit.selectors.entries import EntryFilters, entries_page
from audit.services.record import audit_pay_owed
from tests.support import factories


@pytest.fixture
def acme(db):
    return factories.tenant()


def is_live(raw: str) -> bool:
    try:
        token_verify(raw=raw)
    except Unauthenticated:
        return False
    return True


def test_an_agent_ends_its_own_session(acme):
    agent = factories.agent(acme)
    pair = agent.pair()
    assert token_revoke(actor=token_verify(raw=pair.access_token), session_id=pair.session_id)
    assert not is_live(pair.access_token)


def test_its_owner_and_an_admin_end_it_too(acme):
    owner = factories.person(acme)
    agent = factories.agent(acme, owner=owner)
    for actor in (owner.actor, acme.admin.actor):
        pair = agent.pair()
        assert token_revoke(actor=actor, session_id=pair.session_id, because="lost laptop")
        assert not is_live(pair.access_token)
    row = entries_page(acme.id, EntryFilters(action="session.revoked"))[0]
    assert (row.verdict, row.actor_id, row.detail["because"]) == ("ok", acme.admin.user_id, "lost laptop")


def test_a_second_revocation_changes_and_records_nothing(acme):
    pair = factories.agent(acme).pair()
    assert token_revoke(actor=acme.admin.actor, session_id=pair.session_id)
    assert not token_revoke(actor=acme.admin.actor, session_id=pair.session_id)
    assert len(entries_page(acme.id, EntryFilters(action="session.revoked"))) == 1


@pytest.mark.parametrize("roles", [[], ["reviewer"], ["operator", "auditor"]])
def test_another_person_may_not_and_the_attempt_is_recorded(acme, roles):
    pair = factories.agent(acme).pair()
    with pytest.raises(Forbidden) as refusal:
        token_revoke(actor=factories.person(acme, roles).actor, session_id=pair.session_id)
    assert refusal.value.code == "ROLE_MISSING"
    assert is_live(pair.access_token)
    assert [row.verdict for row in entries_page(acme.id, EntryFilters(action="session.revoked"))] == ["refused"]


def test_foreign_unknown_and_malformed_ids_are_one_answer(acme):
    other = factories.tenant()
    pair = factories.agent(acme).pair()
    neighbour = factories.agent(acme).actor()
    answers = set()
    for actor, session_id in (
        (other.admin.actor, pair.session_id),
        (factories.agent(other).actor(), pair.session_id),
        (neighbour, pair.session_id),
        (acme.admin.actor, uuid4()),
        (acme.admin.actor, "nonsense"),
    ):
        with pytest.raises(NotFound) as refusal:
            token_revoke(actor=actor, session_id=session_id)
        answers.add((refusal.value.status, str(refusal.value.as_dict())))
    assert len(answers) == 1
    assert is_live(pair.access_token)


def test_an_agent_that_acts_for_an_admin_has_no_more_reach(acme):
    agent, other = factories.agent(acme, acts_for=[acme.admin]), factories.agent(acme)
    pair = other.pair()
    with pytest.raises(NotFound):
        token_revoke(actor=agent.actor(on_behalf_of=acme.admin.email), session_id=pair.session_id)


def test_a_person_whose_id_an_agent_shares_is_still_a_person(acme):
    """Ids of people and agents live in different tables; an equal one must give nobody another's reach."""
    agent = factories.agent(acme)
    pair = agent.pair()
    impostor = replace(factories.person(acme).actor, id=agent.id)
    with pytest.raises(Forbidden):
        token_revoke(actor=impostor, session_id=pair.session_id)


def test_revoking_works_while_the_audit_log_does_not(committed_db, owner_sql):
    acme = factories.tenant()
    pair = factories.agent(acme).pair()
    owner_sql("REVOKE INSERT ON audit_entry FROM clr_app")
    assert token_revoke(actor=acme.admin.actor, session_id=pair.session_id)
    assert not is_live(pair.access_token)
    owner_sql("GRANT INSERT ON audit_entry TO clr_app")
    assert audit_pay_owed() == 1
    assert len(entries_page(acme.id, EntryFilters(action="session.revoked"))) == 1


def test_twenty_revocations_at_once_are_one(committed_db, race):
    acme = factories.tenant()
    pair = factories.agent(acme).pair()
    results = race(lambda _: token_revoke(actor=acme.admin.actor, session_id=pair.session_id), 20)
    assert sorted(results) == [False] * 19 + [True]
