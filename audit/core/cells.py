"""How an entry is written into a file: JSON Lines for programs, CSV for spreadsheets.

Policy for hidden characters (S12): nothing in a file is invisible. JSON Lines write them as JSON's own escapes
(`\\u202e`), so that the value a program reads is unchanged. A CSV cell writes `[U+202E]`, a CSV cell that holds JSON
writes the escapes, and the last column says in words what the row hides.
Formulas (S70): a CSV cell that a spreadsheet would compute gets an apostrophe in front; JSON Lines stay as they are.
"""

import json
import re
from collections.abc import Sequence
from datetime import tzinfo
from typing import Any

from audit.core.actions import words_for
from audit.core.entry import FIELDS, Entry, utc_text
from audit.core.visible import as_line, visible, warning

COLUMNS: tuple[str, ...] = ("id", "at_utc", "at_local", "words", *FIELDS[2:], "warning")
"""The columns of a CSV export."""

# Full-width forms too: some spreadsheets read them as the plain ones. Spaces in front do not stop a formula.
_FORMULA = re.compile(r" *[=+\-@\t\r\n＝＋－＠]")


def json_line(value: dict[str, Any]) -> str:
    """One line of JSON, members in order of their names, hidden characters escaped, without its line end."""
    return _escaped(_json(value))


def csv_row(entry: Entry, zone: tzinfo) -> list[str]:
    """An entry as the cells of COLUMNS; the zone is the reader's, for the column `at_local`."""
    cells = [
        str(entry.id),
        utc_text(entry.at),
        f"{entry.at.astimezone(zone):%Y-%m-%d %H:%M:%S %Z}",
        words_for(entry),
    ]
    hiding: list[str] = []
    for name in FIELDS[2:]:
        value = getattr(entry, name)
        if name == "detail":
            text = _json(value)
            cells.append(_escaped(text))
        else:
            text = "" if value is None else str(value)
            cells.append(text if _is_plain(text) else as_line(text))
        if not _is_plain(text):
            hiding.append(text)
    cells.append(as_line(" ".join(said for text in hiding if (said := warning(text, multiline=False)))))
    return [neutral(cell) for cell in cells]


def csv_line(cells: Sequence[str]) -> str:
    """Cells as one line, every one in quotes, with the line end that RFC 4180 asks for."""
    return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells) + "\r\n"


def neutral(cell: str) -> str:
    """The cell, with an apostrophe in front if a spreadsheet would take it for a formula."""
    return "'" + cell if _FORMULA.match(cell) else cell


def _is_plain(text: str) -> bool:
    """Nothing to look at: by far the most cells, and a look at each costs more than all the rest of a row."""
    return text.isascii() and text.isprintable()


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _escaped(text: str) -> str:
    """JSON text with every hidden character as JSON's escape; in JSON they can only stand inside a string."""
    if _is_plain(text):
        return text  # json.dumps has escaped the control characters of ASCII, all but the last
    return "".join(
        _units(piece.raw) if piece.kind == "escape" else piece.raw for piece in visible(text, multiline=False)
    )


def _units(char: str) -> str:
    """`\\u202e`; two of them for a character beyond the first plane."""
    code = char.encode("utf-16-be")
    return "".join(f"\\u{code[at]:02x}{code[at + 1]:02x}" for at in range(0, len(code), 2))
