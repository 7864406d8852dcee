"""An admin says which tools an agent is shown."""

from collections.abc import Collection
from uuid import UUID, uuid4

from access.core.rights import require_admin
from access.selectors.names import agent_names
from approvals.models import AgentTools, Tool
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Invalid, NotFound
from audit.services.record import audit_record, audit_refusals
from audit.store import clock

MOST = 500
"""Tools that a list may hold."""


def shown_tools_set(*, actor: Actor, agent_id: UUID, tools: Collection[str] | None, seen: int | None = None) -> bool:
    """Show an agent these tools alone, as far as its scopes allow them; None: all that its scopes allow. Holds for the
    next call that it asks for. False if it was so already. `seen` is the version of the list that was changed.

    Raises Forbidden, NotFound, Invalid (TOOL_UNKNOWN, TOO_MANY_TOOLS), Conflict (LIST_CHANGED: another admin was
    quicker).
    """
    with audit_refusals(actor=actor, action="agent.tools_set", object_type="agent", object_id=agent_id):
        require_admin(actor)
        if str(agent_id) not in {found for found, _, _ in agent_names(actor.tenant_id)}:
            raise NotFound
        wanted = None if tools is None else sorted(set(tools))
        _check(actor, wanted)
        now = clock.now()
        AgentTools.objects.bulk_create(
            [
                AgentTools(
                    id=uuid4(), tenant_id=actor.tenant_id, agent_id=agent_id, tools=None, changed_by="",
                    changed_at=now, version=0,
                )
            ],
            ignore_conflicts=True,
        )  # fmt: skip
        row = AgentTools.objects.select_for_update().get(tenant_id=actor.tenant_id, agent_id=agent_id)
        if seen is not None and row.version != seen:
            raise Conflict(
                f"{row.changed_by} changed this list at {row.changed_at:%H:%M:%S} UTC. Nothing was changed. Look at it "
                "and press again.",
                code="LIST_CHANGED",
            )
        before = row.tools
        if before == wanted:
            return False
        row.tools, row.changed_by, row.changed_at, row.version = wanted, actor.name, now, row.version + 1
        row.save(update_fields=["tools", "changed_by", "changed_at", "version"])
        audit_record(
            actor=actor, action="agent.tools_set", object_type="agent", object_id=agent_id,
            detail={"before": before, "tools": wanted},
        )  # fmt: skip
    return True


def _check(actor: Actor, wanted: list[str] | None) -> None:
    if wanted is None:
        return
    if len(wanted) > MOST:
        raise Invalid(f"A list holds at most {MOST} tools.", code="TOO_MANY_TOOLS")
    known = set(Tool.objects.filter(tenant_id=actor.tenant_id, name__in=wanted).values_list("name", flat=True))
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise Invalid(f"There is no tool called {unknown[0][:64]} here. Choose from the list.", code="TOOL_UNKNOWN")
