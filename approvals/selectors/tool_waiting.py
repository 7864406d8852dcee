"""Proposals that another version of a tool's contract would leave behind: they are refused at dispatch (A5)."""

from dataclasses import dataclass
from uuid import UUID

from approvals.models import Permit, Proposal, Tool
from audit.core.refusal import Conflict
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What an admin was shown before they pressed: the version in force (0: none) and how many proposals wait on it."""

    in_force: int
    waiting: int


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


def check_seen(tool: Tool, seen: Seen) -> Waiting:
    """What waits on the version in force, if it is the one that was shown. Raises Conflict (CONTRACT_CHANGED: another
    admin was quicker; WAITING_UNSEEN: the page said that nothing waits, and something does)."""
    if (tool.active_version or 0) != seen.in_force:
        now = f"version {tool.active_version} is in force" if tool.active_version else "the tool is retired"
        at = f" at {tool.changed_at:%H:%M:%S} UTC" if tool.changed_at else ""
        was = f"version {seen.in_force}" if seen.in_force else "none"
        raise Conflict(
            f"{tool.changed_by or 'Somebody'} changed {tool.name}{at}: {now}, and your page was made when it was {was}"
            ". Nothing was changed. Look at what differs now, then decide again.",
            code="CONTRACT_CHANGED",
            detail={"in_force": tool.active_version or 0, "by": tool.changed_by},
        )
    waiting = waiting_on(tool.tenant_id, tool.name, tool.active_version)
    if waiting.count and not seen.waiting:
        raise Conflict(
            f"{waiting.sentence} Your page did not say so, and nothing was changed. Read it, then press again.",
            code="WAITING_UNSEEN",
            detail={"waiting": waiting.count},
        )
    return waiting
