"""What a person sees of their own account."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from zoneinfo import available_timezones

from django.contrib.auth.password_validation import password_validators_help_texts
from django.contrib.sessions.models import Session

from access.models import BrowserSession, User
from audit.core.actor import Actor
from audit.store.clock import ClearanceNow

_REGIONS = (
    "Africa/", "America/", "Antarctica/", "Arctic/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/",
    "Pacific/",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRow:
    """The settings of one's own account."""

    email: str
    name: str
    time_zone: str
    theme: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One open session of one's own."""

    id: str
    browser: str
    address: str
    organisation: str
    started_at: datetime
    seen_at: datetime
    this_one: bool


def account_of(actor: Actor) -> AccountRow:
    """The actor's own account."""
    user = User.objects.get(id=actor.id)
    return AccountRow(email=user.email, name=user.name, time_zone=user.time_zone, theme=user.theme)


def sessions_of(actor: Actor, session_key: str) -> list[SessionRow]:
    """The actor's open sessions in all organisations, this one first, then the ones used last. Open is what still opens
    something: not ended, and Django's row is there and has not run out."""
    alive = Session.objects.filter(expire_date__gt=ClearanceNow()).values("session_key")
    found = BrowserSession.objects.filter(user_id=actor.id, ended_at=None, session_key__in=alive)
    rows = [
        SessionRow(
            id=str(row.id),
            browser=row.browser,
            address=row.address,
            organisation=row.tenant.name,
            started_at=row.started_at,
            seen_at=row.seen_at,
            this_one=row.session_key == session_key,
        )
        for row in found.select_related("tenant").order_by("-seen_at", "-started_at")
    ]
    return sorted(rows, key=lambda row: not row.this_one)


@lru_cache(maxsize=1)
def zones() -> tuple[str, ...]:
    """The IANA zones that a person may choose, by name: those with a place, and UTC."""
    return ("UTC", *sorted(name for name in available_timezones() if name.startswith(_REGIONS)))


def password_rules() -> list[str]:
    """The rules for a password, each a plain sentence."""
    return [str(text) for text in password_validators_help_texts() if text]
