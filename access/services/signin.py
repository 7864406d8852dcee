"""Coming in with a password: throttled before the password is looked at, recorded whichever way it ends.

Counters live in PostgreSQL, so signing in and its throttle work while Valkey is down (docs/decisions/0011-sign-in.md).
"""

from dataclasses import dataclass

from django.contrib.auth import authenticate

from access.core.address import throttled_as
from access.core.throttle import SIGN_IN_ACCOUNT, SIGN_IN_ADDRESS, too_many
from access.models import User
from access.selectors.actors import actor_for_session
from access.store import throttle
from access.store.refused import account_refused
from audit.core.actor import Actor
from audit.core.refusal import Forbidden, Refusal, Unauthenticated

# One sentence for an unknown address, a wrong password and a closed account: it tells a guesser nothing.
WRONG = "This e-mail address and password do not open an account. Check both and try again."
NO_TENANT = "Your account belongs to no organisation any more. Ask an admin of yours to add you again."


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who came in. `user` is for Django's login, which makes the session."""

    user: User
    actor: Actor


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
    return SignedIn(user, actor)


def _record(account: str, address: str, refusal: Refusal) -> None:
    user = User.objects.filter(email=account).first() if account else None
    account_refused(user, account, refusal, action="person.signed_in", address=address)
