"""What somebody wrote to narrow the log, and what the database is asked for it."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from audit.core.filters import LONGEST, EntryFilters, cursor_text, read_cursor, read_filters, read_moment

SYDNEY = ZoneInfo("Australia/Sydney")


def test_nothing_written_narrows_nothing():
    asked = read_filters({}, UTC)
    assert asked.filters == EntryFilters()
    assert (asked.given, asked.problems, asked.warnings) == ({}, {}, ())


def test_what_is_no_filter_is_not_looked_at():
    assert read_filters({"page": "7", "cursor": "x", "zone": "UTC"}, UTC).given == {}


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-29T14:02", "2026-11-29T03:02:00+00:00"),
        ("2026-11-29 14:02:03", "2026-11-29T03:02:03+00:00"),
        ("2026-11-29", "2026-11-28T13:00:00+00:00"),
        ("2026-11-29T14:02:00Z", "2026-11-29T14:02:00+00:00"),
        ("2026-11-29T14:02:00.000123+01:00", "2026-11-29T13:02:00.000123+00:00"),
        ("2026-06-01T00:00", "2026-05-31T14:00:00+00:00"),
        (" 2026-11-29 ", "2026-11-28T13:00:00+00:00"),
    ],
)
def test_a_time_without_an_offset_is_of_the_zone(text, at):
    assert read_moment(text, SYDNEY) == datetime.fromisoformat(at)


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-13-01", "2026-02-30", "29.11.2026", "1969-12-31", "9999-01-01", "2026-11-29T25:00",
     "2026-11-29T14:02+99:00", "2026-11-29T14:02:00.0000001Z", "٢٠٢٦-١١-٢٩", "2026-11-29\n", "2026-11-29T14"],
)  # fmt: skip
def test_what_is_no_time_is_told_in_words(text):
    if text.strip() == "2026-11-29":
        assert read_moment(text, UTC)
        return
    with pytest.raises(ValueError):
        read_moment(text, UTC)
    if text:
        asked = read_filters({"since": text}, UTC)
        assert asked.given == {"since": text}, "what was written is kept"
        assert "is not a time" in asked.problems["since"]


def test_an_end_before_its_beginning_is_told():
    asked = read_filters({"since": "2026-11-29", "until": "2026-11-28"}, UTC)
    assert "lies before From" in asked.problems["until"]


@pytest.mark.parametrize("text", ["x\0y", "\ud800", "y" * (LONGEST + 1)])
@pytest.mark.parametrize("name", ["tool", "actor", "object", "since", "verdict", "action"])
def test_what_the_log_cannot_hold_is_told_and_kept(name, text):
    asked = read_filters({name: text}, UTC)
    assert asked.given == {name: text}
    assert set(asked.problems) == {name}


def test_a_hidden_character_is_searched_for_and_told():
    asked = read_filters({"tool": "refund\u200b_order"}, UTC)
    assert asked.filters.tool == "refund\u200b_order"
    assert asked.problems == {}
    assert "U+200B ZERO WIDTH SPACE" in asked.warnings[0]


def test_an_unknown_verdict_or_action_is_told():
    asked = read_filters({"verdict": "maybe", "action": "nobody.knows"}, UTC)
    assert set(asked.problems) == {"verdict", "action"}


def test_a_group_of_actions_means_each_of_them():
    assert "proposal.decided" in read_filters({"action": "proposal.*"}, UTC).filters.action
    assert read_filters({"action": "proposal.decided"}, UTC).filters.action == "proposal.decided"
    assert "action" in read_filters({"action": ".*"}, UTC).problems


@pytest.mark.parametrize(
    ("text", "kind", "of"),
    [("proposal:77", "proposal", "77"), ("run:order:1", "run", "order:1"), ("proposal:", "proposal", ""),
     ("7f3a", "", "7f3a"), ("Not A Type:1", "", "Not A Type:1")],
)  # fmt: skip
def test_an_object_is_named_with_or_without_its_type(text, kind, of):
    filters = read_filters({"object": text}, UTC).filters
    assert (filters.object_type, filters.object_id) == (kind, of)


def test_a_cursor_leads_back_to_its_place():
    at = datetime(2026, 11, 29, 14, 2, 0, 123, tzinfo=UTC)
    assert read_cursor(cursor_text(at, 88)) == (at, 88)


@pytest.mark.parametrize("text", ["", "88", "2026-11-29T14:02:00.000123Z~", "2026-11-29T14:02:00.000123Z~9" + "9" * 18,
                                  "2026-13-29T14:02:00.000123Z~1", "2026-11-29T14:02:00.000123Z~1\n"])  # fmt: skip
def test_what_is_no_cursor_of_ours_is_refused(text):
    with pytest.raises(ValueError):
        read_cursor(text)
