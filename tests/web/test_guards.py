"""The Guards page, and what the other pages say of a stop."""

import re
import uuid

import pytest

from runs.selectors.stops import stops_in_force
from runs.services.resolution import resolutions_consume
from runs.services.stop import stop_lift, stop_set
from runs.store.claims import system_actor
from tests.support import factories
from tests.support.world_fixtures import payments, world
from tests.web.test_proposal import text

__all__ = ["payments", "world"]

REASON = "Refunds go to the <b>wrong</b> accounts."


def read(html):
    """What the main part says, markup away."""
    main = re.search(r"<main.*?</main>", html, re.S).group()
    plain = re.sub(r"<[^>]+>", " ", main)
    for name, char in (("&lt;", "<"), ("&gt;", ">"), ("&#x27;", "'"), ("&amp;", "&")):
        plain = plain.replace(name, char)
    return re.sub(r"\s+", " ", plain)


@pytest.fixture
def olga(world):
    return factories.person(world.tenant, roles=["operator"], name="Olga Operator")


@pytest.fixture
def operator(olga, signed_in):
    return signed_in(olga)


def test_an_empty_page_says_so_and_offers_every_kind(operator, world):
    html = text(operator.get("/guards/"))
    said = read(html)
    for words in ("Nothing is stopped.", "No stop was lifted yet.", "Stop this tool", "Stop this agent"):
        assert words in said
    assert '<option value="refund_order">refund_order</option>' in html
    assert f'<option value="{world.agent.id}">Support agent</option>' in html
    assert "<title>Guards · Clearance</title>" in html


def test_a_tool_is_stopped_shown_with_what_it_holds_back_and_lifted(operator, world):
    call = world.held()
    world.decide(call)
    resolutions_consume()
    form = {"kind": "tool", "subject": "refund_order", "reason": REASON}
    html = text(operator.post("/guards/stop/", form, follow=True))
    said = read(html)
    assert "The tool refund_order is stopped: nothing more of it is started." in said
    assert "1 held back, 0 in flight" in said
    assert REASON in said
    assert "<b>wrong</b>" not in html
    assert "<title>1 stopped · Clearance</title>" in html
    assert "refund_order (stopped)" in html
    [row] = stops_in_force(world.tenant.id)
    html = text(operator.post(f"/guards/{row.id}/lift/", {"reason": "Mended."}, follow=True))
    said = read(html)
    assert "The tool refund_order: lifted. What it held back goes on now." in said
    assert "Nothing is stopped." in said
    assert "by Olga Operator : Mended." in said


def test_all_dispatch_is_asked_for_once_more_before_it_is_stopped(operator, world):
    form = {"kind": "tenant", "reason": "Incident 4711"}
    html = text(operator.post("/guards/stop/", form))
    assert "Stop all dispatch of this organisation?" in read(html)
    assert 'name="confirm" value="yes"' in html
    assert html.count('value="Incident 4711"') == 2  # in the question, and still in the form
    assert stops_in_force(world.tenant.id) == []
    said = read(text(operator.post("/guards/stop/", form | {"confirm": "yes"}, follow=True)))
    assert "All dispatch of this organisation is stopped: nothing more of it is started." in said
    assert "It is stopped already." in said


def test_the_second_one_is_told_who_was_first(operator, world, olga, signed_in):
    form = {"kind": "tool", "subject": "refund_order", "reason": REASON}
    operator.post("/guards/stop/", form)
    admin = signed_in(world.tenant.admin)
    said = read(text(admin.post("/guards/stop/", form, follow=True)))
    assert "Olga Operator had stopped this before; nothing was changed." in said


@pytest.mark.parametrize("reason", ["", "\u200b"])
def test_without_a_reason_nothing_changes_and_the_choice_is_kept(operator, world, reason):
    form = {"kind": "tool", "subject": "refund_order", "reason": reason}
    html = text(operator.post("/guards/stop/", form), status=422)
    assert "Say why" in read(html)
    assert '<option value="refund_order" selected>' in html
    assert stops_in_force(world.tenant.id) == []
    done = stop_set(actor=world.admin, kind="tool", subject="refund_order", reason=REASON)
    html = text(operator.post(f"/guards/{done.stop.id}/lift/", {"reason": reason}), status=422)
    assert re.search(r'<details class="verb" open>', html)
    assert len(stops_in_force(world.tenant.id)) == 1


def test_who_may_not_change_it_reads_it_and_is_told_why(world, signed_in):
    stop_set(actor=world.admin, kind="tool", subject="refund_order", reason=REASON)
    reviewer = signed_in(world.reviewer)
    html = text(reviewer.get("/guards/"))
    assert "Setting and lifting stops takes the role operator." in read(html)
    assert "<form" not in re.search(r"<main.*?</main>", html, re.S).group()
    assert text(reviewer.post("/guards/stop/", {"kind": "tenant", "confirm": "yes", "reason": "x"}), status=403)
    assert len(stops_in_force(world.tenant.id)) == 1


def test_the_installations_stop_is_shown_and_lifted_elsewhere(operator, world):
    done = stop_set(actor=system_actor(""), kind="installation", reason=REASON)
    html = text(operator.get("/guards/"))
    assert "Lifted only at the installation's command line." in read(html)
    assert f"/guards/{done.stop.id}/lift/" not in html
    assert operator.post(f"/guards/{done.stop.id}/lift/", {"reason": "x"}).status_code == 403


def test_a_foreign_stop_answers_like_an_unknown_one(operator, world):
    other = factories.tenant()
    theirs = stop_set(actor=other.admin.actor, kind="tenant", reason=REASON)
    answers = {
        operator.post(f"/guards/{stop_id}/lift/", {"reason": "x"}).status_code
        for stop_id in (theirs.stop.id, uuid.uuid4())
    }
    assert answers == {404}
    assert "Nothing is stopped." in read(text(operator.get("/guards/")))


def test_reading_the_page_changes_nothing_and_posting_is_for_signed_in_people(client, world):
    assert client.get("/guards/").status_code == 302
    assert client.post("/guards/stop/", {"kind": "tenant", "confirm": "yes", "reason": "x"}).status_code == 302
    assert stops_in_force(world.tenant.id) == []


# -- the other pages ---------------------------------------------------------------------------------------------------


def test_lists_say_what_is_stopped_by_whom_since_when_and_why(operator, world):
    assert 'id="stopped" class="stack" hidden' in text(operator.get("/runs/"))
    stop_set(actor=world.admin, kind="tenant", reason=REASON)
    for address in ("/", "/runs/"):
        html = text(operator.get(address))
        said = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))
        assert "All dispatch of this organisation is stopped by" in said
        assert "held back, 0 in flight" in said


def test_a_proposals_page_says_that_it_can_be_decided_and_then_that_it_waits(world, signed_in, operator):
    call = world.held()
    other = world.held()
    address = f"/proposals/{call.proposal_id}/"
    stop_set(actor=world.admin, kind="tool", subject="refund_order", reason=REASON)
    said = read(text(operator.get(address)))
    assert "The tool refund_order is stopped by" in said
    assert "It can be decided. Approved, it waits until this is lifted, at most until" in said
    world.decide(call)
    resolutions_consume()
    said = read(text(operator.get(address)))
    assert "It is approved and not started. It goes on by itself when this is lifted; its approval is void at" in said
    world.decide(other, "reject", reason="No.")
    assert "is stopped by" not in read(text(operator.get(f"/proposals/{other.proposal_id}/")))


def test_a_runs_page_says_it_only_where_it_concerns_the_run(world, operator):
    call = world.held()
    stop_set(actor=world.admin, kind="tool", subject="get_order", reason=REASON)
    assert "is stopped by" not in read(text(operator.get(f"/runs/{call.run_id}/")))
    stop_set(actor=world.admin, kind="agent", subject=world.agent.id, reason=REASON)
    assert "The agent Support agent is stopped by" in read(text(operator.get(f"/runs/{call.run_id}/")))


def test_the_banner_comes_again_only_when_it_says_something_else(world, operator):
    call = world.held()
    address = f"/guards/banner/?proposal_id={call.proposal_id}&seen="
    assert operator.get(address).status_code == 204
    done = stop_set(actor=world.admin, kind="tool", subject="refund_order", reason=REASON)
    html = text(operator.get(address))
    assert "is stopped" in html
    again = re.search(r'hx-get="([^"]+)"', html).group(1).replace("&amp;", "&")
    assert operator.get(again).status_code == 204
    stop_lift(actor=world.admin, stop_id=done.stop.id, reason="Mended.")
    gone = text(operator.get(again))
    assert "hidden" in gone
    assert "is stopped" not in gone


def test_the_banner_tells_nothing_of_a_foreign_proposal_or_run(world, signed_in):
    call = world.held()
    stop_set(actor=world.admin, kind="tenant", reason=REASON)
    other = factories.tenant()
    stranger = signed_in(other.admin)
    for name, value in (("proposal_id", call.proposal_id), ("run_id", call.run_id), ("run_id", "no id")):
        assert stranger.get(f"/guards/banner/?{name}={value}&seen=").status_code == 204
