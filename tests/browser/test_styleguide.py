"""The shapes at a real browser: themes, widths, focus, motion."""

import pytest
from playwright.sync_api import expect

WITH_OTHERS = True

OUTLINE = "(element) => [getComputedStyle(element).outlineStyle, parseFloat(getComputedStyle(element).outlineWidth)]"
WIDTHS = (360, 390, 768, 1024, 1440, 1920)


@pytest.fixture
def guide(acting, open_page):
    def open_guide(path="/styleguide/", **options):
        page = open_page(**options)
        acting.sign_in(page, path=path)
        return page

    return open_guide


def ground(page, selector="body"):
    return page.eval_on_selector(selector, "(element) => getComputedStyle(element).backgroundColor")


def test_a_persons_own_theme_goes_over_the_systems(guide):
    light, dark = ground(guide(color_scheme="light")), ground(guide(color_scheme="dark"))
    assert light != dark
    for system, chosen, wanted in (("light", "dark", dark), ("dark", "light", light), ("dark", "dark", dark)):
        page = guide(color_scheme=system)
        page.evaluate("(theme) => { document.documentElement.dataset.theme = theme }", chosen)
        assert ground(page) == wanted


def test_both_themes_are_shown_whatever_the_system_says(guide):
    grounds = []
    for scheme in ("light", "dark"):
        page = guide(color_scheme=scheme)
        grounds.append([ground(page, f".sheet[data-theme={theme}]") for theme in ("light", "dark")])
    assert grounds[0] == grounds[1]
    assert len(set(grounds[0])) == 2


@pytest.mark.parametrize("width", WIDTHS)
def test_no_shape_is_wider_than_the_window(guide, width):
    page = guide(width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_state_is_told_by_a_word_and_a_shape_of_its_own(guide):
    page = guide("/styleguide/?show=light", bypass_csp=True)  # for the style that takes the colours away
    tags = page.locator("#states .tag")
    words = tags.all_inner_texts()
    assert len(set(words)) == len(words) == 6
    assert all(word.strip() for word in words)
    # Without colour, each mark is still another picture.
    page.add_style_tag(content=".tag, .tag .mark { color: #000 !important; background-color: #fff !important }")
    pictures = {tags.nth(at).locator(".mark").screenshot() for at in range(6)}
    assert len(pictures) == 6


def test_what_has_the_focus_can_be_seen(guide):
    page = guide("/styleguide/?show=light")
    for selector in ("#buttons .primary", "#forms .input", "#finding .tabs a", "#strips .strip", ".nav .places a"):
        page.locator(selector).first.focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        assert page.locator(selector).first.evaluate(OUTLINE) == ["solid", 2], selector


def test_nothing_moves_where_motion_is_not_wanted(guide):
    for motion, moves in (("no-preference", True), ("reduce", False)):
        page = guide("/styleguide/?show=light", reduced_motion=motion)
        assert page.evaluate("document.getAnimations().some((one) => one.animationName !== 'unsaid')") is moves


def test_a_confirm_step_keeps_what_was_typed_when_it_is_closed_and_opened_again(guide):
    page = guide("/styleguide/?show=light")
    step = page.locator("#steps details.verb").first
    step.locator("input").fill("wrong customer")
    step.locator("summary").click()
    expect(step.locator("input")).to_be_hidden()
    step.locator("summary").click()
    expect(step.locator("input")).to_have_value("wrong customer")


def test_on_a_phone_the_other_places_open_from_a_button_by_keyboard_and_close_with_escape(acting, open_page):
    page = open_page(360, 740)
    acting.sign_in(page, "admin", "/")
    menu = page.locator(".nav .menu")
    for place in page.locator(".nav .first a").all():
        expect(place).to_be_visible()
    expect(page.locator("#places")).to_be_hidden()
    menu.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#places a").first).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator("#places a").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#places")).to_be_hidden()
    menu.click()
    page.locator("#places a").first.click()
    expect(menu).to_contain_text(page.locator("#places a[aria-current=page] .word").text_content())


def test_on_a_wide_screen_every_place_is_in_view_and_a_low_window_hides_none(acting, open_page):
    for height in (900, 480):
        page = open_page(1440, height)
        acting.sign_in(page, "admin", "/runs/")
        for link in page.locator(".nav a").all():
            link.scroll_into_view_if_needed()
            expect(link).to_be_in_viewport()
