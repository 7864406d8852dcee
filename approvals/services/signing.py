"""Asking a passkey for its signature under an approval, and judging it with the decision (A9, issue point 4)."""

import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction

from access.selectors.confirmation import check_fresh
from access.services.passkey import Signed, passkey_ask, passkey_verify
from approvals.core.signing import FORMAT, challenge_of
from approvals.core.terms import Terms
from approvals.models import Decision, Proposal, Signature, SigningNonce
from approvals.selectors.deciders import terms_of
from approvals.store.click import check_eligible, check_open, check_person, check_same_thing, locked_for
from approvals.store.rows import votes_of
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Forbidden
from audit.store import clock

NONCE_LIVES = timedelta(minutes=3)
"""How long somebody has to look for their key and touch it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the page sent with an approval: the number that the server gave, and the browser's answer as text."""

    nonce: str
    response: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A signature that was verified and whose number is used up; kept with the decision by `keep`."""

    nonce: str
    revision: int
    by: Signed

    def keep(self, decision: Decision) -> None:
        """Write it beside its decision, in the same transaction."""
        Signature.objects.create(
            decision=decision, format=FORMAT, revision=self.revision, nonce=self.nonce, rp_id=self.by.rp_id,
            origin=self.by.origin, credential_id=self.by.credential_id, public_key=self.by.public_key,
            authenticator_data=self.by.authenticator_data, client_data=self.by.client_data, signature=self.by.signature,
        )  # fmt: skip


def signing_begin(*, actor: Actor, proposal_id: UUID, digest: str, round: int) -> dict[str, Any]:
    """What the browser asks a passkey about approving the call with this digest in this round, and the `nonce` that
    comes back with the answer. Nothing is decided by it.

    Raises what a decision would (`decision_record`), FRESH_REQUIRED, Conflict (SIGNATURE_UNUSED, PASSKEY_NONE).
    """
    with transaction.atomic():
        check_person(actor, "Signing")
        proposal = locked_for(actor, proposal_id)
        now = clock.now()
        check_open(proposal, votes_of(proposal), now)
        check_eligible(actor, proposal)
        check_same_thing(proposal, digest, round)
        if terms_of(proposal).authentication != "signed":
            raise Conflict("No signature is asked for here. Approve it as it is.", code="SIGNATURE_UNUSED")
        check_fresh(actor, "Approving this", by_provider=True)
        nonce = secrets.token_hex(32)
        options = passkey_ask(actor=actor, challenge=_challenge(proposal, "approve", nonce))
        SigningNonce.objects.create(
            id=uuid4(), nonce=nonce, proposal=proposal, round=proposal.round, person_id=UUID(actor.id),
            session_id=actor.session_id, digest=proposal.digest, verdict="approve", made_at=now,
            expires_at=now + NONCE_LIVES,
        )  # fmt: skip
    return options | {"nonce": nonce}


def signing_judge(*, actor: Actor, proposal: Proposal, terms: Terms, answer: Answer | None) -> Judged | None:
    """Whether the actor may approve the locked proposal as its terms ask: a session is enough, a confirmation of five
    minutes, or that and a signature, which is returned. After the row's lock, in the decision's transaction.

    Raises Forbidden (FRESH_REQUIRED, SIGNATURE_REQUIRED), Conflict (SIGNATURE_GONE), Invalid (PASSKEY_…).
    """
    if terms.authentication == "session":
        return None
    check_fresh(actor, "Approving this", by_provider=True)
    if terms.authentication == "fresh":
        return None
    if answer is None or not answer.response:
        raise Forbidden(
            "Approving this needs the signature of your passkey. Approve it on its page: your device asks you then. "
            "Nothing was recorded.",
            code="SIGNATURE_REQUIRED",
            missing=["signature"],
        )
    # The number first: whatever else is wrong with an answer, none is judged twice at once.
    given = SigningNonce.objects.filter(
        nonce=answer.nonce[:64], proposal_id=proposal.pk, round=proposal.round, person_id=actor.id,
        session_id=actor.session_id, digest=proposal.digest, verdict="approve", used_at=None,
        expires_at__gt=clock.now(),
    )  # fmt: skip
    if given.update(used_at=clock.now()) != 1:
        raise Conflict(
            "This signature was asked for too long ago, for something else, or was used already. Nothing was recorded; "
            "approve again and sign what the page shows.",
            code="SIGNATURE_GONE",
        )
    challenge = _challenge(proposal, "approve", answer.nonce)
    return Judged(
        nonce=answer.nonce,
        revision=proposal.revision_number,
        by=passkey_verify(actor=actor, response=answer.response, challenge=challenge),
    )


def _challenge(proposal: Proposal, verdict: str, nonce: str) -> bytes:
    return challenge_of(
        proposal_id=str(proposal.pk), revision=proposal.revision_number, round=proposal.round, digest=proposal.digest,
        verdict=verdict, nonce=nonce,
    )  # fmt: skip
