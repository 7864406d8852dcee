"""Tells a run event by event, so that a test reads as what happened and not as dictionaries."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runs.core.events import Event
from runs.core.kinds import CallState, EventKind, RunStatus
from runs.core.reducer import CallMachine, Command, IllegalTransition, State, fold, initial_state
from runs.core.status import run_status

E = EventKind
Orders = tuple[Command, ...]
T0 = datetime(2026, 3, 2, 14, 0, tzinfo=UTC)

REFUND: dict[str, Any] = {
    "tool": "refund_order",
    "contract_version": 3,
    "digest": "a1f39c07",
    "side_effect": "irreversible",
    "retry_class": "before_effect",
    "read_only": False,
}
READ: dict[str, Any] = {
    "tool": "get_order",
    "contract_version": 1,
    "digest": "0b2233aa",
    "side_effect": "read",
    "retry_class": "safe",
    "read_only": True,
}


def moment(seconds: float) -> str:
    """ISO text `seconds` after the story's start."""
    return (T0 + timedelta(seconds=seconds)).isoformat()


class Story:
    """A run that is being told. Every verb folds one event and gives the commands that followed."""

    def __init__(self) -> None:
        self.state: State = initial_state()
        self.events: list[Event] = []
        self.commands: list[Orders] = []
        self.statuses: list[RunStatus] = []

    def event(self, kind: EventKind, **body: Any) -> Event:
        """The event that would come next."""
        seq = self.state.seq + 1
        actor = {"kind": "agent", "id": "support-agent"}
        return Event(kind, seq, moment(seq), actor, body)

    def tell(self, kind: EventKind, **body: Any) -> Orders:
        """Fold the event; the commands that followed."""
        event = self.event(kind, **body)
        self.state, commands = fold(self.state, event)
        self.events.append(event)
        self.commands.append(commands)
        self.statuses.append(run_status(self.state))
        return commands

    def refuses(self, kind: EventKind, **body: Any) -> IllegalTransition:
        """Check that the event is refused and that nothing changed; the refusal."""
        before = self.state
        written = before.to_json()
        with pytest.raises(IllegalTransition) as caught:
            fold(before, self.event(kind, **body))
        assert before.to_json() == written
        assert caught.value.event == kind
        return caught.value

    def call(self, call_id: str = "c1") -> CallMachine:
        return self.state.calls[call_id]

    def where(self, call_id: str = "c1") -> CallState:
        return self.call(call_id).state

    @property
    def status(self) -> RunStatus:
        return run_status(self.state)

    # The run.

    def open(self, **body: Any) -> "Story":
        self.create(**body)
        self.tell(E.RUN_ADMITTED)
        return self

    def create(self, **body: Any) -> "Story":
        scope = {"tenant": "acme", "user": "jon", "on_behalf_of": "anna"}
        self.tell(E.RUN_CREATED, scope=scope, agent="support-agent", **body)
        return self

    # One call.

    def propose(self, call_id: str = "c1", like: dict[str, Any] = REFUND, **body: Any) -> Orders:
        return self.tell(E.CALL_PROPOSED, call_id=call_id, key=f"clr_{call_id}", **(like | body))

    def observe(self, call_id: str = "c1") -> Orders:
        return self.tell(E.STATE_OBSERVED, call_id=call_id, snapshot_hash="5ca1ab1e", read_at=moment(0))

    def hold(self, call_id: str = "c1", round: int | None = None, proposal_id: str | None = None) -> Orders:
        return self.tell(E.CALL_HELD, **self.held(call_id, round, proposal_id))

    def held(self, call_id: str = "c1", round: int | None = None, proposal_id: str | None = None) -> dict[str, Any]:
        known = self.state.calls.get(call_id)
        return {
            "call_id": call_id,
            "proposal_id": proposal_id or f"p-{call_id}",
            "round": round or (known.round + 1 if known else 1),
            "expires_at": moment(900),
            "rule_id": "refund",
            "policy_number": 8,
        }

    def allow(self, call_id: str = "c1") -> Orders:
        return self.tell(E.CALL_ALLOWED, call_id=call_id, rule_id="read-orders", policy_number=8, boundary="direct")

    def refuse(self, call_id: str = "c1", **body: Any) -> Orders:
        said = {"code": "AMOUNT_EXCEEDS_LEFT", "message": "Only A$75.00 is left to refund."}
        return self.tell(E.CALL_REFUSED, call_id=call_id, **(said | body))

    def resolve(self, resolution: str, call_id: str = "c1", **body: Any) -> Orders:
        return self.tell(E.RESOLUTION_CONSUMED, **self.resolution(resolution, call_id, **body))

    def resolution(self, resolution: str, call_id: str = "c1", **body: Any) -> dict[str, Any]:
        return {"call_id": call_id, "proposal_id": f"p-{call_id}", "resolution": resolution, "by": "ola"} | body

    def start(self, call_id: str = "c1", **body: Any) -> Orders:
        return self.tell(E.DISPATCH_STARTED, **self.dispatch(call_id, **body))

    def dispatch(self, call_id: str = "c1", **body: Any) -> dict[str, Any]:
        call = self.state.calls[call_id]
        return {
            "call_id": call_id,
            "dispatch_id": f"d-{call_id}-{call.attempt + 1}",
            "fence": call.fence + 1,
            "attempt": call.attempt + 1,
            "deadline": moment(self.state.seq + 8),
            "key": call.key,
        } | body

    def attempt(self, call_id: str = "c1") -> dict[str, Any]:
        call = self.state.calls[call_id]
        return {"call_id": call_id, "dispatch_id": call.dispatch_id, "fence": call.fence}

    def succeed(self, call_id: str = "c1", **body: Any) -> Orders:
        return self.tell(E.DISPATCH_SUCCEEDED, **self.success(call_id, **body))

    def success(self, call_id: str = "c1", **body: Any) -> dict[str, Any]:
        said = {"reference": "re_881", "result_digest": "beefcafe", "duration_ms": 38}
        return self.attempt(call_id) | said | body

    def fail(self, error_class: str, call_id: str = "c1", **body: Any) -> Orders:
        return self.tell(E.DISPATCH_FAILED, **self.failure(error_class, call_id, **body))

    def failure(self, error_class: str, call_id: str = "c1", **body: Any) -> dict[str, Any]:
        said = {"error_class": error_class, "code": error_class.upper(), "message": "It did not work."}
        return self.attempt(call_id) | said | {"before_effect": error_class.startswith("connect_")} | body

    def lose(self, call_id: str = "c1", reason: str = "The worker's lease ended.") -> Orders:
        return self.tell(E.OUTCOME_UNKNOWN, **self.lost(call_id, reason))

    def lost(self, call_id: str = "c1", reason: str = "The worker's lease ended.") -> dict[str, Any]:
        return {"call_id": call_id, "dispatch_id": self.call(call_id).dispatch_id, "reason": reason}

    def reconcile(self, outcome: str, call_id: str = "c1", **body: Any) -> Orders:
        return self.tell(E.OUTCOME_RECONCILED, **self.reconciliation(outcome, call_id, **body))

    def reconciliation(self, outcome: str, call_id: str = "c1", **body: Any) -> dict[str, Any]:
        return {"call_id": call_id, "outcome": outcome, "by": "ola", "conclusive": True} | body

    # Short cuts to where a story begins.

    def waiting(self, call_id: str = "c1", like: dict[str, Any] = REFUND) -> "Story":
        if self.state.created_at is None:
            self.open()
        self.propose(call_id, like)
        self.observe(call_id)
        self.hold(call_id)
        return self

    def granted(self, call_id: str = "c1", like: dict[str, Any] = REFUND) -> "Story":
        self.waiting(call_id, like)
        self.resolve("granted", call_id)
        return self

    def started(self, call_id: str = "c1", like: dict[str, Any] = REFUND) -> "Story":
        self.granted(call_id, like)
        self.start(call_id)
        return self

    def unknown(self, call_id: str = "c1") -> "Story":
        self.started(call_id)
        self.lose(call_id)
        return self


def kinds(commands: Orders) -> list[str]:
    """The commands' kinds, in order."""
    return [command.kind.value for command in commands]
