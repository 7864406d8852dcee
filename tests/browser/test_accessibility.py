"""axe on every page, light and dark, wide and at 360 px: no violation; and no page is wider than its window.

The pages are those of the showcase (a proposal and a run in each state, lists, errors, the styleguide) and every other
one that a link leads to, found by walking as each role: a new page is here as soon as something links to it.
"""

import re
from pathlib import Path

import axe_playwright_python
import pytest

from config.stack.screenshots import showcase, sign_in
from config.stack.walk import kind_of, walk

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# No rule of these reads the style sheets' text, which axe would fetch anew each time.
QUICK = {"resultTypes": ["violations"], "preload": False}
ALL = {"runOnly": {"type": "tag", "values": RULES}, **QUICK}
# What depends on the theme; everything else is the same in both.
COLOURS = {
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
    **QUICK,
}
ROLES = ("reviewer", "operator", "admin", "auditor")
PATHS = "(links) => links.map((link) => new URL(link.href).pathname)"
# Theme, width, height, what is looked at: each theme, each width, and everything in both widths.
LOOKS = (("light", 1440, 900, ALL), ("dark", 1440, 900, COLOURS), ("dark", 360, 740, ALL))


@pytest.fixture(scope="module")
def shown():
    with showcase() as show:
        yield show


@pytest.fixture(scope="module")
def pages(shown):
    """[(role, name, path)], by role, each address once for each role."""
    people = {role: tuple(pair) for role, pair in shown["people"].items()}
    found = [(role, name, path) for name, role, path in shown["pages"]]
    kinds = {kind_of(path) for _, _, path in found}
    walked, dead = walk(shown["address"], people)
    assert dead == []
    found += [(p.role, p.name, p.path) for p in walked if p.in_navigation or kind_of(p.path) not in kinds]
    first = {(role, path): (role, name, path) for role, name, path in reversed(found)}
    return sorted(first.values())


@pytest.fixture(scope="module")
def tab_of(chromium, shown):
    """tab_of(role) is a signed-in page; axe is in every document. The page's own policy would not let it in."""
    contexts = {}

    def tab(role):
        if role not in contexts:
            context = chromium.new_context(bypass_csp=True, reduced_motion="reduce")
            context.add_init_script(AXE)
            contexts[role] = context.new_page()
            if role:
                sign_in(contexts[role], shown["address"], *shown["people"][role])
        return contexts[role]

    yield tab
    for page in contexts.values():
        page.context.close()


def violations(tab, options):
    answer = tab.evaluate("(options) => axe.run(document, options)", options)
    return [
        f"{rule['id']}: {node['html'][:160]} · {' '.join(node['failureSummary'].split())[:200]}"
        for rule in answer["violations"]
        for node in rule["nodes"][:3]
    ]


@pytest.mark.parametrize("role", ["", *ROLES])
def test_no_page_has_a_violation_or_scrolls_sideways_in_any_theme_or_width(shown, pages, tab_of, role):
    tab = tab_of(role)
    found = {}
    mine = [(name, path) for who, name, path in pages if who == role]
    for name, path in mine:
        tab.goto(shown["address"] + path)
        for theme, width, height, options in LOOKS:
            tab.emulate_media(color_scheme=theme)
            tab.set_viewport_size({"width": width, "height": height})
            if (needed := tab.evaluate("document.documentElement.scrollWidth")) > width:
                found[f"{name} is {needed} px wide in a window of {width} px"] = theme
            for said in violations(tab, options):
                found.setdefault(said, f"{name}, {theme}, {width} px")
    assert mine
    assert not found, "\n".join(f"{where}: {said}" for said, where in found.items())


def test_every_entry_of_the_navigation_was_looked_at(shown, pages, tab_of):
    looked_at = {(role, path.partition("?")[0]) for role, _, path in pages}
    assert set(shown["people"]) == set(ROLES)
    for role in ROLES:
        tab = tab_of(role)
        tab.goto(shown["address"] + "/")
        links = tab.eval_on_selector_all(".nav a", PATHS)
        assert links
        assert {(role, link) for link in links} <= looked_at


def test_the_current_place_is_marked_once_and_by_word(shown, pages, tab_of):
    for role in ROLES:
        tab = tab_of(role)
        tab.set_viewport_size({"width": 1440, "height": 900})
        tab.goto(shown["address"] + "/")
        entries = tab.eval_on_selector_all(".nav .places a", PATHS)
        for entry in entries:
            tab.goto(shown["address"] + entry)
            current = tab.locator(".nav [aria-current=page]")
            assert current.count() == 1, entry
            assert re.search(r"\w", current.inner_text())


def test_axe_finds_what_is_wrong(chromium):
    """The measure itself: a page with faults has violations."""
    context = chromium.new_context(bypass_csp=True)
    context.add_init_script(AXE)
    tab = context.new_page()
    tab.goto("data:text/html,<html><body><img src=x><p style='color:%23999;background:%23aaa'>grey</p></body></html>")
    told = " ".join(violations(tab, ALL))
    context.close()
    for rule in ("image-alt", "color-contrast", "html-has-lang"):
        assert rule in told
