"""A browser's round through an identity provider: sent there, and judged when it is back (OpenID Connect Core, 3.1).

Three things are done by one: somebody comes in, somebody links their account, somebody confirms that it is they. Which
is written down when it begins. What the provider says counts for issuer and subject alone, never for an e-mail address.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction

from access.core import oidc
from access.core.address import throttled_as
from access.core.throttle import PROVIDER_ADDRESS, SIGN_IN_ADDRESS, too_many, wait_words
from access.core.words import nobody
from access.models import Confirmation, IdentityLink, IdentityProvider, ProviderRound, SecondFactor, Tenant, User
from access.selectors.actors import actor_for_session
from access.selectors.confirmation import check_fresh
from access.selectors.providers import redirect_uri
from access.services.provider import provider_secret_reveal
from access.services.signin import SignedIn, provider_place, still_waiting
from access.store import provider, provider_rounds, throttle
from access.store.proving import Halfway, halfway, tell_owner
from access.store.refused import account_refused
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound, Refusal, TooMany, Unauthenticated
from audit.services.record import audit_record, audit_refusals, audit_refused
from audit.store import clock

ACTIONS = {"sign-in": "person.signed_in", "link": "identity.linked", "confirm": "person.confirmed"}
_LONGEST = 4_000


@dataclass(frozen=True, slots=True)
class Back:
    """What a round came to. `signed_in` where somebody comes in by it; `next` is where they wanted to go."""

    purpose: str
    next: str
    signed_in: SignedIn | None = None


def provider_begin(*, slug: str, browser: str, next_path: str, address: str) -> str:
    """Where a browser goes to come in: an address of the provider's. Never in a transaction.

    Raises NotFound (no organisation with this short name has a provider), TooMany (PROVIDER_THROTTLED), Invalid and
    Unavailable (PROVIDER_…).
    """
    found = IdentityProvider.objects.filter(tenant__slug=slug, active=True).select_related("tenant").first()
    if found is None:
        raise NotFound("No organisation with this short name has a sign-in of its own here. Check how it is written.")
    return _begin(found, "sign-in", None, browser, next_path, address)


def provider_begin_own(*, actor: Actor, purpose: str, browser: str, next_path: str, address: str) -> str:
    """The same to `link` the actor's account, or to `confirm` that it is they, in the organisation they work in.

    Raises Forbidden (PERSON_REQUIRED, FRESH_REQUIRED), Conflict (PROVIDER_OFF, LINKED_ALREADY, LINK_NONE), and as
    `provider_begin`.
    """
    with audit_refusals(actor=actor, action=ACTIONS[purpose], object_type="account", object_id=actor.id):
        _in_session(actor)
        if purpose == "link":
            check_fresh(actor, "Linking your account")
        found = IdentityProvider.objects.filter(tenant_id=actor.tenant_id, active=True).select_related("tenant").first()
        if found is None:
            raise Conflict("Your organisation has no sign-in of its own here.", code="PROVIDER_OFF")
        linked = IdentityLink.objects.filter(tenant_id=actor.tenant_id, user_id=actor.id, ended_at=None).exists()
        if linked == (purpose == "link"):
            raise _linked_already() if linked else _not_linked()
    return _begin(found, purpose, UUID(actor.id), browser, next_path, address)


def provider_begin_first(*, waiting: Halfway, tenant_id: str, browser: str, next_path: str, address: str) -> str:
    """The same for somebody whose password was right and whose organisation wants its provider: they link, and come in.

    Raises Unauthenticated (SECOND_STEP_OVER), Conflict (PROVIDER_OFF), and as `provider_begin`.
    """
    user = still_waiting(waiting=waiting)
    found = IdentityProvider.objects.filter(tenant_id=tenant_id, active=True).select_related("tenant").first()
    if found is None:
        raise Conflict("Your organisation has no sign-in of its own any more. Sign in again.", code="PROVIDER_OFF")
    return _begin(found, "link", user.id, browser, next_path, address)


def provider_back(
    *, slug: str, sent: Mapping[str, str], browser: str, actor: Actor | None, waiting: Halfway | None, address: str
) -> Back:
    """Judge what a browser came back with (`sent`: state, code, iss, error). `actor` is signed in there, `waiting` has
    shown a password. Never in a transaction: the provider is asked.

    Each refusal is recorded. Raises TooMany (SIGN_IN_THROTTLED), Conflict (PROVIDER_STATE, PROVIDER_OFF,
    LINKED_ALREADY, IDENTITY_TAKEN, LINK_NONE), Invalid (PROVIDER_ERROR, PROVIDER_METADATA), Unauthenticated
    (PROVIDER_TOKEN, PROVIDER_NOT_LINKED, SECOND_STEP_OVER), Forbidden (NO_TENANT, PROVIDER_UNLINKED), Unavailable.
    """
    # Counted as a wrong password from this address until it was a right one: nobody tries states or codes at will.
    taken = throttle.take(SIGN_IN_ADDRESS, throttled_as(address))
    if taken.wait:
        refusal = too_many(SIGN_IN_ADDRESS, taken.wait)
        if taken.tell:
            account_refused(None, slug, refusal, action="person.signed_in", address=address)
        raise refusal
    found = provider_rounds.take(sent.get("state", "")[: oidc.LONGEST_STATE])
    if found is None:
        refused = provider_rounds.state_gone("unknown")
        account_refused(None, sent.get("state", ""), refused, action="person.signed_in", address=address)
        raise refused
    try:
        back = _judge(found, slug, sent, browser, actor, waiting)
    except Refusal as refusal:
        _record(found, refusal, address)
        raise
    throttle.give_back(SIGN_IN_ADDRESS, throttled_as(address))
    return back


def _begin(
    found: IdentityProvider, purpose: str, user_id: UUID | None, browser: str, next_path: str, address: str
) -> str:
    taken = throttle.take(PROVIDER_ADDRESS, throttled_as(address))
    if taken.wait:
        raise TooMany(
            f"Too many ways to a provider were begun from your network. Wait {wait_words(taken.wait)} and try again.",
            code="PROVIDER_THROTTLED",
            retry_after=taken.wait,
        )
    about = provider.metadata(found.issuer)
    begun = provider_rounds.make(found, purpose=purpose, user_id=user_id, browser=browser, next_path=next_path)
    asked = {
        "response_type": "code",
        "client_id": found.client_id,
        "redirect_uri": redirect_uri(found.tenant.slug),
        "scope": "openid",
        "state": begun.state,
        "nonce": begun.nonce,
        "code_challenge": begun.challenge,
        "code_challenge_method": "S256",
    }
    if purpose == "confirm":
        asked |= {"prompt": "login", "max_age": "0"}
    join = "&" if "?" in about.authorization_endpoint else "?"
    return about.authorization_endpoint + join + urlencode(asked)


def _judge(
    found: ProviderRound,
    slug: str,
    sent: Mapping[str, str],
    browser: str,
    actor: Actor | None,
    waiting: Halfway | None,
) -> Back:
    tenant = Tenant.objects.get(id=found.tenant_id)
    # The address that it came back to names the organisation: an answer of one provider is never taken to another.
    provider_rounds.check(found, tenant_id=tenant.id if tenant.slug == slug else uuid4(), browser=browser)
    row = IdentityProvider.objects.filter(tenant_id=tenant.id, active=True).first()
    if row is None or (row.issuer, row.client_id) != (found.issuer, found.client_id):
        raise Conflict("The provider was changed in the meantime. Begin again.", code="PROVIDER_OFF")
    about = provider.metadata(found.issuer)
    named = sent.get("iss", "")
    if (named and named != found.issuer) or (about.names_itself and not named):
        raise oidc.token_refused("iss parameter", "it comes from another provider")
    if sent.get("error"):
        said = oidc.short_code(sent["error"])
        words = "You did not go on at the provider" if said == "access_denied" else "The provider did not let you in"
        raise Invalid(
            f"{words} ({said}). Nothing was changed; begin again.", code="PROVIDER_ERROR", detail={"because": said}
        )
    code = sent.get("code", "")
    if not 0 < len(code) <= _LONGEST or not code.isascii() or not code.isprintable():
        raise Invalid("The provider sent no code. Begin again.", code="PROVIDER_ERROR", detail={"because": "no code"})
    token = provider.redeem(
        about,
        client_id=row.client_id,
        secret=provider_secret_reveal(row=row),
        code=code,
        verifier=found.verifier,
        redirect_uri=redirect_uri(slug),
    )
    subject = oidc.check_claims(
        provider.claims_of(token, found.issuer),
        issuer=found.issuer,
        client_id=found.client_id,
        nonce=found.nonce,
        now=clock.now(),
        signed_in_since=found.began_at if found.purpose == "confirm" else None,
    )
    if found.purpose == "sign-in":
        return Back("sign-in", found.next, _sign_in(found, subject))
    if found.purpose == "confirm":
        _confirm(found, subject, _own(found, actor))
        return Back("confirm", found.next)
    if actor is None and waiting is not None:
        return Back("link", found.next, _link_first(found, subject, waiting))
    _link(found, subject, _own(found, actor))
    return Back("link", found.next)


def _sign_in(found: ProviderRound, subject: str) -> SignedIn:
    link = _link_of(found, subject)
    if link is None:
        raise Unauthenticated(
            "The provider knows you, but nobody here is linked to this account of yours. Sign in with your password "
            "once and link it on the page of your account; if you have no place here yet, ask an admin for one.",
            code="PROVIDER_NOT_LINKED",
        )
    return _in(User.objects.get(id=link.user_id), str(link.id))


def _in(user: User, link_id: str) -> SignedIn:
    place = provider_place(user=user, link_id=link_id)
    asks = SecondFactor.objects.filter(user_id=user.pk, at_sign_in=True).exists()
    return replace(place, waits=halfway(user, link_id)) if asks else place


def _confirm(found: ProviderRound, subject: str, actor: Actor) -> None:
    link = _link_of(found, subject)
    if link is None or str(link.user_id) != actor.id:
        raise Unauthenticated(
            "The provider named somebody else than you. Nothing is confirmed; sign in there as yourself.",
            code="PROVIDER_NOT_LINKED",
        )
    with transaction.atomic():
        Confirmation.objects.update_or_create(
            user_id=actor.id,
            session_id=actor.session_id,
            defaults={"at": clock.now(), "by": "provider", "tenant_id": found.tenant_id},
        )
        audit_record(
            actor=actor, action="person.confirmed", object_type="account", object_id=actor.id,
            detail={"by": "provider", "issuer": found.issuer},
        )  # fmt: skip


def _link(found: ProviderRound, subject: str, actor: Actor) -> str:
    """The new link's id. Raises Conflict (LINKED_ALREADY, IDENTITY_TAKEN)."""
    try:
        with transaction.atomic():
            # So that a provider that is changed meanwhile, and ends the links, ends this one too.
            Tenant.objects.select_for_update(no_key=True).get(id=found.tenant_id)
            on = IdentityProvider.objects.filter(tenant_id=found.tenant_id, active=True, issuer=found.issuer)
            if not on.exists():
                raise Conflict("The provider was changed in the meantime. Begin again.", code="PROVIDER_OFF")
            if IdentityLink.objects.filter(tenant_id=found.tenant_id, user_id=actor.id, ended_at=None).exists():
                raise _linked_already()
            made = IdentityLink.objects.create(
                id=uuid4(), tenant_id=found.tenant_id, user_id=UUID(actor.id), issuer=found.issuer, subject=subject,
                created_at=clock.now(),
            )  # fmt: skip
            audit_record(
                actor=actor, action="identity.linked", object_type="account", object_id=actor.id,
                detail={"issuer": found.issuer, "link": made.id},
            )  # fmt: skip
    except IntegrityError:
        raise Conflict(
            "This account at the provider is linked to somebody else here. Sign in at the provider as yourself; if it "
            "is yours, an admin ends the other link.",
            code="IDENTITY_TAKEN",
        ) from None
    tell_owner(actor.id, "Your account was linked to your organisation's provider; it opens your account from now on.")
    return str(made.id)


def _link_first(found: ProviderRound, subject: str, waiting: Halfway) -> SignedIn:
    user = still_waiting(waiting=waiting)
    actor = actor_for_session(user.id, found.tenant_id)
    if user.id != found.user_id or actor is None:
        raise provider_rounds.state_gone("person")
    link_id = _link(found, subject, actor)
    # Their second step came before this (access/services/signin.py), unless it was turned on in the meantime.
    return provider_place(user=user, link_id=link_id) if waiting.stepped else _in(user, link_id)


def _own(found: ProviderRound, actor: Actor | None) -> Actor:
    """The actor, if it is they who began this, and where they began it."""
    if actor is None or actor.id != str(found.user_id) or actor.tenant_id != str(found.tenant_id):
        raise provider_rounds.state_gone("person")
    return actor


def _link_of(found: ProviderRound, subject: str) -> IdentityLink | None:
    links = IdentityLink.objects.filter(tenant_id=found.tenant_id, issuer=found.issuer, ended_at=None)
    return links.filter(subject=subject).first()


def _in_session(actor: Actor) -> None:
    if actor.kind != "person" or actor.via != "session" or not actor.session_id:
        raise Forbidden("Only a person in their own browser session has an account here.", code="PERSON_REQUIRED")


def _linked_already() -> Conflict:
    return Conflict("Your account is linked already. Unlink it first.", code="LINKED_ALREADY")


def _not_linked() -> Conflict:
    return Conflict("Your account is not linked to your organisation's sign-in.", code="LINK_NONE")


def _record(found: ProviderRound, refusal: Refusal, address: str) -> None:
    """In the organisation whose provider it was. What the provider said is not in it: no code, token or subject."""
    audit_refused(
        actor=nobody(str(found.tenant_id)), refusal=refusal, action=ACTIONS[found.purpose], object_type="account",
        object_id=found.user_id or "", detail={"address": address, "by": "provider", "issuer": found.issuer,
                                               "because": refusal.detail.get("because", "")},
    )  # fmt: skip
