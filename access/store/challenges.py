"""What passkeys are asked to sign for access itself: each good once, for a short time, in one session."""

import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from fido2 import cbor
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import (
    AuthenticatorData,
    CollectedClientData,
    PublicKeyCredentialDescriptor,
    PublicKeyCredentialType,
    PublicKeyCredentialUserEntity,
    RegistrationResponse,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from access.core.confirm import CHALLENGE_LIVES
from access.models import Passkey, PasskeyChallenge, User
from access.selectors.assertion import (
    Assertion,
    Party,
    party,
    refuse_framed,
    refused_because,
    server_for,
    spki,
    verify_assertion,
)
from audit.core.jsondoor import open_json_object
from audit.core.refusal import Conflict, Invalid, Refusal
from audit.store import clock
from audit.store.pruning import remove_oldest

_ANSWER_LIMIT = 32_768
_SWEPT = 20


class NewKey(NamedTuple):
    """A passkey that a device has just made."""

    credential_id: bytes
    public_key: bytes
    sign_count: int


def usable_party() -> Party:
    """Raises Conflict (PASSKEYS_UNAVAILABLE) where no browser would take a passkey."""
    found = party()
    if found.problem:
        raise Conflict(found.problem, code="PASSKEYS_UNAVAILABLE")
    return found


def make(user_id: str | UUID, session_id: str, purpose: str) -> bytes:
    """A challenge of 256 random bits; old ones of anybody go with it. In the caller's transaction."""
    challenge = secrets.token_bytes(32)
    PasskeyChallenge.objects.create(
        user_id=user_id, session_id=session_id, purpose=purpose, challenge=challenge,
        expires_at=clock.now() + CHALLENGE_LIVES,
    )  # fmt: skip
    remove_oldest("access_passkeychallenge", by="expires_at", limit=_SWEPT, where="expires_at < clearance_now()")
    return challenge


def take(user_id: str | UUID, session_id: str, purpose: str, client_data: bytes) -> bytes:
    """The challenge that `client_data` answers, used up. Raises Conflict (CHALLENGE_GONE) for one that was not given to
    this person in this session for this, was used, or is late."""
    try:
        challenge = CollectedClientData(client_data).challenge
    except Exception as error:
        raise refused_because(error) from None
    found = PasskeyChallenge.objects.filter(
        user_id=user_id, session_id=session_id, purpose=purpose, challenge=challenge, expires_at__gt=clock.now()
    )
    if found.delete()[0] != 1:
        raise Conflict(
            "This was answered too late, or answered before. Nothing was recorded; try again.", code="CHALLENGE_GONE"
        )
    return challenge


def creation_options(user: User, challenge: bytes, known: Sequence[bytes]) -> dict[str, Any]:
    """What `navigator.credentials.create` is asked, as JSON."""
    options, _ = server_for(usable_party()).register_begin(
        PublicKeyCredentialUserEntity(id=user.id.bytes, name=user.email, display_name=user.name),
        [_descriptor(one) for one in known],
        resident_key_requirement=ResidentKeyRequirement.PREFERRED,
        user_verification=UserVerificationRequirement.REQUIRED,
        challenge=challenge,
    )
    return dict(options)


def request_options(challenge: bytes, known: Sequence[bytes]) -> dict[str, Any]:
    """What `navigator.credentials.get` is asked, as JSON."""
    options, _ = server_for(usable_party()).authenticate_begin(
        [_descriptor(one) for one in known],
        user_verification=UserVerificationRequirement.REQUIRED,
        challenge=challenge,
    )
    return dict(options)


def read_new(raw: str, user_id: str | UUID, session_id: str) -> NewKey:
    """The passkey in the browser's answer, verified. Raises Invalid (PASSKEY_REFUSED), Conflict (CHALLENGE_GONE)."""
    answer = _opened(raw)
    wanted = usable_party()
    try:
        given = RegistrationResponse.from_dict(answer)
        client_data = bytes(given.response.client_data)
    except Exception as error:
        raise refused_because(error) from None
    challenge = take(user_id, session_id, "add", client_data)
    try:
        refuse_framed(given.response.client_data)
        state = {"challenge": websafe_encode(challenge), "user_verification": UserVerificationRequirement.REQUIRED}
        made: AuthenticatorData = server_for(wanted).register_complete(state, given)
        if made.credential_data is None:
            raise ValueError("It holds no key.")
        public_key = cbor.encode(dict(made.credential_data.public_key))
        spki(public_key)
    except Refusal:
        raise
    except Exception as error:
        raise refused_because(error) from None
    return NewKey(bytes(made.credential_data.credential_id), public_key, int(made.counter))


def read_assertion(raw: str) -> Assertion:
    """The byte strings in the browser's answer; nothing is verified yet. Raises Invalid (PASSKEY_REFUSED)."""
    answer = _opened(raw)
    try:
        inside = answer["response"]
        return Assertion(
            credential_id=websafe_decode(answer["rawId"]),
            authenticator_data=websafe_decode(inside["authenticatorData"]),
            client_data=websafe_decode(inside["clientDataJSON"]),
            signature=websafe_decode(inside["signature"]),
        )
    except Exception as error:
        raise refused_because(error) from None


def verify_by(user_id: str | UUID, given: Assertion, challenge: bytes) -> Passkey:
    """The passkey of this person that signed the challenge; its counter and last use are noted.

    Raises Invalid: PASSKEY_UNKNOWN, PASSKEY_REFUSED, and PASSKEY_COPIED where its counter went back, which two devices
    with one key do. In the caller's transaction.
    """
    key = (
        Passkey.objects.select_for_update()
        .filter(user_id=user_id, credential_id=given.credential_id, removed_at=None)
        .first()
    )
    if key is None:
        raise Invalid("This passkey is not one of yours here. Use another one.", code="PASSKEY_UNKNOWN")
    count = verify_assertion(given, challenge=challenge, public_key=bytes(key.public_key), wanted=usable_party())
    if (count or key.sign_count) and count <= key.sign_count:
        raise Invalid(
            "This passkey counted backwards, as a copy of it would. It was not taken: remove it and add a new one.",
            code="PASSKEY_COPIED",
        )
    key.sign_count, key.used_at = count, clock.now()
    key.save(update_fields=["sign_count", "used_at"])
    return key


def known_ids(user_id: str | UUID) -> list[bytes]:
    """The credential ids of this person's passkeys."""
    rows = Passkey.objects.filter(user_id=user_id, removed_at=None).order_by("created_at", "id")
    return [bytes(one) for one in rows.values_list("credential_id", flat=True)]


def _descriptor(credential_id: bytes) -> PublicKeyCredentialDescriptor:
    return PublicKeyCredentialDescriptor(type=PublicKeyCredentialType.PUBLIC_KEY, id=credential_id)


def _opened(raw: str) -> dict[str, Any]:
    try:
        return open_json_object(raw.encode("utf-8", "replace"), limit=_ANSWER_LIMIT)
    except Refusal as error:
        raise refused_because(error) from None
