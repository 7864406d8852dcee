"""Passkeys of a person: added, renamed, removed by their owner, who has just confirmed that it is they (A9)."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction

from access.core.confirm import MAX_PASSKEYS
from access.core.names import name_of
from access.models import Passkey, User
from access.selectors.assertion import fingerprint
from access.selectors.confirmation import check_fresh
from access.services.step_demand import step_ask_if_wanted
from access.store import challenges
from access.store.proving import end_step_without_means, tell_owner
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Forbidden, NotFound
from audit.services.record import audit_record, audit_refusals
from audit.store import clock


def passkey_options(*, actor: Actor) -> dict[str, Any]:
    """What the browser asks a device for a new passkey, as JSON.

    Raises Forbidden (ROLE_MISSING, FRESH_REQUIRED), Conflict (PASSKEYS_UNAVAILABLE, PASSKEY_TOO_MANY).
    """
    _owner(actor)
    check_fresh(actor, "Adding a passkey")
    known = challenges.known_ids(actor.id)
    _room(len(known))
    challenges.usable_party()
    user = User.objects.get(id=actor.id)
    with transaction.atomic():
        return challenges.creation_options(user, challenges.make(actor.id, actor.session_id, "add"), known)


def passkey_add(*, actor: Actor, response: str, name: str) -> UUID:
    """Keep the passkey that a device made; its owner is told by mail. Its id.

    Raises Forbidden (ROLE_MISSING, FRESH_REQUIRED), Conflict (CHALLENGE_GONE, PASSKEY_KNOWN, PASSKEY_TOO_MANY,
    PASSKEYS_UNAVAILABLE), Invalid (PASSKEY_REFUSED, NAME_INVALID).
    """
    with audit_refusals(actor=actor, action="passkey.added", object_type="account", object_id=actor.id):
        _owner(actor)
        check_fresh(actor, "Adding a passkey")
        User.objects.select_for_update().get(id=actor.id)
        _room(len(challenges.known_ids(actor.id)))
        called = name_of(name or "Passkey")[:100]
        made = challenges.read_new(response, actor.id, actor.session_id)
        row = Passkey(
            id=uuid4(), user_id=actor.id, credential_id=made.credential_id, public_key=made.public_key,
            sign_count=made.sign_count, name=called, created_at=clock.now(),
        )  # fmt: skip
        try:
            with transaction.atomic():
                row.save(force_insert=True)
        except IntegrityError:
            raise Conflict("This passkey is known here already. Use another one.", code="PASSKEY_KNOWN") from None
        audit_record(
            actor=actor, action="passkey.added", object_type="account", object_id=actor.id,
            # By the fingerprint a signature is told years later, whoever edits the key's row meanwhile.
            detail={"passkey": row.id, "name": called, "fingerprint": fingerprint(made.public_key)},
        )  # fmt: skip
        step_ask_if_wanted(actor=actor)
    tell_owner(actor.id, f"A passkey was added to your account: {called}.")
    return row.id


def passkey_rename(*, actor: Actor, passkey_id: str, name: str) -> None:
    """Call one of the actor's passkeys by another name. Raises Forbidden, NotFound, Invalid (NAME_INVALID)."""
    with audit_refusals(actor=actor, action="passkey.renamed", object_type="account", object_id=actor.id):
        _owner(actor)
        check_fresh(actor, "Renaming a passkey")
        row = _own(actor, passkey_id)
        before, row.name = row.name, name_of(name)[:100]
        row.save(update_fields=["name"])
        audit_record(
            actor=actor, action="passkey.renamed", object_type="account", object_id=actor.id,
            detail={"passkey": row.id, "name": row.name, "before": before},
        )  # fmt: skip


def passkey_remove(*, actor: Actor, passkey_id: str) -> None:
    """Take one of the actor's passkeys away, for good; its owner is told by mail. What it signed and was not executed
    yet is asked anew. With the last means but the password, the second step at the sign-in ends.

    Raises Forbidden (ROLE_MISSING, FRESH_REQUIRED), NotFound.
    """
    with audit_refusals(actor=actor, action="passkey.removed", object_type="account", object_id=actor.id):
        _owner(actor)
        check_fresh(actor, "Removing a passkey")
        row = _own(actor, passkey_id)
        row.removed_at = clock.now()
        row.save(update_fields=["removed_at"])
        ended = end_step_without_means(actor.id)
        audit_record(
            actor=actor, action="passkey.removed", object_type="account", object_id=actor.id,
            detail={"passkey": row.id, "name": row.name, "second_step_ended": ended},
        )  # fmt: skip
    tell_owner(actor.id, f"A passkey was removed from your account: {row.name}.")


def _own(actor: Actor, passkey_id: str) -> Passkey:
    try:
        return Passkey.objects.select_for_update().get(id=UUID(str(passkey_id)), user_id=actor.id, removed_at=None)
    except (ValueError, Passkey.DoesNotExist):
        raise NotFound from None


def _room(count: int) -> None:
    if count >= MAX_PASSKEYS:
        raise Conflict(f"You have {MAX_PASSKEYS} passkeys. Remove one first.", code="PASSKEY_TOO_MANY")


def _owner(actor: Actor) -> None:
    if actor.kind != "person" or actor.via != "session":
        raise Forbidden("Only a signed-in person has passkeys.", code="ROLE_MISSING")


@dataclass(frozen=True, slots=True)
class Signed:
    """What a passkey of the actor signed, in the bytes that verify it later, and for whom."""

    rp_id: str
    origin: str
    credential_id: bytes
    public_key: bytes
    authenticator_data: bytes
    client_data: bytes
    signature: bytes
    fingerprint: str


def passkey_ask(*, actor: Actor, challenge: bytes) -> dict[str, Any]:
    """What the browser asks a passkey of the actor about a challenge of the caller's own.

    Raises Forbidden (ROLE_MISSING), Conflict (PASSKEYS_UNAVAILABLE, PASSKEY_NONE).
    """
    _owner(actor)
    known = challenges.known_ids(actor.id)
    if not known:
        raise Conflict(
            "This has to be signed by a passkey, and you have none here. Add one under Your account, Passkeys and "
            "codes; what you typed is kept.",
            code="PASSKEY_NONE",
        )
    return challenges.request_options(challenge, known)


def passkey_verify(*, actor: Actor, response: str, challenge: bytes) -> Signed:
    """The signature in a browser's answer, verified against the actor's own passkeys. In the caller's transaction.

    Raises Forbidden, Invalid (PASSKEY_REFUSED, PASSKEY_UNKNOWN, PASSKEY_COPIED), Conflict (PASSKEYS_UNAVAILABLE).
    """
    _owner(actor)
    given = challenges.read_assertion(response)
    key = challenges.verify_by(actor.id, given, challenge)
    wanted = challenges.usable_party()
    return Signed(
        rp_id=wanted.id,
        origin=wanted.origin,
        credential_id=given.credential_id,
        public_key=bytes(key.public_key),
        authenticator_data=given.authenticator_data,
        client_data=given.client_data,
        signature=given.signature,
        fingerprint=fingerprint(bytes(key.public_key)),
    )
