"""What the log is narrowed to: as somebody wrote it (an address, a form, a query), and as the database is asked.

What is wrong is told in a sentence beside what was written; nothing is cut, guessed or silently left out.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo

from audit.core.actions import VERDICTS, actions_of
from audit.core.entry import utc_text
from audit.core.visible import warning

NAMES = ("since", "until", "actor", "acting_for", "tool", "run", "call", "verdict", "action", "object")
"""The filters' names in addresses, queries, forms and manifests. Besides them stands `zone`."""
WORDS = {
    "since": "From", "until": "To", "actor": "Actor", "acting_for": "Acting for", "tool": "Tool", "run": "Run",
    "call": "Call", "verdict": "Verdict", "action": "What", "object": "Object",
}  # fmt: skip
LONGEST = 200
"""Characters of one filter; no id, tool or name in the log is longer."""

_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)
_CURSOR = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)~(\d{1,18})", re.ASCII)
_OBJECT = re.compile(r"([a-z_]{1,40}):(.*)", re.DOTALL | re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryFilters:
    """What the log is narrowed to; an empty field narrows nothing, and several values mean any of them.

    `since` is inclusive, `until` is not.
    """

    actor_id: str | tuple[str, ...] = ""
    on_behalf_of: str | tuple[str, ...] = ""
    action: str | tuple[str, ...] = ""
    verdict: str = ""
    run_id: str = ""
    call_id: str = ""
    tool: str = ""
    object_type: str = ""
    object_id: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Filters as they were written. `given` holds what is not empty, unchanged; `problems` a sentence by name for what
    cannot be asked; `warnings` sentences about what a value hides. `filters` is whole only without problems."""

    given: Mapping[str, str]
    filters: EntryFilters
    problems: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def read_filters(given: Mapping[str, str], zone: tzinfo) -> Asked:
    """The filters that `given` (by NAMES; others are not looked at) asks for. Times without an offset are of `zone`."""
    kept = {name: given[name] for name in NAMES if given.get(name)}
    problems: dict[str, str] = {}
    for name, text in kept.items():
        if len(text) > LONGEST:
            problems[name] = f"{WORDS[name]} has at most {LONGEST} characters; this has {len(text):,}."
        elif "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
            problems[name] = f"{WORDS[name]} holds a character that nothing in the log can hold. Take it out."
    sound = {name: text for name, text in kept.items() if name not in problems}
    moments: dict[str, datetime] = {}
    for name in ("since", "until"):
        if name in sound:
            try:
                moments[name] = read_moment(sound[name], zone)
            except ValueError:
                problems[name] = (
                    f"{WORDS[name]} is not a time. Write it as 2026-11-29 14:02, or with its offset as "
                    "2026-11-29T14:02:00+11:00."
                )
    if len(moments) == 2 and moments["since"] >= moments["until"]:
        problems["until"] = "To lies before From, so nothing can stand between them. Exchange them."
    if sound.get("verdict") and sound["verdict"] not in VERDICTS:
        problems["verdict"] = f"There is no such verdict. The verdicts are {', '.join(VERDICTS)}."
    actions = actions_of(sound.get("action", ""))
    if sound.get("action") and not actions:
        problems["action"] = "There is no such action. Choose one of the list, or a group as proposal.*"
    kind, _, of = _object(sound.get("object", ""))
    filters = EntryFilters(
        actor_id=sound.get("actor", ""),
        on_behalf_of=sound.get("acting_for", ""),
        action=actions[0] if len(actions) == 1 else actions or "",
        verdict=sound.get("verdict", ""),
        run_id=sound.get("run", ""),
        call_id=sound.get("call", ""),
        tool=sound.get("tool", ""),
        object_type=kind,
        object_id=of,
        since=moments.get("since"),
        until=moments.get("until"),
    )
    warnings = tuple(
        f"{WORDS[name]}: {said}" for name, text in sound.items() if (said := warning(text, multiline=False))
    )
    return Asked(given=kept, filters=filters, problems=problems, warnings=warnings)


def read_moment(text: str, zone: tzinfo) -> datetime:
    """A time as people and programs write it, in UTC; without an offset it is of `zone`. Raises ValueError."""
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        raise ValueError("not a time")
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    if not 1970 <= year < 9999:
        raise ValueError("a year at the edges has no form in every zone")
    at = datetime(year, month, day, hour, minute, second, int((found[7] or "").ljust(6, "0")), tzinfo=zone)
    if found[8]:
        offset = "+00:00" if found[8] == "Z" else found[8]
        at = at.replace(tzinfo=datetime.strptime(offset, "%z").tzinfo)
    return at.astimezone(UTC)


def cursor_text(at: datetime, number: int) -> str:
    """The place behind an entry, for the address of the page that follows."""
    return f"{utc_text(at)}~{number}"


def read_cursor(text: str) -> tuple[datetime, int]:
    """(at, id) of a `cursor_text`. Raises ValueError for anything else."""
    found = _CURSOR.fullmatch(text)
    if found is None:
        raise ValueError("not a cursor")
    return datetime.fromisoformat(found[1]), int(found[2])


def _object(text: str) -> tuple[str, str, str]:
    """`proposal:<id>`, `proposal:` for every proposal, or an id of whatever kind."""
    found = _OBJECT.fullmatch(text)
    return (found[1], ":", found[2]) if found else ("", "", text)
