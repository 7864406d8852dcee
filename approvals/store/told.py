"""What leaves the house about a proposal by mail or webhook: what the log may keep (E5), with nothing hidden (S12)."""

from typing import Any

from django.conf import settings

from approvals.core.digest import parse_call_bytes, parse_snapshot
from approvals.core.present import sentence_text
from approvals.models import Proposal
from approvals.selectors.catalogue import contract_of
from audit.core.redact import redact
from audit.core.refusal import Refusal
from audit.core.visible import as_line


def told_of(proposal: Proposal) -> dict[str, Any]:
    """JSON values: ids, the sentence without what the tool's redaction names, the deadline and the page's address.

    The address only opens the page: whoever follows it signs in and decides there, with their own rights (S11).
    """
    return {
        "proposal_id": str(proposal.pk),
        "run_id": str(proposal.run_id),
        "tool": proposal.tool,
        "round": proposal.round,
        "sentence": sentence_told(proposal),
        "expires_at": proposal.expires_at.isoformat(),
        "url": address_of(proposal),
    }


def address_of(proposal: Proposal) -> str:
    """Where the proposal's page is."""
    return f"{settings.BASE_URL}/proposals/{proposal.pk}/"


def sentence_told(proposal: Proposal) -> str:
    """The sentence as one line of ordinary characters; of a row that cannot be read only the tool."""
    try:
        contract, facts = contract_of(proposal.tool_version_id), parse_call_bytes(bytes(proposal.canonical))
        redacted = redact(facts.arguments, contract.redaction)
        state = parse_snapshot(bytes(proposal.snapshot))
        text = sentence_text(contract, redacted if isinstance(redacted, dict) else {}, state)
    except Refusal:
        text = f"A call of {proposal.tool}"
    return as_line(text)
