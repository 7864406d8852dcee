"""The views that a person keeps of the list of proposals."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl
from uuid import UUID

from approvals.core.narrowing import Narrowing, read_narrowing
from approvals.models import SavedView
from audit.core.actor import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRow:
    """One kept view: its name, and what its address says."""

    id: UUID
    name: str
    view: str
    narrowing: Narrowing


def saved_views(actor: Actor) -> list[SavedRow]:
    """The actor's own, by name. One query."""
    if actor.kind != "person":
        return []
    rows = SavedView.objects.filter(tenant_id=actor.tenant_id, user_id=actor.id).order_by("name", "id")
    return [_row(row) for row in rows]


def saved_views_of(tenant_id: str, user_ids: Collection[str]) -> Mapping[str, list[SavedRow]]:
    """Those of several people, by user id; who keeps none is left out. One query."""
    found: dict[str, list[SavedRow]] = {}
    rows = SavedView.objects.filter(tenant_id=tenant_id, user_id__in=list(user_ids)).order_by("name", "id")
    for row in rows:
        found.setdefault(str(row.user_id), []).append(_row(row))
    return found


def _row(row: SavedView) -> SavedRow:
    given = dict(parse_qsl(row.query))
    return SavedRow(id=row.pk, name=row.name, view=given.get("view", "mine"), narrowing=read_narrowing(given)[0])
