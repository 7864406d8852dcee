"""Signatures of decisions: whether one holds, and a decision as a document that verifies without this server."""

import base64
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from access.selectors.assertion import Assertion, fingerprint, party, spki, verify_assertion
from access.selectors.confirmation import is_passkey_of
from approvals.core.signing import FORMAT, challenge_of
from approvals.models import Decision, Proposal, Signature, SigningNonce
from approvals.selectors.standing import visible_proposals
from audit.core.actor import Actor
from audit.core.refusal import Forbidden, NotFound, Refusal

DOCUMENT = "clearance/decision/1"
READERS = ("auditor", "admin")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRow:
    """A signed decision as its page lists it. `holds`: verified now, against the passkeys of now."""

    id: UUID
    by: str
    round: int
    verdict: str
    at: datetime
    fingerprint: str
    holds: bool


def signature_holds(decision: Decision, proposal: Proposal) -> bool:
    """Whether a passkey that is its reviewer's today signed exactly this decision. Judged anew whenever it counts: when
    it is recorded, when votes are counted, when the call is executed (A5). Any damage is a no."""
    row = Signature.objects.filter(decision_id=decision.pk).first()
    if row is None or row.format != FORMAT or row.revision != proposal.revision_number:
        return False
    given = Assertion(
        credential_id=bytes(row.credential_id),
        authenticator_data=bytes(row.authenticator_data),
        client_data=bytes(row.client_data),
        signature=bytes(row.signature),
    )
    used = SigningNonce.objects.filter(
        nonce=row.nonce, proposal_id=proposal.pk, round=decision.round, person_id=decision.reviewer_id,
        digest=decision.digest, verdict=decision.verdict, used_at__isnull=False,
    )  # fmt: skip
    if not (used.exists() and is_passkey_of(decision.reviewer_id, given.credential_id, bytes(row.public_key))):
        return False
    challenge = challenge_of(
        proposal_id=str(proposal.pk), revision=row.revision, round=decision.round, digest=decision.digest,
        verdict=decision.verdict, nonce=row.nonce,
    )  # fmt: skip
    try:
        verify_assertion(given, challenge=challenge, public_key=bytes(row.public_key), wanted=party())
    except Refusal:
        return False
    return True


def signed_decisions(actor: Actor, proposal_id: UUID) -> list[SignedRow]:
    """The signed decisions of a proposal, oldest first. Raises NotFound; Forbidden for who is no auditor or admin."""
    proposal = _for_readers(actor, proposal_id)
    rows = Signature.objects.filter(decision__proposal_id=proposal.pk).select_related("decision")
    return [
        SignedRow(
            id=row.decision.pk,
            by=row.decision.by,
            round=row.decision.round,
            verdict=row.decision.verdict,
            at=row.decision.at,
            fingerprint=fingerprint(bytes(row.public_key)),
            holds=signature_holds(row.decision, proposal),
        )
        for row in rows.order_by("decision__at", "decision__pk")
    ]


def decision_document(actor: Actor, proposal_id: UUID, decision_id: UUID) -> dict[str, Any]:
    """One signed decision as JSON for `python -m clearance_client.verify` (sdk/README.md has the form).

    `signed` and `assertion` verify by themselves; `told` is what the log says beside, which no passkey signed. Raises
    NotFound, also for a decision without a signature, and Forbidden.
    """
    proposal = _for_readers(actor, proposal_id)
    row = (
        Signature.objects.filter(decision_id=decision_id, decision__proposal_id=proposal.pk)
        .select_related("decision")
        .first()
    )
    if row is None:
        raise NotFound
    decision = row.decision
    return {
        "document": DOCUMENT,
        "signed": {
            "format": row.format,
            "proposal": str(proposal.pk),
            "revision": row.revision,
            "round": decision.round,
            "digest": decision.digest,
            "verdict": decision.verdict,
            "nonce": row.nonce,
        },
        "call": _text(bytes(proposal.canonical)),
        "assertion": {
            "rp_id": row.rp_id,
            "origin": row.origin,
            "public_key": _text(spki(bytes(row.public_key))),
            "authenticator_data": _text(bytes(row.authenticator_data)),
            "client_data": _text(bytes(row.client_data)),
            "signature": _text(bytes(row.signature)),
        },
        "told": {
            "reviewer": decision.reviewer_name,
            "reviewer_id": str(decision.reviewer_id),
            "for": decision.for_user_name,
            "reason": decision.reason,
            "at": decision.at.isoformat(),
            "credential_id": _text(bytes(row.credential_id)),
        },
    }


def _for_readers(actor: Actor, proposal_id: UUID) -> Proposal:
    proposal = visible_proposals(actor).filter(pk=proposal_id).first()
    if proposal is None:
        raise NotFound
    if not actor.has_role(*READERS):
        raise Forbidden(
            "Signed decisions are taken out by auditors and admins. Ask one of them.",
            code="ROLE_MISSING",
            missing=["auditor"],
        )
    return proposal


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
