"""The approval boundary (B4): a call that waits for people, durably, in no process.

The whole call is handed to approvals as a proposal in the transaction that records the wait; what happens after the
decision comes back as a resolution. A proposal of the same call that is there already gets its next round: earlier
votes are void, the key stays.
"""

from typing import Any

from approvals.services.proposal import ProposalRow, proposal_hold

NAME = "approval"


def hold(**facts: Any) -> ProposalRow:
    """Store the proposal, or open its next round. Needs the caller's transaction; `facts` are proposal_hold's."""
    return proposal_hold(**facts)
