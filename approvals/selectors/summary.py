"""One row of a list of proposals. A row that cannot be made into words is told with its id and hides no other (S87)."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.core.present import money_text
from approvals.selectors.deciders import needs_words, newest_of, requires_of
from approvals.selectors.handling import ClaimShown, claim_of
from approvals.selectors.standing import decided_by, same_as
from audit.core.visible import as_line

logger = logging.getLogger(__name__)

UNREADABLE = "This proposal cannot be shown safely"


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """One row of a list. Text from outside is one line with visible escapes (S12).

    `status` is the standing of this instant; `settled_at` when it left the queue, for a waiting one when it will.
    `readable` false: the bytes are not what was stored, `sentence` says so with the id, and nothing of it is shown.
    `needs` is the quorum in words, `progress` such as "1 of 2", `same_as` a sentence or "". `outcome` is what became of
    the call: "", started, succeeded, failed, unknown. `may_decide` is the filter
    *mine*, by the actor's rights.
    """

    id: UUID
    version: int
    round: int
    status: str
    readable: bool
    sentence: str
    tool: str
    digest: str
    amount_minor: int | None
    currency: str
    amount: str
    created_at: datetime
    expires_at: datetime
    settled_at: datetime
    rule_id: str
    why: str
    agent_name: str
    acting_for: str
    run_id: UUID
    run_title: str
    call_id: str
    needs: str
    progress: str
    may_decide: bool
    decided_by: str
    hidden_characters: bool
    # Too few people can decide it now (S8).
    stuck: bool
    outcome: str
    outcome_at: datetime | None
    same_as: str
    claim: ClaimShown | None = None
    revision: int = 1
    # Why it is asked anew, for one that waits in a later round.
    anew: str = ""


def rows_of(found: Sequence[Any]) -> list[SummaryRow]:
    """The rows that `proposals._summaries` annotates, in words."""
    return [_row(proposal) for proposal in found]


def _row(proposal: Any) -> SummaryRow:
    """One row. A row that cannot be made into words is told with its id and hides no other."""
    try:
        if proposal.readable:
            return _readable(proposal)
    except Exception:
        logger.exception("Proposal %s cannot be listed", proposal.pk)
    return _unreadable(proposal)


def _readable(proposal: Any) -> SummaryRow:
    amount = money_text(proposal.amount_minor, proposal.currency) if proposal.amount_minor is not None else ""
    requires = requires_of(proposal)
    votes = [decision for decision in proposal.decisions.all() if decision.round == proposal.round]
    approvals = sum(vote.verdict == "approve" for vote in newest_of(votes))
    wanted = sum(approver.count for approver in requires)
    same = same_as(proposal.same, proposal.read_at)
    return SummaryRow(
        **_plain(proposal),
        readable=True,
        sentence=proposal.sentence,
        tool=proposal.tool,
        amount_minor=proposal.amount_minor,
        currency=proposal.currency,
        amount=amount,
        rule_id=proposal.rule_id,
        why=as_line(proposal.held_because or ""),
        agent_name=as_line(proposal.agent_name),
        acting_for=as_line(proposal.acting_user_name),
        run_title=as_line(proposal.run_title),
        needs=needs_words(requires),
        progress=f"{min(approvals, wanted)} of {wanted}" if wanted > 1 else "",
        may_decide=proposal.mine,
        decided_by=decided_by(proposal, votes),
        hidden_characters=proposal.hidden_characters,
        stuck=proposal.stuck,
        same_as=same.words if same else "",
        claim=claim_of(proposal.claimed),
        revision=proposal.revision_number,
        anew=as_line(proposal.asked_anew or "") if proposal.standing == "pending" else "",
    )


def _unreadable(proposal: Any) -> SummaryRow:
    return SummaryRow(
        **_plain(proposal),
        readable=False,
        sentence=f"{UNREADABLE} ({proposal.pk}): its stored bytes are not what was asked for. Tell an operator.",
        tool="",
        amount_minor=None,
        currency="",
        amount="",
        rule_id="",
        why="",
        agent_name="",
        acting_for="",
        run_title="",
        needs="",
        progress="",
        may_decide=False,
        decided_by="",
        hidden_characters=False,
        stuck=False,
        same_as="",
    )


def _plain(proposal: Any) -> dict[str, Any]:
    """What is said of every row: ids, times and words of our own."""
    return {
        "id": proposal.pk,
        "version": proposal.version,
        "round": proposal.round,
        "status": proposal.standing,
        "digest": proposal.digest,
        "created_at": proposal.created_at,
        "expires_at": proposal.expires_at,
        "settled_at": proposal.settled_at,
        "run_id": proposal.run_id,
        "call_id": as_line(proposal.call_id),
        "outcome": proposal.outcome,
        "outcome_at": proposal.outcome_at,
    }
