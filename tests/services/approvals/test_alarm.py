"""A group that lost its people or their passkeys: said once to admins, on the page and in the log, then over (S8)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from access.core.confirm import session_name
from access.models import Confirmation, WebhookDelivery
from access.selectors.confirmation import means_of
from access.services import people
from access.services.delegation import delegation_give, delegation_revoke
from access.services.passkey import passkey_add, passkey_options, passkey_remove
from access.services.webhook import webhook_set
from approvals.models import Alarm, Proposal
from approvals.selectors.proposals import inbox, proposal_detail
from approvals.services.alarm import alarms_look
from audit.selectors.entries import entries_for_object
from audit.store import clock
from tests.support import factories
from tests.support.approvals import asking, world
from tests.support.passkeys import Device


@pytest.fixture
def acme(db):
    return world()


def leave(acme, *persons):
    for person in persons:
        people.group_remove(actor=acme.tenant.admin.actor, group="finance", user_id=person.user_id)


def nobody(acme, held):
    return proposal_detail(acme.tenant.admin.actor, held.id).people.nobody


def alarms():
    return list(Alarm.objects.order_by("id").values_list("ended_at", flat=True))


def test_a_group_that_is_emptied_is_said_once_and_ends_by_itself_when_somebody_joins(acme):
    webhook_set(actor=acme.tenant.admin.actor, url="https://example.org/hook")
    held, known = acme.hold(), {}
    assert alarms_look(known=known) == 0
    leave(acme, acme.mara, acme.noor)
    assert nobody(acme, held), "the page judges by the rights of the moment, whether a sweep ran or not"
    before = Proposal.objects.get(pk=held.id).version
    assert (alarms_look(known=known), alarms_look(known=known)) == (1, 0)
    assert alarms() == [None]
    assert Proposal.objects.get(pk=held.id).version == before + 1, "open lists and pages hear of it"
    assert [row.stuck for row in inbox(acme.tenant.admin.actor, view="all").rows] == [True]
    people.group_add(actor=acme.tenant.admin.actor, group="finance", user_id=acme.noor.user_id)
    assert not nobody(acme, held)
    assert (alarms_look(known=known), alarms_look(known=known)) == (1, 0)
    assert None not in alarms()
    assert [row.stuck for row in inbox(acme.tenant.admin.actor, view="all").rows] == [False]
    actions = [entry.action for entry in entries_for_object(acme.tenant.id, "proposal", str(held.id))]
    assert actions[-2:] == ["proposal.nobody_can_decide", "proposal.decidable_again"]
    assert list(WebhookDelivery.objects.order_by("id").values_list("kind", flat=True)) == actions[-2:]


@pytest.mark.parametrize("what", ["deactivated", "no reviewer"])
def test_a_person_who_may_not_decide_any_more_counts_as_gone(acme, what):
    held, known = acme.hold(), {}
    alarms_look(known=known)
    leave(acme, acme.noor)
    change = {"active": False} if what == "deactivated" else {"roles": ["operator"]}
    people.member_change(actor=acme.tenant.admin.actor, membership_id=acme.mara.membership_id, **change)
    assert alarms_look(known=known) == 1
    assert nobody(acme, held)


def test_whoever_asked_makes_up_no_quorum(acme):
    """Jon and Ola are in finance too: for one of them the agent acts, the other owns it."""
    acme.publish(asking(("finance", 2)))
    acme.hold()
    known: dict = {}
    assert alarms_look(known=known) == 0
    leave(acme, acme.noor)
    assert alarms_look(known=known) == 1


def test_the_last_votes_that_leave_too_few_are_said_with_the_vote(acme):
    """Two must approve, two could; with one rejection of two the quorum can be met by nobody any more."""
    acme.publish(asking(("finance", 2)).replace("expires_in_s", "rejections: 2, expires_in_s"))
    held = acme.hold()
    acme.decide(held, "reject", by=acme.mara)
    assert alarms() == [None]
    assert nobody(acme, held)
    [*_, entry] = [
        entry
        for entry in entries_for_object(acme.tenant.id, "proposal", str(held.id))
        if entry.action == "proposal.nobody_can_decide"
    ]
    assert entry.actor_name == "Mara Lind"


def test_many_of_a_kind_are_looked_at_in_a_few_questions(acme, django_assert_max_num_queries):
    for number in range(12):
        acme.hold(order_id=f"ord_{number}")
    with django_assert_max_num_queries(8):
        assert alarms_look(known={}) == 0


def test_a_proposal_that_is_over_has_no_alarm(acme):
    held, known = acme.hold(), {}
    leave(acme, acme.mara, acme.noor)
    assert alarms_look(known=known) == 1
    Proposal.objects.filter(pk=held.id).update(status="cancelled")
    assert alarms_look(known=known) == 1
    assert None not in alarms()


def test_another_organisations_people_change_nothing_here(acme):
    acme.hold()
    leave(acme, acme.mara, acme.noor)
    factories.person(factories.tenant(), groups=["finance"])
    assert alarms_look(known={}) == 1


# -- passkeys ----------------------------------------------------------------------------------------------------------


SIGNED = asking(("finance", 2)).replace("expires_in_s", "authentication: signed, expires_in_s")


def confirmed(person):
    actor = replace(person.actor, session_id=session_name("one"))
    Confirmation.objects.update_or_create(
        user_id=actor.id, session_id=actor.session_id, defaults={"at": clock.now(), "by": "password"}
    )
    return actor


def adds_a_passkey(person):
    actor, device = confirmed(person), Device()
    return passkey_add(actor=actor, response=device.make(passkey_options(actor=actor)), name="Laptop")


def removes_it(person):
    for key in means_of(person.user_id).passkeys:
        passkey_remove(actor=confirmed(person), passkey_id=str(key.id))


def words(acme, held):
    return proposal_detail(acme.tenant.admin.actor, held.id).people.keyless


def test_a_passkey_that_is_removed_is_an_alarm_that_ends_with_a_new_one(acme):
    webhook_set(actor=acme.tenant.admin.actor, url="https://example.org/hook")
    adds_a_passkey(acme.mara)
    adds_a_passkey(acme.noor)
    acme.publish(SIGNED)
    held, known = acme.hold(), {}
    assert (alarms_look(known=known), nobody(acme, held), words(acme, held)) == (0, False, "")
    removes_it(acme.noor)
    assert words(acme, held) == (
        "Approving this is signed by a passkey, and too few who may have one: Noor Aziz has none. Each adds one under "
        "Account, Passkeys and codes; until enough have, it can only be rejected or expire. Admins are told."
    )
    assert (alarms_look(known=known), alarms_look(known=known)) == (1, 0)
    adds_a_passkey(acme.noor)
    assert words(acme, held) == ""
    assert (alarms_look(known=known), alarms_look(known=known)) == (1, 0)
    assert None not in alarms()
    entries = entries_for_object(acme.tenant.id, "proposal", str(held.id))
    assert [entry.action for entry in entries[-2:]] == ["proposal.nobody_can_decide", "proposal.decidable_again"]
    assert entries[-2].detail["lacks"] == "passkeys"
    assert '"lacks":"passkeys"' in WebhookDelivery.objects.earliest("id").body.replace(" ", "")


def test_where_nobody_can_sign_from_the_start_it_is_said_when_it_is_asked(acme):
    acme.publish(SIGNED)
    held = acme.hold()
    assert alarms() == [None]
    assert "Mara Lind, Noor Aziz have none" in words(acme, held)
    acme.decide(held, "reject")
    assert words(acme, held) == ""


@pytest.mark.parametrize("authentication", ["session", "fresh"])
def test_what_a_password_is_enough_for_needs_no_passkey(acme, authentication):
    acme.publish(SIGNED.replace("signed", authentication))
    held = acme.hold()
    assert (alarms(), words(acme, held)) == ([], "")


def test_people_who_are_gone_are_not_told_as_people_without_a_passkey(acme):
    acme.publish(SIGNED)
    held = acme.hold()
    leave(acme, acme.noor)
    assert (nobody(acme, held), words(acme, held)) == (True, "")


def test_a_delegates_passkey_signs_for_its_giver_while_the_delegation_is_on(acme):
    adds_a_passkey(acme.mara)
    dev = factories.person(acme.tenant, name="Dev Rao")
    adds_a_passkey(dev)
    acme.publish(SIGNED)
    held, known = acme.hold(), {}
    assert alarms_look(known=known) == 0
    assert alarms() == [None]
    given = delegation_give(actor=acme.noor.actor, to_user_id=dev.user_id, ends_at=clock.now() + timedelta(days=1))
    assert (words(acme, held), alarms_look(known=known)) == ("", 1)
    delegation_revoke(actor=acme.noor.actor, delegation_id=given)
    assert alarms_look(known=known) == 1
    assert "Noor Aziz has none" in words(acme, held)


def test_two_kinds_that_differ_in_the_signature_alone_are_looked_at_each(acme):
    acme.hold(order_id="ord_1")
    acme.publish(SIGNED.replace("count: 2", "count: 1"))
    adds_a_passkey(acme.mara)
    known: dict = {}
    acme.hold(order_id="ord_2")
    assert alarms_look(known=known) == 0
    removes_it(acme.mara)
    assert alarms_look(known=known) == 1
