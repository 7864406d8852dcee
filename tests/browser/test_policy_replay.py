"""A replay in a real browser: a worker does it, the panel follows by itself; and coverage on a phone."""

from playwright.sync_api import expect


def test_a_draft_is_replayed_by_a_worker_and_the_panel_follows_by_itself_on_a_phone(acting, open_page):
    acting.refund(1_270, title="to be replayed")
    page = open_page(360, 740)
    acting.sign_in(page, "admin", "/policies/")
    page.get_by_label("What the new draft is about").fill("No refunds")
    page.get_by_role("button", name="New draft").click()
    source = page.locator("#source")
    first = "rules:\n  - {id: no-refunds, tool: refund_order, effect: deny, message: Not today.}\n"
    source.fill(source.input_value().replace("rules:\n", first, 1))
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    page.get_by_role("button", name="Replay the saved text").click()
    panel = page.locator("#replay-panel")
    expect(panel).to_contain_text("would be judged as today. Compared with version", timeout=60_000)
    expect(panel.locator("progress")).to_have_count(0, timeout=60_000)
    row = panel.locator("tbody tr", has_text="ask").filter(has_text="deny")
    expect(row).to_contain_text("A$12.70")
    expect(panel).to_contain_text("no tool was called")
    panel.get_by_text("By which rules").first.click()
    expect(panel).to_contain_text("no-refunds")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    source.fill(source.input_value() + "# once more\n")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(panel).to_contain_text("Out of date. The draft was changed since")
    page.goto(acting.url("/policies/coverage/"))
    expect(page.locator("main")).to_contain_text("refund_order")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_label("Tool", exact=True).fill("get_")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("main .panel")).to_have_count(1)
