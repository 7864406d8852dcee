"""The app for codes, the recovery codes, and the second step at the sign-in: set up and ended by their owner."""

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from access.core.confirm import PENDING_LIVES, typed_code
from access.models import SecondFactor, User
from access.selectors.confirmation import check_fresh, means_of
from access.services.step_demand import check_not_wanted, step_ask_if_wanted
from access.store import codes
from access.store.proving import end_step_without_means, tell_owner
from audit.core.actor import SYSTEM, Actor
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.services.record import audit_record, audit_refusals
from audit.store import clock


@dataclass(frozen=True, slots=True)
class AppShown:
    """The secret of an app that is being set up: by hand, and as the address that a QR code holds. Shown once."""

    text: str
    address: str


def app_begin(*, actor: Actor) -> AppShown:
    """Make a secret for an app; it counts once `app_finish` has seen a code of it, within a quarter of an hour.

    Raises Forbidden (ROLE_MISSING, FRESH_REQUIRED).
    """
    _owner(actor)
    check_fresh(actor, "Setting up an app for codes")
    secret = codes.new_secret()
    with transaction.atomic():
        SecondFactor.objects.update_or_create(
            user_id=actor.id,
            defaults={"pending": codes.seal(UUID(actor.id), secret), "pending_until": clock.now() + PENDING_LIVES},
        )
    email = User.objects.values_list("email", flat=True).get(id=actor.id)
    return AppShown(codes.text_of(secret), codes.address_of(secret, email))


def app_finish(*, actor: Actor, code: str) -> list[str]:
    """The app's first code: from now on its codes are good. New recovery codes, to be shown once; older ones are void.

    Raises Forbidden, Conflict (APP_NOT_BEGUN), Invalid (CODE_WRONG), which leaves everything as it was.
    """
    with audit_refusals(actor=actor, action="factor.app_added", object_type="account", object_id=actor.id):
        _owner(actor)
        check_fresh(actor, "Setting up an app for codes")
        row = SecondFactor.objects.select_for_update().filter(user_id=actor.id).first()
        now = clock.now()
        if row is None or row.pending is None or row.pending_until is None or row.pending_until <= now:
            raise Conflict("The code that was shown is too old. Begin again.", code="APP_NOT_BEGUN")
        step = codes.matching_step(codes.unseal(UUID(actor.id), row.pending), typed_code(code), now, 0)
        if step is None:
            raise Invalid(
                "This is not the app's code of now. Is the clock of the device right? Type the next one.",
                code="CODE_WRONG",
                missing=["code"],
            )
        row.ciphertext, row.since, row.last_step = row.pending, now, step
        row.pending = row.pending_until = None
        row.save()
        made = codes.new_recovery_codes(UUID(actor.id))
        audit_record(actor=actor, action="factor.app_added", object_type="account", object_id=actor.id)
        step_ask_if_wanted(actor=actor)
    tell_owner(actor.id, "An app for codes was added to your account.")
    return made


def app_end(*, actor: Actor) -> None:
    """The app's codes are good no more. Raises Forbidden (ROLE_MISSING, FRESH_REQUIRED), NotFound."""
    with audit_refusals(actor=actor, action="factor.app_removed", object_type="account", object_id=actor.id):
        _owner(actor)
        check_fresh(actor, "Removing the app for codes")
        row = SecondFactor.objects.select_for_update().filter(user_id=actor.id).exclude(ciphertext=None)
        if row.update(ciphertext=None, since=None) != 1:
            raise NotFound("There is no app for codes in your account.")
        ended = end_step_without_means(actor.id)
        audit_record(
            actor=actor, action="factor.app_removed", object_type="account", object_id=actor.id,
            detail={"second_step_ended": ended},
        )  # fmt: skip
    tell_owner(actor.id, "The app for codes was removed from your account.")


def recovery_renew(*, actor: Actor) -> list[str]:
    """New recovery codes, to be shown once; the ones before are void. Raises Forbidden, Conflict (NO_SECOND)."""
    with audit_refusals(actor=actor, action="factor.codes_made", object_type="account", object_id=actor.id):
        _owner(actor)
        check_fresh(actor, "Making recovery codes")
        _second(actor)
        made = codes.new_recovery_codes(UUID(actor.id))
        audit_record(actor=actor, action="factor.codes_made", object_type="account", object_id=actor.id)
    tell_owner(actor.id, "New recovery codes were made for your account; older ones are void.")
    return made


def second_step_set(*, actor: Actor, on: bool) -> None:
    """Whether signing in asks for a code or a passkey beside the password.

    Raises Forbidden (ROLE_MISSING, FRESH_REQUIRED), Conflict (NO_SECOND) where there is nothing to ask for, and
    (SECOND_STEP_WANTED) where the organisation wants it to stay on.
    """
    with audit_refusals(actor=actor, action="factor.step_set", object_type="account", object_id=actor.id):
        _owner(actor)
        check_fresh(actor, "Changing how you sign in")
        if on:
            _second(actor)
        else:
            check_not_wanted(actor=actor)
        SecondFactor.objects.update_or_create(user_id=actor.id, defaults={"at_sign_in": on})
        audit_record(
            actor=actor, action="factor.step_set", object_type="account", object_id=actor.id, detail={"on": on}
        )
    tell_owner(actor.id, f"The second step when you sign in was turned {'on' if on else 'off'}.")


def second_step_end(*, email: str) -> str:
    """For the operator at the command line, where a person has lost every device and code: their name. The second step
    ends; passkeys and the app stay. Recorded in each of their organisations. Raises NotFound."""
    with transaction.atomic():
        user = User.objects.filter(email=email.strip().lower()).first()
        if user is None or SecondFactor.objects.filter(user=user, at_sign_in=True).update(at_sign_in=False) != 1:
            raise NotFound("No account with this address is asked for a second step.")
        for tenant in user.memberships.order_by("created_at", "id").values_list("tenant_id", flat=True):
            audit_record(
                actor=SYSTEM("operator", str(tenant)), action="factor.step_set", object_type="account",
                object_id=user.id, detail={"on": False, "by": "an operator at the command line"},
            )  # fmt: skip
    tell_owner(str(user.id), "The second step when you sign in was turned off by an operator.")
    return user.name


def _second(actor: Actor) -> None:
    if not means_of(actor.id).second:
        raise Conflict("Set up a passkey or an app for codes first.", code="NO_SECOND")


def _owner(actor: Actor) -> None:
    if actor.kind != "person" or actor.via != "session":
        raise Forbidden("Only a signed-in person has an account here.", code="ROLE_MISSING")
