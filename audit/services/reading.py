"""Who reads the audit log, and that they did (U1, U3): the log, one entry, the path of a call, an export.

A person with the role auditor or admin in a browser session of their own; an agent never, whomever it acts for.
Reading is recorded before anything is shown: no entry, no view. The same person with the same filter is recorded once
a minute, however many pages they turn, so that the log is not filled by those who read it; every export is.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Literal
from zoneinfo import ZoneInfo

from django.db import OperationalError, connection, transaction

from audit.core.actor import Actor
from audit.core.canonical import canonical_bytes, sha256_hex
from audit.core.entry import Entry
from audit.core.filters import Asked, EntryFilters, cursor_text, read_cursor, read_filters
from audit.core.path import Path, path_of
from audit.core.readers import may_read
from audit.core.refusal import Forbidden, Invalid, NotFound
from audit.selectors import entries
from audit.services.record import audit_record, audit_refusals
from audit.store import clock

AGAIN_AFTER = timedelta(minutes=1)
"""The same view by the same person within this time is one entry."""
PATIENCE_MS = 5_000
"""How long a page may search. A filter that finds next to nothing in years of log is asked to name a time."""
ZONE = "zone"
"""Stands beside the filters: the zone that their times are of, so that an address means the same to everybody."""

_ZONE_NAME = re.compile(r"[A-Za-z0-9_+/-]{1,60}", re.ASCII)
_AN_ID = re.compile(r"system:.*|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}", re.ASCII | re.DOTALL)

type Form = Literal["csv", "jsonl"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """One page of the log, newest first. `next` is the cursor of the page behind it, "" at the end. `names` of the
    people that entries were made on behalf of, by id. Where `asked` has problems, nothing was searched."""

    asked: Asked
    zone: tzinfo
    rows: tuple[Entry, ...]
    next: str
    names: Mapping[str, str]
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRead:
    """One entry, with the names of the people in it by id."""

    entry: Entry
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportBegun:
    """An export that may be written: what it is narrowed to (never beyond `until`, the moment it was asked for), the
    zone of its local times, and by whom."""

    actor: Actor
    form: Form
    given: Mapping[str, str]
    filters: EntryFilters
    zone: tzinfo
    until: datetime


def audit_log_read(
    *, actor: Actor, given: Mapping[str, str], zone: tzinfo, cursor: str = "", limit: int = entries.PAGE
) -> LogPage:
    """One page of the log as `given` filters (audit.core.filters.NAMES) narrow it, behind `cursor`.

    What cannot be asked (a filter, the cursor, a search that takes longer than PATIENCE_MS) comes back as the page's
    problems, and nothing was found then. Raises Forbidden (PERSON_REQUIRED, ROLE_MISSING).
    """
    _check(actor, "audit.read")
    now = clock.now()
    asked, zone = _read(actor, given, zone)
    before = None
    if cursor:
        try:
            before = read_cursor(cursor)
        except ValueError:
            asked = _with_problem(asked, "before", "This page mark is not one of ours. Start from the first page.")
    if not asked.problems:
        _record_once(actor, "audit.read", _named("log", asked.given), now, {"filters": asked.given})
        try:
            with _patience():
                found = entries.entries_page(actor.tenant_id, asked.filters, before, limit + 1)
        except _TooWide as told:
            asked = _with_problem(asked, "search", str(told))
    if asked.problems:
        return LogPage(asked=asked, zone=zone, rows=(), next="", names={}, now=now)
    rows, more = tuple(found[:limit]), len(found) > limit
    return LogPage(
        asked=asked,
        zone=zone,
        rows=rows,
        next=cursor_text(rows[-1].at, rows[-1].id) if more else "",
        names=entries.names_of(actor.tenant_id, [row.on_behalf_of for row in rows]),
        now=now,
    )


def audit_entry_read(*, actor: Actor, number: int) -> EntryRead:
    """One entry by its number. Raises Forbidden as above, NotFound (also for another organisation's)."""
    _check(actor, "audit.entry_read")
    entry = entries.entry_numbered(actor.tenant_id, number)
    if entry is None:
        raise NotFound
    _record_once(actor, "audit.entry_read", f"entry {number}", clock.now(), {"entry": str(number)})
    return EntryRead(entry=entry, names=entries.names_of(actor.tenant_id, [entry.on_behalf_of]))


def audit_path_read(*, actor: Actor, run_id: str, call_id: str) -> Path:
    """The path of one call, told from its entries. Raises Forbidden as above, NotFound if no entry speaks of it."""
    _check(actor, "audit.path_read")
    if not run_id or not call_id or "\0" in run_id + call_id:
        raise NotFound
    found = entries.entries_of_call(actor.tenant_id, run_id, call_id)
    if not found:
        raise NotFound
    about = {"run": run_id, "call": call_id}
    _record_once(actor, "audit.path_read", _named("path", about), clock.now(), about)
    return path_of(found, entries.names_of(actor.tenant_id, [entry.on_behalf_of for entry in found]))


def audit_export_begin(*, actor: Actor, given: Mapping[str, str], zone: tzinfo, form: Form) -> ExportBegun:
    """Record that an export begins, before its first byte. Raises Forbidden as above, Invalid (FILTER_INVALID)."""
    _check(actor, "audit.exported")
    asked, zone = _read(actor, given, zone)
    if asked.problems:
        raise Invalid(" ".join(asked.problems.values()), code="FILTER_INVALID", detail={"wrong": dict(asked.problems)})
    now = clock.now()
    until = min(now, asked.filters.until or now)
    with transaction.atomic():
        audit_record(
            actor=actor, action="audit.exported", object_type="audit", object_id=_named("log", asked.given),
            detail={"filters": asked.given, "form": form, "zone": str(zone), "until": until},
        )  # fmt: skip
    return ExportBegun(actor=actor, form=form, given=asked.given, filters=asked.filters, zone=zone, until=until)


def audit_export_end(*, actor: Actor, begun: ExportBegun, manifest: Mapping[str, Any], whole: bool) -> None:
    """Record how an export ended: with its trailer (`whole`), or interrupted after as many entries as it says."""
    with transaction.atomic():
        audit_record(
            actor=actor, action="audit.export_ended", object_type="audit", object_id=_named("log", begun.given),
            verdict="ok" if whole else "failed", detail={"form": begun.form, **manifest},
        )  # fmt: skip


class _TooWide(Exception):
    """A search was ended for taking too long; says what to do."""


def _check(actor: Actor, action: str) -> None:
    if may_read(actor):
        return
    with audit_refusals(actor=actor, action=action, object_type="audit", object_id="log"):
        if actor.kind != "person" or actor.via != "session":
            raise Forbidden(
                "The audit log is read by people in their own browser session; no token opens it.",
                code="PERSON_REQUIRED",
            )
        raise Forbidden(
            "The audit log is open to auditors and admins. Ask an admin for the role auditor.",
            code="ROLE_MISSING",
            missing=["auditor"],
        )


def _record_once(actor: Actor, action: str, object_id: str, now: datetime, detail: Mapping[str, object]) -> None:
    with transaction.atomic():
        if not entries.read_lately(actor.tenant_id, object_id, actor.id, action, now - AGAIN_AFTER):
            audit_record(actor=actor, action=action, object_type="audit", object_id=object_id, detail=detail)


def _named(kind: str, about: Mapping[str, str]) -> str:
    """A short id for the same view: the log under these filters, the path of this call."""
    return f"{kind} {sha256_hex(canonical_bytes(dict(about)))[:16]}" if about else kind


def _with_problem(asked: Asked, name: str, sentence: str) -> Asked:
    return replace(asked, problems={**asked.problems, name: sentence})


def _read(actor: Actor, given: Mapping[str, str], zone: tzinfo) -> tuple[Asked, tzinfo]:
    """The filters and the zone of their times. Actors may be asked for by name; the log is searched by their ids."""
    problem = ""
    if named := given.get(ZONE, ""):
        chosen = _zone_named(named)
        zone, problem = (chosen, "") if chosen else (zone, "There is no such time zone. Write it as Australia/Sydney.")
    asked = read_filters(given, zone)
    filters, problems = asked.filters, dict(asked.problems)
    for name, field in (("actor", "actor_id"), ("acting_for", "on_behalf_of")):
        text = asked.given.get(name, "")
        if not text or name in problems or _is_id(text):
            continue
        try:
            with _patience():
                ids = entries.actors_named(actor.tenant_id, text)
        except _TooWide as told:
            problems[name] = str(told)
            continue
        if not ids:
            problems[name] = "Nobody of this name has acted here. Look for an entry of theirs, and filter by its actor."
        found = ids[0] if len(ids) == 1 else tuple(ids)
        filters = replace(filters, actor_id=found) if field == "actor_id" else replace(filters, on_behalf_of=found)
    if problem:
        problems[ZONE] = problem
    kept = {**asked.given, ZONE: named} if named else asked.given
    return replace(asked, given=kept, filters=filters, problems=problems), zone


def _zone_named(name: str) -> tzinfo | None:
    if name == "UTC":
        return UTC  # also on a machine that has no zones
    try:
        return ZoneInfo(name) if _ZONE_NAME.fullmatch(name) else None
    except (ValueError, OSError, KeyError):
        return None


def _is_id(text: str) -> bool:
    return _AN_ID.fullmatch(text) is not None


@contextmanager
def _patience() -> Iterator[None]:
    """A transaction whose statements may take PATIENCE_MS each."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(PATIENCE_MS)])
            yield
            # An outer transaction, where there is one, goes on without it.
            cursor.execute("SELECT set_config('statement_timeout', '0', true)")
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") != "57014":
            raise
        raise _TooWide(
            f"This search takes longer than {PATIENCE_MS // 1000} seconds. Name a time, or one more of tool, actor, "
            "run and call; an export has no such limit."
        ) from None
