"""The narrowed list: filters in the address, kept views, sums, and the way from one proposal to the next."""

import re
from dataclasses import replace
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import SavedView
from approvals.selectors.proposals import proposal_detail
from approvals.web.narrow import asked_for
from approvals.web.strips import listed
from approvals.web.turn import turn_of
from tests.support import factories
from tests.support.approvals import World, asking, world
from tests.web.test_inbox import HTMX, ids
from tests.web.test_proposal import text, words


@pytest.fixture
def acme(db) -> World:
    return world()


@pytest.fixture
def mara(acme, signed_in):
    return signed_in(acme.mara)


@pytest.fixture
def three(acme):
    """Refunds of A$10, A$45 and A$100, in the order of their deadlines."""
    return [acme.hold(minor, expires_in_s=600 + minor) for minor in (1000, 4500, 10000)]


def found(client, **query):
    return ids(text(client.get("/?" + urlencode(query))))


def kept(client, name="Large", **query):
    return client.post("/inbox/views/", {"name": name, "list": urlencode(query)}, follow=True)


# -- filters -----------------------------------------------------------------------------------------------------


def test_each_filter_narrows_and_they_narrow_together(acme, mara, three):
    one, two, large = (str(held.id) for held in three)
    agent = str(acme.actor.id)
    assert found(mara, tool="refund_order") == [one, two, large]
    assert found(mara, tool="get_order") == []
    assert found(mara, agent=agent) == [one, two, large]
    assert found(mara, agent="6a2f41a3-c54c-4ad7-8d09-6f5d5a7ff2d1") == []
    assert found(mara, group="finance") == [one, two, large]
    assert found(mara, group="legal") == []
    assert found(mara, **{"from": "45", "currency": "aud"}) == [two, large]
    assert found(mara, to="45.00", currency="AUD") == [one, two]
    assert found(mara, **{"from": "0.10", "to": "1,000", "currency": "EUR"}) == []
    assert found(mara, **{"from": "20", "to": "50", "currency": "AUD", "q": "anna", "agent": agent}) == [two]


def test_expiring_within_counts_from_now(acme, mara):
    soon, later = acme.hold(1000, expires_in_s=200), acme.hold(4500, expires_in_s=800)
    assert found(mara, within="5") == [str(soon.id)]
    assert found(mara, within="15") == [str(soon.id), str(later.id)]


def test_a_filter_of_the_groups_finds_what_needs_them_beside_others(acme, mara):
    factories.person(acme.tenant, groups=["support-leads"])
    acme.publish(asking(("finance", 1), ("support-leads", 1)))
    both = acme.hold()
    assert found(mara, view="all", group="support-leads") == [str(both.id)]


def test_what_was_decided_is_narrowed_too(acme, mara, three):
    for held in three:
        acme.decide(held, "reject", by=acme.noor)
    assert found(mara, view="decided", to="20", currency="AUD") == [str(three[0].id)]
    assert "the newest 10,000 are looked through" in text(mara.get("/?view=decided&tool=get_order"))


def test_what_is_set_stands_in_words_and_each_is_taken_away_by_its_own_link(mara, three):
    html = text(mara.get("/?from=20&currency=AUD&tool=refund_order&q=anna"))
    chips = re.search(r'<ul class="chips".*?</ul>', html, re.S).group()
    assert re.findall(r"<li><bdi>(.*?)</bdi>", chips) == ["“anna”", "tool refund_order", "from 20 AUD"]
    assert 'href="/?q=anna&amp;tool=refund_order&amp;currency=AUD"' in chips


def test_a_filter_that_says_nothing_is_told_and_what_was_typed_stays(mara, three):
    html = text(mara.get("/?from=twenty&currency=AUD"))
    assert "&#x27;twenty&#x27; is not an amount" in html
    assert 'name="from" form="filters" value="twenty"' in html
    assert len(ids(html)) == 3


def test_the_address_follows_the_filters(mara, three):
    answer = mara.get(
        "/?q=&view=mine&tool=refund_order&agent=&from=", headers=HTMX | {"HX-Current-URL": "http://testserver/"}
    )
    assert answer["HX-Replace-Url"] == "/?tool=refund_order"
    beside = {"HX-Current-URL": f"http://testserver/proposals/{three[0].id}/"}
    assert "HX-Replace-Url" not in mara.get("/?q=anna", headers=HTMX | beside)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("tool=get_order", "Nothing fits these filters"),
        ("q=zebra", "Nothing fits"),
        ("view=all&within=5", "Nothing fits these filters"),
        ("view=decided", "Nothing was decided yet"),
    ],
)
def test_each_empty_list_says_why_it_is_empty(mara, three, query, said):
    html = text(mara.get(f"/?{query}"))
    assert said in words(re.search(r'id="rows-empty".*?</div>', html, re.S).group())
    assert ("Show all of this view" in html) == ("=get_order" in query or "zebra" in query or "within" in query)


# -- sums --------------------------------------------------------------------------------------------------------


def test_the_list_says_what_it_comes_to(acme, mara, three):
    assert "3 proposals come to A$155.00." in text(mara.get("/"))
    assert "1 proposal comes to A$10.00." in text(mara.get("/?to=20&currency=AUD"))
    assert re.search(r'id="sums" hidden', text(mara.get("/?q=zebra")))


# -- kept views --------------------------------------------------------------------------------------------------


def test_a_view_is_kept_with_its_count_renamed_and_forgotten(acme, mara, signed_in, three):
    html = text(kept(mara, **{"from": "20", "currency": "AUD"}))
    row = SavedView.objects.get()
    link = re.search(
        rf'<a href="([^"]+)" aria-current="true"><bdi>Large</bdi> <span data-count="kept-{row.pk}">2<', html
    )
    assert link.group(1) == "/?from=20&amp;currency=AUD"
    assert "Large" not in text(signed_in(acme.noor).get("/"))
    change = f"/inbox/views/{row.pk}/"
    assert "Very large" in text(mara.post(change, {"verb": "rename", "name": "Very large"}, follow=True))
    assert "The view is forgotten" in text(mara.post(change, {"verb": "delete"}, follow=True))
    assert not SavedView.objects.exists()


def test_a_name_that_is_taken_is_told_and_stays_typed(mara, three):
    kept(mara, **{"from": "20", "currency": "AUD"})
    html = text(kept(mara, name="large", **{"from": "40", "currency": "AUD"}), 409)
    assert "You keep a view named large already." in words(html[html.index('id="problem"') :])
    assert 'name="name" value="large"' in html
    assert SavedView.objects.count() == 1


def test_a_foreign_view_is_not_found(acme, mara, signed_in, three):
    kept(mara, **{"from": "20", "currency": "AUD"})
    noor = signed_in(acme.noor)
    for verb in ("rename", "delete"):
        assert noor.post(f"/inbox/views/{SavedView.objects.get().pk}/", {"verb": verb, "name": "x"}).status_code == 404


def test_a_damaged_view_lists_everything_and_hides_no_other(acme, mara, three):
    kept(mara, **{"from": "20", "currency": "AUD"})
    SavedView.objects.update(query="view=%00&from=x&agent=?&within=never")
    assert len(ids(text(mara.get("/")))) == 3


# -- speed -------------------------------------------------------------------------------------------------------


def test_the_number_of_queries_depends_neither_on_rows_nor_on_filters_nor_on_kept_views(acme, mara):
    def queries(address):
        with CaptureQueriesContext(connection) as captured:
            text(mara.get(address))
        return len(captured)

    acme.hold(1000)
    kept(mara, name="One", **{"from": "5", "currency": "AUD"})
    text(mara.get("/"))
    few = queries("/?from=5&currency=AUD")
    for number in range(8):
        acme.hold(2000 + number)
    for number in range(5):
        kept(mara, name=f"View {number}", q=f"anna {number}")
    text(mara.get("/"))
    assert queries("/?from=5&currency=AUD&tool=refund_order&group=finance&within=1440") == few
    # A word costs one query more, for the list and its sums: do few have it or many? (selectors/narrowing.py)
    assert queries("/?from=5&currency=AUD&tool=refund_order&group=finance&within=1440&q=anna") == few + 1


# -- from one to the next ----------------------------------------------------------------------------------------


def turn(html):
    """rel → address."""
    return dict(re.findall(r'<a rel="(prev|next)"[^>]*href="([^"]+)"', html))


def test_a_proposal_leads_to_the_one_before_and_behind_it_in_the_lists_own_order(mara, three):
    first, second, third = three
    assert turn(text(mara.get(f"/proposals/{second.id}/"))) == {
        "prev": f"/proposals/{first.id}/",
        "next": f"/proposals/{third.id}/",
    }
    assert turn(text(mara.get(f"/proposals/{first.id}/"))) == {"next": f"/proposals/{second.id}/"}
    narrowed = turn(text(mara.get(f"/proposals/{first.id}/?to=50&currency=AUD")))
    assert narrowed == {"next": f"/proposals/{second.id}/?to=50&amp;currency=AUD"}
    assert turn(text(mara.get(f"/proposals/{second.id}/?to=50&currency=AUD"))).keys() == {"prev"}


def test_the_neighbours_are_found_whether_the_list_beside_it_shows_them_or_not(acme, three):
    first, second, third = three
    actor, asked = acme.mara.actor, asked_for({})
    page = listed(actor, asked)
    cut = replace(page, strips=page.strips[:2], more="/?after=x")
    for listing in (None, page, cut, replace(page, strips=[])):
        for one, before, behind in ((first, None, second), (second, first, third), (third, second, None)):
            turn = turn_of(actor, asked, proposal_detail(actor, one.id), listing)
            assert (turn.previous and turn.previous.id) == (before and before.id)
            assert (turn.next and turn.next.id) == (behind and behind.id)


def test_the_rows_of_a_narrowed_list_carry_it_along(mara, three):
    html = text(mara.get("/?view=all&to=50&currency=AUD"))
    assert f'href="/proposals/{three[0].id}/?view=all&amp;to=50&amp;currency=AUD"' in html


def test_decided_ones_lead_on_from_the_newest(acme, mara, three):
    for held in three:
        acme.decide(held, "reject", by=acme.noor)
    first, second, third = three
    assert turn(text(mara.get(f"/proposals/{second.id}/?view=decided"))) == {
        "prev": f"/proposals/{third.id}/?view=decided",
        "next": f"/proposals/{first.id}/?view=decided",
    }


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_after_a_decision_the_next_one_is_offered(mara, three, headers):
    first, second, _ = three
    form = {"verdict": "reject", "reason": "no", "digest": first.digest, "round": "1", "list": "to=50&currency=AUD"}
    html = text(mara.post(f"/proposals/{first.id}/decide/", form, headers=headers, follow=True))
    onward = re.search(r"data-onward>(.*?)</p>", html, re.S).group(1)
    assert f'href="/proposals/{second.id}/?to=50&amp;currency=AUD"' in onward
    assert "Next: Refund A$45.00 of A$120.00 to Anna Berg" in words(onward)


def test_when_nothing_is_behind_it_what_was_left_before_it_is_offered_and_then_the_list(acme, mara, three):
    first, second, third = three
    for held, offered in ((third, second), (second, first)):
        acme.decide(held, "reject", by=acme.mara)
        onward = re.search(r"data-onward>(.*?)</p>", text(mara.get(f"/proposals/{held.id}/")), re.S).group(1)
        assert f'href="/proposals/{offered.id}/"' in onward
    acme.decide(first, "reject", by=acme.mara)
    assert "Nothing else is in this list." in text(mara.get(f"/proposals/{first.id}/"))


def test_who_signs_in_again_comes_back_to_the_proposal_in_its_list(client, acme, three):
    form = {
        "verdict": "reject",
        "reason": "typed",
        "digest": three[0].digest,
        "round": "1",
        "list": "to=50&currency=AUD",
    }
    html = text(client.post(f"/proposals/{three[0].id}/decide/", form), 401)
    assert f'name="next" value="/proposals/{three[0].id}/?to=50&amp;currency=AUD"' in html
    assert 'name="kept" value="typed"' in html
