"""What the sign-in keeps between the password and the second step, and how a session begins after it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from django.contrib.auth import login
from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme

from access.selectors.actors import actor_for_session
from access.services.sessions import session_open
from access.services.signin import Halfway, SignedIn
from access.web.requests import PageRequest
from access.web.sessions import TENANT_KEY, ZONE_KEY, keep_text

_WAITING = "second_step"


def safe_next(request: HttpRequest, address: str, default: str) -> str:
    """`address` when it is a page of ours, else the page called `default`: a link must not carry anybody elsewhere."""
    ours = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if ours and address.startswith("/") else resolve_url(default)


def begin_session(page: PageRequest, found: SignedIn, sent: Mapping[str, str]) -> HttpResponseRedirect:
    """Open the session. `sent` has `next` (checked), `kept` and `zone`, as the sign-in form gave them."""
    login(page, found.user)
    key = page.session.session_key or ""
    # The rights are read again for the entry: it names the session that has just begun.
    actor = actor_for_session(found.user.pk, found.actor.tenant_id, key) or found.actor
    session_open(actor=actor, session_key=key, address=page.address, browser=page.headers.get("User-Agent", ""))
    page.session.pop(_WAITING, None)
    page.session[TENANT_KEY] = actor.tenant_id
    page.session[ZONE_KEY] = sent.get("zone", "")[:64]
    # By path: the rest of the address only says which list the reader came from.
    keep_text(page.session, sent["next"].partition("?")[0], sent.get("kept", ""))
    return HttpResponseRedirect(sent["next"])


def wait_for_second(page: PageRequest, who: Halfway, sent: Mapping[str, str]) -> HttpResponseRedirect:
    """Keep a right password until the second step. Nobody is signed in by it."""
    page.session.cycle_key()
    page.session[_WAITING] = {"who": asdict(who), "sent": dict(sent)}
    return HttpResponseRedirect(resolve_url("sign-in-second"))


def waiting(page: PageRequest) -> tuple[Halfway, dict[str, str]] | None:
    """Who waits at the second step in this session, and what the form was sent with; None for nobody."""
    kept = cast(dict[str, Any] | None, page.session.get(_WAITING))
    return None if kept is None else (Halfway(**kept["who"]), kept["sent"])


def give_up(page: PageRequest) -> None:
    """Forget the password that was right: it waited too long."""
    page.session.pop(_WAITING, None)
