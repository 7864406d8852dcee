"""Who a browser session belongs to, read anew each time it matters: at a request, at a WebSocket's push.

Works on anything that behaves like Django's session, so that a request and a socket get one and the same verdict.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from importlib import import_module
from types import SimpleNamespace
from typing import cast
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest

from access.selectors.actors import actor_for_session
from access.selectors.providers import password_is_enough
from audit.core.actor import Actor

TENANT_KEY = "tenant_id"
ZONE_KEY = "zone"
PROVIDER_KEY = "provider_tenant"
"""The one organisation that a session works in which its provider opened: it vouches for nobody elsewhere."""
STEPPED_KEY = "stepped"
"""Whether a second step was taken when the session began."""
KEPT_KEY = "kept_text"
KEPT_LIMIT = 4000
"""Characters of a typed text that outlives a sign-in; a reason is a sentence or two."""


@dataclass(frozen=True, slots=True)
class Person:
    """A signed-in person in one tenant, with the rights of this moment, the zone that times are told in, the theme."""

    actor: Actor
    zone: tzinfo
    theme: str = "system"


def person_of(session: SessionBase) -> Person | None:
    """The person this session belongs to, or None: signed out, deactivated, no longer a member, password changed."""
    user = get_user(cast(HttpRequest, SimpleNamespace(session=session)))
    if not user.is_authenticated:
        return None
    only = session.get(PROVIDER_KEY)
    tenant_id = only or session.get(TENANT_KEY)
    actor = actor_for_session(user_id=user.pk, tenant_id=tenant_id, session_id=session.session_key or "")
    if actor is None and tenant_id is not None and only is None:
        # The membership that was chosen has ended; another one may still stand.
        actor = actor_for_session(user_id=user.pk, tenant_id=None, session_id=session.session_key or "")
        if actor is not None and not password_is_enough(actor, stepped=session.get(STEPPED_KEY) is True):
            actor = None
    if actor is None:
        return None
    zone = zone_of(getattr(user, "time_zone", ""), session.get(ZONE_KEY))
    return Person(actor, zone, getattr(user, "theme", "system"))


def person_of_key(session_key: str | None) -> Person | None:
    """`person_of` for a session known by its cookie's value alone (WebSockets)."""
    if not session_key:
        return None
    store = cast(type[SessionBase], import_module(settings.SESSION_ENGINE).SessionStore)
    return person_of(store(session_key))


def zone_of(profile: str, browser: str | None) -> tzinfo:
    """The account's zone; where none was chosen, the one that the browser told at sign-in."""
    name = profile or browser or "UTC"
    if name == "UTC":
        return UTC  # also on a machine that has no zones
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return UTC


def keep_text(session: SessionBase, path: str, text: str) -> None:
    """Keep what somebody typed on `path` until it is used: a session that ended must not cost a written reason."""
    if text.strip():
        kept = dict(cast(Mapping[str, str], session.get(KEPT_KEY, {})))
        kept[path] = text[:KEPT_LIMIT]
        session[KEPT_KEY] = dict(list(kept.items())[-5:])


def kept_text(session: SessionBase, path: str) -> str:
    """What was kept for `path`, or ""."""
    return cast(Mapping[str, str], session.get(KEPT_KEY, {})).get(path, "")


def drop_text(session: SessionBase, path: str) -> None:
    """Forget what was kept for `path`: it has been used."""
    if path in session.get(KEPT_KEY, {}):
        session[KEPT_KEY] = {key: text for key, text in session[KEPT_KEY].items() if key != path}
