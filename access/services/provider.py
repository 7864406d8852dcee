"""An organisation's identity provider: set, tried, required, turned off. And ending the links of people to it."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import QuerySet

from access.core.oidc import client_id_of, domains_of, issuer_of
from access.core.rights import require_admin
from access.core.throttle import PROVIDER_TEST, wait_words
from access.models import BrowserSession, IdentityLink, IdentityProvider, Membership, SecondFactor, Tenant
from access.selectors.confirmation import check_fresh
from access.selectors.providers import redirect_uri
from access.store import browsers, cipher, provider, throttle
from access.store.proving import tell_owner
from audit.core.actor import SYSTEM, Actor
from audit.core.refusal import Conflict, Invalid, NotFound, Refusal, TooMany
from audit.services.record import audit_record, audit_record_or_owe, audit_refusals
from audit.store import clock
from audit.store.clock import ClearanceNow

SECRET_NAME = "identity-provider"  # noqa: S105 - the name under which it is sealed
_LONGEST_SECRET = 2_000
_SIGN_IN = "Changing how people sign in"


def provider_set(
    *, actor: Actor, issuer: str, client_id: str, secret: str, domains: str, required: bool
) -> Sequence[str]:
    """Through which provider the actor's organisation signs in; an admin's right. What it meant, in sentences.

    `secret` "" keeps the one that is there, but never for another issuer or client: it would be sent elsewhere. Another
    issuer ends all links, for they say who somebody is at the one before. `required` needs a second step of the actor's
    own, by which they get in while the provider is down. Raises Forbidden (ROLE_MISSING, FRESH_REQUIRED), Invalid
    (ISSUER_INVALID, CLIENT_ID_INVALID, SECRET_INVALID, DOMAIN_INVALID), Conflict (STEP_FIRST), Unavailable.
    """
    with audit_refusals(actor=actor, action="provider.set", object_type="provider", object_id=actor.tenant_id):
        _may(actor)
        address = issuer_of(issuer, insecure=provider.insecure())
        client = client_id_of(client_id)
        found = domains_of(domains)
        # The organisation's row is locked, so that two changes, and a sign-in, come one after the other.
        Tenant.objects.select_for_update(no_key=True).get(id=actor.tenant_id)
        row = IdentityProvider.objects.filter(tenant_id=actor.tenant_id).first()
        same = row is not None and (row.issuer, row.client_id) == (address, client)
        own = SecondFactor.objects.filter(user_id=actor.id, at_sign_in=True) if actor.kind == "person" else None
        if required and own is not None and not own.exists():
            raise Conflict(
                "Turn on the second step of your own account first. While the provider is down, only an admin with a "
                "password and a second step gets in.",
                code="STEP_FIRST",
            )
        sealed = bytes(row.ciphertext) if row is not None and same and not secret else _sealed(actor, secret)
        ended = 0
        if row is not None and row.issuer != address:
            ended = _end(actor.tenant_id, IdentityLink.objects.all(), "another provider was set")
        IdentityProvider.objects.update_or_create(
            tenant_id=UUID(actor.tenant_id),
            defaults={
                "issuer": address, "client_id": client, "ciphertext": sealed, "domains": found, "required": required,
                "active": True, "changed_at": clock.now(), "changed_by_name": actor.name,
            },
        )  # fmt: skip
        audit_record(
            actor=actor, action="provider.set", object_type="provider", object_id=actor.tenant_id,
            detail={"issuer": address, "client_id": client, "required": required, "new_credential": bool(secret),
                    "domains": found, "links_ended": ended},
        )  # fmt: skip
    said = ["Saved. Try it with the button below before you tell people."]
    if ended:
        said.append(f"It is another issuer, so {ended} link{'s' if ended != 1 else ''} ended.")
    return said


def provider_end(*, actor: Actor) -> None:
    """Nobody comes in through it any more, and sessions that it opened end; links stay for when it is set again. An
    admin's right. Raises Forbidden (ROLE_MISSING, FRESH_REQUIRED), NotFound where none is on."""
    with audit_refusals(actor=actor, action="provider.ended", object_type="provider", object_id=actor.tenant_id):
        _may(actor)
        _turn_off(actor.tenant_id)
        audit_record_or_owe(actor=actor, action="provider.ended", object_type="provider", object_id=actor.tenant_id)


def provider_end_by_operator(*, slug: str) -> str:
    """`provider_end` for the operator at the command line, where nobody gets in: the organisation's name. Raises
    NotFound."""
    tenant = _named(slug)
    provider_end(actor=SYSTEM("operator", str(tenant.id)))
    return tenant.name


def provider_test(*, actor: Actor) -> Sequence[str]:
    """Ask the provider for what it says of itself and its keys, and show it the secret; what it told, in sentences. An
    admin's right. Never in a transaction.

    Raises Forbidden, Conflict (PROVIDER_OFF), TooMany (PROVIDER_TEST_THROTTLED), Invalid (PROVIDER_METADATA,
    PROVIDER_ERROR), Unavailable (PROVIDER_SILENT, CREDENTIAL_…): what is wrong, in words.
    """
    with audit_refusals(actor=actor, action="provider.tested", object_type="provider", object_id=actor.tenant_id):
        require_admin(actor)
        row = IdentityProvider.objects.filter(tenant_id=actor.tenant_id).select_related("tenant").first()
        if row is None:
            raise Conflict("There is no provider. Say first which one.", code="PROVIDER_OFF")
        secret = provider_secret_reveal(row=row)
    taken = throttle.take(PROVIDER_TEST, f"{actor.tenant_id} {actor.id}")
    if taken.wait:
        raise TooMany(
            f"That was tried often. Wait {wait_words(taken.wait)}.", code="PROVIDER_TEST_THROTTLED",
            retry_after=taken.wait,
        )  # fmt: skip
    problem: Refusal | None = None
    said: list[str] = []
    try:
        known = provider.ask(row.issuer)
        said.append(f"It calls itself {row.issuer}, as it should.")
        kinds = sorted({str(key.get("kty")) for key in known.keys})
        if not known.keys:
            raise Invalid("The provider shows no key that is taken here.", code="PROVIDER_METADATA")
        said.append(f"It shows {len(known.keys)} usable key{'s' if len(known.keys) != 1 else ''} ({', '.join(kinds)}).")
        uri = redirect_uri(row.tenant.slug)
        said.append(provider.try_client(known.metadata, client_id=row.client_id, secret=secret, redirect_uri=uri))
    except Refusal as error:
        problem = error
    with audit_refusals(actor=actor, action="provider.tested", object_type="provider", object_id=actor.tenant_id):
        if problem is not None:
            raise problem
        audit_record(actor=actor, action="provider.tested", object_type="provider", object_id=actor.tenant_id)
    return said


def provider_test_by_operator(*, slug: str) -> Sequence[str]:
    """`provider_test` for the operator at the command line. Raises NotFound, and as that."""
    return provider_test(actor=SYSTEM("operator", str(_named(slug).id)))


def identity_unlink(*, actor: Actor) -> bool:
    """End the actor's own link in the organisation they work in, with the sessions that began by it. False if there was
    none. Raises Forbidden (ROLE_MISSING, FRESH_REQUIRED)."""
    with audit_refusals(actor=actor, action="identity.unlinked", object_type="account", object_id=actor.id):
        check_fresh(actor, _SIGN_IN)
        mine = IdentityLink.objects.filter(user_id=actor.id)
        ended = _end(actor.tenant_id, mine, "ended by its owner")
        if ended:
            audit_record_or_owe(actor=actor, action="identity.unlinked", object_type="account", object_id=actor.id)
    if ended:
        tell_owner(actor.id, "Signing in through your organisation's provider was unlinked from your account.")
    return bool(ended)


def identity_end(*, actor: Actor, membership_id: str | UUID) -> bool:
    """End a member's link, with the sessions that began by it; an admin's right. False if there was none. Raises
    Forbidden, NotFound (a member of another organisation included)."""
    with audit_refusals(actor=actor, action="identity.unlinked", object_type="membership", object_id=membership_id):
        require_admin(actor)
        member = Membership.objects.filter(id=membership_id, tenant_id=actor.tenant_id).first()
        if member is None:
            raise NotFound
        theirs = IdentityLink.objects.filter(user_id=member.user_id)
        ended = _end(actor.tenant_id, theirs, "ended by an admin")
        if ended:
            audit_record_or_owe(
                actor=actor, action="identity.unlinked", object_type="account", object_id=member.user_id
            )
    return bool(ended)


def provider_secret_reveal(*, row: IdentityProvider) -> str:
    """The client secret, for the request that shows it to the provider; for nothing else. Raises Unavailable."""
    return cipher.unseal(tenant_id=str(row.tenant_id), name=SECRET_NAME, ciphertext=bytes(row.ciphertext))


def _named(slug: str) -> Tenant:
    tenant = Tenant.objects.filter(slug=slug).first()
    if tenant is None:
        raise NotFound(f"There is no organisation {slug[:63]}.")
    return tenant


def _may(actor: Actor) -> None:
    require_admin(actor)
    if actor.kind == "person":
        check_fresh(actor, _SIGN_IN)


def _sealed(actor: Actor, secret: str) -> bytes:
    # It goes out in a header or a form: what would break or split one must not be kept.
    if not 0 < len(secret) <= _LONGEST_SECRET or not secret.isascii() or not secret.isprintable():
        raise Invalid(
            "Type the client secret: 1 to 2,000 printable ASCII characters. For another issuer or client id the one "
            "before is not used.",
            code="SECRET_INVALID",
            missing=["secret"],
        )
    return cipher.seal(tenant_id=actor.tenant_id, name=SECRET_NAME, secret=secret)


def _turn_off(tenant_id: str) -> None:
    Tenant.objects.select_for_update(no_key=True).get(id=tenant_id)
    if IdentityProvider.objects.filter(tenant_id=tenant_id, active=True).update(active=False, required=False) != 1:
        raise NotFound("There is no provider that is on.")
    browsers.end(BrowserSession.objects.filter(link__tenant_id=tenant_id), "the provider was turned off")


def _end(tenant_id: str, links: QuerySet[IdentityLink], because: str) -> int:
    """End an organisation's that still hold, and the sessions that began by them; how many links. In the caller's
    transaction."""
    Tenant.objects.select_for_update(no_key=True).get(id=tenant_id)
    ids = list(links.filter(tenant_id=tenant_id).select_for_update().filter(ended_at=None).values_list("id", flat=True))
    IdentityLink.objects.filter(id__in=ids).update(ended_at=ClearanceNow(), ended_because=because)
    browsers.end(BrowserSession.objects.filter(link_id__in=ids), because)
    return len(ids)
