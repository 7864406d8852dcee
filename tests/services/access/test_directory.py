"""People and groups as admins see them, with what a change would mean."""

from uuid import UUID, uuid4

import pytest

from access.core.needs import GroupNeed
from access.selectors import directory
from access.services import people
from access.signals import groups_needed
from audit.core.refusal import Forbidden, NotFound
from tests.support import factories


@pytest.fixture
def acme(db):
    return factories.tenant()


@pytest.fixture
def needs():
    """needs(slug=GroupNeed(…)) is what an app above answers."""
    connected = []

    def answer(**found):
        def tell(sender, tenant_id, **_):
            return found

        groups_needed.connect(tell, weak=False)
        connected.append(tell)

    yield answer
    for tell in connected:
        groups_needed.disconnect(tell)


def test_people_are_found_by_name_and_address_and_active_ones_come_first(acme):
    anna = factories.person(acme, name="Anna Berg")
    ben = factories.person(acme, name="Ben Ahl", email="ben@berg.example")
    people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=False)
    rows, more = directory.people_page(acme.admin.actor, q="BERG")
    assert [(row.name, row.active) for row in rows] == [("Ben Ahl", True), ("Anna Berg", False)]
    assert not more
    assert directory.people_page(acme.admin.actor, q="%")[0] == [], "a sign of SQL is only a sign"
    assert directory.people_page(acme.admin.actor, q="zzz\0")[0] == []
    assert ben.user_id == rows[0].user_id


def test_a_long_list_comes_in_pages(acme, monkeypatch):
    monkeypatch.setattr(directory, "PAGE", 2)
    for number in range(4):
        factories.person(acme, name=f"P{number}")
    pages = [directory.people_page(acme.admin.actor, page=page) for page in (1, 2, 3, 4)]
    assert [len(rows) for rows, _ in pages] == [2, 2, 1, 0]
    assert [more for _, more in pages] == [True, True, False, False]
    assert len({row.membership_id for rows, _ in pages for row in rows}) == 5


def test_a_list_asks_the_database_the_same_number_of_times_whatever_its_length(acme, django_assert_num_queries):
    for number in range(5):
        factories.person(acme, groups=["finance", f"g{number}"])
    actor = acme.admin.actor
    with django_assert_num_queries(3):
        directory.people_page(actor)


def test_who_is_no_admin_sees_no_list(acme):
    actor = factories.person(acme, ["reviewer", "operator", "auditor"]).actor
    for attempt in (
        lambda: directory.people_page(actor),
        lambda: directory.groups_of(actor),
        lambda: directory.group_choices(actor),
        lambda: directory.member_choices(actor),
        lambda: directory.person_detail(actor, UUID(acme.admin.membership_id)),
        lambda: directory.group_detail(actor, "finance"),
    ):
        with pytest.raises(Forbidden):
            attempt()


def test_another_organisations_people_and_groups_are_unknown(acme):
    other = factories.tenant()
    theirs = factories.person(other, groups=["theirs"])
    for attempt in (
        lambda: directory.person_detail(acme.admin.actor, UUID(theirs.membership_id)),
        lambda: directory.person_detail(acme.admin.actor, uuid4()),
        lambda: directory.group_detail(acme.admin.actor, "theirs"),
        lambda: directory.group_detail(acme.admin.actor, "unknown"),
    ):
        with pytest.raises(NotFound):
            attempt()
    assert theirs.name not in [row.name for row in directory.people_page(acme.admin.actor)[0]]
    assert all(theirs.user_id != user_id for user_id, _ in directory.member_choices(acme.admin.actor))


def test_a_person_shows_what_hangs_on_them(acme):
    anna = factories.person(acme, groups=["finance"])
    agent = factories.agent(acme, acts_for=[anna], owner=anna)
    factories.group(acme, "support")
    detail = directory.person_detail(acme.admin.actor, UUID(anna.membership_id))
    assert detail.owns == detail.acted_for_by == ((agent.id, agent.name),)
    assert detail.other_groups == (("support", "Support"),)
    assert not detail.is_last_admin
    assert directory.person_detail(acme.admin.actor, UUID(acme.admin.membership_id)).is_last_admin


def test_the_last_reviewer_of_a_group_that_something_waits_for_is_told_before_they_go(acme, needs):
    anna = factories.person(acme, groups=["finance"])
    needs(finance=GroupNeed(waiting=3, most=1))
    detail = directory.person_detail(acme.admin.actor, UUID(anna.membership_id))
    sentence = "The group finance would have nobody left who may decide: 3 proposals wait for it."
    assert detail.if_off == (sentence,)
    assert detail.if_left == {"finance": sentence}
    group = directory.group_detail(acme.admin.actor, "finance")
    assert group.if_left == {anna.membership_id: sentence}
    factories.person(acme, groups=["finance"])
    assert directory.person_detail(acme.admin.actor, UUID(anna.membership_id)).if_off == ()


def test_who_decides_nothing_is_no_loss(acme, needs):
    needs(finance=GroupNeed(waiting=3, most=1))
    operator = factories.person(acme, ["operator"], groups=["finance"])
    assert directory.person_detail(acme.admin.actor, UUID(operator.membership_id)).if_off == ()
    (row,) = directory.groups_of(acme.admin.actor)
    assert (row.members, row.deciders) == (1, 0)
    assert row.lacking.startswith("Nobody in it may decide")


def test_a_group_that_only_a_policy_knows_is_shown_as_missing(acme, needs):
    needs(ghosts=GroupNeed(rules=1, most=1))
    (row,) = directory.groups_of(acme.admin.actor)
    assert (row.slug, row.name, row.needed) == ("ghosts", "", "1 rule or limit of the policy asks it")
    assert "There is no such group" in row.lacking


def test_when_what_waits_cannot_be_read_that_is_said_and_the_page_stays(acme, caplog):
    anna = factories.person(acme, groups=["finance"])

    def broken(sender, tenant_id, **_):
        raise RuntimeError("out of order")

    groups_needed.connect(broken, weak=False)
    try:
        detail = directory.person_detail(acme.admin.actor, UUID(anna.membership_id))
    finally:
        groups_needed.disconnect(broken)
    assert detail.if_off == (directory.UNKNOWN_NEEDS,)
    assert "out of order" in caplog.text
