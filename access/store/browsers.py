"""Rows of people's browser sessions. Ending one deletes Django's session row: its cookie opens nothing from then on."""

import time
from collections import OrderedDict
from datetime import datetime
from threading import Lock
from uuid import UUID, uuid4

from django.contrib.sessions.models import Session
from django.db.models import QuerySet

from access.models import BrowserSession
from audit.store.clock import ClearanceNow

_SEEN_EVERY = 300
"""Seconds between two notes of when a session was seen: a write at each request would cost more than it tells."""
_REMEMBERED = 10_000

_seen: OrderedDict[str, float] = OrderedDict()
_seen_lock = Lock()


def start(
    *, user_id: UUID, tenant_id: UUID, session_key: str, address: str, browser: str, now: datetime, link_id: UUID | None
) -> None:
    """Note a session that has just begun; `link_id` where an identity at a provider opened it."""
    BrowserSession.objects.create(
        id=uuid4(), user_id=user_id, tenant_id=tenant_id, session_key=session_key, address=address,
        browser=browser, started_at=now, seen_at=now, link_id=link_id,
    )  # fmt: skip


def end(sessions: "QuerySet[BrowserSession]", because: str) -> int:
    """End those of `sessions` that are not ended yet; how many were. In the caller's transaction."""
    keys = list(sessions.select_for_update().filter(ended_at=None).values_list("session_key", flat=True))
    Session.objects.filter(session_key__in=keys).delete()
    BrowserSession.objects.filter(session_key__in=keys).update(ended_at=ClearanceNow(), ended_because=because[:200])
    return len(keys)


def of_person(user_id: str | UUID, *, tenant_id: str | UUID | None = None, but: str = "") -> "QuerySet[BrowserSession]":
    """Those of a person that are not ended, of one organisation or all, without the one with the key `but`."""
    found = BrowserSession.objects.filter(user_id=user_id, ended_at=None).exclude(session_key=but or "-")
    return found if tenant_id is None else found.filter(tenant_id=tenant_id)


def move(session_key: str, tenant_id: UUID) -> None:
    """The session works in another organisation from now on."""
    BrowserSession.objects.filter(session_key=session_key).update(tenant_id=tenant_id)


def seen(user_id: str, session_key: str) -> None:
    """Note that the session is in use; writes at most once in five minutes of this process."""
    now = time.monotonic()
    with _seen_lock:
        last = _seen.setdefault(session_key, now)
        _seen.move_to_end(session_key)
        while len(_seen) > _REMEMBERED:
            _seen.popitem(last=False)
        if now - last < _SEEN_EVERY:
            return
        _seen[session_key] = now
    BrowserSession.objects.filter(user_id=user_id, session_key=session_key, ended_at=None).update(
        seen_at=ClearanceNow()
    )
