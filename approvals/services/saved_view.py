"""A person keeps views of the list of proposals. No authority hangs on them, so the log does not tell of them."""

import unicodedata
from urllib.parse import urlencode
from uuid import UUID

from django.db import IntegrityError, transaction

from approvals.core.narrowing import Narrowing
from approvals.models import SavedView
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.store import clock

LIMIT = 20
"""Views that one person may keep: each is counted whenever the list is shown."""
LONGEST = 60


def saved_view_save(*, actor: Actor, name: str, view: str, narrowing: Narrowing) -> UUID:
    """Keep a view with its filters under a new name.

    Raises Forbidden, Invalid (NAME_INVALID, NOTHING_TO_KEEP, TOO_MANY_VIEWS) and Conflict (NAME_TAKEN).
    """
    _check_person(actor)
    name = _name(name)
    if not narrowing:
        raise Invalid("There is no filter to keep. Set one first, then save the view.", code="NOTHING_TO_KEEP")
    mine = SavedView.objects.filter(tenant_id=actor.tenant_id, user_id=actor.id)
    if mine.count() >= LIMIT:
        raise Invalid(f"You keep {LIMIT} views, which is the most. Forget one first.", code="TOO_MANY_VIEWS")
    query = urlencode({"view": view, **narrowing.fields()})
    try:
        with transaction.atomic():
            row = SavedView.objects.create(
                tenant_id=actor.tenant_id, user_id=actor.id, name=name, query=query, created_at=clock.now()
            )
    except IntegrityError:
        raise _taken(name) from None
    return row.pk


def saved_view_rename(*, actor: Actor, view_id: UUID, name: str) -> None:
    """Give a view of the actor's another name. Raises Forbidden, NotFound, Invalid and Conflict as above."""
    _check_person(actor)
    name = _name(name)
    try:
        with transaction.atomic():
            changed = SavedView.objects.filter(pk=view_id, tenant_id=actor.tenant_id, user_id=actor.id).update(
                name=name
            )
    except IntegrityError:
        raise _taken(name) from None
    if not changed:
        raise NotFound


def saved_view_delete(*, actor: Actor, view_id: UUID) -> None:
    """Forget a view of the actor's. Raises Forbidden and NotFound."""
    _check_person(actor)
    deleted, _ = SavedView.objects.filter(pk=view_id, tenant_id=actor.tenant_id, user_id=actor.id).delete()
    if not deleted:
        raise NotFound


def _check_person(actor: Actor) -> None:
    if actor.kind != "person" or actor.via != "session":
        raise Forbidden("Only a signed-in person keeps views.", code="ROLE_MISSING")


def _name(text: str) -> str:
    name = unicodedata.normalize("NFC", " ".join(text.split()))
    if not name or len(name) > LONGEST or any(unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs") for c in name):
        raise Invalid(f"Give the view a name of 1 to {LONGEST} visible characters.", code="NAME_INVALID")
    return name


def _taken(name: str) -> Conflict:
    return Conflict(
        f"You keep a view named {name} already. Choose another name, or forget that one.", code="NAME_TAKEN"
    )
