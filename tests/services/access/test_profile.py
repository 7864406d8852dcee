"""What people set for themselves."""

import pytest

from access.selectors.account import account_of, zones
from access.services.profile import profile_change
from audit.core.refusal import Forbidden, Invalid
from audit.selectors.entries import EntryFilters, entries_page
from tests.support import factories


@pytest.fixture
def acme(db):
    return factories.tenant()


@pytest.fixture
def anna(acme):
    return factories.person(acme, name="Anna")


def test_name_zone_and_theme_are_kept_and_recorded_with_what_was_before(acme, anna):
    profile_change(actor=anna.actor, name=" Anna B ", time_zone="Asia/Tokyo", theme="dark")
    row = account_of(anna.actor)
    assert (row.name, row.time_zone, row.theme) == ("Anna B", "Asia/Tokyo", "dark")
    entry = entries_page(acme.id, EntryFilters(action="person.settings_changed"))[0]
    assert entry.detail["before"] == {"name": "Anna", "time_zone": "", "theme": "system"}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"name": ""}, "NAME_INVALID"),
        ({"name": "An\u202ena"}, "NAME_INVALID"),
        ({"time_zone": "Nowhere/At_All"}, "ZONE_UNKNOWN"),
        ({"time_zone": "../../etc/passwd"}, "ZONE_UNKNOWN"),
        ({"theme": "purple"}, "THEME_UNKNOWN"),
    ],
)
def test_what_is_no_name_zone_or_theme_changes_nothing(anna, fields, code):
    with pytest.raises(Invalid) as refusal:
        profile_change(actor=anna.actor, **{"name": "Anna", "time_zone": "", "theme": "light"} | fields)
    assert refusal.value.code == code
    assert account_of(anna.actor).theme == "system"


def test_utc_can_be_chosen_and_is_not_the_same_as_following_the_browser(anna):
    from datetime import UTC

    from access.web.sessions import zone_of

    assert "UTC" in zones()
    assert zone_of("UTC", "Asia/Tokyo") is UTC
    assert str(zone_of("", "Asia/Tokyo")) == "Asia/Tokyo"
    assert zone_of("", None) is UTC


def test_an_agent_has_no_settings(acme, anna):
    actor = factories.agent(acme, acts_for=[anna]).actor(on_behalf_of=anna.email)
    with pytest.raises(Forbidden):
        profile_change(actor=actor, name="x", time_zone="", theme="dark")
