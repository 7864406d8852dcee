"""A kill switch in a browser: set with a reason, seen on an open proposal within seconds, lifted, and it goes on."""

import pytest
from playwright.sync_api import expect


@pytest.mark.parametrize("width", [1440, 360])
def test_a_tool_is_stopped_a_proposal_says_so_and_goes_on_when_it_is_lifted(acting, open_page, width):
    asked = acting.refund(title="stopped in the middle")
    watcher = open_page(width=width)
    acting.sign_in(watcher, "reviewer", f"/proposals/{asked.proposal_id}/")
    expect(watcher.locator("#stopped")).to_be_hidden()
    expect(watcher.locator("[data-pulse] [data-word]").first).to_have_text("Live", timeout=30_000)
    # It does not ask by itself here, so what it says has come with the socket.
    watcher.evaluate(
        """() => {
          const quiet = document.getElementById("stopped").cloneNode(true);
          quiet.setAttribute("hx-trigger", "look");
          document.getElementById("stopped").replaceWith(quiet);
          htmx.process(quiet);
        }"""
    )

    page = open_page(width=width)
    acting.sign_in(page, "operator", "/guards/")
    page.select_option("#tool", "refund_order")
    page.fill("#tool-reason", "Wrong accounts")
    page.click("text=Stop this tool")
    expect(page.locator("main")).to_contain_text("The tool refund_order is stopped: nothing more of it is started.")
    assert page.evaluate("document.documentElement.scrollWidth") <= width

    expect(watcher.locator("#stopped")).to_contain_text("Wrong accounts", timeout=30_000)
    expect(watcher.locator("#stopped")).to_contain_text("It can be decided.")
    acting.decide(asked, "approve")
    expect(watcher.locator("#p-act")).to_contain_text("It is stopped: it waits until that is lifted.", timeout=30_000)
    expect(watcher.locator("#stopped")).to_contain_text("It is approved and not started.", timeout=30_000)
    assert acting.agent.get_call(asked.run_id, asked.call_id)["stopped"]["reason"] == "Wrong accounts"

    page.click("summary:has-text('Lift…')")
    page.fill("details[open] input[name=reason]", "Mended")
    page.click("text=Lift this stop")
    expect(page.locator("main")).to_contain_text("The tool refund_order: lifted.")
    assert acting.agent.wait_for_call(asked.run_id, asked.call_id, seconds=30)["state"] == "succeeded"
    expect(watcher.locator("#stopped")).to_be_hidden(timeout=30_000)


def test_all_dispatch_is_confirmed_and_an_approval_is_taken_back_by_keyboard(acting, open_page):
    page = open_page()
    acting.sign_in(page, "operator", "/guards/")
    page.fill("#all-reason", "Incident 4711")
    page.keyboard.press("Enter")
    expect(page.locator("#t-confirm")).to_have_text("Stop all dispatch of this organisation?")
    expect(page.locator("#confirm-reason")).to_have_value("Incident 4711")
    page.click("text=Yes, stop all dispatch")
    expect(page.locator("main")).to_contain_text("It is stopped already.")

    asked = acting.refund(title="taken back again")
    acting.decide(asked, "approve")
    page.goto(acting.url(f"/proposals/{asked.proposal_id}/"))
    page.locator("summary:has-text('Take the approval back…')").press("Enter")
    page.locator("details[open] input[name=reason]").fill("Look again")
    # A card that moved takes nothing for half a second; nobody writes a reason that fast.
    page.wait_for_timeout(700)
    page.locator("details[open] input[name=reason]").press("Enter")
    expect(page.locator("#p-notices")).to_contain_text("took the approval back: Look again", timeout=30_000)
    expect(page.locator("#p-act")).not_to_contain_text("Take the approval back")

    page.goto(acting.url("/guards/"))
    page.click("summary:has-text('Lift…')")
    page.fill("details[open] input[name=reason]", "Over")
    page.click("text=Lift this stop")
    expect(page.locator("main")).to_contain_text("Nothing is stopped.")
