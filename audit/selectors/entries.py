"""Reading the audit log. Every reader names a tenant: a foreign id finds nothing (S62)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from audit.models import Entry, Owed

PAGE = 50
"""Entries a page."""
OF_ONE_OBJECT = 500
"""The most that one object's history shows; the newest are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow:
    """One entry as pages read it. `detail` is JSON and already redacted."""

    at: datetime
    id: int
    action: str
    verdict: str
    actor_kind: str
    actor_id: str
    actor_name: str
    on_behalf_of: str
    via: str
    object_type: str
    object_id: str
    run_id: str
    call_id: str
    tool: str
    detail: dict[str, Any]
    result_bytes: int | None
    duration_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryFilters:
    """What a page of the log is narrowed to; an empty field narrows nothing. `since` is inclusive, `until` is not."""

    actor_id: str = ""
    on_behalf_of: str = ""
    action: str = ""
    verdict: str = ""
    run_id: str = ""
    call_id: str = ""
    tool: str = ""
    since: datetime | None = None
    until: datetime | None = None


_COLUMNS = tuple(EntryRow.__dataclass_fields__)
_EXACT = ("actor_id", "on_behalf_of", "action", "verdict", "run_id", "call_id", "tool")


def entries_for_object(tenant_id: str, object_type: str, object_id: str) -> list[EntryRow]:
    """The history of one thing, oldest first."""
    found = Entry.objects.filter(tenant_id=tenant_id, object_type=object_type, object_id=object_id)
    return list(reversed(_rows(found.order_by("-at", "-id")[:OF_ONE_OBJECT])))


def details_owed(tenant_id: str, object_id: str, action: str) -> list[dict[str, Any]]:
    """The details of entries that could not be written yet, newest first: the deed stands and its entry follows."""
    owed = Owed.objects.filter(entry__tenant_id=tenant_id, entry__object_id=object_id, entry__action=action)
    return [row.entry["detail"] for row in owed.order_by("-id")[:OF_ONE_OBJECT]]


def entries_page(
    tenant_id: str, filters: EntryFilters | None = None, before: tuple[datetime, int] | None = None
) -> list[EntryRow]:
    """One page of the tenant's log, newest first; `before` is (at, id) of the last row of the page already seen."""
    filters = filters or EntryFilters()
    found = Entry.objects.filter(tenant_id=tenant_id)
    found = found.filter(**{name: value for name in _EXACT if (value := getattr(filters, name))})
    if filters.since:
        found = found.filter(at__gte=filters.since)
    if filters.until:
        found = found.filter(at__lt=filters.until)
    if before:
        # A row comparison: entries of one instant must neither repeat nor be lost between two pages.
        found = found.filter(pk__lt=before)
    return _rows(found.order_by("-at", "-id")[:PAGE])


def _rows(found: "QuerySet[Entry]") -> list[EntryRow]:
    return [EntryRow(**row) for row in found.values(*_COLUMNS)]
