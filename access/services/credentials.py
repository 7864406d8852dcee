"""Backend credentials: written by admins, read by the worker that sends, seen by nobody (E5)."""

from uuid import UUID, uuid4

from django.db import IntegrityError, connection, transaction

from access.core.names import slug_of
from access.core.rights import require_admin
from access.models import BackendCredential, Membership
from access.store import cipher
from audit.core.actor import Actor
from audit.core.refusal import Invalid, Unavailable
from audit.services.record import audit_record, audit_refusals
from audit.store import clock

_LONGEST = 16_384


def credential_store(*, actor: Actor, name: str, secret: str) -> bool:
    """Keep `secret` under `name` in the actor's organisation; an admin's right. True if it is new, False if replaced.

    Raises Forbidden, Invalid (SLUG_INVALID, SECRET_INVALID), Unavailable (CREDENTIAL_KEY).
    """
    with audit_refusals(actor=actor, action="credential.stored", object_type="credential", object_id=name):
        require_admin(actor)
        slug_of(name)
        # It goes out in a header: what would break or split one must not be kept.
        if not 0 < len(secret) <= _LONGEST or not secret.isascii() or not secret.isprintable():
            raise Invalid(
                f"A credential has 1 to {_LONGEST:,} printable ASCII characters and no line breaks.",
                code="SECRET_INVALID",
            )
        ciphertext = cipher.seal(tenant_id=actor.tenant_id, name=name, secret=secret)
        new = _write(actor, name, ciphertext)
        audit_record(
            actor=actor, action="credential.stored", object_type="credential", object_id=name, detail={"new": new}
        )
    return new


def credential_reveal(*, tenant_id: str, name: str) -> str:
    """The secret, for the worker that is about to send it; never for a page, an event, a log line or an agent.

    Raises Unavailable: CREDENTIAL_MISSING (no such name), CREDENTIAL_KEY or CREDENTIAL_UNREADABLE (wrong key, or the
    row was changed or moved). Nothing was sent then.
    """
    # By hand: it is asked at each request to a target.
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT ciphertext FROM access_backendcredential WHERE tenant_id = %s AND name = %s", [tenant_id, name]
        )
        row = cursor.fetchone()
    if row is None:
        raise Unavailable(f"There is no credential {name}. An admin must store it first.", code="CREDENTIAL_MISSING")
    return cipher.unseal(tenant_id=str(tenant_id), name=name, ciphertext=bytes(row[0]))


def _write(actor: Actor, name: str, ciphertext: bytes) -> bool:
    now = clock.now()
    by = None
    if actor.kind == "person":
        by = Membership.objects.filter(tenant_id=actor.tenant_id, user_id=actor.id).first()
    try:
        with transaction.atomic():
            BackendCredential.objects.create(
                id=uuid4(), tenant_id=UUID(actor.tenant_id), name=name, ciphertext=ciphertext, created_at=now,
                changed_by=by,
            )  # fmt: skip
    except IntegrityError:
        kept = BackendCredential.objects.filter(tenant_id=actor.tenant_id, name=name)
        kept.update(ciphertext=ciphertext, replaced_at=now, changed_by=by)
        return False
    return True
