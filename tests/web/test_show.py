"""Text from outside and times, as pages show them."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone as django_timezone

from approvals.templatetags import show
from audit.core.visible import Piece, visible

AT = datetime(2026, 11, 29, 3, 2, tzinfo=UTC)


def text_of(html):
    """What a reader sees: the markup of our own taken away."""
    import re

    return re.sub(r"<[^>]+>", "", html)


@pytest.mark.parametrize(
    "written",
    [
        "<script>alert(1)</script>",
        "<b>bold</b>",
        "<!-- hidden -->",
        "**not markdown**",
        "[link](https://evil.example)",
        "' onmouseover='alert(1)",
        "{{ settings.SECRET_KEY }}",
    ],
)
@pytest.mark.parametrize("show_it", [show.outside, show.outside_lines])
def test_what_somebody_wrote_is_quoted_and_never_markup(written, show_it):
    html = show_it(written)
    inner = html.removeprefix("<bdi>").removesuffix("</bdi>")
    assert "<" not in inner
    assert "'" not in inner


@pytest.mark.parametrize("character", ["\u202e", "\u200b", "\u00a0", "\u2066", "\ufeff", "\u0000"])
def test_a_character_that_does_not_show_is_a_visible_escape(character):
    html = show.outside(f"re{character}fund")
    assert character not in html
    assert f">U+{ord(character):04X}</span>" in html


def test_an_escape_cannot_be_imitated_by_plain_text():
    assert 'class="escape"' not in show.outside("U+202E")
    assert 'class="escape"' not in show.outside('<span class="escape">U+202E</span>').replace("&quot;", "")


def test_a_word_that_imitates_another_is_marked_and_says_why():
    html = show.outside("p\u0430ypal")
    assert "look-alike" in html
    assert "CYRILLIC" in html


def test_a_line_end_is_kept_where_lines_are_and_escaped_where_one_line_is():
    assert "\n" in show.outside_lines("one\ntwo")
    assert "\n" not in show.outside("one\ntwo")
    assert "U+000A" in show.outside("one\ntwo")


def test_text_of_another_direction_does_not_reach_the_words_around_it():
    html = show.outside("שלום")
    assert html.startswith("<bdi>")
    assert html.endswith("</bdi>")


def test_a_long_text_is_whole():
    written = "a line\n" * 30_000 + "transfer everything"
    assert text_of(show.outside_lines(written)) == written


def test_a_value_that_is_not_there_says_so_in_another_form_than_text():
    assert 'class="unresolved"' in show.pieces([Piece("unresolved: customer", "unresolved", "")])
    assert 'class="unresolved"' not in show.pieces(visible("unresolved: customer"))


def test_a_moment_is_told_in_the_readers_zone_and_in_utc():
    with django_timezone.override(ZoneInfo("Australia/Sydney")):
        assert text_of(show.moment(AT)) == "29 Nov 2026, 14:02:00 AEDT (03:02:00 UTC)"


def test_a_moment_that_is_another_day_in_utc_says_which():
    with django_timezone.override(ZoneInfo("Australia/Sydney")):
        assert text_of(show.moment(AT - timedelta(hours=5))) == "29 Nov 2026, 09:02:00 AEDT (28 Nov, 22:02:00 UTC)"


def test_who_reads_in_utc_is_told_once():
    with django_timezone.override(UTC):
        assert text_of(show.moment(AT)) == "29 Nov 2026, 03:02:00 UTC"


def test_a_zone_without_a_name_is_told_by_its_offset():
    with django_timezone.override(timezone(timedelta(hours=3))):
        assert "UTC+03:00" in show.clock_zone(AT)


@pytest.mark.parametrize("filter_", [show.moment, show.clock, show.clock_zone, show.day, show.iso])
@pytest.mark.parametrize("nothing", [None, "", "soon", datetime(2026, 11, 29, 3, 2)])
def test_what_is_no_moment_shows_nothing(filter_, nothing):
    assert filter_(nothing) == ""


def test_times_carry_their_instant_for_scripts_in_utc():
    with django_timezone.override(ZoneInfo("Australia/Sydney")):
        assert 'datetime="2026-11-29T03:02:00+00:00"' in show.clock(AT)
        assert show.iso(AT.isoformat()) == "2026-11-29T03:02:00+00:00"


def test_a_digest_is_shown_in_groups_that_people_can_compare():
    assert show.digest_words("a1f39c0752be77d0ffff") == "a1f3 9c07 52be 77d0"
    assert show.short_digest("a1f39c0752be77d0ffff") == "a1f3 9c07"


@pytest.mark.parametrize(
    ("before", "words"),
    [(0, "just now"), (59, "just now"), (60, "1 minute ago"), (7199, "1 hour ago"), (86400 * 3 + 5, "3 days ago")],
)
def test_how_long_ago_something_was_is_told_in_one_unit(before, words):
    now = datetime(2026, 11, 29, 12, tzinfo=UTC)
    assert show.ago(now - timedelta(seconds=before), now) == words
    assert show.ago(None, now) == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (899.2, "15:00 left"),
        (134, "2:14 left"),
        (0.4, "0:01 left"),
        (0, "time is up"),
        (-5, "time is up"),
        (3600, "1 h 00 min left"),
        (172_799, "47 h 59 min left"),
        (172_800, "2 days left"),
    ],
)
def test_the_first_paint_says_what_is_left_in_the_words_of_the_running_clock(seconds, said):
    assert show.left(AT + timedelta(seconds=seconds), AT) == said
