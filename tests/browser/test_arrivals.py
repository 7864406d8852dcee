"""Arrivals: icon and title count; notifications and the tone are chosen in a browser, and it is quiet otherwise."""

import re

import pytest
from playwright.sync_api import expect

# What the page asks the browser for is written down; the permission itself is the context's.
HEARD = """
    window.told = [];
    window.played = [];
    const Real = window.Notification;
    window.Notification = class extends Real {
        constructor(title, options) { super(title, options); window.told.push(title); }
    };
    window.asked = 0;
    const request = Real.requestPermission.bind(Real);
    window.Notification.requestPermission = () => { window.asked += 1; return request(); };
    const play = HTMLMediaElement.prototype.play;
    HTMLMediaElement.prototype.play = function () { window.played.push(this.src); return play.call(this); };
    window.away = false;
    Object.defineProperty(document, "hidden", { get: () => window.away });
    document.hasFocus = () => !window.away;
"""


@pytest.fixture
def mara(acting, open_page):
    """Mara's inbox, live, in a browser that allows notifications."""
    page = open_page(permissions=["notifications"])
    page.add_init_script(HEARD)
    acting.sign_in(page)
    expect(page.locator("#list [data-word]").first).to_have_text("Live")
    return page


def choose(page, *names):
    page.click("[data-opens=arrivals]")
    for name in names:
        page.check(f"#arrivals [data-set={name}]")
    page.click("#arrivals button")


def go_away(page, away):
    page.evaluate("(away) => { window.away = away; document.dispatchEvent(new Event('visibilitychange')); }", away)


def waiting(page):
    return int(page.locator('.nav [data-count="mine"]').inner_text())


def arrive(acting, page):
    """One more proposal, which the page has heard of."""
    before = waiting(page)
    acting.refund()
    expect(page.locator('.nav [data-count="mine"]')).to_have_text(str(before + 1), timeout=15_000)


def test_the_icon_of_the_tab_counts_what_waits(acting, mara):
    arrive(acting, mara)
    icon = mara.locator("link[rel=icon]")
    expect(icon).to_have_attribute("href", re.compile(rf"/icons/count/{waiting(mara)}\.svg$"))
    assert mara.evaluate("async () => (await fetch(document.querySelector('link[rel=icon]').href)).ok")


def test_nothing_is_asked_notified_or_played_unless_somebody_chose_it(acting, mara):
    go_away(mara, True)
    arrive(acting, mara)
    expect(mara).to_have_title(re.compile(r"^\(1 new\) Inbox"))
    mara.wait_for_timeout(1500)
    assert mara.evaluate("[told, played, asked]") == [[], [], 0]
    go_away(mara, False)
    expect(mara).to_have_title(re.compile(r"^Inbox \(\d+\)"))


def test_a_hidden_tab_notifies_and_sounds_where_that_was_chosen(acting, mara):
    choose(mara, "notify", "sound")
    assert mara.evaluate("asked") == 1
    assert len(mara.evaluate("played")) == 1, "heard once when it is chosen"
    go_away(mara, True)
    arrive(acting, mara)
    for _ in range(100):
        if mara.evaluate("played.length") == 2:
            break
        mara.wait_for_timeout(100)
    assert mara.evaluate("[told, played.length]") == [["1 new proposal waits for you"], 2]
    tone = "async () => { const tone = new Audio(played[1]); await tone.play(); return tone.duration; }"
    assert 0.1 < mara.evaluate(tone) < 1
    mara.reload()
    assert mara.locator("#arrivals [data-set=sound]").is_checked()


def test_nothing_happens_while_the_person_looks(acting, mara):
    choose(mara, "notify", "sound")
    arrive(acting, mara)
    mara.wait_for_timeout(1500)
    assert mara.evaluate("[told, played.length]") == [[], 1]
    expect(mara).to_have_title(re.compile(r"^Inbox \(\d+\)"))


def test_a_browser_that_refuses_says_so_and_the_setting_stays_off(acting, open_page):
    page = open_page(permissions=[])
    page.add_init_script("Notification.requestPermission = async () => 'denied';")
    acting.sign_in(page)
    page.click("[data-opens=arrivals]")
    page.locator("#arrivals [data-set=notify]").click()
    expect(page.locator("#arrivals [data-refused]")).to_be_visible()
    expect(page.locator("#arrivals [data-set=notify]")).not_to_be_checked()
