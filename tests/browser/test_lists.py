"""The live lists: news announce themselves, nothing moves under the pointer, decided rows leave with a word."""

import re

import pytest
from playwright.sync_api import expect


@pytest.fixture
def inbox(acting, open_page):
    """inbox(search) is Mara's live list, narrowed to one test's own rows."""

    def open_list(search="", **options):
        page = open_page(**options)
        acting.sign_in(page, path=f"/?q={search}" if search else "/")
        expect(page.locator("#list [data-word]").first).to_have_text("Live")
        page.evaluate("window.loadedOnce = true")
        return page

    return open_list


def rows(page):
    return page.locator("#rows > [data-id]")


def test_new_proposals_announce_themselves_and_come_when_asked_for(acting, inbox):
    acting.refund(title="announce 1")
    page = inbox("announce")
    expect(rows(page)).to_have_count(1)
    acting.refund(title="announce 2")
    acting.refund(title="announce 3")
    expect(page.locator("#news")).to_have_text("2 new", timeout=10_000)
    expect(rows(page)).to_have_count(1)
    page.click("#news a")
    expect(rows(page)).to_have_count(3)
    expect(page.locator("#news")).to_be_hidden()
    acting.refund(title="announce 4")
    expect(page.locator("#news")).to_have_text("1 new", timeout=10_000)
    assert page.evaluate("window.loadedOnce === true")


def test_the_counts_follow(acting, inbox):
    page = inbox()
    before = int(page.locator('.tabs [data-count="mine"]').inner_text())
    acting.refund()
    expect(page.locator('.tabs [data-count="mine"]')).to_have_text(str(before + 1), timeout=10_000)
    expect(page.locator('.nav [data-count="mine"]')).to_have_text(str(before + 1))


def test_a_decided_row_says_by_whom_and_leaves_only_when_nobody_points_at_it(acting, inbox):
    one = acting.refund(title="leaving 1")
    two = acting.refund(title="leaving 2")
    page = inbox("leaving")
    row, other = page.locator(f"#row-{one.proposal_id}"), page.locator(f"#row-{two.proposal_id}")
    other.hover()
    place = other.bounding_box()["y"]
    acting.decide(one, "reject", "not this one")
    expect(row.locator(".state")).to_contain_text("rejected by Tove Brandt", timeout=10_000)
    page.wait_for_timeout(7_500)
    assert row.count() == 1
    grown = row.bounding_box()["height"]
    page.mouse.move(1200, 500)
    expect(row).to_have_count(0, timeout=5_000)
    assert other.count() == 1
    assert other.bounding_box()["y"] < place + grown


def test_the_focus_stays_on_a_row_that_changes(acting, inbox):
    asked = acting.refund(title="focus here")
    page = inbox("focus")
    link = page.locator(f"#row-{asked.proposal_id} a")
    link.focus()
    acting.decide(asked, "reject", "not this one")
    expect(page.locator(f"#row-{asked.proposal_id} .state")).to_contain_text("rejected by", timeout=10_000)
    expect(link).to_be_focused()


def test_search_narrows_as_one_types_and_the_list_stays_live(acting, inbox):
    acting.refund(title="needle in this")
    page = inbox()
    page.fill("#q", "needle")
    expect(rows(page)).to_have_count(1)
    acting.refund(title="another needle")
    expect(page.locator("#news")).to_have_text("1 new", timeout=10_000)
    page.fill("#q", "no such thing at all")
    expect(page.locator("#rows-empty")).to_contain_text("Nothing fits")


def test_a_list_that_is_cut_off_says_so_and_catches_up(acting, inbox, open_page):
    asked = acting.refund(title="cut off")
    cut = {"sockets": []}
    page = open_page()

    def through(socket):
        if cut.get("down"):
            socket.close(code=1011)
            return
        server = socket.connect_to_server()
        cut["sockets"].append((socket, server))

    page.route_web_socket(re.compile(r".*/ws/inbox/"), through)
    acting.sign_in(page, path="/?q=cut+off")
    word = page.locator("#list [data-word]").first
    expect(word).to_have_text("Live")
    cut["down"] = True
    for socket, server in cut["sockets"]:
        server.close()
        socket.close(code=1011)
    expect(word).to_have_text(re.compile(r"^Not live since \d\d:\d\d, reconnecting$"))
    acting.decide(asked, "reject", "while you were away")
    cut["down"] = False
    expect(word).to_have_text("Live", timeout=15_000)
    expect(page.locator(f"#row-{asked.proposal_id} .state")).to_contain_text("rejected by Tove Brandt", timeout=10_000)


def test_a_list_that_cannot_be_loaded_says_so_and_keeps_what_it_had(acting, inbox):
    acting.refund(title="keep me shown")
    page = inbox("keep+me", faults=("htmx:afterRequest", "htmx:sendError", "ERR_FAILED"))
    page.route("**/?q=*", lambda route: route.abort())
    page.fill("#q", "keep me sho")
    expect(page.locator("#problem")).to_contain_text("The server did not answer, so this list may be old.")
    expect(rows(page)).to_have_count(1)
    page.unroute("**/?q=*")
    page.fill("#q", "keep me shown")
    expect(page.locator("#problem")).to_be_hidden()
    expect(rows(page)).to_have_count(1)


def test_the_title_counts_what_waits_for_me(acting, inbox):
    page = inbox()
    before = int(page.locator('.tabs [data-count="mine"]').inner_text())
    expect(page).to_have_title(f"Inbox ({before}) · Clearance" if before else "Inbox · Clearance")
    acting.refund()
    expect(page).to_have_title(f"Inbox ({before + 1}) · Clearance", timeout=10_000)


def test_runs_change_in_place_and_new_ones_announce_themselves(acting, open_page):
    page = open_page()
    run = acting.agent.open_run("a run to watch")["id"]
    acting.sign_in(page, "operator", "/runs/?q=to+watch")
    expect(page.locator("[data-word]").first).to_have_text("Live")
    state = page.locator(f"#row-{run} .tag")
    expect(state).to_have_text("Idle")
    acting.agent.complete(run)
    expect(state).to_have_text("Completed", timeout=10_000)
    acting.agent.open_run("another to watch")
    expect(page.locator("#news")).to_have_text("1 new", timeout=10_000)
    page.click("#news a")
    expect(page.locator("#rows > [data-id]")).to_have_count(2)
