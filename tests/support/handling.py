"""What people do with a held call before they decide it, as the pages do it: look, then act on what was shown."""

from typing import Any
from uuid import UUID

from approvals.selectors.proposals import proposal_detail
from approvals.services.edit import EditRow, proposal_edit, proposal_edit_preview
from approvals.services.question import QuestionRow, question_ask
from tests.support import factories


def edit(person: factories.Person, proposal_id: UUID, arguments: dict[str, Any], **changes: Any) -> EditRow:
    """Look at the call, at what the edit would make of it, and save that."""
    detail = proposal_detail(person.actor, proposal_id)
    asked: dict[str, Any] = {
        "actor": person.actor,
        "proposal_id": proposal_id,
        "digest": detail.digest,
        "round": detail.round,
        "arguments": arguments,
    }
    seen = proposal_edit_preview(**asked)
    return proposal_edit(**(asked | {"shown": seen.digest} | changes))


def ask(person: factories.Person, proposal_id: UUID, text: str = "Is this the second lamp?") -> QuestionRow:
    """Ask the agent about what the page shows."""
    detail = proposal_detail(person.actor, proposal_id)
    return question_ask(
        actor=person.actor, proposal_id=proposal_id, digest=detail.digest, round=detail.round, text=text
    )
