"""How an entry is written into a file: formulas neutralised in CSV alone (S70), nothing hidden in either (S12)."""

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from audit.core.cells import COLUMNS, csv_line, csv_row, json_line, neutral
from audit.core.entry import FIELDS, Entry


def entry(**fields: Any) -> Entry:
    plain: dict[str, Any] = dict.fromkeys(FIELDS, "") | {
        "at": datetime(2026, 11, 29, 3, 2, 1, tzinfo=UTC), "id": 7, "action": "run.opened", "verdict": "ok",
        "detail": {}, "result_bytes": None, "duration_ms": None,
    }  # fmt: skip
    return Entry(**(plain | fields))


def cell(name: str, **fields: Any) -> str:
    return csv_row(entry(**fields), UTC)[COLUMNS.index(name)]


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", "  =1+1", "\t=1", "\r=1", "\n=1", "＝1+1", "＋1", "－1",
     "＠x"],
)  # fmt: skip
def test_a_cell_that_a_spreadsheet_would_compute_is_neutralised(text):
    assert neutral(text) == "'" + text
    written = cell("object_id", object_id=text)
    assert written[0] in "'[", "an apostrophe, or the visible escape of a tab or a line end"
    assert json.loads(json_line(entry(object_id=text).as_record()))["object_id"] == text, "unchanged in JSON Lines"


@pytest.mark.parametrize("text", ["", "a=1", "1-2", "x@y", "ord_1029", "(1)", "'=1"])
def test_any_other_cell_is_left_alone(text):
    assert neutral(text) == text


@pytest.mark.parametrize("name", [name for name in FIELDS if name not in ("at", "id", "detail")])
def test_every_column_is_neutralised(name):
    assert cell(name, **{name: "=1"}) == "'=1"


def test_a_formula_in_the_detail_stands_inside_json_and_is_none():
    written = cell("detail", detail={"=1": "=2"})
    assert written == '{"=1":"=2"}'


@pytest.mark.parametrize("char", ["\u202e", "\u200b", "\u00a0", "\U000e0041", "\x1b", "\x7f"])
def test_a_hidden_character_is_visible_in_both_and_its_value_kept_in_json(char):
    record = entry(object_id=f"a{char}b", detail={f"k{char}": f"v{char}"}).as_record()
    line = json_line(record)
    assert char not in line
    assert json.loads(line) == record
    row = csv_row(entry(object_id=f"a{char}b", detail={"k": char}), UTC)
    assert char not in "".join(row)
    assert f"a[U+{ord(char):04X}]b" in row
    assert json.loads(row[COLUMNS.index("detail")]) == {"k": char}
    assert f"U+{ord(char):04X}" in row[COLUMNS.index("warning")]


def test_ordinary_writing_stays_readable():
    assert json_line({"n": "Zoë Müller 東京"}) == '{"n":"Zoë Müller 東京"}'
    assert cell("actor_name", actor_name="Zoë Müller 東京") == "Zoë Müller 東京"
    assert cell("warning", actor_name="Zoë Müller 東京") == ""


def test_a_word_that_imitates_another_is_warned_of():
    assert "may not be what it seems" in cell("warning", actor_name="p\u0430ypal")


def test_any_csv_reader_gets_the_cells_back():
    row = csv_row(entry(object_id='a "quoted", one', detail={"x": 'say "hi",\nplease'}), UTC)
    text = csv_line(COLUMNS) + csv_line(row)
    assert list(csv.reader(io.StringIO(text, newline=""))) == [list(COLUMNS), row]
    assert text.count("\r\n") == 2


def test_a_row_has_a_cell_for_every_column_and_tells_both_times():
    row = dict(zip(COLUMNS, csv_row(entry(result_bytes=0, duration_ms=12), ZoneInfo("Australia/Sydney")), strict=True))
    assert row["at_utc"] == "2026-11-29T03:02:01.000000Z"
    assert row["at_local"] == "2026-11-29 14:02:01 AEDT"
    assert (row["id"], row["words"], row["result_bytes"], row["duration_ms"]) == ("7", "A run was opened", "0", "12")
    assert cell("duration_ms") == ""
