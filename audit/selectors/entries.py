"""Reading the audit log. Every reader names a tenant: a foreign id finds nothing (S62).

The log is walked by keyset, never by OFFSET: a page costs the same wherever it lies.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from audit.core.entry import FIELDS, Entry
from audit.core.filters import EntryFilters
from audit.models import Entry as Row
from audit.models import Owed

PAGE = 50
"""Entries a page."""
OF_ONE_OBJECT = 500
"""The most that one object's history, or one call's path, shows; the newest are kept."""
NAMES_LOOKED_AT = 5_000
"""Actors that are compared with a name that somebody typed."""

type Place = tuple[datetime, int]
"""(at, id) of an entry: its place in the log."""

_LARGEST = 2**63 - 1
_EXACT = ("actor_id", "on_behalf_of", "action", "verdict", "run_id", "call_id", "tool", "object_type", "object_id")


def entries_for_object(tenant_id: str, object_type: str, object_id: str) -> list[Entry]:
    """The history of one thing, oldest first."""
    found = Row.objects.filter(tenant_id=tenant_id, object_type=object_type, object_id=object_id)
    return list(reversed(_entries(found.order_by("-at", "-id")[:OF_ONE_OBJECT])))


def details_owed(tenant_id: str, object_id: str, action: str) -> list[dict[str, Any]]:
    """The details of entries that could not be written yet, newest first: the deed stands and its entry follows."""
    owed = Owed.objects.filter(entry__tenant_id=tenant_id, entry__object_id=object_id, entry__action=action)
    return [row.entry["detail"] for row in owed.order_by("-id")[:OF_ONE_OBJECT]]


def entries_page(
    tenant_id: str, filters: EntryFilters | None = None, before: Place | None = None, limit: int | None = None
) -> list[Entry]:
    """One page of the tenant's log, newest first; `before` is the place of the last entry of the page already seen."""
    found = _filtered(tenant_id, filters)
    if before:
        # A row comparison: entries of one instant must neither repeat nor be lost between two pages.
        found = found.filter(pk__lt=before)
    return _entries(found.order_by("-at", "-id")[: limit or PAGE])


def entries_onward(tenant_id: str, filters: EntryFilters, after: Place | None, limit: int) -> list[Entry]:
    """Up to `limit` entries, oldest first, behind the place `after`; for files."""
    found = _filtered(tenant_id, filters)
    if after:
        found = found.filter(pk__gt=after)
    return _entries(found.order_by("at", "id")[:limit])


def entry_numbered(tenant_id: str, number: int) -> Entry | None:
    """The entry with this number, or None."""
    if not 0 < number <= _LARGEST:
        return None
    return next(iter(_entries(Row.objects.filter(tenant_id=tenant_id, id=number))), None)


def entries_of_call(tenant_id: str, run_id: str, call_id: str) -> list[Entry]:
    """Everything about one call of one run, oldest first: its own entries, those that name only its proposal (a click
    that was refused), and those of the whole run that end its calls. Three queries."""
    whole_run = Q(call_id="", object_type="run") & ~Q(action__in=("run.opened", "run.completed"))
    of_run = Row.objects.filter(tenant_id=tenant_id, run_id=run_id)
    own = of_run.filter(call_id=call_id).order_by("-at", "-id")
    found = {(entry.at, entry.id): entry for entry in _entries(own[:OF_ONE_OBJECT])}
    if not found:
        return []
    proposals = {entry.object_id for entry in found.values() if entry.object_type == "proposal"}
    by_proposal = Row.objects.filter(tenant_id=tenant_id, object_type="proposal", object_id__in=proposals)
    others = of_run.filter(whole_run, at__gte=min(found)[0])
    for more in (by_proposal.filter(call_id=""), others):
        found |= {(entry.at, entry.id): entry for entry in _entries(more.order_by("-at", "-id")[:OF_ONE_OBJECT])}
    return [found[place] for place in sorted(found)][-OF_ONE_OBJECT:]


def names_of(tenant_id: str, ids: Iterable[str]) -> dict[str, str]:
    """The names by which actors acted last, by id. Who never acted, as people do in whose place only agents act, has
    the name or the address with which they were added; whoever the log does not know is left out. One or two queries.
    """
    wanted = sorted({one for one in ids if one})
    if not wanted:
        return {}
    rows: list[Row] = list(Row.objects.raw(_NAMES, {"tenant": tenant_id, "ids": wanted}))
    known = {row.actor_id: row.actor_name for row in rows}
    silent = [one for one in wanted if one not in known]
    if silent:
        added = list(Row.objects.raw(_ADDED, {"tenant": tenant_id, "most": NAMES_LOOKED_AT, "ids": silent}))
        known |= {row.actor_id: row.actor_name for row in added}
    return known


def actors_named(tenant_id: str, text: str) -> list[str]:
    """The ids of actors who acted last under a name that contains `text` in any case, and of people who were added with
    such a name or address and for whom perhaps only agents act; at most NAMES_LOOKED_AT of each are looked at."""
    looked_at = {"tenant": tenant_id, "most": NAMES_LOOKED_AT}
    rows: list[Row] = list(Row.objects.raw(_ACTORS, looked_at))
    found = [row.actor_id for row in rows if text.casefold() in row.actor_name.casefold()]
    added: list[Row] = list(Row.objects.raw(_ADDED_AS, {**looked_at, "text": text.lower()}))
    return list(dict.fromkeys([*found, *(row.actor_id for row in added)]))


def read_lately(tenant_id: str, object_id: str, actor_id: str, action: str, since: datetime) -> bool:
    """Whether this actor left the same entry about the same thing since then."""
    same = Row.objects.filter(tenant_id=tenant_id, object_id=object_id, actor_id=actor_id, action=action)
    return same.filter(at__gte=since, verdict="ok").exists()


def _filtered(tenant_id: str, filters: EntryFilters | None) -> "QuerySet[Row]":
    filters = filters or EntryFilters()
    found = Row.objects.filter(tenant_id=tenant_id)
    for name in _EXACT:
        value = getattr(filters, name)
        if isinstance(value, tuple):
            found = found.filter(**{f"{name}__in": value}) if value else found
        elif value:
            found = found.filter(**{name: value})
    if filters.since:
        found = found.filter(at__gte=filters.since)
    if filters.until:
        found = found.filter(at__lt=filters.until)
    return found


def _entries(found: "QuerySet[Row]") -> list[Entry]:
    return [Entry(**row) for row in found.values(*FIELDS)]


# The last entry of each of some actors, by the index on (tenant, actor, at, id). `at` and `id` are the row's key.
_NAMES = """
SELECT e.at, e.id, wanted.id AS actor_id, e.actor_name
FROM unnest(%(ids)s::text[]) AS wanted(id)
CROSS JOIN LATERAL (
  SELECT at, id, actor_name FROM audit_entry
  WHERE tenant_id = %(tenant)s AND actor_id = wanted.id ORDER BY at DESC, id DESC LIMIT 1
) e
"""
_MEMBERS = """
SELECT e.at, e.id, e.detail->>'user' AS actor_id, COALESCE(e.detail->>'name', e.detail->>'email') AS actor_name
FROM (SELECT at, id, verdict, detail FROM audit_entry WHERE tenant_id = %(tenant)s AND action = 'member.added'
      ORDER BY at DESC, id DESC LIMIT %(most)s) e
WHERE e.verdict = 'ok' AND e.detail->>'email' IS NOT NULL AND {} ORDER BY e.at, e.id
"""
_ADDED = _MEMBERS.format("e.detail->>'user' = ANY(%(ids)s::text[])")
_ADDED_AS = _MEMBERS.format("strpos(lower(concat_ws(' ', e.detail->>'name', e.detail->>'email')), %(text)s) > 0")
# Every actor once, by steps along the same index instead of reading the log.
_ACTORS = """
WITH RECURSIVE actor(id, step) AS (
  (SELECT actor_id, 1 FROM audit_entry WHERE tenant_id = %(tenant)s ORDER BY actor_id LIMIT 1)
  UNION ALL
  SELECT (SELECT e.actor_id FROM audit_entry e WHERE e.tenant_id = %(tenant)s AND e.actor_id > actor.id
          ORDER BY e.actor_id LIMIT 1), actor.step + 1
  FROM actor WHERE actor.id IS NOT NULL AND actor.step < %(most)s
)
SELECT e.at, e.id, actor.id AS actor_id, e.actor_name
FROM actor
CROSS JOIN LATERAL (
  SELECT at, id, actor_name FROM audit_entry
  WHERE tenant_id = %(tenant)s AND actor_id = actor.id ORDER BY at DESC, id DESC LIMIT 1
) e
WHERE actor.id IS NOT NULL
"""
