"""Single-use links for setting a password: made, found, used once, voided."""

from datetime import datetime, timedelta
from uuid import UUID, uuid4

from access.models import AccountLink
from access.store import secrets
from audit.store.clock import ClearanceNow

LIFE = {"invitation": timedelta(days=7), "reset": timedelta(hours=1)}
"""How long a link waits to be used, by its purpose."""


def add(user_id: UUID, purpose: str, now: datetime) -> str:
    """A new link's token; links that the person had before open nothing from now on."""
    void_all(user_id)
    token = secrets.new_link_token()
    AccountLink.objects.create(
        id=uuid4(), user_id=user_id, purpose=purpose, token_hash=secrets.hash_of(token), created_at=now,
        expires_at=now + LIFE[purpose],
    )  # fmt: skip
    return token


def find(token: str) -> AccountLink | None:
    """The link, whatever its state, with its person."""
    return AccountLink.objects.select_related("user").filter(token_hash=secrets.hash_of(token)).first()


def use(link: AccountLink) -> bool:
    """Mark it used if it was not and nobody voided it: of two who send it at once, one wins.

    Does not judge expiry: this statement may wait for the row's lock (data rule 11).
    """
    open_ = AccountLink.objects.filter(id=link.id, used_at=None, void_at=None)
    return open_.update(used_at=ClearanceNow()) == 1


def void_all(user_id: UUID) -> None:
    """None of the person's links opens anything any more."""
    AccountLink.objects.filter(user_id=user_id, used_at=None, void_at=None).update(void_at=ClearanceNow())
