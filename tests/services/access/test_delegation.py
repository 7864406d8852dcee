"""access/services/delegation.py: giving one's place away, for a time, within one's own rights (A9, S7)."""

from datetime import timedelta

import pytest
from django.db import DatabaseError, transaction

from access.models import Delegation
from access.selectors.delegations import delegates_for, delegations_all, delegations_mine, givers_of
from access.services import people
from access.services.delegation import delegation_give, delegation_revoke
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.selectors.entries import entries_for_object
from audit.store import clock
from tests.support import factories


class Office:
    """Berta of finance and leads, Anna of no group, and an admin."""

    def __init__(self) -> None:
        self.tenant = factories.tenant()
        self.berta = factories.person(self.tenant, groups=["finance", "leads"], name="Berta Cole")
        self.anna = factories.person(self.tenant, name="Anna Berg")

    def give(self, **changes):
        click = {"actor": self.berta.actor, "to_user_id": self.anna.user_id, "ends_at": clock.now() + timedelta(days=2)}
        return delegation_give(**(click | changes))

    def givers(self):
        return [(giver.name, sorted(giver.groups)) for giver in givers_of(self.tenant.id, self.anna.user_id)]


@pytest.fixture
def office(db):
    return Office()


def test_a_delegation_gives_the_givers_groups_and_stands_in_the_log(office):
    id_ = office.give(reason="  On  leave ")
    assert office.givers() == [("Berta Cole", ["finance", "leads"])]
    [entry] = entries_for_object(office.tenant.id, "delegation", str(id_))
    assert (entry.action, entry.detail["reason"], entry.detail["to_name"]) == (
        "delegation.given",
        "On leave",
        "Anna Berg",
    )
    [row] = delegations_mine(office.anna.actor)
    assert (row.mine, row.state, row.from_name) == ("held", "on", "Berta Cole")


def test_only_the_groups_that_were_named_are_given(office):
    office.give(groups=["leads"])
    assert office.givers() == [("Berta Cole", ["leads"])]
    office.give(groups=["finance"])
    assert office.givers() == [("Berta Cole", ["finance", "leads"])], "two delegations give what both name"


def test_it_begins_at_its_start_and_a_start_in_the_past_is_now(office):
    now = clock.now()
    office.give(starts_at=now + timedelta(hours=1))
    assert office.givers() == []
    assert delegations_mine(office.berta.actor)[0].state == "planned"
    id_ = office.give(starts_at=now - timedelta(days=1))
    assert Delegation.objects.get(pk=id_).starts_at >= now


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"ends_at": None}, "DELEGATION_TIME"),
        ({"ends_at": timedelta(seconds=-1)}, "DELEGATION_TIME"),
        ({"ends_at": timedelta(days=93)}, "DELEGATION_TIME"),
        ({"groups": ["board"]}, "GROUP_UNKNOWN"),
        ({"reason": "x" * 301}, "REASON_TOO_LONG"),
        ({"reason": "a\u202eb"}, "REASON_INVALID"),
    ],
)
def test_what_cannot_be_given_is_refused_in_words_and_recorded(office, changes, code):
    if isinstance(changes.get("ends_at"), timedelta):
        changes = {"ends_at": clock.now() + changes["ends_at"]}
    with pytest.raises(Invalid) as caught:
        office.give(**changes)
    assert caught.value.code == code
    assert not Delegation.objects.exists()


def test_neither_to_oneself_nor_to_somebody_who_could_not_decide(office):
    visitor = factories.person(office.tenant, roles=["operator"], name="Vic")
    for unfit in (office.berta, visitor):
        with pytest.raises(Invalid) as caught:
            office.give(to_user_id=unfit.user_id)
        assert caught.value.code == "DELEGATE_UNFIT"
    assert visitor.user_id not in dict(delegates_for(office.berta.actor, office.berta.user_id))


def test_whoever_has_no_group_has_nothing_to_give_and_a_held_place_is_not_given_on(office):
    office.give()
    with pytest.raises(Invalid) as caught:
        delegation_give(
            actor=office.anna.actor, to_user_id=office.berta.user_id, ends_at=clock.now() + timedelta(days=1)
        )
    assert caught.value.code == "GROUP_UNKNOWN"


def test_another_organisations_people_are_not_there(office):
    stranger = factories.person(factories.tenant(), groups=["finance"])
    with pytest.raises(NotFound):
        office.give(to_user_id=stranger.user_id)
    id_ = office.give()
    with pytest.raises(NotFound):
        delegation_revoke(actor=stranger.actor, delegation_id=id_)


def test_only_an_admin_gives_somebody_elses_place(office):
    carl = factories.person(office.tenant, groups=["finance"], name="Carl")
    with pytest.raises(Forbidden) as caught:
        office.give(actor=carl.actor, from_user_id=office.berta.user_id)
    assert caught.value.code == "ROLE_MISSING"
    with pytest.raises(Forbidden):
        delegations_all(carl.actor)
    office.give(actor=office.tenant.admin.actor, from_user_id=office.berta.user_id)
    assert [row.created_by for row in delegations_all(office.tenant.admin.actor)] == [office.tenant.admin.actor.name]


def test_an_agents_token_gives_no_place_away(office):
    agent = factories.agent(office.tenant, acts_for=[office.berta], owner=office.berta)
    with pytest.raises(Forbidden) as caught:
        office.give(actor=agent.actor(on_behalf_of=office.berta.user_id), from_user_id=office.berta.user_id)
    assert caught.value.code == "PERSON_REQUIRED"


@pytest.mark.parametrize("who", ["berta", "anna", "admin"])
def test_giver_delegate_and_admin_end_it_at_once_and_it_is_ended_once(office, who):
    id_ = office.give()
    person = office.tenant.admin if who == "admin" else getattr(office, who)
    delegation_revoke(actor=person.actor, delegation_id=id_)
    assert office.givers() == []
    with pytest.raises(Conflict) as caught:
        delegation_revoke(actor=person.actor, delegation_id=id_)
    assert caught.value.code == "DELEGATION_OVER"
    assert delegations_mine(office.berta.actor)[0].state == "revoked"


def test_nobody_else_ends_it(office):
    carl = factories.person(office.tenant, groups=["finance"], name="Carl")
    with pytest.raises(NotFound):
        delegation_revoke(actor=carl.actor, delegation_id=office.give())


def test_a_giver_who_is_deactivated_gives_nothing_and_the_page_says_void(office):
    office.give()
    people.member_change(actor=office.tenant.admin.actor, membership_id=office.berta.membership_id, active=False)
    [giver] = givers_of(office.tenant.id, office.anna.user_id)
    assert not giver.active
    assert delegations_all(office.tenant.admin.actor)[0].state == "void"


@pytest.mark.parametrize("change", [{"ends_at": "2099-01-01T00:00Z"}, {"groups": ["board"]}, {"revoked_at": None}])
def test_a_row_is_bound_by_the_database(office, change):
    id_ = office.give()
    with pytest.raises(DatabaseError, match="stays as it was given"), transaction.atomic():
        Delegation.objects.filter(pk=id_).update(**change)
