"""What every full page's template knows beside its own context."""

from functools import partial
from typing import Any, cast

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from access.selectors.actors import memberships_of
from access.web.requests import PageRequest
from audit.store.clock import now
from config.health.report import impaired_for
from config.navigation import Navigation


def page(request: HttpRequest) -> dict[str, Any]:
    """`actor`, its organisations, counts for the navigation and the server's clock; each read only when it is shown.

    `server_now` is the database's clock: the page's countdowns follow it, whatever the reader's own clock says.
    """
    actor = getattr(cast(PageRequest, request), "actor", None)
    if actor is None:
        return {"actor": None}
    return {
        "actor": actor,
        "theme": getattr(request, "theme", "system"),
        "roles": sorted(actor.roles),
        "initials": "".join(word[0] for word in actor.name.split()[:2]).upper() or "?",
        "memberships": SimpleLazyObject(partial(memberships_of, actor.id)),
        "nav": Navigation(actor),
        "impaired": SimpleLazyObject(partial(impaired_for, actor)),
        "server_now": SimpleLazyObject(now),
    }
