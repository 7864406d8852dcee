"""Passwords of people: changed by their owner, set by a single-use link, never known to anybody else."""

from dataclasses import dataclass, replace
from functools import partial

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from access.core.address import throttled_as
from access.core.throttle import RESET_ACCOUNT, RESET_ADDRESS, SIGN_IN_ACCOUNT, too_many, wait_words
from access.core.words import nobody
from access.models import Membership, User
from access.store import browsers, links, mailer, throttle
from access.store.refused import account_refused
from audit.core.actor import Actor
from audit.core.refusal import Forbidden, Invalid, NotFound, TooMany, Unauthenticated
from audit.services.record import audit_record, audit_refusals
from audit.store import clock

LINK_GONE = (
    "This link does not work any more: it was used, it ran out, or a newer one was sent. Ask for a new one below; "
    "for an invitation, ask the admin who invited you."
)


@dataclass(frozen=True, slots=True)
class LinkRow:
    """An open link: whose password it sets."""

    purpose: str
    email: str
    name: str
    organisations: tuple[str, ...]


def password_change(*, actor: Actor, current: str, new: str, session_key: str, address: str) -> User:
    """Set a new password; every other session of the person and every open link end. Returns the account, so that the
    caller can keep this session signed in.

    Raises Forbidden, TooMany (SIGN_IN_THROTTLED: wrong passwords count as at the sign-in), Invalid (PASSWORD_WRONG,
    PASSWORD_WEAK, PASSWORD_SAME).
    """
    if actor.kind != "person" or actor.via != "session":
        raise Forbidden("Only a signed-in person has a password.", code="ROLE_MISSING")
    email = User.objects.values_list("email", flat=True).get(id=actor.id)
    taken = throttle.take(SIGN_IN_ACCOUNT, email)
    try:
        with audit_refusals(
            actor=actor,
            action="password.changed",
            object_type="account",
            object_id=actor.id,
            detail={"address": address},
        ):
            if taken.wait:
                raise too_many(SIGN_IN_ACCOUNT, taken.wait)
            user = User.objects.select_for_update().get(id=actor.id)
            if "\0" in current or not user.check_password(current):
                raise Invalid(
                    "The current password is wrong. Nothing was changed.", code="PASSWORD_WRONG", missing=["current"]
                )
            if current == new:
                raise Invalid("This is the password you have already. Choose another one.", code="PASSWORD_SAME")
            _set_password(user, new)
            ended = browsers.end(browsers.of_person(user.id, but=session_key), "the password was changed")
            audit_record(
                actor=actor, action="password.changed", object_type="account", object_id=actor.id,
                detail={"address": address, "sessions_ended": ended},
            )  # fmt: skip
    except Invalid as refusal:
        if refusal.code != "PASSWORD_WRONG":
            throttle.clear(SIGN_IN_ACCOUNT, email)  # the current one was right
        raise
    throttle.clear(SIGN_IN_ACCOUNT, email)
    return user


def password_reset_ask(*, email: str, address: str) -> None:
    """Send a link to the account with this address, if there is one. The answer is the same, and as quick, either way:
    the account is looked for and the mail sent by the mail thread after it.

    Raises TooMany (RESET_THROTTLED), judged on what was typed alone.
    """
    account = email.strip().lower()[:254].replace("\0", "")
    for limit, key in ((RESET_ADDRESS, throttled_as(address)), (RESET_ACCOUNT, account)):
        taken = throttle.take(limit, key)
        if taken.wait:
            refusal = TooMany(
                f"Too many mails were asked for. Wait {wait_words(taken.wait)} and try again.",
                code="RESET_THROTTLED",
                retry_after=taken.wait,
            )
            if taken.tell:
                account_refused(
                    User.objects.filter(email=account).first(), account, refusal, action="password.reset_asked",
                    address=address,
                )  # fmt: skip
            raise refusal
    mailer.later(partial(_reset_send, account, address))


def link_look(*, token: str) -> LinkRow | None:
    """Whose password an open link sets; None for any other. Reading changes nothing (S11: scanners follow links)."""
    link = links.find(token)
    if link is None or link.used_at or link.void_at or link.expires_at <= clock.now():
        return None
    found = Membership.objects.filter(user=link.user, is_active=True).order_by("tenant__name")
    names = tuple(found.values_list("tenant__name", flat=True))
    return LinkRow(link.purpose, link.user.email, link.user.name, names)


def password_set(*, token: str, new: str, address: str) -> str:
    """Use a link to set the password; the account's e-mail address. Every session of the person ends.

    Raises NotFound (LINK_GONE) for a link that is unknown, used, void or late; Invalid (PASSWORD_WEAK), which leaves
    the link as it was.
    """
    with transaction.atomic():
        link = links.find(token)
        if link is None or not links.use(link):
            raise NotFound(LINK_GONE, code="LINK_GONE")
        # Locked by the line above; only now is the clock right (data rule 11).
        if link.expires_at <= clock.now():
            raise NotFound(LINK_GONE, code="LINK_GONE")
        user = User.objects.select_for_update().get(id=link.user_id)
        _set_password(user, new)
        ended = browsers.end(browsers.of_person(user.id), "the password was set anew")
        action = "invitation.accepted" if link.purpose == "invitation" else "password.reset"
        _record_everywhere(user, action, {"address": address, "sessions_ended": ended})
    throttle.clear(SIGN_IN_ACCOUNT, user.email)
    return user.email


def _set_password(user: User, new: str) -> None:
    """Set and save, in the caller's transaction; open links of the person end. Raises Invalid (PASSWORD_WEAK)."""
    if "\0" in new or len(new) > 1000:
        raise Invalid("A password has at most 1,000 characters and no control characters.", code="PASSWORD_WEAK")
    try:
        validate_password(new, user)
    except ValidationError as error:
        raise Invalid(" ".join(error.messages), code="PASSWORD_WEAK") from None
    user.set_password(new)
    user.save(update_fields=["password"])
    links.void_all(user.id)


def _reset_send(account: str, address: str) -> None:
    """In the mail thread. An account that belongs to no organisation gets no link: it could not sign in anyway."""
    user = User.objects.filter(email=account, is_active=True, memberships__is_active=True).distinct().first()
    if user is None:
        account_refused(
            User.objects.filter(email=account).first(), account,
            Unauthenticated("No account with this address can sign in.", code="NO_ACCOUNT"),
            action="password.reset_asked", address=address,
        )  # fmt: skip
        return
    with transaction.atomic():
        token = links.add(user.id, "reset", clock.now())
        _record_everywhere(user, "password.reset_asked", {"address": address}, shown=False)
    mailer.send(
        to=user.email, subject="Set a new password for Clearance", template="reset", name=user.name, token=token
    )


def _record_everywhere(user: User, action: str, detail: dict[str, object], *, shown: bool = True) -> None:
    """An entry in each organisation of a person who is not signed in, in the caller's transaction. `shown`: it was
    they, by a link that only they were given; else anybody may have asked."""
    tenants = Membership.objects.filter(user=user, is_active=True).values_list("tenant_id", flat=True)
    for tenant in tenants.order_by("created_at", "id"):
        actor = replace(nobody(str(tenant)), id=str(user.id), name=user.name) if shown else nobody(str(tenant))
        audit_record(actor=actor, action=action, object_type="account", object_id=user.id, detail=detail)
