"""Coming in with a password: throttled before the password is looked at, recorded whichever way it ends.

Counters live in PostgreSQL, so signing in and its throttle work while Valkey is down (docs/decisions/0011-sign-in.md).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import authenticate
from django.db import transaction

from access.core.address import throttled_as
from access.core.throttle import CODE_ACCOUNT, SIGN_IN_ACCOUNT, SIGN_IN_ADDRESS, too_many
from access.models import SecondFactor, User
from access.selectors.actors import actor_for_session
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
    account asks for a second step; what the session keeps of them until then."""

    user: User
    actor: Actor
    waits: Halfway | None = None


def person_sign_in(*, email: str, password: str, address: str) -> SignedIn:
    """Check the password of an account; `address` is where the attempt comes from, for the counters and the log.

    Raises TooMany (SIGN_IN_THROTTLED, the same for known and unknown accounts, right and wrong passwords),
    Unauthenticated (SIGN_IN_REFUSED), Forbidden (NO_TENANT). Every refusal is recorded: in the organisations of the
    account, or, for an address that has none, in the installation's own log under a keyed hash of what was typed,
    which may be a password in the wrong field.
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
    actor = actor_for_session(user.pk, None)
    if actor is None:
        closed = Forbidden(NO_TENANT, code="NO_TENANT")
        _record(account, address, closed)
        raise closed
    asks = SecondFactor.objects.filter(user_id=user.pk, at_sign_in=True).exists()
    return SignedIn(user, actor, halfway(user) if asks else None)


def second_step_options(*, waiting: Halfway, session_id: str) -> dict[str, Any]:
    """What the browser asks a passkey of the person at the door. Raises Unauthenticated, Conflict."""
    return passkey_request(str(_waiting(waiting).pk), session_id, "sign-in")


def second_step_take(*, waiting: Halfway, session_id: str, code: str, response: str, address: str) -> SignedIn:
    """The second step: a code of the app, a recovery code, or a passkey's answer (`response`).

    Raises Unauthenticated (SECOND_STEP_OVER), TooMany (SIGN_IN_THROTTLED), Invalid (CODE_WRONG, PASSKEY_…), Conflict
    (CHALLENGE_GONE), Forbidden (NO_TENANT). Every refusal is recorded in the account's organisations.
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
        actor = actor_for_session(user.pk, None)
        if actor is None:
            raise Forbidden(NO_TENANT, code="NO_TENANT")
    except Refusal as refusal:
        _record(user.email, address, refusal)
        raise
    return SignedIn(user, actor)


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
