"""access/selectors/stamps.py: a stamp is another one whenever the rights behind a session may be others."""

from datetime import timedelta

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.models import Membership, SecondStepDemand, User
from access.selectors.stamps import Sitting, stamps_of
from access.services import people
from access.services.delegation import delegation_give, delegation_revoke
from audit.store import clock
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant():
    return factories.tenant()


@pytest.fixture
def person(tenant):
    return factories.person(tenant, roles=["reviewer"], groups=["finance"])


def sitting_of(person, **data):
    session = SessionStore()
    session.update(data)
    session.create()
    return Sitting(session.session_key, person.user_id, person.tenant_id)


def stamp(sitting):
    return stamps_of([sitting]).get(sitting)


def test_nothing_changed_is_the_same_stamp(person):
    sitting = sitting_of(person)
    assert stamp(sitting) == stamp(sitting) is not None


CHANGES = {
    "deactivated account": lambda person, admin: User.objects.filter(pk=person.user_id).update(is_active=False),
    "another password": lambda person, admin: User.objects.filter(pk=person.user_id).update(password="other"),
    "another zone": lambda person, admin: User.objects.filter(pk=person.user_id).update(time_zone="Asia/Tokyo"),
    "ended membership": lambda person, admin: Membership.objects.filter(user_id=person.user_id).update(is_active=False),
    "other roles": lambda person, admin: Membership.objects.filter(user_id=person.user_id).update(roles=["auditor"]),
    "a second step wanted": lambda person, admin: SecondStepDemand.objects.create(
        tenant_id=person.tenant_id, of="everybody", begins_at=clock.now(), set_at=clock.now(), set_by="Ada"
    ),
    "out of the group": lambda person, admin: people.group_remove(
        actor=admin.actor, group="finance", user_id=person.user_id
    ),
}


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_whatever_changes_the_rights_changes_the_stamp(tenant, person, change):
    sitting = sitting_of(person)
    before = stamp(sitting)
    CHANGES[change](person, tenant.admin)
    assert stamp(sitting) != before


def test_a_place_that_is_lent_and_called_back_changes_the_stamp(tenant, person):
    """So that an open page hears of it: the buttons come and go with the right."""
    giver = factories.person(tenant, groups=["leads"])
    sitting = sitting_of(person)
    before = stamp(sitting)
    end = clock.now() + timedelta(hours=1)
    given = delegation_give(actor=giver.actor, to_user_id=person.user_id, ends_at=end)
    lent = stamp(sitting)
    assert lent != before
    people.group_remove(actor=tenant.admin.actor, group="leads", user_id=giver.user_id)
    assert stamp(sitting) != lent
    delegation_revoke(actor=giver.actor, delegation_id=given)
    assert stamp(sitting) == before


def test_what_the_session_says_is_in_its_stamp(person):
    sitting = sitting_of(person, tenant_id="one")
    before = stamp(sitting)
    session = SessionStore(sitting.session_key)
    session["tenant_id"] = "another"
    session.save()
    assert stamp(sitting) != before


def test_a_session_that_ended_has_no_stamp(person):
    gone, over, made_up = sitting_of(person), sitting_of(person), Sitting("unknown", person.user_id, person.tenant_id)
    SessionStore(gone.session_key).delete()
    ended = SessionStore(over.session_key)
    ended.set_expiry(-1)
    ended.save()
    assert stamps_of([gone, over, made_up]) == {}


def test_other_peoples_changes_leave_a_stamp_as_it_is(tenant, person):
    sitting = sitting_of(person)
    before = stamp(sitting)
    other = factories.person(tenant, roles=["reviewer"], groups=["finance"])
    people.group_remove(actor=tenant.admin.actor, group="finance", user_id=other.user_id)
    assert stamp(sitting) == before


def test_many_sessions_are_one_query(tenant, person):
    sittings = [sitting_of(person), sitting_of(factories.person(tenant, roles=["auditor"]))]
    with CaptureQueriesContext(connection) as queries:
        found = stamps_of(sittings)
    assert len(queries) == 1
    assert set(found) == set(sittings)
