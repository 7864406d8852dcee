"""What the pages look like where it matters: small screens, long calls, hidden characters, keyboard, print."""

import pytest
from playwright.sync_api import expect

WIDTHS = [(360, 740), (390, 844), (768, 1024), (1024, 768), (1440, 900), (1920, 1080)]


@pytest.fixture(scope="module")
def asked(acting):
    return acting.refund(
        1250,
        title="close ticket 5512 " + "x" * 90,
        note="damaged in transit\u200b, see https://bank.example@evil.example/" + "y" * 200,
        reason="A_very_long_word_" * 20,
    )


@pytest.fixture(scope="module")
def memo(acting):
    acting.admit_memo()
    acting.policy(
        "{id: read-orders, tool: get_order, effect: allow}",
        "{id: memo, tool: refund_with_memo, effect: ask, approvers: [{group: finance, count: 1}], expires_in_s: 900}",
        "{id: refund, tool: refund_order, effect: ask, approvers: [{group: finance, count: 1}], expires_in_s: 900}",
    )
    text = "All is as agreed.\n" * 11_000 + "AND PAY EVERYTHING TO SOMEBODY ELSE"
    arguments = {"order_id": "ord_1030", "amount": 100, "currency": "AUD", "memo": text}
    return acting.held("refund_with_memo", arguments, title="two hundred kilobytes")


def in_view(page, selector):
    return page.evaluate(
        "(selector) => { const box = document.querySelector(selector).getBoundingClientRect();"
        " return box.top >= 0 && box.bottom <= innerHeight + 1 && box.left >= 0 && box.right <= innerWidth + 1; }",
        selector,
    )


@pytest.mark.parametrize(("width", "height"), WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_scrolls_sideways(acting, open_page, asked, width, height, scheme):
    page = open_page(width, height, color_scheme=scheme)
    page.goto(acting.url("/sign-in/"))
    paths = ["/sign-in/", "/", "/?view=decided", f"/proposals/{asked.proposal_id}/", "/runs/", f"/runs/{asked.run_id}/"]
    acting.sign_in(page)
    for path in [*paths[1:], "/no/such/page/"]:
        page.goto(acting.url(path))
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


@pytest.mark.parametrize(("width", "height"), WIDTHS)
def test_the_decision_bar_is_in_view_and_leaves_room_to_read(acting, open_page, asked, width, height):
    page = open_page(width, height)
    acting.sign_in(page, path=f"/proposals/{asked.proposal_id}/")
    assert in_view(page, "#p-reject")
    assert in_view(page, "#p-approve")
    assert in_view(page, "#p-head h1")
    assert page.evaluate("document.getElementById('p-act').offsetHeight / innerHeight") < 0.34


@pytest.mark.parametrize(("width", "height"), [(360, 740), (1440, 900)])
def test_with_two_hundred_kilobytes_the_bar_stays_in_view_and_approve_opens_at_their_end(
    acting, open_page, memo, width, height
):
    page = open_page(width, height)
    acting.sign_in(page, path=f"/proposals/{memo.proposal_id}/")
    assert in_view(page, "#p-reject")
    assert in_view(page, "#p-approve")
    approve = page.locator("#p-approve")
    expect(approve).to_be_disabled()
    expect(page.locator("[data-read-note]")).to_contain_text(
        "Approve opens once the long text has been read to its end."
    )
    page.mouse.wheel(0, 4000)
    page.wait_for_timeout(500)  # a wheel still turning would take the next key's way back
    assert in_view(page, "#p-approve")
    box = page.locator(".long .scroll")
    box.focus()
    expect(box).to_be_focused()
    expect(approve).to_be_disabled()
    page.keyboard.press("End")
    expect(approve).to_be_enabled(timeout=10_000)
    expect(box).to_contain_text("AND PAY EVERYTHING TO SOMEBODY ELSE")
    assert in_view(page, "#p-approve")


def test_a_hidden_character_is_seen_and_warned_of_and_a_link_says_where_it_leads(acting, open_page, asked):
    page = open_page()
    acting.sign_in(page, path=f"/proposals/{asked.proposal_id}/")
    expect(page.locator("#p-call .banner")).to_contain_text("U+200B ZERO WIDTH SPACE")
    expect(page.locator("#p-call .value .escape")).to_have_text("U+200B")
    expect(page.locator("#p-call")).to_contain_text("a link in it leads to evil.example")
    assert page.locator("#p-call a").count() == 0


def test_what_is_read_first_comes_first_for_a_screen_reader_too(acting, open_page, asked):
    page = open_page()
    acting.sign_in(page, path=f"/proposals/{asked.proposal_id}/")
    assert page.locator("h1").count() == 1
    assert page.locator("main").count() == 1
    for landmark in ("nav[aria-label=Main]", "section[aria-label=Proposals]", "section[aria-label=Decision]"):
        assert page.locator(landmark).count() == 1
    unnamed = page.evaluate(
        "[...document.querySelectorAll('input:not([type=hidden]), textarea, select, button, a')]"
        ".filter((element) => element.checkVisibility() && !(element.labels?.length || element.textContent.trim()"
        " || element.getAttribute('aria-label'))).map((element) => element.outerHTML)"
    )
    assert unnamed == []


def test_the_skip_link_leads_to_the_content(acting, open_page, asked):
    page = open_page()
    acting.sign_in(page, path="/runs/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


def test_a_printed_proposal_holds_what_was_shown_and_no_navigation(acting, open_page, asked):
    page = open_page()
    acting.sign_in(page, path=f"/proposals/{asked.proposal_id}/")
    page.emulate_media(media="print")
    for shown in ("#p-head h1", "#p-effect", "#p-call", "#p-why", "#p-people"):
        expect(page.locator(shown)).to_be_visible()
    for hidden in (".nav", "#list", "#p-approve", ".skip"):
        expect(page.locator(hidden)).to_be_hidden()


def test_on_a_phone_the_list_and_the_proposal_are_pages_of_their_own(acting, open_page, asked):
    page = open_page(390, 844)
    acting.sign_in(page)
    expect(page.locator("#list")).to_be_visible()
    expect(page.locator(".detail")).to_be_hidden()
    page.click(f"#row-{asked.proposal_id} a")
    expect(page.locator("#p-head h1")).to_be_visible()
    expect(page.locator("#list")).to_be_hidden()
    page.click(".me")
    expect(page.locator("#account")).to_contain_text("Mara Lind")


def test_without_scripts_a_person_can_still_read_and_decide(acting, open_page):
    own = acting.refund(title="no scripts")
    page = open_page(java_script_enabled=False)
    acting.sign_in(page, path=f"/proposals/{own.proposal_id}/")
    page.fill("#p-reason", "checked by hand")
    page.click("#p-approve")
    expect(page.locator("#p-outcome")).to_contain_text("Approved")
    expect(page.locator("#p-outcome")).to_contain_text("checked by hand")


def test_nothing_that_a_program_wrote_is_rendered_and_what_it_hides_is_seen_wherever_it_stands(acting, open_page):
    """Values, the run's title and the agent's reason: on the proposal's page and in the list (S12)."""
    markup = "<img src=x onerror=alert(1)> <b>bold</b> **bold** [a](https://evil.example)"
    own = acting.refund(
        title=f"title \u202e {markup}", note=f"n\u043ete \u200b {markup}", reason=f"reason \u2066 {markup}"
    )
    page = open_page()
    page.on("dialog", lambda dialog: pytest.fail("a script of the agent's ran"))
    acting.sign_in(page, path=f"/proposals/{own.proposal_id}/")
    for place, escape in (("#p-head .facts", "U+202E"), ("#p-call .value", "U+200B"), (".said .words", "U+2066")):
        part = page.locator(place, has_text=markup)
        expect(part).to_be_visible()
        expect(part).to_contain_text(escape)
        assert part.locator("img, b, strong, em, a[href*=evil]").count() == 0
    expect(page.locator("#p-call .value .likeness")).to_be_visible()
    expect(page.locator("#p-call .banner")).to_contain_text("U+200B")
    expect(page.locator(f"#row-{own.proposal_id}")).to_contain_text("hidden characters")
    assert page.locator("main img, main script").count() == 0
    assert "\u202e" not in page.locator("body").inner_text()
