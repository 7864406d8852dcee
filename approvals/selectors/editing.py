"""What the page of an edit begins with: the call's arguments as fields, if this reader may edit it."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from approvals.core.contract_types import Contract
from approvals.core.editing import Edited, Field, edited, fields_of
from approvals.models import Proposal
from approvals.selectors.bound import read_bound
from approvals.selectors.deciders import eligibility_of, prepared_by_of
from approvals.selectors.standing import visible_proposals, with_standing
from audit.core.actor import Actor
from audit.core.jsondoor import Json
from audit.core.refusal import Conflict, Forbidden, NotFound, Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Editable:
    """A call that may be edited: its digest and round as they stand, and its arguments."""

    digest: str
    round: int
    contract: Contract
    arguments: Mapping[str, Json]

    def fields(
        self, *, typed: Mapping[str, str], problems: Mapping[str, str], arguments: Mapping[str, Json] | None = None
    ) -> list[Field]:
        """Its fields, filled with what was typed. `arguments`: what that was read as, for the echo of amounts."""
        return fields_of(self.contract, arguments or self.arguments, typed=typed, problems=problems)

    def read(self, typed: Mapping[str, str]) -> Edited:
        """What was typed, as arguments of the tool's types."""
        return edited(self.contract, self.arguments, typed)


def editable(actor: Actor, proposal_id: UUID) -> Editable | Refusal:
    """The call, or why this actor cannot edit it. Raises NotFound, also for a foreign id. The service judges again."""
    proposal = with_standing(visible_proposals(actor)).select_related("tool_version").filter(pk=proposal_id).first()
    if proposal is None:
        raise NotFound
    if proposal.standing != "pending":
        return Conflict("There is nothing left to edit: this was decided, or its time is over.", code="CLOSED")
    allowed = eligibility_of(actor, proposal)
    if not allowed.ok:
        return Forbidden(allowed.reason, code=allowed.code, missing=allowed.missing)
    try:
        return _editable(proposal)
    except Refusal as refusal:
        return refusal


def _editable(proposal: Proposal) -> Editable:
    bound = read_bound(proposal, decisions=[], permit=None)
    if not bound.requirement.terms.editable or prepared_by_of(proposal):
        raise Conflict("This call is not edited. Reject it with what is wrong instead.", code="EDIT_NOT_ALLOWED")
    return Editable(
        digest=proposal.digest, round=proposal.round, contract=bound.contract, arguments=bound.facts.arguments
    )
