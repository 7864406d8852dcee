"""The list of proposals: who sees what, in which view, and that no row hides another."""

import re

import pytest

from approvals.models import Proposal
from approvals.services.settling import permit_settle
from tests.support import factories
from tests.support.approvals import World, asking, edit_as_owner, world
from tests.web.test_proposal import text, wait_until_past, words

HTMX = {"HX-Request": "true"}


@pytest.fixture
def acme(db) -> World:
    return world()


@pytest.fixture
def mara(acme, signed_in):
    return signed_in(acme.mara)


def ids(html):
    return re.findall(r'id="row-([0-9a-f-]{36})"', html)


def strip(html, held):
    return re.search(rf'<li id="row-{held.id}".*?</li>', html, re.S).group()


def test_an_empty_inbox_says_what_will_be_there(mara):
    html = text(mara.get("/"))
    assert "Nothing waits for you" in words(re.search(r'id="rows-empty".*?</div>', html, re.S).group())
    assert "<title>Inbox · Clearance</title>" in html


def test_who_is_no_reviewer_is_not_told_to_wait_for_a_proposal(acme, signed_in):
    html = text(signed_in(factories.person(acme.tenant, roles=["auditor"])).get("/"))
    said = words(re.search(r'id="rows-empty".*?</div>', html, re.S).group())
    assert "Reviewers decide. What waits for them stands under All." in said


def test_a_strip_tells_what_how_much_why_who_and_until_when(acme, mara):
    held = acme.hold()
    html = text(mara.get("/"))
    row = strip(html, held)
    said = words(row)
    assert "Refund A$45.00 of A$120.00 to Anna Berg for order ord_1029" in said
    assert "A$45.00" in said
    assert "support-agent" in said
    assert f'data-deadline="{held.row.expires_at.isoformat()}"' in row
    assert f'href="/proposals/{held.id}/"' in row
    assert "<title>Inbox (1) · Clearance</title>" in html


def test_lists_carry_no_bodies(db, signed_in):
    wide = world(contract={"/input_schema/properties/note": {"type": "string", "maxLength": 400_000}})
    for number in range(10):
        wide.hold(note=f"{number}" * 200_000)
    assert len(text(signed_in(wide.mara).get("/"))) < 40_000


def test_mine_is_what_waits_for_me_and_all_is_what_waits(acme, mara, signed_in):
    held = acme.hold()
    assert ids(text(mara.get("/"))) == [str(held.id)]
    own = signed_in(acme.customer_care)
    assert ids(text(own.get("/"))) == []
    assert ids(text(own.get("/?view=all"))) == [str(held.id)]


def test_what_was_decided_is_in_its_own_view_with_a_word_about_who(acme, mara):
    rejected, approved = acme.hold(), acme.hold(5000)
    acme.decide(rejected, "reject", by=acme.noor)
    acme.decide(approved, by=acme.noor)
    acme.redeem(approved)
    permit_settle(proposal_id=approved.id, outcome="unknown", detail={})
    assert ids(text(mara.get("/"))) == []
    html = text(mara.get("/?view=decided"))
    assert "rejected by Noor Aziz" in words(strip(html, rejected))
    assert "approved by Noor Aziz, outcome unknown" in words(strip(html, approved))
    assert 'class="strip is-unsure' in strip(html, approved)


def test_what_expired_is_decided_although_no_sweep_ran(acme, mara):
    held = acme.hold(expires_in_s=1)
    wait_until_past(held)
    assert ids(text(mara.get("/"))) == []
    html = text(mara.get("/?view=decided"))
    assert "expired, refused" in words(strip(html, held))
    assert "data-deadline" not in strip(html, held)


def test_who_has_voted_is_done_and_the_others_see_how_far_it_is(acme, mara, signed_in):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    acme.decide(held)
    assert ids(text(mara.get("/"))) == []
    assert "1 of 2" in words(strip(text(signed_in(acme.noor).get("/")), held))


def test_the_tabs_count_and_mark_where_the_reader_is(acme, mara):
    acme.hold()
    html = text(mara.get("/?view=all"))
    assert 'Mine <span data-count="mine">1</span>' in html
    assert re.search(r'href="/\?view=all" aria-current="true">All <span data-count="all">1</span>', html)


def test_search_finds_by_sentence_agent_and_run_and_says_when_nothing_fits(acme, mara):
    one, other = acme.hold(run_title="Ticket 5512"), acme.hold(5000, run_title="Ticket 7")
    assert ids(text(mara.get("/?q=5512"))) == [str(one.id)]
    assert set(ids(text(mara.get("/?q=anna")))) == {str(one.id), str(other.id)}
    assert "Nothing fits" in text(mara.get("/?q=zebra"))


@pytest.mark.parametrize(
    "query", ["view=nonsense", "after=nonsense", "after=%00", "q=%00", "q=%25", "q=" + "x" * 9000, "view=%00"]
)
def test_a_strange_query_is_no_fault(acme, mara, query):
    acme.hold()
    text(mara.get(f"/?{query}"))


def test_a_page_mark_that_is_not_ours_says_so_and_lists_from_the_start(acme, mara):
    held = acme.hold()
    html = text(mara.get("/?after=nonsense"))
    assert "not one of ours" in html
    assert ids(html) == [str(held.id)]


def test_more_than_a_page_comes_by_its_cursor_and_nothing_twice(acme, mara):
    made = {str(acme.hold(1000 + number).id) for number in range(60)}
    first = text(mara.get("/"))
    more = re.search(r'hx-get="(/\?after=[^"]+)"', first).group(1).replace("&amp;", "&")
    second = text(mara.get(more, headers=HTMX))
    assert "<html" not in second
    assert "list-body" not in second
    assert set(ids(first)) | set(ids(second)) == made
    assert not set(ids(first)) & set(ids(second))


def test_the_body_of_the_list_is_what_its_refresh_returns(acme, mara):
    acme.hold()
    html = text(mara.get("/", headers=HTMX))
    assert html.lstrip().startswith('<div id="list-body"')
    now = re.compile(r'data-now="[^"]+"')
    assert now.sub("", html).strip() in now.sub("", text(mara.get("/")))


def test_a_row_that_cannot_be_trusted_is_told_and_hides_no_other(committed_db, owner_sql, signed_in):
    acme = world()
    good, bad = acme.hold(), acme.hold(5000)
    edit_as_owner(owner_sql, "approvals_proposal", r"canonical = '\xeda080'::bytea", f"id = '{bad.id}'")
    html = text(signed_in(acme.mara).get("/?view=all"))
    assert set(ids(html)) == {str(good.id), str(bad.id)}
    assert "cannot be shown safely" in words(strip(html, bad))
    assert "cannot be trusted" in words(strip(html, bad))
    assert "Anna Berg" in words(strip(html, good))


def test_a_sentence_that_hides_something_shows_it_in_the_list(acme, mara):
    held = acme.hold(
        state={"amount": 12000, "refunded": 0, "currency": "AUD", "customer": "An\u202ena <b>Berg</b>", "left": 12000}
    )
    row = strip(text(mara.get("/")), held)
    assert "\u202e" not in row
    assert "<b>Berg" not in row
    assert "U+202E" in row
    assert "hidden characters" in row


def test_the_same_call_again_says_so(acme, mara):
    first = acme.hold()
    acme.decide(first)
    acme.redeem(first)
    permit_settle(proposal_id=first.id, outcome="succeeded", detail={"reference": "re_1"})
    second = acme.hold()
    assert "Same as another call, executed" in words(strip(text(mara.get("/")), second))


def test_another_organisations_proposals_are_not_there(acme, signed_in):
    acme.hold()
    stranger = signed_in(factories.person(factories.tenant(), groups=["finance"]))
    assert ids(text(stranger.get("/?view=all"))) == []


def test_reading_the_list_changes_nothing(acme, mara):
    held = acme.hold()
    before = Proposal.objects.values().get(pk=held.id)
    for method in (mara.get, mara.head):
        for path in ("/", "/?view=all", "/?view=decided", "/?q=anna"):
            assert method(path).status_code == 200
    assert Proposal.objects.values().get(pk=held.id) == before
