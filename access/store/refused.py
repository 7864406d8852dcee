"""Recording that somebody who is not signed in was refused: where the account is, or under a hash of what was typed."""

import hashlib
import hmac

from django.conf import settings

from access.core.words import nobody
from access.models import Membership, User
from audit.core.refusal import Refusal
from audit.services.record import audit_refused


def account_refused(user: User | None, typed: str, refusal: Refusal, *, action: str, address: str) -> None:
    """Record a refusal of somebody who is not signed in, in every organisation of the account that was aimed at."""
    tenants = [] if user is None else list(_tenants(user))
    if user is None or not tenants:
        audit_refused(
            actor=nobody(""), refusal=refusal, action=action, object_type="account", object_id=_hashed(typed),
            detail={"address": address},
        )  # fmt: skip
        return
    for tenant in tenants:
        audit_refused(
            actor=nobody(str(tenant)), refusal=refusal, action=action, object_type="account", object_id=user.id,
            detail={"address": address, "email": user.email},
        )  # fmt: skip


def _tenants(user: User) -> list[object]:
    return list(Membership.objects.filter(user=user).order_by("created_at", "id").values_list("tenant_id", flat=True))


def _hashed(typed: str) -> str:
    """Equal for equal texts, so that a row of attempts is seen as one, and of no use to whoever reads it."""
    key = settings.SECRET_KEY.encode()
    digest = hmac.new(key, b"clearance/typed/1\0" + typed.encode("utf-8", "surrogatepass"), hashlib.sha256)
    return "typed:" + digest.hexdigest()[:16]
