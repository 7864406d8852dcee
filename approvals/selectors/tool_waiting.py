"""Proposals that another version of a tool's contract would leave behind: they are refused at dispatch (A5)."""

from dataclasses import dataclass
from uuid import UUID

from approvals.models import Permit, Proposal
from audit.store.clock import ClearanceNow


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many proposals of one version wait: for people, or approved and not sent yet."""

    number: int
    undecided: int
    approved: int

    @property
    def count(self) -> int:
        """Both together."""
        return self.undecided + self.approved

    @property
    def sentence(self) -> str:
        """What another version means for them; "" if there are none."""
        if not self.count:
            return ""
        one = self.count == 1
        parts = [f"{self.undecided:,} undecided"] * bool(self.undecided) + [
            f"{self.approved:,} approved and not sent"
        ] * bool(self.approved)
        return (
            f"{self.count:,} {'proposal waits' if one else 'proposals wait'} on version {self.number} "
            f"({', '.join(parts)}). {'It' if one else 'They'} will be refused at dispatch, whatever is decided: "
            f"{'it was' if one else 'they were'} made for that contract."
        )


def waiting_on(tenant_id: UUID | str, tool: str, number: int | None) -> Waiting:
    """What waits on version `number` of a tool and is not over yet."""
    if number is None:
        return Waiting(0, 0, 0)
    mine = {"tenant_id": tenant_id, "tool": tool, "tool_version__number": number, "expires_at__gt": ClearanceNow()}
    approved = {f"proposal__{name}": value for name, value in mine.items()} | {"proposal__status": "granted"}
    return Waiting(
        number,
        Proposal.objects.filter(**mine, status="pending").count(),
        Permit.objects.filter(**approved, status="ready").count(),
    )
