"""approvals/selectors/sharing.py and approvals/web/news.py: lists read together say to each what they would say alone.

What is shared must never be a word that only one of its readers may see: whoever is asked for another right, another
group, another organisation, or has something of their own among what waits, is read for in another name.
"""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.services.delegation import delegation_give, delegation_revoke
from approvals.core.narrowing import Narrowing
from approvals.selectors.proposals import inbox, inbox_counts, proposal_detail, rows_by_id
from approvals.selectors.saved import saved_views
from approvals.selectors.sharing import in_whose_name
from approvals.services.saved_view import saved_view_save
from approvals.web.narrow import Asked, asked_for_text
from approvals.web.news import ListHas, inbox_news
from approvals.web.shown import proposal_news, proposal_shown
from approvals.web.strips import strip_of
from audit.core.actor import NOBODY
from audit.core.refusal import NotFound
from audit.store import clock
from tests.support import factories
from tests.support.approvals import asking


def name_of(*actors):
    names = in_whose_name(actors)
    return [names[actor] for actor in actors]


def has_of(rows=(), query="", **more):
    return ListHas(asked_for_text(query), dict(rows), whole=True, **more)


# -- in whose name ---------------------------------------------------------------------------------------------------


def test_people_with_the_same_rights_are_read_for_in_one_name_which_is_nobodys(acme):
    acme.hold()
    mara, other = acme.mara.actor, factories.person(acme.tenant, groups=["finance"]).actor
    assert mara != other
    one, same = name_of(mara, other)
    assert one == same
    assert (one.id, one.name, one.session_id) == (NOBODY, "", "")
    assert (one.tenant_id, one.roles, one.groups) == (mara.tenant_id, mara.roles, mara.groups)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda acme: factories.person(acme.tenant, groups=["finance", "leads"]), id="another group more"),
        pytest.param(lambda acme: factories.person(acme.tenant), id="no group"),
        pytest.param(
            lambda acme: factories.person(acme.tenant, roles=["auditor"], groups=["finance"]), id="another role"
        ),
        pytest.param(
            lambda acme: factories.person(acme.tenant, roles=["reviewer", "auditor"], groups=["finance"]),
            id="a role more",
        ),
        pytest.param(lambda acme: factories.person(acme.tenant, roles=[], groups=["finance"]), id="no role"),
        pytest.param(lambda acme: factories.person(factories.tenant(), groups=["finance"]), id="another organisation"),
    ],
)
def test_nobody_is_read_for_in_the_name_of_other_rights(acme, other):
    acme.hold()
    mine, others = name_of(acme.mara.actor, other(acme).actor)
    assert mine != others


@pytest.mark.parametrize("who", ["customer_care", "owner", "mara"])
def test_whoever_asked_owns_or_voted_is_read_for_alone_while_that_waits(acme, who):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    acme.decide(held, by=acme.mara)
    actor = getattr(acme, who).actor
    own, others = name_of(actor, factories.person(acme.tenant, groups=["finance"]).actor)
    assert own.id == actor.id
    assert others.id == NOBODY
    acme.decide(held, "reject", by=acme.noor)
    assert name_of(actor)[0].id == NOBODY


def test_whoevers_vote_a_delegate_has_given_is_read_for_alone_and_is_not_asked_any_more(acme):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    anna = factories.person(acme.tenant, name="Anna Berg")
    until = clock.now() + timedelta(hours=1)
    delegation_give(actor=acme.mara.actor, to_user_id=anna.user_id, ends_at=until)
    acme.decide(held, by=anna)
    [name] = name_of(acme.mara.actor)
    assert name.id == acme.mara.user_id
    assert inbox(name, view="mine").rows == []


def test_an_agent_has_no_other_name(acme):
    assert name_of(acme.actor) == [acme.actor]


# -- lists -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def crowd(acme):
    """Everybody who sees something else, some who see the same, and the lists that they have: one of them narrowed."""
    acme.publish(asking(("finance", 2)))
    first = acme.hold(3000)
    acme.decide(first, by=acme.noor)
    acme.publish(asking(("leads", 1)))
    second = acme.hold(7000)
    acme.publish(asking(("finance", 1)))
    gone = acme.hold(9000)
    acme.decide(gone, "reject", by=acme.noor)
    people = [
        acme.mara, acme.noor, acme.customer_care, acme.owner, acme.tenant.admin,
        factories.person(acme.tenant, groups=["finance"]),
        factories.person(acme.tenant, groups=["leads"]),
        factories.person(acme.tenant, roles=["auditor"], groups=["finance"]),
        factories.person(acme.tenant, roles=[], groups=["finance"]),
        factories.person(factories.tenant(), groups=["finance", "leads"]),
    ]  # fmt: skip
    saved_view_save(actor=acme.mara.actor, name="Small", view="mine", narrowing=Narrowing(high="50", currency="AUD"))
    saved_view_save(actor=acme.noor.actor, name="Large", view="all", narrowing=Narrowing(low="50", currency="AUD"))
    has = [
        has_of({held.id: 0 for held in (first, second, gone)} | {uuid4(): 0}),
        has_of({first.id: 99}, "view=all"),
        has_of({}, "view=all&from=50&currency=AUD"),
        has_of({gone.id: 0}, "view=decided"),
    ]
    return [(person.actor, one) for person in people for one in has]


def alone(actor, has):
    """What a list lacks, read for one person in their own name and by other means."""
    asked: Asked = has.asked
    page = inbox(actor, view=asked.view, narrowing=asked.narrowing)
    strips = {strip_of(row, asked) for row in rows_by_id(actor, list(has.rows))}
    return (
        {strip for strip in strips if strip.version > has.rows[strip.id]},
        sum(row.id not in has.rows for row in page.rows),
        inbox_counts(actor, saved_views(actor)),
    )


def test_each_of_many_lists_gets_exactly_what_it_would_get_alone(crowd):
    found = inbox_news(crowd)
    for (actor, has), news in zip(crowd, found, strict=True):
        strips, fresh, counts = alone(actor, has)
        if news is None:
            assert (strips, fresh, counts.mine, counts.all) == (set(), 0, 0, 0)
            continue
        listing, now_has = news
        said = {replace(strip, same_as="") for strip in listing.strips}
        assert said == {replace(strip, same_as="") for strip in strips}
        assert (listing.fresh, listing.counts_of) == (fresh, counts)
        assert now_has.rows == dict(has.rows) | {strip.id: strip.version for strip in strips}


def test_who_sees_something_else_is_told_something_else(crowd):
    """The crowd is one in which sharing too much would show."""
    mine = [
        news and (news[0].counts, frozenset(strip.within for strip in news[0].strips)) for news in inbox_news(crowd)
    ]
    assert len(set(mine[::4])) >= 5


def test_ten_times_the_readers_are_not_one_query_more(acme):
    acme.hold()
    people = [factories.person(acme.tenant, groups=["finance"]).actor for _ in range(6)]

    def queries(count):
        asks = [(people[place % 6], has_of({uuid4(): 0})) for place in range(count)]
        with CaptureQueriesContext(connection) as captured:
            assert all(inbox_news(asks))
        return len(captured)

    assert queries(60) == queries(6)


def test_a_list_that_cannot_be_read_costs_no_other_one_its_answer(acme):
    acme.hold()
    broken = ListHas(Asked(view="nowhere", narrowing=Narrowing()), {}, whole=True)
    bad, good = inbox_news([(acme.mara.actor, broken), (acme.mara.actor, has_of())])
    assert isinstance(bad, Exception)
    assert good[0].fresh == 1


# -- one proposal ----------------------------------------------------------------------------------------------------


def test_each_of_many_readers_of_one_proposal_gets_what_they_would_get_alone(acme):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    acme.decide(held, by=acme.noor)
    people = [
        acme.mara, acme.noor, acme.customer_care, acme.owner, acme.tenant.admin,
        factories.person(acme.tenant, roles=["auditor"]), factories.person(acme.tenant, groups=["finance"]),
    ]  # fmt: skip
    found = proposal_news(held.id, [(person.actor, "") for person in people])
    for person, shown in zip(people, found, strict=True):
        own = proposal_detail(person.actor, held.id)
        assert shown.detail.people == own.people
        assert shown.detail.may_revoke == own.may_revoke
        assert shown.state == proposal_shown(person.actor, held.id).state
    # Two who may decide share one, and nobody else shares theirs.
    assert found[0] is found[6]
    assert len({id(shown) for shown in found}) >= 5


def test_who_may_not_see_it_has_not_found_among_those_who_may(acme):
    held = acme.hold()
    stranger = factories.person(factories.tenant(), groups=["finance"])
    nobody = factories.person(acme.tenant, roles=[], groups=["finance"])
    found = proposal_news(held.id, [(person.actor, "") for person in (stranger, acme.mara, nobody)])
    assert [type(one) is NotFound for one in found] == [True, False, True]


def test_taking_the_approval_back_is_offered_to_whom_it_belongs(acme):
    held = acme.hold()
    acme.decide(held, by=acme.noor)
    operator = factories.person(acme.tenant, roles=["operator"])
    readers = (acme.noor, acme.mara, operator)
    found = proposal_news(held.id, [(person.actor, "") for person in readers])
    assert [shown.detail.may_revoke for shown in found] == [True, False, True]


def test_rights_are_those_of_the_moment_and_not_those_that_the_page_was_opened_with(acme):
    from access.services import people

    held = acme.hold()
    before = acme.mara.actor
    people.group_remove(actor=acme.tenant.admin.actor, group="finance", user_id=acme.mara.user_id)
    [shown] = proposal_news(held.id, [(before, "")])
    assert not shown.detail.people.may_decide


def test_a_page_that_shows_how_it_stands_lacks_nothing(acme):
    held = acme.hold()
    state = proposal_shown(acme.mara.actor, held.id).state
    assert proposal_news(held.id, [(acme.mara.actor, state), (acme.noor.actor, None)]) == [None, None]


def test_a_giver_whose_delegates_vote_was_called_back_is_read_for_alone_and_told_what_they_see_alone(acme):
    """`mine` depends on whether the vote in their place counts: nobody with their rights shares that."""
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    anna = factories.person(acme.tenant, name="Anna Berg")
    given = delegation_give(actor=acme.mara.actor, to_user_id=anna.user_id, ends_at=clock.now() + timedelta(hours=1))
    acme.decide(held, by=anna)
    other = factories.person(acme.tenant, groups=["finance"]).actor
    for wanted in (0, 1):
        mine, others = name_of(acme.mara.actor, other)
        assert mine != others
        [giver, colleague] = inbox_news([(acme.mara.actor, has_of()), (other, has_of())])
        assert giver[0].counts_of == replace(inbox_counts(acme.mara.actor, []), saved={})
        assert (giver[0].counts_of.mine, colleague[0].counts_of.mine) == (wanted, 1)
        if not wanted:
            delegation_revoke(actor=acme.mara.actor, delegation_id=given)
