"""Browsers on their way to an identity provider and back: one row each, used up by the first answer."""

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from access.core.oidc import ROUND_LIVES
from access.models import IdentityProvider, ProviderRound
from access.store.secrets import hash_of
from audit.core.refusal import Conflict
from audit.store import clock
from audit.store.pruning import remove_oldest

_SWEPT = 20


@dataclass(frozen=True, slots=True)
class Begun:
    """What goes to the provider in the browser's address: `challenge` is S256 of a verifier that stays here."""

    state: str
    nonce: str
    challenge: str


def make(provider: IdentityProvider, *, purpose: str, user_id: UUID | None, browser: str, next_path: str) -> Begun:
    """A round of 256 random bits each; old ones of anybody go with it. `browser`: what its session keeps."""
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    with transaction.atomic():
        now = clock.now()
        ProviderRound.objects.create(
            tenant_id=provider.tenant_id, user_id=user_id, purpose=purpose, issuer=provider.issuer,
            client_id=provider.client_id, state_hash=hash_of(state), browser_hash=hash_of(browser), nonce=nonce,
            verifier=verifier, next=next_path, began_at=now, expires_at=now + ROUND_LIVES,
        )  # fmt: skip
        remove_oldest("access_providerround", by="expires_at", limit=_SWEPT, where="expires_at < clearance_now()")
    digest = hashlib.sha256(verifier.encode()).digest()
    return Begun(state, nonce, base64.urlsafe_b64encode(digest).rstrip(b"=").decode())


def take(state: str) -> ProviderRound | None:
    """The round that this state names, used up: of two that come with it at once one gets it. None: unknown or used."""
    with transaction.atomic():
        found = ProviderRound.objects.select_for_update().filter(state_hash=hash_of(state)).first()
        if found is not None:
            ProviderRound.objects.filter(pk=found.pk).delete()
    return found


def check(found: ProviderRound, *, tenant_id: UUID, browser: str) -> None:
    """Raises Conflict (PROVIDER_STATE) for another browser's round, another organisation's, and one that took long."""
    own = hmac.compare_digest(found.browser_hash, hash_of(browser)) if browser else False
    if not own or found.tenant_id != tenant_id or found.expires_at <= clock.now():
        raise state_gone("browser" if not own else "organisation" if found.tenant_id != tenant_id else "late")


def state_gone(because: str) -> Conflict:
    """The one answer to a way back that leads nowhere; `because` is for the log."""
    return Conflict(
        "This way back from the provider was not begun in this browser, was used before, or took more than ten "
        "minutes. Nothing was changed; begin again.",
        code="PROVIDER_STATE",
        detail={"because": because},
    )
