"""Browser sessions of people: begun at sign-in, listed to their owner, ended one by one, all but this one, or all."""

from uuid import UUID

from access.core.words import browser_words
from access.models import BrowserSession, IdentityLink, IdentityProvider, Tenant
from access.store import browsers
from audit.core.actor import Actor
from audit.core.refusal import Forbidden, NotFound
from audit.services.record import audit_record, audit_record_or_owe, audit_refusals
from audit.store import clock
from audit.store.clock import ClearanceNow


def session_open(*, actor: Actor, session_key: str, address: str, browser: str, link_id: str = "") -> None:
    """Note the session that the actor has just begun. No entry, no session: raises DatabaseError if it cannot be.

    `link_id`: the identity at a provider by which they came. Raises Forbidden (PROVIDER_UNLINKED) where it, or the
    provider, ended in this very moment.
    """
    with audit_refusals(actor=actor, action="person.signed_in", object_type="account", object_id=actor.id):
        by = {"by": "provider", "issuer": _holds(actor, link_id)} if link_id else {}
        browsers.start(
            user_id=UUID(actor.id), tenant_id=UUID(actor.tenant_id), session_key=session_key, address=address,
            browser=browser_words(browser), now=clock.now(), link_id=UUID(link_id) if link_id else None,
        )  # fmt: skip
        audit_record(
            actor=actor, action="person.signed_in", object_type="account", object_id=actor.id,
            detail={"address": address, "browser": browser_words(browser), **by},
        )  # fmt: skip


def session_close(*, actor: Actor, session_key: str) -> None:
    """The person signed out. Ends the row for the list too; works while the audit log does not (S69)."""
    with audit_refusals(actor=actor, action="person.signed_out", object_type="account", object_id=actor.id):
        browsers.end(BrowserSession.objects.filter(session_key=session_key, user_id=actor.id), "signed out")
        audit_record_or_owe(actor=actor, action="person.signed_out", object_type="account", object_id=actor.id)


def session_end(*, actor: Actor, session_id: str | UUID) -> bool:
    """End one of the actor's own sessions, at once. False if it had ended already.

    Raises Forbidden to whoever is no person in a session, NotFound for another person's id and an unknown one.
    """
    with audit_refusals(actor=actor, action="person.session_ended", object_type="account", object_id=actor.id):
        _person(actor)
        try:
            found = BrowserSession.objects.get(id=UUID(str(session_id)), user_id=actor.id)
        except (ValueError, BrowserSession.DoesNotExist):
            raise NotFound from None
        ended = browsers.end(BrowserSession.objects.filter(id=found.id), "ended from the list of sessions")
        if ended:
            audit_record_or_owe(
                actor=actor, action="person.session_ended", object_type="account", object_id=actor.id,
                detail={"sessions": [found.id]},
            )  # fmt: skip
    return ended == 1


def sessions_end_others(*, actor: Actor, session_key: str) -> int:
    """End every session of the actor but the one with this key, in all organisations; how many. Raises Forbidden."""
    with audit_refusals(actor=actor, action="person.session_ended", object_type="account", object_id=actor.id):
        _person(actor)
        ended = browsers.end(browsers.of_person(actor.id, but=session_key), "all others ended from the list")
        if ended:
            audit_record_or_owe(
                actor=actor, action="person.session_ended", object_type="account", object_id=actor.id,
                detail={"others": ended},
            )  # fmt: skip
    return ended


def session_moved(*, actor: Actor, session_key: str, tenant_id: str) -> None:
    """The actor works in another of their organisations from now on; the entry stands in that one."""
    with audit_refusals(actor=actor, action="person.switched", object_type="account", object_id=actor.id):
        browsers.move(session_key, UUID(tenant_id))
        audit_record(actor=actor, action="person.switched", object_type="account", object_id=actor.id)


def session_rekeyed(*, actor: Actor, old_key: str, new_key: str) -> None:
    """Django gave the session a new key (it does when a password changes); it stays the same session of the list."""
    BrowserSession.objects.filter(session_key=old_key, user_id=actor.id).update(session_key=new_key)


def session_seen(*, actor: Actor, session_key: str) -> None:
    """The actor's session is in use. Written rarely; see store/browsers.py."""
    browsers.seen(actor.id, session_key)


def _holds(actor: Actor, link_id: str) -> str:
    """The issuer of a link that still holds. Under the organisation's lock, that ending links and providers takes."""
    Tenant.objects.select_for_update(no_key=True).get(id=actor.tenant_id)
    link = IdentityLink.objects.filter(id=link_id, tenant_id=actor.tenant_id, user_id=actor.id, ended_at=None).first()
    on = IdentityProvider.objects.filter(tenant_id=actor.tenant_id, active=True)
    if link is None or not on.filter(issuer=link.issuer).exists():
        raise Forbidden("Your account is not linked to this provider any more.", code="PROVIDER_UNLINKED")
    IdentityLink.objects.filter(id=link.id).update(used_at=ClearanceNow())
    return link.issuer


def _person(actor: Actor) -> None:
    if actor.kind != "person" or actor.via != "session":
        raise Forbidden("Only a signed-in person has sessions.", code="ROLE_MISSING")
