"""What look-ups said about a call, and whether one is still to come.

A look-up's row keeps the target's last answer in `observed`: {asked_at, status, code, message, conclusive}.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from runs.models import Dispatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One look-up's answer. `asked_at` is when the question was sent, by the database clock: what proves something is
    judged by that. `status` is a LookUpStatus."""

    asked_at: datetime
    status: str
    code: str
    message: str
    conclusive: bool

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "asked_at": self.asked_at.isoformat(),
            "status": self.status,
            "code": self.code,
            "message": self.message,
            "conclusive": self.conclusive,
        }

    @classmethod
    def from_json(cls, data: Any) -> Self | None:
        """The note again; None where a row holds none."""
        try:
            return cls(
                asked_at=datetime.fromisoformat(data["asked_at"]),
                status=str(data["status"]),
                code=str(data["code"]),
                message=str(data["message"]),
                conclusive=data["conclusive"] is True,
            )
        except (KeyError, TypeError, ValueError):
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUps:
    """What is known of a call's look-ups: the newest answer, the newest that was *nothing*, and the live row (`due`:
    when it asks next; `busy`: it is asking now)."""

    last: Note | None = None
    nothing: Note | None = None
    due: datetime | None = None
    busy: bool = False

    @property
    def asking(self) -> bool:
        """Whether a look-up is still to come or under way."""
        return self.busy or self.due is not None


def look_ups_of(call_pks: Sequence[UUID]) -> dict[UUID, LookUps]:
    """By call: its look-ups. Calls without one are left out."""
    rows = (
        Dispatch.objects.filter(call_id__in=call_pks, kind="look_up")
        .order_by("created_at")
        .values_list("call_id", "status", "not_before", "observed")
    )
    found: dict[UUID, LookUps] = {}
    for call_pk, status, not_before, observed in rows:
        before = found.get(call_pk, LookUps())
        said = Note.from_json(observed)
        found[call_pk] = LookUps(
            last=_newer(before.last, said),
            nothing=_newer(before.nothing, said if said is not None and said.status == "nothing" else None),
            due=not_before if status == "ready" else None,
            busy=status == "claimed",
        )
    return found


def _newer(one: Note | None, other: Note | None) -> Note | None:
    if one is None or other is None:
        return one or other
    return other if other.asked_at >= one.asked_at else one
