"""A reviewer with many proposals waiting: narrows the list, keeps the view, and goes from one to the next."""

import re

import pytest
from playwright.sync_api import expect

FRESH = 600  # a card that has just appeared ignores keys and clicks for half a second


@pytest.fixture(scope="module")
def queue(acting):
    """Refunds of one reviewer's queue, smallest first, which is also the order of their deadlines."""
    return [acting.refund(100 + number, title="one queue") for number in range(6)]


@pytest.fixture
def mara(acting, open_page, queue):
    """open(path) is Mara's page."""

    def open_at(path="/?q=one+queue", width=1440, height=900, **options):
        page = open_page(width, height, **options)
        acting.sign_in(page, path=path)
        expect(page.locator("[data-pulse].is-live").first).to_be_attached()
        return page

    return open_at


def sentence(page):
    return page.locator("#p-head h1").inner_text()


def here(page, asked):
    """Waits until the page is the proposal's, and its card may be used."""
    expect(page).to_have_url(re.compile(asked.proposal_id))
    expect(page.locator("#p-head [data-word]")).to_have_text("Live")
    page.wait_for_timeout(FRESH)


def test_filters_act_as_they_are_set_and_live_in_the_address(acting, mara, queue):
    page = mara()
    page.click("#narrow > summary")
    page.fill("#narrow [name=to]", "1.02")
    expect(page.locator("#list-body [role=alert]")).to_contain_text("Say which currency the amounts are in")
    page.fill("#narrow [name=currency]", "aud")
    expect(page.locator("#rows a.strip")).to_have_count(2)  # one of the first three is in yen
    expect(page.locator("#sums")).to_have_text("2 proposals come to A$2.01.")
    page.select_option("#narrow [name=group]", "finance")
    expect(page).to_have_url(re.compile(r"\?q=one\+queue&group=finance&to=1\.02&currency=AUD$"))
    page.reload()
    expect(page.locator("#rows a.strip")).to_have_count(2)
    page.locator("#list .chips a").nth(2).click()
    expect(page).to_have_url(re.compile(r"\?q=one\+queue&group=finance&currency=AUD$"))
    expect(page.locator("#rows a.strip").nth(2)).to_be_visible()


def test_a_view_is_kept_counts_live_and_is_forgotten(acting, mara, queue):
    page = mara("/?q=kept+view")
    page.click("text=Save this view")
    page.fill(".keep [name=name]", "Of this test")
    page.click(".keep button")
    tab = page.locator(".kept a", has_text="Of this test")
    expect(tab).to_have_text("Of this test 0")
    expect(page.locator("[data-pulse].is-live").first).to_be_attached()
    acting.refund(title="kept view")
    expect(tab).to_have_text("Of this test 1", timeout=15_000)
    page.click("text=Rename or forget this view")
    page.click("text=Forget it")
    expect(page.locator("#problem")).to_contain_text("The view is forgotten")
    expect(page.locator(".kept")).to_have_count(0)


def test_rows_are_walked_by_keys_and_never_while_one_types(mara, queue):
    page = mara()
    rows = page.locator("#rows a.strip")
    page.keyboard.press("j")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("k")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.type("j?k")
    expect(page.locator("#q")).to_have_value("one queuej?k")
    assert page.locator("dialog[open]").count() == 0


def test_a_question_mark_lists_the_keys_and_escape_closes_them(mara, queue):
    page = mara(f"/proposals/{queue[0].proposal_id}/?q=one+queue")
    page.keyboard.press("?")
    panel = page.locator("#keys")
    expect(panel).to_be_visible()
    for key in ("J", "K", "A", "R", "Enter", "?"):
        expect(panel.locator("kbd", has_text=re.compile(rf"^{re.escape(key)}$"))).to_be_visible()
    page.keyboard.press("a")
    expect(panel).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page.locator("#p-head .tag")).to_contain_text("Waiting")


def test_the_letters_of_a_card_work_only_while_it_has_the_focus(mara, queue):
    page = mara(f"/proposals/{queue[0].proposal_id}/?q=one+queue")
    here(page, queue[0])
    page.locator("#q").focus()
    page.keyboard.type("ar")
    expect(page.locator("#q")).to_be_focused()
    page.locator(".nav .places a").first.focus()
    page.keyboard.press("a")
    expect(page.locator(".nav .places a").first).to_be_focused()
    page.locator("#p-reject").focus()
    page.keyboard.press("a")
    expect(page.locator("#p-approve")).to_be_focused()
    page.keyboard.press("r")
    expect(page.locator("#p-reason")).to_be_focused()
    page.keyboard.type("a reason")
    expect(page.locator("#p-reason")).to_have_value("a reason")
    page.keyboard.press("Tab")
    page.keyboard.press("r")
    expect(page.locator("#p-reject")).to_be_focused()
    expect(page.locator("#p-head .tag")).to_contain_text("Waiting")


def test_a_card_that_has_just_appeared_or_moved_ignores_letters(mara, queue):
    page = mara(f"/proposals/{queue[0].proposal_id}/?q=one+queue")
    here(page, queue[0])
    page.locator("#p-reject").focus()
    # Pressed in the same breath as the bar moves: by hand this is a notice that comes in, or a window that is resized.
    page.set_viewport_size({"width": 1440, "height": 700})
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => { dispatchEvent(new Event('resize'));"
        " document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', bubbles: true})); done(); }))"
    )
    expect(page.locator("#p-reject")).to_be_focused()
    page.wait_for_timeout(FRESH)
    page.keyboard.press("a")
    expect(page.locator("#p-approve")).to_be_focused()


def test_by_keyboard_from_the_list_through_a_decision_to_the_next_one(acting, mara, queue):
    page = mara("/?q=one+queue&to=1.04&currency=AUD")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    here(page, queue[0])
    assert "q=one+queue&to=1.04" in page.url
    page.keyboard.press("j")
    here(page, queue[1])
    page.keyboard.press("k")
    here(page, queue[0])
    page.keyboard.press("r")
    page.keyboard.type("not this one")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#p-head .tag")).to_have_text("Rejected", timeout=15_000)
    expect(page.locator("#p-next")).to_be_focused()
    page.keyboard.press("Enter")
    here(page, queue[1])
    assert "q=one+queue&to=1.04" in page.url


def test_who_comes_second_is_offered_the_next_one_too(acting, mara, queue):
    page = mara(f"/proposals/{queue[2].proposal_id}/?q=one+queue")
    here(page, queue[2])
    acting.decide(queue[2], "reject", "somebody else was faster")
    expect(page.locator("#p-next")).to_be_visible(timeout=15_000)
    page.click("#p-next")
    here(page, queue[3])


@pytest.mark.parametrize("width", [360, 390])
def test_by_thumb_from_the_list_through_a_decision_to_the_next_one(acting, mara, width):
    mark = f"by thumb {width}"
    first, second = acting.refund(title=mark), acting.refund(title=mark)
    page = mara(f"/?q={mark.replace(' ', '+')}", width=width, height=740, has_touch=True, is_mobile=True)
    page.tap(f"#row-{first.proposal_id} a")
    here(page, first)
    bar = page.locator("#p-act")
    page.tap("#p-reason")
    page.keyboard.type("seen by thumb")
    box = page.locator("#p-approve").bounding_box()
    assert box["y"] > 370, "within reach of a thumb"
    assert box["height"] >= 40
    assert box["y"] + box["height"] <= 740
    page.wait_for_timeout(FRESH)
    page.tap("#p-approve")
    expect(bar).to_contain_text("Approved by Mara Lind", timeout=15_000)
    expect(page.locator("#p-next")).to_be_visible()
    page.wait_for_timeout(FRESH)  # the bar of the new state is in its place
    box = page.locator("#p-next").bounding_box()
    assert box["y"] > 370
    assert box["height"] >= 34
    assert box["y"] + box["height"] <= 740
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.tap("#p-next")
    here(page, second)
