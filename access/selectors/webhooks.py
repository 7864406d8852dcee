"""The webhook as its page shows it: where it leads and what became of the last events; never its secret (E5)."""

from dataclasses import dataclass
from datetime import datetime

from access.core.rights import require_admin
from access.models import WebhookDelivery, WebhookEndpoint
from audit.core.actor import Actor

LAST = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRow:
    """One event: `state` is waiting, delivered or given_up, `told` what the last try met, `due_at` when the next is."""

    message_id: str
    kind: str
    at: datetime
    state: str
    attempts: int
    told: str
    due_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRow:
    """`url` is "" where none was ever set; `active` whether events are sent to it."""

    url: str
    active: bool
    changed_at: datetime | None
    changed_by: str
    waiting: int
    deliveries: list[DeliveryRow]


def webhook_of(actor: Actor) -> WebhookRow:
    """The organisation's webhook with its last events, newest first; for admins. Raises Forbidden (ROLE_MISSING)."""
    require_admin(actor)
    row = WebhookEndpoint.objects.filter(tenant_id=actor.tenant_id).first()
    events = WebhookDelivery.objects.filter(tenant_id=actor.tenant_id)
    return WebhookRow(
        url=row.url if row else "",
        active=row is not None and row.active,
        changed_at=row.changed_at if row else None,
        changed_by=row.changed_by_name if row else "",
        waiting=events.filter(state="waiting").count(),
        deliveries=[
            DeliveryRow(
                message_id=event.message_id,
                kind=event.kind,
                at=event.at,
                state=event.state,
                attempts=event.attempts,
                told=event.told,
                due_at=event.due_at,
                ended_at=event.ended_at,
            )
            for event in events.order_by("-id")[:LAST]
        ],
    )
