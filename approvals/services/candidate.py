"""Contracts that wait: stored by one admin, used by nobody, admitted or dropped by an admin who has looked (R10)."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction

from access.core.rights import require_admin
from approvals.core.contract import parse_contract
from approvals.core.contract_signing import Envelope, Signed, read_envelope
from approvals.core.contract_text import read_contract
from approvals.models import Tool, ToolCandidate, ToolVersion
from approvals.selectors.contract_signatures import signed_candidate
from approvals.selectors.tool_waiting import Seen, check_seen
from approvals.store.admission import ToolVersionRow, admit_in, tool_locked
from approvals.store.contract_rules import check_signed, keep_signature, rule_locked
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Invalid, NotFound
from audit.services.record import audit_record, audit_refusals
from audit.store import clock

LONGEST_NOTE = 2_000
MOST_WAITING = 20
"""Candidates of one tool that may wait at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRow:
    """One stored candidate. `created` is false where this very document waited already."""

    id: UUID
    tool: str
    digest: str
    stored_by: str
    stored_at: datetime
    created: bool


def candidate_store(
    *,
    actor: Actor,
    source: str,
    note: str = "",
    based_on: int | None = None,
    replaces: UUID | None = None,
    tool: str = "",
    signature: str | bytes = "",
) -> CandidateRow:
    """Keep a contract's text until it is admitted. Nobody is shown it, no call uses it.

    `based_on` is the version it was edited from; `replaces` a waiting candidate that it takes the place of; `tool` what
    the text must be about, "" for any; `signature` the publisher's, "" for none. The same document with another
    signature is the same candidate, signed anew.
    Raises Forbidden, TooLarge (BODY_TOO_LARGE, SIGNATURE_TOO_LARGE), Invalid (CONTRACT_INVALID with `detail.findings`;
    ALREADY_IN_FORCE: it is the version in force; TOO_MANY_CANDIDATES; OTHER_TOOL; SIGNATURE_MALFORMED), NotFound,
    Conflict (CANDIDATE_SETTLED: what it should replace waits no more).
    """
    with audit_refusals(actor=actor, action="contract.stored", object_type="tool", object_id="new"):
        require_admin(actor)
        envelope = read_envelope(signature) if signature.strip() else None
        document = read_contract(source)
        contract = parse_contract(document)
        name = contract.name
        if tool and name != tool:
            raise Invalid(
                f"The text is about {name}, and {tool} was to be edited. A tool's name never changes: import it as a "
                "contract of its own.",
                code="OTHER_TOOL",
            )
        # The lock that an admission takes: a document is not stored while it becomes the version in force.
        row = Tool.objects.select_for_update().filter(tenant_id=actor.tenant_id, name=name).first()
        if replaces is not None:
            _settle(actor, _waiting(actor, replaces, name), "replaced", "An edited text took its place.")
        if row is not None and _digest_in_force(row) == contract.digest:
            raise Invalid(
                f"This is version {row.active_version} of {name} word by word, which is in force. Change something, "
                "or leave it. A signature for it is put beside it on the tool's page.",
                code="ALREADY_IN_FORCE",
            )
        waiting = ToolCandidate.objects.filter(tenant_id=actor.tenant_id, tool=name, status="waiting")
        same = waiting.select_for_update().filter(digest=contract.digest).first()
        if same is not None:
            if envelope is not None:
                _sign(actor, same, envelope)
            return _row(same, created=False)
        if waiting.count() >= MOST_WAITING:
            raise Invalid(
                f"{MOST_WAITING} candidates of {name} wait already. Admit or drop one first.",
                code="TOO_MANY_CANDIDATES",
            )
        candidate = ToolCandidate(
            id=uuid4(),
            tenant_id=actor.tenant_id,
            tool=name,
            source=source,
            document=document,
            digest=contract.digest,
            based_on=based_on,
            note=note[:LONGEST_NOTE],
            stored_by=actor.name,
            stored_by_id=actor.id,
            stored_at=clock.now(),
            signature=envelope.raw if envelope else None,
            signature_by=actor.name if envelope else "",
        )
        try:
            # A savepoint: for a tool without a row there is no lock, and the same document may have come first.
            with transaction.atomic():
                candidate.save(force_insert=True)
        except IntegrityError:
            return _row(waiting.get(digest=contract.digest), created=False)
        audit_record(
            actor=actor, action="contract.stored", object_type="tool", object_id=row.id if row else name, tool=name,
            detail={"candidate": str(candidate.id), "digest": contract.digest, "based_on": based_on,
                    "replaces": str(replaces or ""), "note": candidate.note,
                    "signature": signed_candidate(candidate).as_dict()},
        )  # fmt: skip
    return _row(candidate, created=True)


def candidate_admit(*, actor: Actor, candidate_id: UUID, seen: Seen, reason: str = "") -> ToolVersionRow:
    """Admit a candidate: its document becomes a version and is in force.

    Raises Forbidden, NotFound, Invalid (CONTRACT_INVALID: today's rules are stricter than when it was stored), Conflict
    (CANDIDATE_SETTLED, CONTRACT_CHANGED, WAITING_UNSEEN, CONTRACT_ALTERED, SIGNATURE_MISFIT, SIGNATURE_REVOKED,
    SIGNATURE_REQUIRED).
    """
    with audit_refusals(actor=actor, action="contract.admitted", object_type="tool", object_id=candidate_id):
        require_admin(actor)
        found = ToolCandidate.objects.filter(tenant_id=actor.tenant_id, pk=candidate_id).first()
        if found is None:
            raise NotFound
        # The tool first, as everywhere; the candidate's row behind it.
        tool = tool_locked(actor, found.tool, make=True)
        candidate = _waiting(actor, candidate_id, found.tool)
        contract = parse_contract(candidate.document)
        if contract.digest != candidate.digest or contract.name != candidate.tool:
            raise Conflict(
                "The stored text is not the one that was written, so it is not admitted. Import it again and tell an "
                "operator.",
                code="CONTRACT_ALTERED",
            )
        check_seen(tool, seen)
        rule = rule_locked(actor.tenant_id)
        # Verified from the bytes, with the keys of this moment: nothing that a page said counts here.
        signed = signed_candidate(candidate)
        check_signed(signed, rule, what=f"The candidate of {candidate.tool}")
        row = admit_in(
            actor=actor, tool=tool, contract=contract, document=candidate.document,
            detail={"candidate": str(candidate.id), "stored_by": candidate.stored_by,
                    "same_person": candidate.stored_by_id == actor.id, "reason": reason[:LONGEST_NOTE],
                    "signature": signed.as_dict()},
        )  # fmt: skip
        if candidate.signature is not None:
            keep_signature(actor=actor, version_id=row.id, envelope=read_envelope(bytes(candidate.signature)))
        candidate.number = row.number
        _settle(actor, candidate, "admitted", reason[:LONGEST_NOTE])
    return row


def candidate_drop(*, actor: Actor, candidate_id: UUID, reason: str) -> None:
    """Take a candidate off the list; it was never used. Raises Forbidden, NotFound, Conflict (CANDIDATE_SETTLED)."""
    with audit_refusals(actor=actor, action="contract.dropped", object_type="tool", object_id=candidate_id):
        require_admin(actor)
        candidate = _waiting(actor, candidate_id)
        _settle(actor, candidate, "dropped", reason[:LONGEST_NOTE])
        tool = Tool.objects.filter(tenant_id=actor.tenant_id, name=candidate.tool).values_list("id", flat=True).first()
        audit_record(
            actor=actor, action="contract.dropped", object_type="tool", object_id=tool or candidate.tool,
            tool=candidate.tool,
            detail={"candidate": str(candidate.id), "digest": candidate.digest, "reason": reason[:LONGEST_NOTE]},
        )  # fmt: skip


def candidate_sign(*, actor: Actor, candidate_id: UUID, signature: str | bytes) -> Signed:
    """Put a signature to a candidate that waits, in the place of one that is there. What holds of it now.

    Raises Forbidden, NotFound, TooLarge (SIGNATURE_TOO_LARGE), Invalid (SIGNATURE_MALFORMED), Conflict
    (CANDIDATE_SETTLED).
    """
    with audit_refusals(actor=actor, action="contract.signed", object_type="tool", object_id=candidate_id):
        require_admin(actor)
        envelope = read_envelope(signature)
        candidate = _waiting(actor, candidate_id)
        return _sign(actor, candidate, envelope)


def candidate_unsign(*, actor: Actor, candidate_id: UUID, reason: str) -> None:
    """Take the signature of a waiting candidate away; the log keeps which it was.

    Raises Forbidden, NotFound (also where there is none), Conflict (CANDIDATE_SETTLED).
    """
    with audit_refusals(actor=actor, action="contract.unsigned", object_type="tool", object_id=candidate_id):
        require_admin(actor)
        candidate = _waiting(actor, candidate_id)
        if candidate.signature is None:
            raise NotFound
        signed = signed_candidate(candidate)
        _put(candidate, None, "")
        audit_record(
            actor=actor, action="contract.unsigned", object_type="tool", object_id=candidate.tool, tool=candidate.tool,
            detail={"candidate": str(candidate.id), "digest": candidate.digest, "reason": reason[:LONGEST_NOTE],
                    "signature": signed.as_dict(), "envelope": signed.envelope},
        )  # fmt: skip


def _sign(actor: Actor, candidate: ToolCandidate, envelope: Envelope) -> Signed:
    before = bytes(candidate.signature).decode("ascii") if candidate.signature is not None else ""
    if before != envelope.raw.decode("ascii"):
        _put(candidate, envelope.raw, actor.name)
        audit_record(
            actor=actor, action="contract.signed", object_type="tool", object_id=candidate.tool, tool=candidate.tool,
            detail={"candidate": str(candidate.id), "digest": candidate.digest, "before": before,
                    "signature": signed_candidate(candidate).as_dict()},
        )  # fmt: skip
    return signed_candidate(candidate)


def _put(candidate: ToolCandidate, raw: bytes | None, by: str) -> None:
    candidate.signature, candidate.signature_by = raw, by
    candidate.save(update_fields=["signature", "signature_by"])


def _waiting(actor: Actor, candidate_id: UUID, tool: str = "") -> ToolCandidate:
    found = ToolCandidate.objects.select_for_update().filter(tenant_id=actor.tenant_id, pk=candidate_id).first()
    if found is None:
        raise NotFound
    if tool and found.tool != tool:
        raise Invalid(
            f"The text is about {tool}, and what it should replace is a contract of {found.tool}. Import it as a "
            "contract of its own.",
            code="OTHER_TOOL",
        )
    if found.status != "waiting":
        at = f" at {found.settled_at:%H:%M:%S} UTC" if found.settled_at else ""
        words = {"admitted": f"admitted it as version {found.number}", "dropped": "dropped it", "replaced": "edited it"}
        raise Conflict(
            f"{found.settled_by} {words[found.status]}{at}, so it waits no more. Nothing was changed.",
            code="CANDIDATE_SETTLED",
            detail={"status": found.status, "by": found.settled_by},
        )
    return found


def _digest_in_force(tool: Tool) -> str | None:
    if tool.active_version is None:
        return None
    found = ToolVersion.objects.filter(tool=tool, number=tool.active_version)
    return found.values_list("digest", flat=True).first()


def _settle(actor: Actor, candidate: ToolCandidate, status: str, because: str) -> None:
    candidate.status, candidate.settled_by, candidate.settled_at = status, actor.name, clock.now()
    candidate.settled_because = because
    candidate.save(update_fields=["status", "settled_by", "settled_at", "settled_because", "number"])


def _row(candidate: ToolCandidate, *, created: bool) -> CandidateRow:
    return CandidateRow(
        id=candidate.id,
        tool=candidate.tool,
        digest=candidate.digest,
        stored_by=candidate.stored_by,
        stored_at=candidate.stored_at,
        created=created,
    )
