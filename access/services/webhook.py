"""An organisation's signed webhook (Standard Webhooks): where events go, and sending them, outside any transaction.

An event is written as an outbox row in the transaction of what it tells of. A sender takes what is due, one endpoint at
a time, tries it, and writes down what came of it. An endpoint that is broken is tried more and more seldom, holds up
nobody else, and is given up after the last try; the rows say why.
"""

import base64
import json
import logging
import secrets
from collections.abc import Mapping
from datetime import UTC
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import F
from standardwebhooks.webhooks import Webhook

from access.core.rights import require_admin
from access.core.webhook import LEASE, next_try, url_of
from access.models import WebhookDelivery, WebhookEndpoint
from access.store import cipher, deliveries, outbound
from audit.core.actor import SYSTEM, Actor
from audit.core.refusal import Conflict, NotFound, Refusal
from audit.services.record import audit_record, audit_record_or_owe, audit_refusals
from audit.store import clock

logger = logging.getLogger(__name__)

_NAME = "webhook"
_BATCH = 20
_TOLD = 300  # characters of an answer that are kept


def webhook_set(*, actor: Actor, url: str) -> str:
    """Where the actor's organisation is told of events; an admin's right. The new secret that signs them, shown once.

    Every change makes a new secret. Raises Forbidden (ROLE_MISSING), Invalid (WEBHOOK_URL), Unavailable
    (CREDENTIAL_KEY). What an address leads to is judged when it is sent to, each time.
    """
    with audit_refusals(actor=actor, action="webhook.set", object_type="webhook", object_id=actor.tenant_id):
        require_admin(actor)
        address = url_of(url, insecure=settings.WEBHOOK_HOSTS)
        secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
        sealed = cipher.seal(tenant_id=actor.tenant_id, name=_NAME, secret=secret)
        WebhookEndpoint.objects.update_or_create(
            tenant_id=UUID(actor.tenant_id),
            defaults={
                "url": address,
                "ciphertext": sealed,
                "active": True,
                "changed_at": clock.now(),
                "changed_by_name": actor.name,
            },
        )
        # The path may hold a token of the receiver's; the log keeps the host.
        audit_record(
            actor=actor,
            action="webhook.set",
            object_type="webhook",
            object_id=actor.tenant_id,
            detail={"host": address.split("/")[2]},
        )
    return secret


def webhook_end(*, actor: Actor) -> None:
    """Send nothing more; what waits is given up. An admin's right. Raises Forbidden, NotFound (none is set)."""
    with audit_refusals(actor=actor, action="webhook.ended", object_type="webhook", object_id=actor.tenant_id):
        require_admin(actor)
        if not _end(UUID(actor.tenant_id), "The webhook was turned off."):
            raise NotFound
        audit_record_or_owe(actor=actor, action="webhook.ended", object_type="webhook", object_id=actor.tenant_id)


def webhook_test(*, actor: Actor) -> None:
    """Send a test event; what came of it stands among the last deliveries. An admin's right.

    Raises Forbidden, Conflict (WEBHOOK_OFF) where none is set.
    """
    with audit_refusals(actor=actor, action="webhook.tested", object_type="webhook", object_id=actor.tenant_id):
        require_admin(actor)
        if not webhook_tell(tenant_id=actor.tenant_id, kind="test", data={"by": actor.name}):
            raise Conflict("There is no webhook. Say first where events go.", code="WEBHOOK_OFF")
        audit_record(actor=actor, action="webhook.tested", object_type="webhook", object_id=actor.tenant_id)


def webhook_tell(*, tenant_id: UUID | str, kind: str, data: Mapping[str, object]) -> bool:
    """Put an event on its way, in the caller's transaction; False where the organisation has no webhook."""
    if not WebhookEndpoint.objects.filter(tenant_id=tenant_id, active=True).exists():
        return False
    now = clock.now()
    body = json.dumps({"type": kind, "timestamp": now.astimezone(UTC).isoformat(), "data": data}, ensure_ascii=True)
    WebhookDelivery.objects.create(
        tenant_id=tenant_id, message_id=f"msg_{uuid4().hex}", kind=kind, body=body, at=now, due_at=now
    )
    return True


def webhooks_due(*, limit: int = 50) -> list[UUID]:
    """Organisations with something to send, whose turn came first."""
    due = WebhookDelivery.objects.filter(state="waiting", due_at__lte=clock.StatementNow()).order_by("due_at")
    return list(dict.fromkeys(due.values_list("tenant_id", flat=True)[: limit * _BATCH]))[:limit]


def webhook_send(*, tenant_id: UUID) -> int:
    """Send what is due to one organisation's endpoint, in order, until one fails; how many arrived.

    Never in a transaction. Sends at least once: the message id is the same at each try, so that a receiver that has it
    already can leave it.
    """
    arrived = 0
    for _ in range(_BATCH):
        taken = _take(tenant_id)
        if taken is None:
            break
        delivery, endpoint = taken
        told = _post(delivery, endpoint)
        _note(delivery, told)
        if told.status == outbound.GONE:
            with transaction.atomic():
                if _end(tenant_id, "The receiver said that it is gone for good (410)."):
                    audit_record_or_owe(
                        actor=SYSTEM("sweep", str(tenant_id)),
                        action="webhook.ended",
                        object_type="webhook",
                        object_id=tenant_id,
                        detail={"because": "410"},
                    )
        if not told.arrived:
            break
        arrived += 1
    return arrived


def webhooks_forget_old(*, limit: int = 5_000) -> int:
    """Remove deliveries that ended long ago (30 days, 90 where they were given up); how many. For the sweep."""
    return deliveries.forget_old(limit=limit)


def _take(tenant_id: UUID) -> tuple[WebhookDelivery, WebhookEndpoint] | None:
    """The oldest that is due, this sender's alone until its lease is over."""
    with transaction.atomic():
        endpoint = WebhookEndpoint.objects.filter(tenant_id=tenant_id, active=True).first()
        due = WebhookDelivery.objects.filter(tenant_id=tenant_id, state="waiting", due_at__lte=clock.ClearanceNow())
        delivery = due.select_for_update(skip_locked=True).order_by("id").first()
        if delivery is None or endpoint is None:
            return None
        WebhookDelivery.objects.filter(pk=delivery.pk).update(
            due_at=clock.ClearanceNow() + LEASE, attempts=F("attempts") + 1
        )
        delivery.attempts += 1
        return delivery, endpoint


def _post(delivery: WebhookDelivery, endpoint: WebhookEndpoint) -> outbound.Told:
    try:
        tenant = str(delivery.tenant_id)
        secret = cipher.unseal(tenant_id=tenant, name=_NAME, ciphertext=bytes(endpoint.ciphertext))
    except Refusal as refusal:
        return outbound.Told(0, refusal.message)
    at = clock.now().astimezone(UTC)
    headers = {
        "content-type": "application/json",
        "user-agent": "Clearance",
        "webhook-id": delivery.message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(delivery.message_id, at, delivery.body),
    }
    return outbound.post(endpoint.url, delivery.body.encode(), headers, allowed=settings.WEBHOOK_HOSTS)


def _note(delivery: WebhookDelivery, told: outbound.Told) -> None:
    waiting = WebhookDelivery.objects.filter(pk=delivery.pk, state="waiting")
    now = clock.now()
    wait = None if told.arrived else next_try(delivery.attempts)
    if told.arrived:
        waiting.update(state="delivered", told=told.words[:_TOLD], ended_at=now, due_at=None)
    elif wait is None:
        waiting.update(state="given_up", told=told.words[:_TOLD], ended_at=now, due_at=None)
        logger.warning("A webhook of tenant %s was given up: %s", delivery.tenant_id, told.words)
    else:
        waiting.update(told=told.words[:_TOLD], due_at=now + wait)


def _end(tenant_id: UUID, because: str) -> bool:
    """Turn the endpoint off and give up what waits; False if it was off."""
    if WebhookEndpoint.objects.filter(tenant_id=tenant_id, active=True).update(active=False) != 1:
        return False
    WebhookDelivery.objects.filter(tenant_id=tenant_id, state="waiting").update(
        state="given_up", told=because, ended_at=clock.ClearanceNow(), due_at=None
    )
    return True
