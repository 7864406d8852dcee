"""Tools at a real browser: findings and previews while one types, nothing lost; a call through every guard."""

import json

from playwright.sync_api import expect

WITH_OTHERS = True


def test_an_admin_edits_a_contract_looks_at_real_calls_stores_it_and_drops_it(acting, open_page):
    asked = acting.refund(amount=125, note="Between us.")
    page = open_page(faults=())
    acting.sign_in(page, "admin", "/tools/")
    page.get_by_role("link", name="refund_order").click()
    page.get_by_role("link", name="Edit", exact=True).click()
    text = page.get_by_label("Contract, JSON or YAML")
    findings = page.get_by_role("region", name="Findings and preview")
    source = text.input_value()

    text.fill(source.replace('"irreversible"', '"harmless"'))
    expect(findings).to_contain_text("/side_effect")
    expect(findings).to_contain_text("line 5")
    changed = json.loads(source)
    changed["presentation"]["sentence"] = "Give back {amount} for {order_id}"
    changed["redaction"] = []
    changed["expires_in_s"] = 7200
    text.fill(json.dumps(changed, indent=2))
    expect(findings).to_contain_text("None: it can be stored.")
    expect(findings).to_contain_text(f"for {asked.order}")
    expect(findings).to_contain_text("no longer kept out of the log")
    assert "Between us." not in findings.inner_text()

    page.get_by_label("What changes, and why").fill("Longer time.")
    page.get_by_role("button", name="Store as a candidate").click()
    expect(page.get_by_role("heading", name="Candidate for refund_order")).to_be_visible()
    main = page.locator("main")
    expect(main).to_contain_text("an approval holds longer")
    expect(main).to_contain_text("Longer time.")
    expect(main).to_contain_text("Give back")
    expect(main).to_contain_text("will be refused at dispatch")
    page.get_by_text("Drop…").click()
    page.get_by_label("Why").fill("Only a look.")
    page.get_by_role("button", name="Drop this candidate").click()
    expect(page.get_by_text("The candidate is dropped; it was never used.")).to_be_visible()

    # Why was it held? As the guards answer now; then the same with another amount.
    page.goto(acting.url(f"/runs/{asked.run_id}/"))
    page.get_by_role("link", name="Why?").first.click()
    expect(page.get_by_role("status").first).to_contain_text("It would be held for people.")
    page.get_by_role("link", name="Simulate a changed call").click()
    arguments = page.get_by_label("Arguments, as the agent sends them")
    arguments.fill(json.dumps(json.loads(arguments.input_value()) | {"amount": 99_000_000}))
    page.get_by_role("button", name="Simulate", exact=True).click()
    expect(page.locator("#t-end")).to_contain_text("It would be refused: Meaning")
    expect(page.locator("main")).to_contain_text("AMOUNT_EXCEEDS_LEFT")

    # The same amount as before on what the payment server says at this moment, with the keyboard.
    arguments.fill(json.dumps(json.loads(arguments.input_value()) | {"amount": 126}))
    page.get_by_label("The target's state").fill("")
    page.get_by_label("The one above").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Read it from the target now")).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.locator("#t-end")).to_contain_text("It would be held for people.")
    expect(page.get_by_role("region", name="The state that was read")).to_contain_text('"left"')
    expect(page.locator("main")).to_contain_text("no call was stored")
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_an_agent_is_shown_fewer_tools_with_the_keyboard_on_a_phone(acting, open_page):
    page = open_page(width=390, height=800)
    acting.sign_in(page, "admin", "/access/agents/")
    page.locator("main th a").first.click()
    page.get_by_role("link", name="tools it is shown").click()
    expect(page.get_by_label("All that its scopes allow")).to_be_checked()
    page.get_by_label("Only these").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Show these").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("It holds from the next call on.")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_label("All that its scopes allow").check()
    page.get_by_role("button", name="Show these").click()
    expect(page.get_by_label("All that its scopes allow")).to_be_checked()
