"""Showing anew that it is they: by password, by a code, by a passkey. Good for five minutes in one browser session.

Guesses are counted as at the sign-in, before anything is compared (docs/decisions/0011-sign-in.md).
"""

from collections.abc import Callable
from typing import Any

from access.core.throttle import CODE_ACCOUNT, SIGN_IN_ACCOUNT, Limit
from access.models import Confirmation, User
from access.store.proving import attempt_count, attempt_was_right, code_take, passkey_request, passkey_take
from audit.core.actor import Actor
from audit.core.refusal import Forbidden, Invalid
from audit.services.record import audit_record, audit_refusals
from audit.store import clock

CONFIRMED = "person.confirmed"


def confirm_password(*, actor: Actor, password: str, address: str) -> None:
    """Confirm by the password. Raises Forbidden, TooMany (SIGN_IN_THROTTLED), Invalid (PASSWORD_WRONG)."""

    def right(user: User) -> None:
        if "\0" in password or not user.check_password(password):
            raise Invalid("The password is wrong.", code="PASSWORD_WRONG", missing=["password"])

    _confirm(actor, "password", address, right, SIGN_IN_ACCOUNT)


def confirm_code(*, actor: Actor, code: str, address: str) -> None:
    """Confirm by the app's code of now, or by a recovery code. Raises Forbidden, TooMany, Invalid (CODE_WRONG)."""
    _confirm(actor, "code", address, lambda user: code_take(user.id, code), CODE_ACCOUNT)


def confirm_options(*, actor: Actor) -> dict[str, Any]:
    """What the browser asks one of the actor's passkeys. Raises Forbidden, Conflict (PASSKEYS_UNAVAILABLE,
    PASSKEY_NONE)."""
    _in_session(actor)
    return passkey_request(actor.id, actor.session_id, "confirm")


def confirm_passkey(*, actor: Actor, response: str, address: str) -> None:
    """Confirm by a passkey's answer to `confirm_options`. Raises Forbidden, Conflict (CHALLENGE_GONE), Invalid."""
    _confirm(actor, "passkey", address, lambda user: passkey_take(user.id, actor.session_id, "confirm", response), None)


def _confirm(actor: Actor, by: str, address: str, right: Callable[[User], None], limit: Limit | None) -> None:
    _in_session(actor)
    email = User.objects.values_list("email", flat=True).get(id=actor.id)
    full = attempt_count(limit, email, address) if limit else None
    detail = {"address": address, "by": by}
    with audit_refusals(actor=actor, action=CONFIRMED, object_type="account", object_id=actor.id, detail=detail):
        if full is not None:
            raise full
        right(User.objects.get(id=actor.id))
        Confirmation.objects.update_or_create(
            user_id=actor.id, session_id=actor.session_id, defaults={"at": clock.now(), "by": by, "tenant": None}
        )
        audit_record(actor=actor, action=CONFIRMED, object_type="account", object_id=actor.id, detail=detail)
    if limit is not None:
        attempt_was_right(limit, email, address)


def _in_session(actor: Actor) -> None:
    if actor.kind != "person" or actor.via != "session" or not actor.session_id:
        raise Forbidden("Only a person in their own browser session confirms that it is they.", code="PERSON_REQUIRED")
