"""An unknown outcome in a real browser: it appears by itself, waits for its moment, and leaves when it is settled."""

import re

import pytest
from playwright.sync_api import expect

from config.stack.demo_orders import FIRST_NUMBER, ORDERS

TOOL = "refund_unsure"
"""Like a refund, and its target neither confirms what it did nor shows it under our key."""


@pytest.fixture(scope="module")
def unsure(acting):
    """unsure(number) has the agent ask for a refund of that order, approved; it ends as unknown."""
    acting.python(f"""
        from approvals.models import ToolVersion
        from approvals.services.contract import contract_admit
        document = ToolVersion.objects.filter(tool__name="refund_order", tool__tenant_id=tenant).first().document
        document["name"] = "{TOOL}"
        document["alternatives"] = []
        document["settle_after_ms"] = 4000
        document["timeout_ms"] = 2000
        document["adapter"]["execute"]["success"] = "result.status == 'never'"
        document["adapter"]["look_up"]["match"]["pointer"] = "/metadata/nothing"
        contract_admit(actor=admin, document=document)
    """)
    acting.policy(
        f"{{id: unsure, tool: {TOOL}, effect: ask, approvers: [{{group: finance, count: 1}}], expires_in_s: 900}}"
    )

    def make(number):
        row = ORDERS["acme"][number]
        wanted = {"order_id": f"ord_{FIRST_NUMBER + number}", "amount": 100, "currency": row.currency.upper()}
        asked = acting.held(TOOL, wanted, title="close ticket 5512")
        acting.decide(asked, "approve")
        for _ in range(30):
            call = acting.agent.get_call(asked.run_id, asked.call_id, wait=1)
            if call["state"] == "unknown":
                return asked, call["id"]
        raise AssertionError(call)

    return make


def test_it_appears_waits_for_its_moment_and_is_settled_by_keyboard(acting, unsure, open_page):
    page = open_page()
    acting.sign_in(page, "operator", "/unresolved/")
    expect(page.locator("[data-pulse] [data-word]")).to_have_text("Live")
    expect(page.locator("#u-list")).to_contain_text("Nothing is unknown")
    _, unresolved_id = unsure(10)
    link = page.locator(f'#u-list a[href="/unresolved/{unresolved_id}/"]')
    expect(link).to_be_visible(timeout=15_000)
    link.click()
    choices = page.locator("#u-choices")
    expect(page.locator("#u-target")).to_contain_text("it shows nothing", timeout=20_000)
    # Live, without a reload: from its moment on it may be said that it did not happen.
    expect(choices.get_by_text("It did not happen…", exact=True)).to_be_visible(timeout=20_000)
    expect(page.locator("#u-head .tag")).to_have_text("Outcome unknown")
    choices.get_by_text("It happened…", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_label("The provider's own reference").fill("re_881")
    page.locator("#u-reason-happened").fill("Seen on the provider's page.")
    page.get_by_role("button", name="Record: it happened").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#u-head .tag")).to_have_text("Succeeded", timeout=10_000)
    expect(page.locator("#u-decided")).to_contain_text("Ola Brandt: it happened, reference re_881")
    expect(page.locator("#u-choices")).to_be_hidden()
    page.goto(acting.url("/unresolved/"))
    expect(page.locator("#u-list")).to_contain_text("Nothing is unknown")


def test_what_is_typed_survives_news_and_a_second_operator_is_told(acting, unsure, open_page):
    _, unresolved_id = unsure(11)
    first, second = open_page(), open_page(width=360, height=740, color_scheme="dark")
    for page in (first, second):
        acting.sign_in(page, "operator", f"/unresolved/{unresolved_id}/")
        expect(page.locator("#u-head [data-word]")).to_have_text("Live")
    assert second.evaluate("document.documentElement.scrollWidth") <= 360
    second.get_by_text("Leave it…", exact=True).click()
    second.locator("#u-reason-leave").fill("The provider answers tomorrow.")
    expect(second.locator("#u-target")).to_contain_text("it shows nothing", timeout=20_000)
    expect(second.locator("#u-reason-leave")).to_have_value("The provider answers tomorrow.")
    expect(first.get_by_text("It did not happen…", exact=True)).to_be_visible(timeout=20_000)
    first.get_by_text("It did not happen…", exact=True).click()
    first.locator("#u-reason-did_not_happen").fill("The provider shows none.")
    first.get_by_role("button", name="Record: it did not happen").click()
    expect(first.locator("#u-head .tag")).to_have_text("Failed", timeout=10_000)
    expect(second.locator("#u-head .tag")).to_have_text("Failed", timeout=15_000)
    expect(second.locator("#u-decided")).to_contain_text(re.compile("Ola Brandt: it did not happen"))
