"""Judging what somebody shows: a passkey's answer or a typed code, with the counters around guesses."""

from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction

from access.core.address import throttled_as
from access.core.confirm import SECOND_STEP_LIVES, typed_code
from access.core.throttle import SIGN_IN_ADDRESS, Limit, too_many
from access.models import SecondFactor, User
from access.selectors.confirmation import means_of
from access.store import challenges, codes, mailer, throttle
from audit.core.refusal import Conflict, Invalid, TooMany
from audit.store import clock

WRONG_CODE = "This code is not right, or it was used before. Wait for the next one and type it."


@dataclass(frozen=True, slots=True)
class Halfway:
    """Somebody whose password was right, or whom a provider named (`link_id`). `until` by the database's clock; `mark`
    changes with their password. `stepped`: they took their second step."""

    user_id: str
    mark: str
    until: str
    link_id: str = ""
    stepped: bool = False


def halfway(user: User, link_id: str = "") -> Halfway:
    """What the session keeps of a right password, or of a provider's word, until the second step is taken."""
    until = clock.now() + SECOND_STEP_LIVES
    return Halfway(str(user.pk), user.get_session_auth_hash(), until.isoformat(), link_id)


def passkey_request(user_id: str, session_id: str, purpose: str) -> dict[str, Any]:
    """The options of one request to sign. Raises Conflict (PASSKEYS_UNAVAILABLE, PASSKEY_NONE)."""
    known = challenges.known_ids(user_id)
    if not known:
        raise Conflict("You have no passkey here. Add one on the page of your account first.", code="PASSKEY_NONE")
    challenges.usable_party()
    with transaction.atomic():
        return challenges.request_options(challenges.make(user_id, session_id, purpose), known)


def passkey_take(user_id: UUID, session_id: str, purpose: str, response: str) -> None:
    """Judge a passkey's answer. In the caller's transaction. Raises Conflict (CHALLENGE_GONE), Invalid."""
    given = challenges.read_assertion(response)
    challenge = challenges.take(user_id, session_id, purpose, given.client_data)
    challenges.verify_by(user_id, given, challenge)


def code_take(user_id: UUID, code: str) -> None:
    """Judge a typed code and use it up. In the caller's transaction. Raises Invalid (CODE_WRONG)."""
    typed = typed_code(code)
    if not (codes.take_app_code(user_id, typed) or codes.take_recovery_code(user_id, typed)):
        raise Invalid(WRONG_CODE, code="CODE_WRONG", missing=["code"])


def attempt_count(limit: Limit, email: str, address: str) -> TooMany | None:
    """Count an attempt of this account from this address before it is looked at; the refusal where one is full.
    Outside of any transaction that a refusal rolls back."""
    counted = ((SIGN_IN_ADDRESS, throttled_as(address)), (limit, email))
    for number, (kind, key) in enumerate(counted):
        taken = throttle.take(kind, key)
        if taken.wait:
            for earlier, earlier_key in counted[:number]:
                throttle.give_back(earlier, earlier_key)
            return too_many(kind, taken.wait)
    return None


def attempt_was_right(limit: Limit, email: str, address: str) -> None:
    """The attempt that was counted was right: the account's counter starts anew."""
    throttle.give_back(SIGN_IN_ADDRESS, throttled_as(address))
    throttle.clear(limit, email)


def end_step_without_means(user_id: str) -> bool:
    """Without an app and a passkey nobody can take a second step: then none is asked for. In the caller's transaction;
    True if one was asked for until now."""
    if means_of(user_id).second:
        return False
    return SecondFactor.objects.filter(user_id=user_id, at_sign_in=True).update(at_sign_in=False) == 1


def tell_owner(user_id: str, what: str) -> None:
    """A mail about a change of how they show that it is they, where mail is set up: so that a stranger's deed shows."""
    if mailer.configured():
        user = User.objects.get(id=user_id)
        subject = "Your Clearance account was changed"
        mailer.later(partial(mailer.send, to=user.email, subject=subject, template="means", name=user.name, what=what))
