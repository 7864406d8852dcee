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
from runs.selectors.stops import banner_for


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
        "nav": Navigation(actor, cast(PageRequest, request).counted),
        "impaired": SimpleLazyObject(partial(impaired_for, actor)),
        "server_now": SimpleLazyObject(now),
        "stopped": SimpleLazyObject(partial(banner_for, actor, **_named(request))),
        "named": _named(request),
    }


def _named(request: HttpRequest) -> dict[str, Any]:
    """The run or the proposal that this address names: what is stopped is said on their pages."""
    kwargs = request.resolver_match.kwargs if request.resolver_match else {}
    return {name: kwargs[name] for name in ("run_id", "proposal_id") if name in kwargs}
