"""Candidates for a tool's contract: what each would change, and what it would mean for what waits."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from approvals.core.contract import parse_contract
from approvals.core.contract_diff import Change, contract_changes, loosened
from approvals.core.contract_signing import Signed, admission_problem
from approvals.core.contract_text import written
from approvals.core.contract_words import Part, contract_words, origin_names
from approvals.models import Tool, ToolCandidate, ToolVersion
from approvals.selectors.contract_signatures import signed_candidate, signed_only
from approvals.selectors.tool_readers import require_reader
from approvals.selectors.tool_waiting import Waiting, waiting_on
from audit.core.actor import Actor
from audit.core.refusal import NotFound, Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateShown:
    """A stored candidate with what it would change. `changes` compare it with the version in force, or for a new tool
    with nothing (None)."""

    id: UUID
    tool: str
    source: str
    document: str
    digest: str
    based_on: int | None
    note: str
    stored_by: str
    stored_at: datetime
    own: bool
    status: str
    settled_by: str
    settled_at: datetime | None
    settled_because: str
    number: int | None
    words: list[Part]
    problem: str
    in_force: int
    changes: list[Change] | None
    loosened: int
    waiting: Waiting
    signed: Signed
    names: tuple[tuple[str, str], ...] = ()
    credential: str = ""
    # Whether a signature came with it; `signed` may also be of a version that is the same document.
    own_signature: bool = False
    # Why it is not admitted as it is signed; "" if it may be.
    signature_problem: str = ""


def candidates_of(actor: Actor, tool: str) -> list[CandidateShown]:
    """Those of a tool that wait, the newest first."""
    rows = ToolCandidate.objects.filter(tenant_id=actor.tenant_id, tool=tool, status="waiting").order_by("-stored_at")
    return [_candidate(actor, row) for row in rows]


def candidate_shown(actor: Actor, tool: str, candidate_id: UUID) -> CandidateShown:
    """One candidate, whether it still waits or not. Raises Forbidden, NotFound."""
    require_reader(actor)
    row = ToolCandidate.objects.filter(tenant_id=actor.tenant_id, tool=tool, pk=candidate_id).first()
    if row is None:
        raise NotFound
    return _candidate(actor, row)


def _candidate(actor: Actor, row: ToolCandidate) -> CandidateShown:
    tool = Tool.objects.filter(tenant_id=actor.tenant_id, name=row.tool).first()
    in_force = (tool.active_version if tool else None) or 0
    old = ToolVersion.objects.filter(tool=tool, number=in_force).values_list("document", flat=True).first()
    changes = None if old is None else contract_changes(old, row.document)
    words: list[Part] = []
    problem = ""
    names: tuple[tuple[str, str], ...] = ()
    credential = ""
    try:
        contract = parse_contract(row.document)
        words = contract_words(contract)
        credential = contract.adapter.credential
        names = origin_names(contract.origin)
    except Refusal as refusal:
        problem = refusal.message
    signed = signed_candidate(row)
    return CandidateShown(
        id=row.id,
        tool=row.tool,
        source=row.source,
        document=written(row.document),
        digest=row.digest,
        based_on=row.based_on,
        note=row.note,
        stored_by=row.stored_by,
        stored_at=row.stored_at,
        own=row.stored_by_id == actor.id,
        status=row.status,
        settled_by=row.settled_by,
        settled_at=row.settled_at,
        settled_because=row.settled_because,
        number=row.number,
        words=words,
        problem=problem,
        in_force=in_force,
        changes=changes,
        loosened=loosened(changes or []),
        waiting=waiting_on(actor.tenant_id, row.tool, in_force or None),
        names=names,
        credential=credential,
        signed=signed,
        own_signature=row.signature is not None,
        signature_problem=admission_problem(signed, signed_only=signed_only(row.tenant_id))[1],
    )
