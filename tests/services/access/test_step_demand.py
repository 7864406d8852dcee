"""An organisation that wants a second step: who may want it, of whom, from when, and what whoever has none can do."""

from dataclasses import replace
from datetime import timedelta

import pytest

from access.models import Membership, SecondFactor
from access.selectors.actors import actor_for_session, decider_facts
from access.selectors.confirmation import means_of
from access.selectors.step_demand import step_demand, wanting
from access.services import passkey, second_step
from access.services.people import member_add, member_change
from access.services.step_demand import step_demand_set
from audit.core.refusal import Conflict, Forbidden, Invalid
from audit.selectors.entries import EntryFilters, entries_page
from tests.services.access.test_confirm import added, confirmed
from tests.services.access.test_second_step import T, app_code
from tests.support import factories


@pytest.fixture
def acme(db):
    return factories.tenant()


@pytest.fixture
def admin(acme, stand_at):
    """The admin, with a passkey that their sign-in asks for. The clock stands from here on."""
    stand_at(T)
    added(acme.admin)
    second_step.second_step_set(actor=confirmed(acme.admin), on=True)
    return acme.admin


def want(admin, of="everybody", days=0):
    step_demand_set(actor=confirmed(admin), of=of, days=days)


def member_of(other, person):
    """The same person, with a place in another organisation."""
    row = member_add(actor=other.admin.actor, email=person.email, name="", roles=["reviewer"])
    return replace(person, tenant_id=other.id, membership_id=row.membership_id)


def now_is(person):
    return actor_for_session(person.user_id, person.tenant_id)


def test_whoever_has_none_holds_no_role_until_they_have_set_one_up(acme, admin):
    anna = factories.person(acme, roles=["reviewer"], groups=["finance"], name="Anna")
    want(admin)
    owing = now_is(anna)
    assert (owing.owes_step, owing.roles, owing.groups, owing.stands_in) == (True, frozenset(), frozenset(), ())
    assert decider_facts(tenant_id=acme.id, user_id=anna.user_id).roles == {"reviewer"}, "it is not taken from them"
    added(anna)
    found = now_is(anna)
    assert (found.owes_step, found.step_due, found.roles) == (False, None, {"reviewer"})
    assert means_of(anna.user_id).at_sign_in, "the passkey that was set up is asked for from now on"
    assert not now_is(admin).owes_step


def test_an_apps_codes_are_a_second_step_too(acme, admin):
    anna = factories.person(acme, name="Anna")
    want(admin)
    actor = confirmed(anna)
    second_step.app_begin(actor=actor)
    assert now_is(anna).owes_step, "an app that was only shown is none"
    second_step.app_finish(actor=actor, code=app_code(anna))
    assert not now_is(anna).owes_step


@pytest.mark.parametrize(
    ("of", "owing"),
    [("admins", {"admin"}), ("deciders", {"admin", "reviewer"}),
     ("everybody", {"admin", "reviewer", "operator", "auditor", ""}), ("nobody", set())],
)  # fmt: skip
def test_it_is_wanted_of_those_it_names(acme, admin, of, owing):
    people = {role: factories.person(acme, roles=[role] if role else []) for role in
              ("admin", "reviewer", "operator", "auditor", "")}  # fmt: skip
    want(admin, of)
    assert {role for role, person in people.items() if now_is(person).owes_step} == owing
    elsewhere = factories.person(factories.tenant(), roles=["admin"])
    assert not now_is(elsewhere).owes_step


def test_until_the_grace_is_over_people_are_told_and_nothing_is_kept_from_them(acme, admin, stand_at):
    anna = factories.person(acme, roles=["reviewer"], name="Anna")
    want(admin, days=7)
    assert (now_is(anna).step_due, now_is(anna).owes_step) == (T + timedelta(days=7), False)
    stand_at(T + timedelta(days=7, milliseconds=-1))
    assert now_is(anna).roles == {"reviewer"}
    stand_at(T + timedelta(days=7))
    assert now_is(anna).owes_step


@pytest.mark.parametrize(
    ("who", "of", "days", "kind", "code"),
    [
        ("a reviewer", "everybody", 0, Forbidden, "ROLE_MISSING"),
        ("an admin without one", "everybody", 0, Conflict, "NO_SECOND"),
        ("an admin whose sign-in does not ask", "admins", 0, Conflict, "NO_SECOND"),
        ("an admin who has not confirmed", "admins", 0, Forbidden, "FRESH_REQUIRED"),
        ("the admin", "somebody", 0, Invalid, "DEMAND_UNKNOWN"),
        ("the admin", "admins", 91, Invalid, "GRACE_INVALID"),
        ("the admin", "admins", -1, Invalid, "GRACE_INVALID"),
    ],
)
def test_wanting_it_is_an_admins_right_who_has_one(acme, admin, who, of, days, kind, code):
    if who == "the admin":
        actor = confirmed(admin)
    elif who == "an admin who has not confirmed":
        actor = admin.actor
    else:
        person = factories.person(acme, roles=["reviewer" if who == "a reviewer" else "admin"])
        actor = confirmed(person)
        if who == "an admin whose sign-in does not ask":
            added(person)
    with pytest.raises(kind) as caught:
        step_demand_set(actor=actor, of=of, days=days)
    assert caught.value.code == code
    [entry] = entries_page(acme.id, EntryFilters(action="second_step.demanded"))
    assert (entry.verdict, entry.detail["code"]) == ("refused", code)


def test_it_is_in_the_log_and_the_page_says_who_lacks_one(acme, admin):
    anna = factories.person(acme, name="Anna")
    want(admin, days=3)
    [entry] = entries_page(acme.id, EntryFilters(action="second_step.demanded"))
    assert (entry.detail["of"], entry.detail["before"]) == ("everybody", "nobody")
    row = step_demand(admin.actor)
    assert [name for _, name, _ in row.lack] == ["Anna"]
    assert (row.words, row.lacking, row.own) == ("Everybody has to have a second step.", 1, True)
    want(admin, "nobody")
    assert (step_demand(admin.actor).lack, now_is(anna).step_due) == ((), None)
    with pytest.raises(Forbidden):
        step_demand(anna.actor)


def test_it_cannot_be_turned_off_while_it_is_wanted_and_is_owed_again_with_the_last_means(acme, admin):
    want(admin)
    with pytest.raises(Conflict) as caught:
        second_step.second_step_set(actor=confirmed(admin), on=False)
    assert caught.value.code == "SECOND_STEP_WANTED"
    [key] = means_of(admin.user_id).passkeys
    passkey.passkey_remove(actor=confirmed(admin), passkey_id=str(key.id))
    assert now_is(admin).owes_step


def test_without_a_demand_a_passkey_alone_turns_nothing_on(acme):
    anna = factories.person(acme, name="Anna")
    added(anna)
    assert not SecondFactor.objects.filter(user_id=anna.user_id, at_sign_in=True).exists()


def test_agents_and_their_tokens_are_not_asked(acme, admin):
    owner = factories.person(acme, roles=["operator"], name="Owner")
    agent = factories.agent(acme, acts_for=[owner], owner=owner)
    want(admin)
    found = agent.actor(on_behalf_of=owner.user_id)
    assert (found.kind, found.owes_step, found.step_due) == ("agent", False, None)


# -- a day that somebody was told --------------------------------------------------------------------------------------


def due(person):
    return now_is(person).step_due


def in_days(number):
    return T + timedelta(days=number)


def test_widening_gives_days_to_the_newly_wanted_alone(acme, admin, stand_at):
    rita, ola = (factories.person(acme, roles=[role]) for role in ("reviewer", "operator"))
    want(admin, "deciders", days=7)
    stand_at(in_days(3))
    want(admin, "everybody", days=7)
    assert (due(rita), due(ola)) == (in_days(7), in_days(10))
    stand_at(in_days(7))
    assert (now_is(rita).owes_step, now_is(ola).owes_step) == (True, False)
    stand_at(in_days(10))
    assert now_is(ola).owes_step


def test_a_day_that_was_told_comes_nearer_and_never_later(acme, admin, stand_at):
    anna = factories.person(acme)
    want(admin, days=30)
    want(admin, days=90)
    assert due(anna) == in_days(30)
    want(admin, days=5)
    assert due(anna) == in_days(5)
    stand_at(in_days(6))
    want(admin, days=30)
    assert now_is(anna).owes_step


@pytest.mark.parametrize("between", ["nobody", "admins"])
def test_narrowing_and_widening_again_begins_nobodys_days_anew(acme, admin, stand_at, between):
    anna = factories.person(acme)
    want(admin, days=7)
    stand_at(in_days(8))
    want(admin, between)
    assert due(anna) is None
    want(admin, days=90)
    assert (due(anna), now_is(anna).owes_step) == (in_days(7), True)


def test_another_role_for_a_while_begins_nobodys_days_anew(acme, admin, stand_at):
    anna = factories.person(acme, roles=["operator"])
    want(admin, "deciders", days=7)
    assert due(anna) is None
    member_change(actor=acme.admin.actor, membership_id=anna.membership_id, roles=["reviewer"])
    assert due(anna) == in_days(7)
    member_change(actor=acme.admin.actor, membership_id=anna.membership_id, roles=["operator"])
    want(admin, days=60)
    assert due(anna) == in_days(7)


def test_whoever_came_later_keeps_the_day_that_they_found(acme, admin, stand_at):
    want(admin, "deciders", days=7)
    stand_at(in_days(2))
    late = factories.person(acme, roles=["reviewer"])
    member_change(actor=acme.admin.actor, membership_id=late.membership_id, roles=["operator"])
    want(admin, days=90)
    assert due(late) == in_days(7)


def test_whoever_came_while_a_change_was_on_its_way_has_the_day_of_what_was_wanted_then(acme, admin):
    anna = factories.person(acme)
    want(admin, days=7)
    Membership.objects.filter(id=anna.membership_id).update(step_due_at=None)  # as a transaction beside it leaves it
    assert due(anna) == in_days(7)
    want(admin, "nobody")
    want(admin, days=90)
    assert due(anna) == in_days(7)


def test_a_place_that_was_switched_off_meanwhile_has_its_day_too(acme, admin, stand_at):
    anna = factories.person(acme)
    member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=False)
    want(admin, days=7)
    want(admin, "nobody")
    member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=True)
    want(admin, days=60)
    assert due(anna) == in_days(7)


def test_whoever_had_one_and_turns_it_off_elsewhere_gets_no_days_for_it(acme, admin, stand_at):
    anna = factories.person(acme, name="Anna")
    other = factories.tenant()
    there = member_of(other, anna)
    added(anna)
    second_step.second_step_set(actor=confirmed(anna), on=True)
    want(admin, days=7)
    stand_at(in_days(8))
    assert due(anna) is None
    second_step.second_step_set(actor=confirmed(there), on=False)
    assert (now_is(anna).owes_step, due(anna), now_is(there).owes_step) == (True, in_days(7), False)
    want(admin, days=90)
    assert now_is(anna).owes_step


def test_a_refused_change_leaves_every_day_as_it_was(acme, admin):
    anna = factories.person(acme)
    want(admin, days=30)
    for actor, days in ((admin.actor, 0), (confirmed(anna), 0), (confirmed(admin), 91)):
        with pytest.raises((Forbidden, Invalid)):
            step_demand_set(actor=actor, of="everybody", days=days)
    assert due(anna) == in_days(30)


def test_the_page_and_the_log_tell_who_keeps_an_earlier_day(acme, admin):
    anna, ola = (factories.person(acme, roles=[role], name=name) for name, role in
                 (("Anna", "reviewer"), ("Ola", "operator")))  # fmt: skip
    want(admin, "deciders", days=3)
    want(admin, "everybody", days=9)
    assert [(name, at) for _, name, at in step_demand(admin.actor).lack] == [("Anna", in_days(3)), ("Ola", in_days(9))]
    newest = entries_page(acme.id, EntryFilters(action="second_step.demanded"))[0]
    assert newest.detail["earlier"] == 1, "the admin has one, and nothing is told of them"
    assert (due(anna), due(ola)) == (in_days(3), in_days(9))


def test_somebody_reads_which_of_their_organisations_want_it_of_them(acme, admin):
    anna = factories.person(acme, name="Anna")
    other = factories.tenant()
    there = member_of(other, anna)
    assert wanting(anna.user_id) == ()
    want(admin, "deciders", days=7)
    added(anna)
    second_step.second_step_set(actor=confirmed(anna), on=True)
    [row] = wanting(there.user_id)
    assert (row.tenant_id, row.name, row.begins_at, row.begun) == (acme.id, acme.name, in_days(7), False)
    want(admin, "admins")
    assert wanting(anna.user_id) == (), "nothing is wanted of reviewers any more"
    want(admin, days=0)
    assert [row.begun for row in wanting(anna.user_id)] == [True]
    member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=False)
    assert wanting(anna.user_id) == ()
