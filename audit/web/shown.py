"""The auditor's pages as their templates lay them out. Text from outside stays as it is; templates escape it (S12)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode

from audit.core.actions import TONES, VERDICTS, choices, words_for
from audit.core.entry import Entry
from audit.core.filters import NAMES, WORDS
from audit.core.path import Passed, Path, Step
from audit.core.visible import as_line, warning
from audit.services.reading import ZONE, EntryRead, LogPage

SAID = ("sentence", "message", "because", "reason", "title", "name", "slug", "email")
"""The members of a detail that say most about what happened, best first."""
_LONG = 160
_DATETIME = "%Y-%m-%dT%H:%M"
_FURTHER = ("run", "call", "tool", "object", "acting_for")
"""The filters that stand behind "More filters"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowShown:
    """One line of the log. `day` is there on the first line of a day."""

    entry: Entry
    day: date | None
    utc: str
    words: str
    tone: str
    verdict: str
    said: str
    code: str
    acting_for: str
    path: str
    by_actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldShown:
    """One filter of the form. A time that the browser's own field could not keep is shown as text."""

    name: str
    word: str
    value: str
    kind: str
    hint: str
    problem: str


class LogShown:
    """A page of the log with its form and the addresses around it."""

    def __init__(self, page: LogPage, *, own: tzinfo, turned: bool) -> None:
        given = page.asked.given
        self.rows = list(_rows(page))
        self.problems = list(page.asked.problems.values())
        self.warnings = page.asked.warnings
        self.fields = {name: _field(name, page) for name in NAMES}
        self.first = [self.fields["since"], self.fields["until"]]
        self.further = [self.fields[name] for name in _FURTHER]
        self.further_open = any(given.get(name) for name in _FURTHER)
        self.choices = choices()
        self.verdicts = VERDICTS
        # A choice that is none is kept and shown as it was written.
        self.action_unknown = "action" in page.asked.problems
        self.verdict_unknown = "verdict" in page.asked.problems
        self.filtered = bool(set(given) - {ZONE})
        self.zone = page.zone
        self.zones = _zones(page, own)
        self.zone_chosen = given.get(ZONE, str(own))
        self.zone_word = f"{page.now.astimezone(page.zone):%Z}"
        self.span = _span(page)
        self.here = _log(given)
        self.turned = turned
        self.more = _log({**given, "before": page.next}) if page.next else ""
        self.quick = [(word, _log({**given, **_window(page, back)})) for word, back in _QUICK]
        self.csv = _export(given, "csv")
        self.jsonl = _export(given, "jsonl")

    @property
    def count(self) -> str:
        """What this page shows, and whether there is more: a whole count of millions would cost more than it says."""
        number = len(self.rows)
        if self.more:
            return f"{number} shown, more below"
        if self.turned:
            return f"{number} shown, the end of the log"
        return "All 1 shown" if number == 1 else f"All {number} shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryShown:
    """One entry as a record."""

    entry: Entry
    words: str
    tone: str
    verdict: str
    acting_for: str
    detail: list[tuple[str, str]]
    raw: str
    warnings: list[str]
    path: str
    of_run: str
    of_actor: str
    of_object: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepShown:
    """A step, the words for the time before it, and where its entry is."""

    step: Step
    gap: str
    long: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PathShown:
    """The path of one call."""

    path: Path
    title: str
    first_at: datetime
    last_at: datetime
    steps: list[StepShown]
    stages: tuple[Passed, ...]
    took: str
    waited: str
    worked: str
    entries: str


def entry_shown(read: EntryRead) -> EntryShown:
    """The page of one entry."""
    entry = read.entry
    texts = [getattr(entry, name) for name in ("actor_name", "object_id", "call_id", "tool", "run_id")]
    rows = list(_flat(entry.detail))
    hiding = [said for text in (*texts, *(value for _, value in rows)) if (said := warning(text))]
    return EntryShown(
        entry=entry,
        words=words_for(entry),
        tone=TONES.get(entry.verdict, "still"),
        verdict=VERDICTS.get(entry.verdict, entry.verdict),
        acting_for=read.names.get(entry.on_behalf_of, ""),
        detail=rows,
        raw=json.dumps(entry.as_record(), ensure_ascii=False, indent=2, sort_keys=True),
        warnings=list(dict.fromkeys(hiding)),
        path=_path(entry),
        of_run=_log({"run": entry.run_id}) if entry.run_id else "",
        of_actor=_log({"actor": entry.actor_id}) if entry.actor_id else "",
        of_object=_log({"object": f"{entry.object_type}:{entry.object_id}"}) if entry.object_id else "",
    )


def path_shown(path: Path) -> PathShown:
    """The page of one path."""
    return PathShown(
        path=path,
        title=as_line(f"{path.tool} {path.call_id}".strip()),
        first_at=path.steps[0].entry.at,
        last_at=path.steps[-1].entry.at,
        steps=[
            StepShown(
                step=step,
                gap=duration(step.gap) if step.gap is not None else "",
                long=step.gap is not None and step.gap >= timedelta(minutes=1),
            )
            for step in path.steps
        ],
        stages=path.stages,
        took=duration(path.took),
        waited=duration(path.waited) if path.waited is not None else "",
        worked=duration(path.worked) if path.worked is not None else "",
        entries=_log({"run": path.run_id, "call": path.call_id}),
    )


def duration(time: timedelta) -> str:
    """A stretch of time in the two units that say most: `12 ms`, `3.4 s`, `2 min 13 s`, `4 h 2 min`, `3 d 5 h`."""
    seconds = time.total_seconds()
    if seconds < 1:
        return f"{max(0, round(seconds * 1000))} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, word, below, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {word} {whole % size // below} {small}"
    raise AssertionError("a minute or more has a unit")


_HINTS = {
    "actor": "a name or an id",
    "acting_for": "a name or an id",
    "tool": "refund_order",
    "run": "a run's id",
    "call": "a call's id",
    "object": "an id, or type:id",
}
_QUICK = (("last hour", timedelta(hours=1)), ("last day", timedelta(days=1)), ("last 30 days", timedelta(days=30)))


def _rows(page: LogPage) -> Iterator[RowShown]:
    day: date | None = None
    for entry in page.rows:
        local = entry.at.astimezone(page.zone)
        new = local.date() != day
        day = local.date()
        same = local.utcoffset() == timedelta(0)
        yield RowShown(
            entry=entry,
            day=day if new else None,
            utc="" if same else f"{entry.at.astimezone(UTC):%H:%M:%S} UTC",
            words=words_for(entry),
            tone=TONES.get(entry.verdict, "still"),
            verdict="" if entry.verdict == "ok" else VERDICTS.get(entry.verdict, entry.verdict),
            said=_said(entry.detail),
            code=str(entry.detail.get("code") or ""),
            acting_for=page.names.get(entry.on_behalf_of, entry.on_behalf_of[:8]),
            path=_path(entry),
            by_actor=_log({**page.asked.given, "actor": entry.actor_id}),
        )


def _said(detail: Mapping[str, Any]) -> str:
    """What a detail says of itself; a reason that somebody gave stands behind what it was given for."""
    texts = [value for name in SAID if isinstance(value := detail.get(name), str) and value.strip()]
    shown = texts[:1]
    reason = detail.get("reason")
    if isinstance(reason, str) and reason.strip() and reason not in shown:
        shown.append(reason)
    return " · ".join(text if len(text) <= _LONG else text[: _LONG - 1] + "…" for text in shown)


def _field(name: str, page: LogPage) -> FieldShown:
    value = page.asked.given.get(name, "")
    kind = "text"
    if name in ("since", "until") and (not value or _fits_browser(value)):
        kind, value = "datetime-local", value.replace(" ", "T")
    return FieldShown(
        name=name,
        word=WORDS[name],
        value=value,
        kind=kind,
        hint=_HINTS.get(name, ""),
        problem=page.asked.problems.get(name, ""),
    )


def _fits_browser(value: str) -> bool:
    """Whether a browser's field for times keeps it; it empties itself of any other text."""
    try:
        return datetime.strptime(value.replace(" ", "T"), _DATETIME) is not None  # noqa: DTZ007 - the form's own zone
    except ValueError:
        return False


def _zones(page: LogPage, own: tzinfo) -> list[str]:
    return list(dict.fromkeys([page.asked.given.get(ZONE, str(own)), str(own), "UTC"]))


def _span(page: LogPage) -> list[tuple[str, datetime]]:
    """The times asked for, to be told in the zone and in UTC."""
    filters = page.asked.filters
    return [(word, at) for word, at in (("from", filters.since), ("to", filters.until)) if at is not None]


def _window(page: LogPage, back: timedelta) -> dict[str, str]:
    since = (page.now - back).astimezone(page.zone)
    return {"since": f"{since:{_DATETIME}}", "until": "", ZONE: str(page.zone)}


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """A detail as rows: where, and the value as text. Nothing is cut."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _flat(item, f"{path} › {key}" if path else key)
    elif isinstance(value, list) and value:
        for number, item in enumerate(value, 1):
            yield from _flat(item, f"{path} {number}")
    elif path:
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _path(entry: Entry) -> str:
    if not (entry.run_id and entry.call_id):
        return ""
    return reverse("audit-path") + "?" + urlencode({"run": entry.run_id, "call": entry.call_id})


def _log(given: Mapping[str, str]) -> str:
    query = urlencode({name: value for name, value in given.items() if value})
    return reverse("audit") + (f"?{query}" if query else "")


def _export(given: Mapping[str, str], form: str) -> str:
    return reverse("audit-export") + "?" + urlencode({**given, "format": form})
