"""Whether somebody showed anew that it is they, and by what they can (requirement A9's fresh re-authentication)."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from access.core.confirm import fresh_until
from access.models import Confirmation, Passkey, RecoveryCode, SecondFactor
from access.selectors.assertion import fingerprint
from audit.core.actor import Actor
from audit.core.refusal import Forbidden
from audit.store import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class PasskeyRow:
    """One of a person's passkeys. `fingerprint` is the SHA-256 of its public key, by which a signature is told."""

    id: UUID
    name: str
    created_at: datetime
    used_at: datetime | None
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """By what a person can show that it is they, beside their password. `codes_left`: unused recovery codes."""

    passkeys: tuple[PasskeyRow, ...]
    app_since: datetime | None
    codes_left: int
    at_sign_in: bool

    @property
    def second(self) -> bool:
        """Whether there is anything but the password."""
        return bool(self.passkeys) or self.app_since is not None


def means_of(user_id: str | UUID) -> Means:
    """What this person has set up."""
    rows = Passkey.objects.filter(user_id=user_id, removed_at=None).order_by("created_at", "id")
    factor = SecondFactor.objects.filter(user_id=user_id).first()
    return Means(
        passkeys=tuple(
            PasskeyRow(
                id=row.id,
                name=row.name,
                created_at=row.created_at,
                used_at=row.used_at,
                fingerprint=fingerprint(bytes(row.public_key)),
            )
            for row in rows
        ),
        app_since=factor.since if factor else None,
        codes_left=RecoveryCode.objects.filter(user_id=user_id, used_at=None, void_at=None).count(),
        at_sign_in=bool(factor and factor.at_sign_in),
    )


def fresh_end(actor: Actor, *, by_provider: bool = False) -> datetime | None:
    """Until when the actor's last confirmation in this very session holds; None if it does not. By the database's
    clock. A token has none, and neither has another session of the same person.

    `by_provider`: one by an organisation's provider counts too, in that organisation. For what concerns the account,
    which may belong to several, it never does.
    """
    if actor.kind != "person" or actor.via != "session" or not actor.session_id:
        return None
    found = Confirmation.objects.filter(user_id=actor.id, session_id=actor.session_id).first()
    if found is None or (found.tenant_id is not None and (not by_provider or str(found.tenant_id) != actor.tenant_id)):
        return None
    return fresh_until(found.at, clock.now())


def check_fresh(actor: Actor, what: str, *, by_provider: bool = False) -> None:
    """Raises Forbidden (FRESH_REQUIRED) unless the actor showed within five minutes that it is they; `by_provider` as
    in `fresh_end`."""
    if fresh_end(actor, by_provider=by_provider) is None:
        raise Forbidden(
            f"{what} needs that you confirm it is you: by your password, a code or a passkey, within the last five "
            "minutes and in this browser. Confirm it, then do it again; nothing was changed.",
            code="FRESH_REQUIRED",
            missing=["confirmation"],
        )


def is_passkey_of(user_id: str | UUID, credential_id: bytes, public_key: bytes) -> bool:
    """Whether this person has this passkey now: not removed, and with exactly this key."""
    row = Passkey.objects.filter(user_id=user_id, credential_id=credential_id, removed_at=None).first()
    return row is not None and bytes(row.public_key) == public_key
