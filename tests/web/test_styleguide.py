"""/styleguide/: every shape of the style sheets in every state, in both themes; only where it is switched on."""

import re
from pathlib import Path

import pytest

from tests.support import factories

STATIC = Path(__file__).parents[2] / "static/css"
# Told by an attribute or set by a script while something happens: a still page cannot show them.
PASSING = {"htmx-request", "arrived", "arrive", "was-read"}


@pytest.fixture
def browser(acme, signed_in):
    return signed_in(factories.person(acme, roles=["reviewer"]))


def shapes(name):
    """The classes that a style sheet gives a look."""
    text = re.sub(r"/\*.*?\*/|url\([^)]*\)|\"[^\"]*\"", "", (STATIC / name).read_text(), flags=re.DOTALL)
    selectors = re.findall(r"([^{}]+)\{", text)
    return {found for selector in selectors for found in re.findall(r"\.([a-z][a-z0-9-]*)", selector)}


@pytest.mark.parametrize("sheet", ["parts.css", "forms.css", "data.css"])
def test_every_shape_of_the_style_sheets_is_shown(browser, sheet):
    html = browser.get("/styleguide/").content.decode()
    shown = {word for names in re.findall(r'class="([^"]*)"', html) for word in names.split()}
    assert sorted(shapes(sheet) - shown - PASSING) == []


def test_both_themes_stand_beside_each_other_or_one_alone(browser):
    both = browser.get("/styleguide/").content.decode()
    assert both.count('class="sheet" data-theme="light"') == both.count('class="sheet" data-theme="dark"') > 10
    dark = browser.get("/styleguide/?show=dark").content.decode()
    assert 'class="sheet" data-theme="light"' not in dark
    assert dark.count('class="sheet" data-theme="dark"') > 10


@pytest.mark.parametrize("address", ["/styleguide/", "/styleguide/?show=dark"])
def test_no_name_is_given_twice(browser, address):
    names = re.findall(r'\bid="([^"]+)"', browser.get(address).content.decode())
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_where_it_is_switched_off_the_address_leads_nowhere(browser, settings):
    settings.STYLEGUIDE = False
    assert browser.get("/styleguide/").status_code == 404
