"""Coming in with a password: throttled before the password is looked at, recorded whichever way it ends.

Counters live in PostgreSQL, so signing in and its throttle work while Valkey is down (docs/decisions/0011-sign-in.md).
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.contrib.auth import authenticate
from django.db import transaction

from access.core.address import throttled_as
from access.core.throttle import CODE_ACCOUNT, SIGN_IN_ACCOUNT, SIGN_IN_ADDRESS, too_many
from access.models import IdentityLink, IdentityProvider, Membership, SecondFactor, User
from access.selectors.actors import actor_for_session
from access.selectors.providers import identity_of, password_is_enough
from access.store import throttle
from access.store.proving import (
    Halfway,
    attempt_count,
    attempt_was_right,
    code_take,
    halfway,
    passkey_request,
    passkey_take,
)
from access.store.refused import account_refused
from audit.core.actor import Actor
from audit.core.refusal import Forbidden, Refusal, Unauthenticated
from audit.store import clock

# One sentence for an unknown address, a wrong password and a closed account: it tells a guesser nothing.
WRONG = "This e-mail address and password do not open an account. Check both and try again."
NO_TENANT = "Your account belongs to no organisation any more. Ask an admin of yours to add you again."


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who came in. `user` is for Django's login, which makes the session. `waits`: they are not in yet, because their
    account asks for a second step; what the session keeps of them until then.

    `links_first`: likewise, because their organisation wants its provider and they are linked to nobody there yet.
    `stepped`: they took a second step. `link_id`: the identity at a provider by which they came, "" by a password.
    """

    user: User
    actor: Actor
    waits: Halfway | None = None
    links_first: Halfway | None = None
    stepped: bool = False
    link_id: str = ""


def person_sign_in(*, email: str, password: str, address: str) -> SignedIn:
    """Check the password of an account; `address` is where the attempt comes from, for the counters and the log.

    Raises TooMany (SIGN_IN_THROTTLED, the same for known and unknown accounts, right and wrong passwords),
    Unauthenticated (SIGN_IN_REFUSED), Forbidden (NO_TENANT, PROVIDER_REQUIRED). Every refusal is recorded: in the
    organisations of the account, or, for an address that has none, in the installation's own log under a keyed hash of
    what was typed, which may be a password in the wrong field.
    """
    account = email.strip().lower()[:254]
    # PostgreSQL takes neither; nobody's address or password holds one.
    readable = not any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in email + password)
    account = account if readable else ""
    counted = ((SIGN_IN_ADDRESS, throttled_as(address)), (SIGN_IN_ACCOUNT, account))
    for number, (limit, key) in enumerate(counted):
        taken = throttle.take(limit, key)
        if taken.wait:
            for earlier, earlier_key in counted[:number]:
                throttle.give_back(earlier, earlier_key)
            refusal = too_many(limit, taken.wait)
            if taken.tell:
                _record(account, address, refusal)
            raise refusal
    user = authenticate(username=account, password=password) if readable else None
    if user is None:
        wrong = Unauthenticated(WRONG, code="SIGN_IN_REFUSED")
        _record(account, address, wrong)
        raise wrong
    throttle.give_back(SIGN_IN_ADDRESS, throttled_as(address))
    throttle.clear(SIGN_IN_ACCOUNT, account)
    asks = SecondFactor.objects.filter(user_id=user.pk, at_sign_in=True).exists()
    try:
        found = _place_of(user, stepped=asks)
    except Refusal as closed:
        _record(account, address, closed)
        raise
    # The second step is taken before anything else is told.
    return SignedIn(user, found.actor, halfway(user)) if asks else found


def second_step_options(*, waiting: Halfway, session_id: str) -> dict[str, Any]:
    """What the browser asks a passkey of the person at the door. Raises Unauthenticated, Conflict."""
    return passkey_request(str(_waiting(waiting).pk), session_id, "sign-in")


def second_step_take(*, waiting: Halfway, session_id: str, code: str, response: str, address: str) -> SignedIn:
    """The second step: a code of the app, a recovery code, or a passkey's answer (`response`).

    Raises Unauthenticated (SECOND_STEP_OVER), TooMany (SIGN_IN_THROTTLED), Invalid (CODE_WRONG, PASSKEY_…), Conflict
    (CHALLENGE_GONE), Forbidden (NO_TENANT, PROVIDER_…). Every refusal is recorded in the account's organisations.
    """
    user = _waiting(waiting)
    try:
        full = None if response else attempt_count(CODE_ACCOUNT, user.email, address)
        if full is not None:
            raise full
        with transaction.atomic():
            if response:
                passkey_take(user.pk, session_id, "sign-in", response)
            else:
                code_take(user.pk, code)
        if not response:
            attempt_was_right(CODE_ACCOUNT, user.email, address)
        found = provider_place(user=user, link_id=waiting.link_id) if waiting.link_id else _place_of(user, stepped=True)
    except Refusal as refusal:
        _record(user.email, address, refusal)
        raise
    return replace(found, stepped=True)


def still_waiting(*, waiting: Halfway) -> User:
    """Whose password was right a moment ago. Raises Unauthenticated (SECOND_STEP_OVER)."""
    return _waiting(waiting)


def provider_place(*, user: User, link_id: str) -> SignedIn:
    """Where a link to a provider lets its owner in: in its organisation and nowhere else. Raises Forbidden (NO_TENANT,
    PROVIDER_UNLINKED) for a link, a membership or a provider that has ended."""
    link = IdentityLink.objects.filter(id=link_id, user_id=user.pk, ended_at=None).first()
    provider = None if link is None else IdentityProvider.objects.filter(tenant_id=link.tenant_id, active=True).first()
    if link is None or provider is None or provider.issuer != link.issuer:
        raise Forbidden(
            "Your account is not linked to this provider any more. Sign in with your password.",
            code="PROVIDER_UNLINKED",
        )
    actor = actor_for_session(user.pk, link.tenant_id)
    if actor is None:
        raise Forbidden(
            "Your account is switched off in this organisation. Ask an admin of it to switch it on.", code="NO_TENANT"
        )
    return SignedIn(user, actor, link_id=str(link.id))


def _place_of(user: User, *, stepped: bool) -> SignedIn:
    """The oldest of their organisations that a password lets them into. Where all want their provider: that they link
    to it first, or a refusal. Raises Forbidden (NO_TENANT, PROVIDER_REQUIRED)."""
    rows = Membership.objects.filter(user=user, is_active=True, user__is_active=True).order_by("created_at", "id")
    actors = [actor_for_session(user.pk, tenant) for tenant in rows.values_list("tenant_id", flat=True)]
    places = [actor for actor in actors if actor is not None]
    if not places:
        raise Forbidden(NO_TENANT, code="NO_TENANT")
    for actor in places:
        if password_is_enough(actor, stepped=stepped):
            return SignedIn(user, actor)
    for actor in places:
        if identity_of(user.pk, actor.tenant_id) is None:
            return SignedIn(user, actor, links_first=replace(halfway(user), stepped=stepped))
    raise Forbidden(
        "Your organisation asks its people to sign in through its own provider. Your password was right, but it does "
        "not open your account; use your organisation's sign-in. An admin with a second step gets in by password.",
        code="PROVIDER_REQUIRED",
    )


def _waiting(waiting: Halfway) -> User:
    user = User.objects.filter(pk=waiting.user_id, is_active=True).first()
    if (
        user is None
        or clock.now() >= datetime.fromisoformat(waiting.until)
        or user.get_session_auth_hash() != waiting.mark
    ):
        raise Unauthenticated("The second step came too late. Sign in again.", code="SECOND_STEP_OVER")
    return user


def _record(account: str, address: str, refusal: Refusal) -> None:
    user = User.objects.filter(email=account).first() if account else None
    account_refused(user, account, refusal, action="person.signed_in", address=address)
