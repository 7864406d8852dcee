"""What the sign-in keeps between the password and the second step, and how a session begins after it."""

import secrets
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme

from access.selectors.actors import actor_for_session
from access.services.sessions import session_open
from access.services.signin import Halfway, SignedIn
from access.web.requests import PageRequest
from access.web.sessions import PROVIDER_KEY, STEPPED_KEY, TENANT_KEY, ZONE_KEY, keep_text
from audit.core.refusal import Refusal

_WAITING = "second_step"
_LINKS_FIRST = "links_first"
_BROWSER = "provider_browser"


def safe_next(request: HttpRequest, address: str, default: str) -> str:
    """`address` when it is a page of ours, else the page called `default`: a link must not carry anybody elsewhere."""
    ours = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if ours and address.startswith("/") else resolve_url(default)


def begin_session(page: PageRequest, found: SignedIn, sent: Mapping[str, str]) -> HttpResponseRedirect:
    """Open the session. `sent` has `next` (checked), `kept` and `zone`, as the sign-in form gave them.

    Raises Forbidden (PROVIDER_UNLINKED) where the identity that they came by ended in this very moment.
    """
    login(page, found.user)
    if page.session.session_key is None:
        # Somebody else was signed in here. Django has emptied their session, and this one would get its key only when
        # it is saved: it would stand in no list, and nothing that ends sessions would end it.
        page.session.create()
    key = page.session.session_key or ""
    # The rights are read again for the entry: it names the session that has just begun.
    actor = actor_for_session(found.user.pk, found.actor.tenant_id, key) or found.actor
    browser = page.headers.get("User-Agent", "")
    try:
        session_open(actor=actor, session_key=key, address=page.address, browser=browser, link_id=found.link_id)
    except Refusal:
        logout(page)
        raise
    for done in (_WAITING, _LINKS_FIRST, PROVIDER_KEY):
        page.session.pop(done, None)
    page.session[TENANT_KEY] = actor.tenant_id
    page.session[STEPPED_KEY] = found.stepped
    if found.link_id:
        page.session[PROVIDER_KEY] = actor.tenant_id
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


def go_on(page: PageRequest, found: SignedIn, sent: Mapping[str, str]) -> HttpResponseRedirect:
    """What follows a right password, or a provider's word: the second step, the link there, or the session."""
    if found.waits is not None:
        return wait_for_second(page, found.waits, sent)
    if found.links_first is not None:
        page.session.cycle_key()
        page.session.pop(_WAITING, None)
        who = asdict(found.links_first)
        page.session[_LINKS_FIRST] = {"who": who, "sent": dict(sent), "tenant": found.actor.tenant_id}
        return HttpResponseRedirect(resolve_url("provider-first"))
    return begin_session(page, found, sent)


def links_first(page: PageRequest) -> tuple[Halfway, dict[str, str], str] | None:
    """Who has to link their account before they come in, what the form was sent with, and the organisation. Set only
    after their second step, where they have one."""
    kept = cast(dict[str, Any] | None, page.session.get(_LINKS_FIRST))
    return None if kept is None else (Halfway(**kept["who"]), kept["sent"], kept["tenant"])


def browser_mark(page: PageRequest, *, make: bool = False) -> str:
    """What this browser's session keeps, so that what it began is finished in it alone; "" for none."""
    if make and not page.session.get(_BROWSER):
        page.session[_BROWSER] = secrets.token_urlsafe(32)
    return str(page.session.get(_BROWSER, ""))


def give_up(page: PageRequest) -> None:
    """Forget the password that was right: it waited too long."""
    page.session.pop(_WAITING, None)
    page.session.pop(_LINKS_FIRST, None)
