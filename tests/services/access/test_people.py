"""Organisations, members, roles and groups."""

from uuid import uuid4

import pytest
from django.contrib.auth import authenticate
from django.db import DatabaseError

from access.selectors.actors import actor_for_session, group_members
from access.services import people
from audit.core.actor import SYSTEM
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.selectors.entries import EntryFilters, entries_page
from audit.services.record import audit_pay_owed
from tests.support import factories


@pytest.fixture
def acme(db):
    return factories.tenant()


def test_only_our_own_process_makes_an_organisation(acme):
    with pytest.raises(Forbidden):
        people.tenant_create(actor=acme.admin.actor, slug="more", name="More")
    row = people.tenant_create(actor=SYSTEM("bootstrap", ""), slug="more", name="More")
    assert [entry.action for entry in entries_page(row.id)] == ["tenant.created"]
    with pytest.raises(Conflict) as refusal:
        people.tenant_create(actor=SYSTEM("bootstrap", ""), slug="more", name="Again")
    assert refusal.value.code == "TENANT_EXISTS"


def test_a_new_member_signs_in_with_the_password_shown_once(acme):
    row = people.member_add(actor=acme.admin.actor, email="Ida@Acme.example", name="Ida", roles=["reviewer"])
    assert (row.created, row.email, row.roles) == (True, "ida@acme.example", ("reviewer",))
    assert row.password
    assert row.password not in repr(row)
    user = authenticate(username="IDA@acme.example", password=row.password)
    assert user is not None
    assert str(user.pk) == row.user_id
    assert authenticate(username="ida@acme.example", password=row.password + "x") is None
    entries = entries_page(acme.id, EntryFilters(action="member.added"))
    assert row.password not in str(entries)


def test_letters_that_look_alike_open_no_other_account(acme):
    people.member_add(
        actor=acme.admin.actor, email="iris@acme.example", name="Iris", roles=[], password=factories.PASSWORD
    )
    assert authenticate(username="iris@acme.example", password=factories.PASSWORD)
    assert authenticate(username="ırıs@acme.example", password=factories.PASSWORD) is None


def test_somebody_with_an_account_keeps_name_and_password(acme):
    other = factories.tenant()
    anna = factories.person(other, name="Anna")
    row = people.member_add(
        actor=acme.admin.actor, email=anna.email, name="Mallory", roles=["admin"], password="an-attackers-password"
    )
    assert (row.created, row.password, row.name, row.user_id) == (False, "", "Anna", anna.user_id)
    assert authenticate(username=anna.email, password=factories.PASSWORD)
    assert authenticate(username=anna.email, password="an-attackers-password") is None
    theirs = actor_for_session(anna.user_id, other.id)
    assert theirs is not None
    assert theirs.roles == frozenset({"reviewer"}), "a role in one organisation is none in another"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"email": "nonsense"}, "EMAIL_INVALID"),
        ({"name": "a\u202eb"}, "NAME_INVALID"),
        ({"roles": ["superuser"]}, "ROLE_UNKNOWN"),
        ({"password": "short"}, "PASSWORD_WEAK"),
        ({"password": "ida@acme.example"}, "PASSWORD_WEAK"),
    ],
)
def test_a_member_with_a_wrong_field_is_refused_and_nothing_is_made(acme, fields, code):
    given = {"email": "ida@acme.example", "name": "Ida", "roles": ["reviewer"], **fields}
    with pytest.raises(Invalid) as refusal:
        people.member_add(actor=acme.admin.actor, **given)
    assert refusal.value.code == code
    assert people.User.objects.filter(email="ida@acme.example").count() == 0


def test_a_member_twice_is_a_conflict(acme):
    anna = factories.person(acme)
    with pytest.raises(Conflict) as refusal:
        people.member_add(actor=acme.admin.actor, email=anna.email, name="Anna", roles=["admin"])
    assert refusal.value.code == "ALREADY_MEMBER"
    assert anna.actor.roles == frozenset({"reviewer"})


@pytest.mark.parametrize("roles", [[], ["reviewer", "operator", "auditor"]])
def test_who_is_no_admin_changes_nobody_and_is_recorded(acme, roles):
    mallory, anna = factories.person(acme, roles), factories.person(acme)
    factories.group(acme, "finance")
    before = len(entries_page(acme.id, EntryFilters(verdict="refused")))
    for attempt in (
        lambda: people.member_add(actor=mallory.actor, email="x@acme.example", name="X", roles=["admin"]),
        lambda: people.member_change(actor=mallory.actor, membership_id=mallory.membership_id, roles=["admin"]),
        lambda: people.member_change(actor=mallory.actor, membership_id=anna.membership_id, active=False),
        lambda: people.group_create(actor=mallory.actor, slug="mine", name="Mine"),
        lambda: people.group_add(actor=mallory.actor, group="finance", user_id=mallory.user_id),
        lambda: people.group_remove(actor=mallory.actor, group="finance", user_id=anna.user_id),
    ):
        with pytest.raises(Forbidden) as refusal:
            attempt()
        assert refusal.value.missing == ["admin"]
    assert len(entries_page(acme.id, EntryFilters(verdict="refused"))) == before + 6


def test_an_agent_that_acts_for_an_admin_gives_no_rights(acme):
    agent = factories.agent(acme, acts_for=[acme.admin]).actor(on_behalf_of=acme.admin.email)
    with pytest.raises(Forbidden):
        people.member_add(actor=agent, email="x@acme.example", name="X", roles=["admin"])


def test_another_organisations_members_and_groups_are_unknown(acme):
    other = factories.tenant()
    theirs = factories.person(other, groups=["finance"])
    factories.group(acme, "support")
    for attempt in (
        lambda: people.member_change(actor=acme.admin.actor, membership_id=theirs.membership_id, active=False),
        lambda: people.member_change(actor=acme.admin.actor, membership_id=uuid4(), active=False),
        lambda: people.member_change(actor=acme.admin.actor, membership_id="x", active=False),
        lambda: people.group_add(actor=acme.admin.actor, group="support", user_id=theirs.user_id),
        lambda: people.group_add(actor=acme.admin.actor, group="finance", user_id=acme.admin.user_id),
        lambda: people.group_remove(actor=acme.admin.actor, group="finance", user_id=theirs.user_id),
        lambda: people.group_add(actor=acme.admin.actor, group="support", user_id="x"),
    ):
        with pytest.raises(NotFound):
            attempt()
    assert theirs.actor.groups == frozenset({"finance"})


def test_roles_change_and_what_was_before_is_recorded(acme):
    anna = factories.person(acme, ["reviewer"])
    row = people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, roles=["auditor", "operator"])
    assert row.roles == ("operator", "auditor")
    assert anna.actor.roles == frozenset({"operator", "auditor"})
    entry = entries_page(acme.id, EntryFilters(action="member.changed"))[0]
    assert entry.detail["before"] == {"roles": ["reviewer"], "active": True}


def test_a_member_switched_off_is_nobody_here(acme):
    anna = factories.person(acme)
    people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=False)
    assert actor_for_session(anna.user_id, acme.id) is None


def test_the_last_active_admin_stays(acme):
    anna = factories.person(acme, ["admin"])
    people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=False)
    for change in ({"roles": ["reviewer"]}, {"active": False}):
        with pytest.raises(Conflict) as refusal:
            people.member_change(actor=acme.admin.actor, membership_id=acme.admin.membership_id, **change)
        assert refusal.value.code == "LAST_ADMIN"
    people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=True)
    people.member_change(actor=acme.admin.actor, membership_id=acme.admin.membership_id, roles=[])
    assert anna.actor.has_role("admin")


def test_admins_who_demote_each_other_at_once_leave_one(committed_db, race):
    acme = factories.tenant()
    admins = [acme.admin, *(factories.person(acme, ["admin"]) for _ in range(9))]
    actors = [admin.actor for admin in admins]
    results = race(
        lambda i: people.member_change(
            actor=actors[i], membership_id=admins[(i + 1) % 10].membership_id, roles=["reviewer"]
        ),
        10,
    )
    left = [admin for admin in admins if admin.actor.has_role("admin")]
    assert len(left) == 1, results
    assert sum(isinstance(result, Conflict) for result in results) == 1


def test_taking_rights_away_works_without_the_audit_log_and_giving_does_not(committed_db, owner_sql):
    acme = factories.tenant()
    anna = factories.person(acme, ["reviewer", "operator"], groups=["finance"])
    admin = acme.admin.actor
    owner_sql("REVOKE INSERT ON audit_entry FROM clr_app")
    people.member_change(actor=admin, membership_id=anna.membership_id, roles=["reviewer"])
    assert people.group_remove(actor=admin, group="finance", user_id=anna.user_id)
    for attempt in (
        lambda: people.member_change(actor=admin, membership_id=anna.membership_id, roles=["reviewer", "admin"]),
        lambda: people.group_add(actor=admin, group="finance", user_id=anna.user_id),
        lambda: people.member_add(actor=admin, email="x@acme.example", name="X", roles=[]),
    ):
        with pytest.raises(DatabaseError):
            attempt()
    assert (anna.actor.roles, anna.actor.groups) == (frozenset({"reviewer"}), frozenset())
    people.member_change(actor=admin, membership_id=anna.membership_id, active=False)
    assert actor_for_session(anna.user_id, acme.id) is None
    owner_sql("GRANT INSERT ON audit_entry TO clr_app")
    assert audit_pay_owed() == 3


def test_groups_take_members_in_and_out_once(acme):
    anna = factories.person(acme, name="Anna")
    factories.group(acme, "finance")
    assert people.group_add(actor=acme.admin.actor, group="finance", user_id=anna.user_id)
    assert not people.group_add(actor=acme.admin.actor, group="finance", user_id=anna.user_id)
    assert group_members(acme.id, "finance") == [(anna.user_id, "Anna")]
    assert people.group_remove(actor=acme.admin.actor, group="finance", user_id=anna.user_id)
    assert not people.group_remove(actor=acme.admin.actor, group="finance", user_id=anna.user_id)
    assert group_members(acme.id, "finance") == []
    assert [row.action for row in entries_page(acme.id)][:2] == ["group.left", "group.joined"]


def test_a_group_twice_is_a_conflict_and_another_organisation_may_have_one_of_the_name(acme):
    factories.group(acme, "finance")
    with pytest.raises(Conflict):
        people.group_create(actor=acme.admin.actor, slug="finance", name="Finance")
    other = factories.tenant()
    assert people.group_create(actor=other.admin.actor, slug="finance", name="Finance")


def test_one_address_made_by_ten_admins_at_once_is_one_account(committed_db, race):
    tenants = [factories.tenant() for _ in range(10)]
    actors = [tenant.admin.actor for tenant in tenants]
    results = race(
        lambda i: people.member_add(actor=actors[i], email="new@example.org", name="New", roles=["reviewer"]), 10
    )
    assert len({row.user_id for row in results}) == 1
    assert sum(row.created for row in results) == 1


def test_a_new_member_comes_with_their_groups_or_not_at_all(acme):
    factories.group(acme, "finance")
    fields = {"actor": acme.admin.actor, "name": "Ida", "roles": ["reviewer"], "password": factories.PASSWORD}
    row = people.member_add(email="ida@acme.example", groups=["finance", "finance"], **fields)
    assert group_members(acme.id, "finance") == [(row.user_id, "Ida")]
    theirs = factories.tenant()
    factories.group(theirs, "theirs")
    for slug in ("theirs", "unknown", "a\0b"):
        with pytest.raises(NotFound):
            people.member_add(email="eve@acme.example", groups=["finance", slug], **fields)
    assert people.User.objects.filter(email="eve@acme.example").count() == 0


def test_two_admins_who_deactivate_each_other_at_once_leave_one(committed_db, race):
    acme = factories.tenant()
    admins = [acme.admin, factories.person(acme, ["admin"])]
    actors = [admin.actor for admin in admins]
    results = race(
        lambda i: people.member_change(actor=actors[i], membership_id=admins[1 - i].membership_id, active=False), 2
    )
    assert sorted(type(result).__name__ for result in results) == ["Conflict", "MemberRow"]
    assert sum(actor_for_session(admin.user_id, acme.id) is not None for admin in admins) == 1
