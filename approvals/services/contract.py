"""Admission: a contract becomes a version that never changes (R10, G6), or is refused with every reason.

What is in force changes by an admission, by going back to an older version, and by retiring.
"""

from typing import Any

from access.core.rights import require_admin
from approvals.core.contract import parse_contract
from approvals.core.contract_signing import Signed, read_envelope
from approvals.models import ToolVersion
from approvals.selectors.contract_signatures import judged, keys_of, signed_document, signed_version
from approvals.selectors.tool_waiting import Seen as Seen
from approvals.selectors.tool_waiting import check_seen
from approvals.store.admission import ToolVersionRow as ToolVersionRow
from approvals.store.admission import admit_in, put_in_force, row_of, stamp, tool_locked
from approvals.store.contract_rules import check_signed, keep_signature, rule_locked
from audit.core.actor import Actor
from audit.core.jsondoor import Json
from audit.core.refusal import Conflict, Invalid, NotFound
from audit.services.record import audit_record, audit_record_or_owe, audit_refusals


def contract_admit(
    *, actor: Actor, document: dict[str, Json], reason: str = "", signature: str | bytes = ""
) -> ToolVersionRow:
    """Admit a contract; an admin's right. The same document is the same version, and is in force after this.

    Any change of the document, be it one word of its description, is a new version. Calls and proposals of the version
    before are not carried over: they were made for another contract and are refused at dispatch (A5).
    `signature` is the publisher's, "" for none.
    Raises Forbidden (ROLE_MISSING), Invalid (CONTRACT_INVALID with `detail.findings`; SIGNATURE_MALFORMED), TooLarge
    (SIGNATURE_TOO_LARGE), Conflict (SIGNATURE_MISFIT, SIGNATURE_REVOKED, SIGNATURE_REQUIRED).
    """
    name = str(document.get("name", ""))[:64]
    with audit_refusals(actor=actor, action="contract.admitted", object_type="tool", object_id=name, tool=name):
        require_admin(actor)
        envelope = read_envelope(signature) if signature.strip() else None
        contract = parse_contract(document)
        tool = tool_locked(actor, contract.name, make=True)
        rule = rule_locked(actor.tenant_id)
        keys = keys_of(actor.tenant_id)
        if envelope is not None:
            signed = judged(document, [(envelope.raw, actor.name, None)], keys)
        else:
            signed = signed_document(actor.tenant_id, document, contract.digest, keys)
        check_signed(signed, rule, what=f"The contract of {contract.name}")
        row = admit_in(
            actor=actor, tool=tool, contract=contract, document=document,
            detail={"reason": reason, "signature": signed.as_dict()},
        )  # fmt: skip
        if envelope is not None:
            keep_signature(actor=actor, version_id=row.id, envelope=envelope)
        return row


def contract_return(*, actor: Actor, tool: str, number: int, seen: Seen, reason: str) -> ToolVersionRow:
    """Put an older version in force again, under its own number: its document was admitted once and has not changed.

    It is checked again as at an admission: today's rules for contracts may be stricter than those of then. Proposals
    that were made for it can be carried out again if they still wait; those of the version it replaces are refused.
    Raises Forbidden, NotFound, Invalid (CONTRACT_INVALID), Conflict (CONTRACT_CHANGED, WAITING_UNSEEN,
    CONTRACT_ALTERED: the stored document is not the one that was admitted; SIGNATURE_MISFIT, SIGNATURE_REVOKED,
    SIGNATURE_REQUIRED: as at an admission).
    """
    with audit_refusals(actor=actor, action="contract.returned", object_type="tool", object_id=tool, tool=tool):
        require_admin(actor)
        row = tool_locked(actor, tool, make=False)
        version = ToolVersion.objects.filter(tool=row, number=number).first()
        if version is None:
            raise NotFound
        contract = parse_contract(version.document)
        if contract.digest != version.digest:
            raise Conflict(
                f"The stored contract of {tool}, version {number}, is not the one that was admitted, so it is not put "
                "in force. Tell an operator.",
                code="CONTRACT_ALTERED",
            )
        if row.active_version == number:
            return row_of(version, row, created=False)
        waiting = check_seen(row, seen)
        rule = rule_locked(actor.tenant_id)
        signed = signed_version(actor.tenant_id, version)
        check_signed(signed, rule, what=f"Version {number} of {tool}")
        put_in_force(
            actor=actor, tool=row, version=version, contract=contract, change="returned", waiting=waiting,
            detail={"reason": reason[:2000], "signature": signed.as_dict()},
        )  # fmt: skip
        return row_of(version, row, created=False, refused=waiting.count)


def contract_sign(*, actor: Actor, tool: str, number: int, signature: str | bytes) -> Signed:
    """Put a publisher's signature beside an admitted version: one that came later, or one by a new key. What holds now.

    Only one that is valid now is kept: beside what is in force nothing is put that says nothing.
    Raises Forbidden, NotFound, TooLarge (SIGNATURE_TOO_LARGE), Invalid (SIGNATURE_MALFORMED, SIGNATURE_NOT_VALID).
    """
    with audit_refusals(actor=actor, action="contract.signed", object_type="tool", object_id=tool, tool=tool):
        require_admin(actor)
        envelope = read_envelope(signature)
        row = tool_locked(actor, tool, make=False)
        version = ToolVersion.objects.filter(tool=row, number=number).first()
        if version is None:
            raise NotFound
        rule_locked(actor.tenant_id)
        signed = judged(version.document, [(envelope.raw, actor.name, None)], keys_of(actor.tenant_id))
        if signed.state != "valid":
            raise Invalid(
                f"{signed.words} Nothing was put beside version {number}. Have this very document signed by a key that "
                "is registered here.",
                code="SIGNATURE_NOT_VALID",
            )
        if keep_signature(actor=actor, version_id=version.id, envelope=envelope):
            audit_record(
                actor=actor, action="contract.signed", object_type="tool", object_id=row.id, tool=tool,
                detail={"number": number, "digest": version.digest, "signature": signed.as_dict()},
            )  # fmt: skip
    return signed


def contract_retire(*, actor: Actor, tool: str, reason: str = "") -> bool:
    """Take a tool out of the catalogue: no new call, no dispatch of a waiting one. False if it was out already.

    Stops things, so it works while the audit log does not (S69). Raises Forbidden (ROLE_MISSING), NotFound.
    """
    with audit_refusals(actor=actor, action="contract.retired", object_type="tool", object_id=tool, tool=tool):
        require_admin(actor)
        row = tool_locked(actor, tool, make=False)
        before: Any = row.active_version
        if before is None:
            return False
        row.active_version = None
        stamp(actor, row, "retired")
        detail = {"before": before} | ({"reason": reason[:2000]} if reason else {})
        audit_record_or_owe(
            actor=actor, action="contract.retired", object_type="tool", object_id=row.id, tool=tool, detail=detail
        )
    return True
