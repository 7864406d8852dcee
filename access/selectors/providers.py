"""Which identity providers there are, who is linked to whom, and whether a password is enough somewhere."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.urls import reverse

from access.core.oidc import host_of
from access.core.rights import require_admin
from access.models import IdentityLink, IdentityProvider, Membership, SecondFactor
from audit.core.actor import Actor

MOST_OFFERS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRow:
    """An organisation's provider as its page shows it, without its secret. `issuer` is "" where none was ever set.

    `redirect_uri` is what the provider must be told, letter by letter. `not_linked`: active members without a link;
    `rescuers`: active admins with a second step, whom a password lets in whatever is required.
    """

    issuer: str
    client_id: str
    domains: str
    required: bool
    active: bool
    changed_at: datetime | None
    changed_by: str
    redirect_uri: str
    linked: int
    not_linked: int
    rescuers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An organisation whose provider somebody may come in through."""

    slug: str
    name: str
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityRow:
    """Somebody's link in one organisation. The subject is the provider's name for them; no address, no secret."""

    issuer: str
    subject: str
    created_at: datetime
    used_at: datetime | None


def redirect_uri(slug: str) -> str:
    """Where a provider sends browsers back to. One for each organisation, so that no two providers share one."""
    return settings.BASE_URL + reverse("provider-back", args=[slug])


def provider_of(actor: Actor) -> ProviderRow:
    """The actor's organisation's provider; for admins. Raises Forbidden (ROLE_MISSING)."""
    require_admin(actor)
    row = IdentityProvider.objects.filter(tenant_id=actor.tenant_id).first()
    members = Membership.objects.filter(tenant_id=actor.tenant_id, is_active=True, user__is_active=True)
    linked = IdentityLink.objects.filter(tenant_id=actor.tenant_id, ended_at=None).values("user_id")
    slug = Membership.objects.filter(tenant_id=actor.tenant_id).values_list("tenant__slug", flat=True).first()
    return ProviderRow(
        issuer=row.issuer if row else "",
        client_id=row.client_id if row else "",
        domains=" ".join(row.domains) if row else "",
        required=row is not None and row.required,
        active=row is not None and row.active,
        changed_at=row.changed_at if row else None,
        changed_by=row.changed_by_name if row else "",
        redirect_uri=redirect_uri(slug or ""),
        linked=members.filter(user_id__in=linked).count(),
        not_linked=members.exclude(user_id__in=linked).count(),
        rescuers=members.filter(
            roles__contains=["admin"], user_id__in=SecondFactor.objects.filter(at_sign_in=True).values("user_id")
        ).count(),
    )


def offers(text: str) -> list[Offer]:
    """The organisations that a short name or an e-mail address leads to. Of an address only the domain is looked at, so
    the answer says nothing about any person."""
    typed = text.strip().lower()[:254]
    if not typed or "\0" in typed:
        return []
    _, at, domain = typed.rpartition("@")
    wanted = Q(domains__contains=[domain]) if at else Q(tenant__slug=typed)
    found = IdentityProvider.objects.filter(wanted, active=True).select_related("tenant").order_by("tenant__slug")
    return [Offer(slug=row.tenant.slug, name=row.tenant.name, host=host_of(row.issuer)) for row in found[:MOST_OFFERS]]


def provider_here(actor: Actor) -> Offer | None:
    """The provider of the organisation that the actor works in, if people may come in through it."""
    row = IdentityProvider.objects.filter(tenant_id=actor.tenant_id, active=True).select_related("tenant").first()
    return None if row is None else Offer(slug=row.tenant.slug, name=row.tenant.name, host=host_of(row.issuer))


def identity_of(user_id: str | UUID, tenant_id: str | UUID) -> IdentityRow | None:
    """Who this person is at the organisation's provider; None without a link."""
    row = IdentityLink.objects.filter(user_id=user_id, tenant_id=tenant_id, ended_at=None).first()
    if row is None:
        return None
    return IdentityRow(issuer=row.issuer, subject=row.subject, created_at=row.created_at, used_at=row.used_at)


def password_is_enough(actor: Actor, *, stepped: bool) -> bool:
    """Whether a password lets this person into the actor's organisation: where its provider is not required, and for an
    admin who also took the second step, so that somebody gets in while the provider is down."""
    required = IdentityProvider.objects.filter(tenant_id=actor.tenant_id, active=True, required=True).exists()
    return not required or (stepped and actor.has_role("admin"))
