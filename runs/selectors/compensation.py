"""Who prepared a call in the agent's place: said by the event that proposed it, which nobody can rewrite."""

from uuid import UUID

from runs.core.kinds import EventKind
from runs.core.state import State
from runs.models import Event


def prepared_by(run_id: UUID, state: State, call_id: str) -> dict[str, str] | None:
    """{id, name} of the operator who prepared a compensating call; None for what the agent asked itself."""
    machine = state.calls.get(call_id)
    if machine is None or machine.compensates is None:
        return None
    proposed = Event.objects.filter(run_id=run_id, kind=EventKind.CALL_PROPOSED.value, body__call_id=call_id)
    actor = proposed.values_list("actor", flat=True).first() or {}
    return (
        {"id": str(actor.get("id", "")), "name": str(actor.get("name", ""))} if actor.get("kind") == "person" else None
    )


def compensating(state: State, call_id: str) -> list[str]:
    """The ids of the calls that were prepared to make up for `call_id`, oldest first."""
    return [other.call_id for other in state.calls.values() if other.compensates == call_id]
