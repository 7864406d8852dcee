"""Editing, asking, claiming and deciding together in a browser (screens.md, Inbox and Proposal 9)."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_accessibility import ALL, AXE, violations

WITH_OTHERS = True
FRESH = 600  # a card that has just appeared ignores clicks for half a second


@pytest.fixture
def mara(acting, open_page):
    """open(path, …) is Mara's page; axe may look at it."""

    def open_at(path, width=1440, height=900):
        page = open_page(width, height, bypass_csp=True)
        page.add_init_script(AXE)
        acting.sign_in(page, path=path)
        return page

    return open_at


def overflows(page):
    return page.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_an_edit_is_looked_at_saved_and_left_to_somebody_else(acting, mara):
    asked = acting.refund(1250, title="to be edited")
    page = mara(f"/proposals/{asked.proposal_id}/", 360, 740)
    page.click("#p-act .verbs >> text=Edit")
    assert not overflows(page)
    assert violations(page, ALL) == []
    page.fill('[name="v.amount"]', "12,00")
    page.click("text=Look at the changes")
    expect(page.locator(".wrong")).to_contain_text("whole number")
    page.fill('[name="v.amount"]', "1100")
    page.click("text=Look at the changes")
    expect(page.locator("#t-changes")).to_be_visible()
    assert not overflows(page)
    assert violations(page, ALL) == []
    page.fill("[name=reason]", "A quarter off was agreed.")
    page.click("text=Save revision 2")
    expect(page.locator("#p-talk")).to_contain_text("edited it")
    expect(page.locator("#p-act")).to_contain_text("you edited it")
    assert not overflows(page)
    told = acting.agent.wait_for_call(asked.run_id, asked.call_id, seconds=0)
    assert told["edited"]["changes"] == [{"path": "/amount", "from": 1250, "to": 1100}]


def test_a_question_is_told_to_the_agent_and_its_answer_appears_by_itself(acting, mara):
    asked = acting.refund(1260, title="to be asked about")
    page = mara(f"/proposals/{asked.proposal_id}/")
    page.click("#p-act .verbs >> text=Ask the agent")
    page.fill("[name=text]", "Is this the second lamp?")
    page.click("main button[type=submit]")
    expect(page.locator("#p-talk")).to_contain_text("has not answered")
    call = acting.agent.get_call(asked.run_id, asked.call_id, wait=5)
    assert call["question"]["text"] == "Is this the second lamp?"
    acting.agent.answer(asked.run_id, asked.call_id, "<b>Yes</b>\u202e")
    expect(page.locator("#p-talk blockquote")).to_contain_text("<b>Yes</b>")
    expect(page.locator("#p-talk blockquote .words")).to_contain_text("U+202E")
    assert violations(page, ALL) == []


def test_a_claim_is_seen_in_another_browser_as_it_is_made(acting, mara):
    asked = acting.refund(1270, title="to be claimed")
    page, list_ = mara(f"/proposals/{asked.proposal_id}/"), mara("/?q=to+be+claimed")
    expect(list_.locator("[data-pulse].is-live").first).to_be_attached()
    page.wait_for_timeout(FRESH)
    page.click("text=I am looking at it")
    expect(page.locator("#p-act")).to_contain_text("Claimed by you")
    expect(list_.locator("#rows")).to_contain_text("claimed by")


def test_chosen_rows_are_summed_up_and_decided_together(acting, mara):
    for amount in (110, 130):
        acting.refund(amount, title="decided together")
    page = mara("/?q=decided+together", 360, 740)
    expect(page.locator("#rows input[name=id]")).to_have_count(2)
    for box in page.locator("#rows .pick").all():
        box.click()
    expect(page.locator("#chosen-bar")).to_contain_text("2 chosen")
    assert not overflows(page)
    page.click("#chosen-bar >> text=Decide them")
    expect(page.locator("section.chosen")).to_have_count(2)
    assert not overflows(page)
    # At the end, where the bar lies over nothing: a link that it half covers is too small a target until one scrolls.
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    assert violations(page, ALL) == []
    page.fill("[name=reason]", "Neither of them.")
    page.click("button[value=reject]")
    expect(page.locator("h1")).to_have_text("2 decided")
    assert violations(page, ALL) == []
    expect(page.locator(".outcomes li")).to_have_text([re.compile("Rejected")] * 2)
