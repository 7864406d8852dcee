"""What the reducer knows of a run: its own facts and one small machine per call. Values only, no rules.

Everything is immutable; an update copies the one mapping it touches and shares the rest. `to_json` leaves out what
still has its default, because a checkpoint is written again and again (data rule 9).
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import Any, Self

from runs.core.kinds import CallState, CommandKind, EffectState, RunPhase

STATE_VERSION = 1


@dataclass(frozen=True, slots=True)
class CallMachine:
    """One tool call. Times are ISO 8601 text; `fence`, `attempt` and `dispatch_id` are the latest attempt's."""

    call_id: str
    state: CallState
    tool: str
    contract_version: int
    digest: str
    key: str
    side_effect: str
    retry_class: str
    read_only: bool
    message_id: str | None = None
    deadline: str | None = None
    compensates: str | None = None
    # The id of the turn that it was asked in; None where none was open, or where people made it.
    turn: str | None = None
    # Why it may happen.
    rule_id: str | None = None
    policy_number: int | None = None
    boundary: str | None = None
    proposal_id: str | None = None
    round: int = 0
    expires_at: str | None = None
    # What people have asked the agent about it and it has not answered.
    question_id: str | None = None
    snapshot_hash: str | None = None
    read_at: str | None = None
    # How far it got.
    attempt: int = 0
    fence: int = 0
    dispatch_id: str | None = None
    request_deadline: str | None = None
    retry_at: str | None = None
    effect: EffectState | None = None
    reference: str | None = None
    # How it ended, in words for the agent.
    code: str | None = None
    message: str | None = None
    by: str | None = None
    compensated_by: str | None = None
    # Results that came after somebody else had the call; they moved nothing (R2).
    late: int = 0
    # When it came to stand where it stands.
    since: str | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON values, defaults left out."""
        return _sparse(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The machine again."""
        values = dict(data)
        values["state"] = CallState(values["state"])
        if values.get("effect") is not None:
            values["effect"] = EffectState(values["effect"])
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Command:
    """An order of the reducer. `body` holds what R2 wants of every external command: actor, scope, approval, step
    (`call_id`), attempt, key and fingerprint (`digest`)."""

    kind: CommandKind
    call_id: str | None
    body: dict[str, Any]

    @property
    def identity(self) -> str:
        """Text that is equal for the same order given twice within a run, so that storing it twice is one row (S33).

        A resumed run repeats what its pause held back; the attempt and the round tell a repeat from a new order.
        """
        attempt, round_ = self.body.get("attempt", 0), self.body.get("round", 0)
        return f"{self.kind}:{self.call_id or ''}:{attempt}:{round_}:{self.body.get('occasion', '')}"


@dataclass(frozen=True, slots=True)
class State:
    """A run. A fact that was said at a moment is kept as that moment (ISO 8601 text); None means not said."""

    seq: int = 0
    scope: Mapping[str, Any] = field(default_factory=dict)
    agent: str | None = None
    managed: bool = False
    place: int | None = None
    deadline: str | None = None
    definition: str | None = None
    created_at: str | None = None
    admitted_at: str | None = None
    pause_asked_at: str | None = None
    drained_at: str | None = None
    cancel_asked_at: str | None = None
    acknowledged_at: str | None = None
    kill_asked_at: str | None = None
    quiescent_at: str | None = None
    completed_at: str | None = None
    failed_at: str | None = None
    code: str | None = None
    message: str | None = None
    ask_id: str | None = None
    steers: int = 0
    # The turn that is open, as its event said it and when; it ends with the next one (`runs.core.turns`).
    turn: Mapping[str, Any] | None = None
    # The number of every turn by its id, so that a request that comes late never opens an earlier one again.
    turns: Mapping[str, int] = field(default_factory=dict)
    calls: Mapping[str, CallMachine] = field(default_factory=dict)
    # How many calls stand where; kept along so that a status costs nothing in a run of thousands of calls.
    counts: Mapping[CallState, int] = field(default_factory=dict)
    # The seq of the checkpoint this value was loaded from. No fact of the run: two states that differ only here are
    # equal, and it is not written.
    restored_at: int = field(default=0, compare=False)

    def count(self, *states: CallState) -> int:
        """How many calls stand in one of `states`."""
        return sum(self.counts.get(state, 0) for state in states)

    @property
    def in_flight(self) -> int:
        """Owned work that runs right now: started calls and a question to the model."""
        return self.count(CallState.STARTED) + (self.ask_id is not None)

    @property
    def unresolved(self) -> int:
        """Calls whose effect nobody knows."""
        return self.count(CallState.UNKNOWN)

    @property
    def completed(self) -> bool:
        """The agent said that it is done."""
        return self.completed_at is not None

    @property
    def failed(self) -> bool:
        """The run was given up."""
        return self.failed_at is not None

    @property
    def stop_asked(self) -> bool:
        """Cancel or kill was asked; nothing new is scheduled from there on."""
        return self.cancel_asked_at is not None or self.kill_asked_at is not None

    @property
    def cancelled(self) -> bool:
        """Stopped, and no question about an effect is left."""
        return self.quiescent_at is not None and self.unresolved == 0

    @property
    def cancelling(self) -> bool:
        """A stop was asked and has not become quiet yet."""
        return self.stop_asked and self.quiescent_at is None

    @property
    def paused(self) -> bool:
        """A pause was asked and not resumed; whether it has drained is a detail."""
        return self.pause_asked_at is not None

    @property
    def finished(self) -> bool:
        """Nothing can happen in this run any more (R2: it emits no command)."""
        return self.completed or self.failed or self.cancelled

    @property
    def phase(self) -> RunPhase:
        """Where the run's table starts from."""
        if self.created_at is None:
            return RunPhase.NONE
        if self.finished:
            return RunPhase.FINISHED
        if self.quiescent_at is not None:
            return RunPhase.SETTLING
        if self.stop_asked:
            return RunPhase.STOPPING
        if self.paused:
            return RunPhase.PAUSED
        return RunPhase.OPEN if self.admitted_at is not None else RunPhase.PENDING

    def with_call(self, call: CallMachine) -> "State":
        """The state with `call` put in place of the one of the same id, counts kept right."""
        counts = dict(self.counts)
        before = self.calls.get(call.call_id)
        if before is not None:
            counts[before.state] -= 1
            if not counts[before.state]:
                del counts[before.state]
        counts[call.state] = counts.get(call.state, 0) + 1
        return changed(self, {"calls": {**self.calls, call.call_id: call}, "counts": counts})

    def checkpointed(self) -> "State":
        """The same state after it was written down, for a worker that folds on without loading it again."""
        return changed(self, {"restored_at": self.seq})

    def to_json(self) -> dict[str, Any]:
        """JSON values of a checkpoint; counts are left out because the calls say them."""
        data = _sparse(self, skip=("calls", "counts", "restored_at"))
        return {"version": STATE_VERSION, **data, "calls": [call.to_json() for call in self.calls.values()]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "State":
        """The state of a checkpoint. Raises ValueError when another reducer version wrote it: replay from scratch."""
        values = dict(data)
        version = values.pop("version", None)
        if version != STATE_VERSION:
            raise ValueError(f"A checkpoint of state version {version} cannot be read here; replay the history.")
        calls = {item["call_id"]: CallMachine.from_json(item) for item in values.pop("calls")}
        counts: dict[CallState, int] = {}
        for call in calls.values():
            counts[call.state] = counts.get(call.state, 0) + 1
        return cls(**values, calls=calls, counts=counts, restored_at=values.get("seq", 0))


def changed[T](item: T, changes: Mapping[str, Any]) -> T:
    """`dataclasses.replace` in a third of its time: it is what folding a long history mostly does. Raises TypeError for
    a field that there is not."""
    kind: Any = type(item)
    names, read = _fields_of(kind)
    made: T = kind(**{**dict(zip(names, read(item), strict=True)), **changes})
    return made


@cache
def _fields_of(kind: type[Any]) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    names = tuple(spec.name for spec in fields(kind))
    return names, attrgetter(*names)


def _is_default(spec: Field[Any], value: Any) -> bool:
    if spec.default is not MISSING:
        return bool(value == spec.default)
    return spec.default_factory is not MISSING and value == spec.default_factory()


def _sparse(item: Any, skip: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        spec.name: value.value if isinstance(value, Enum) else value
        for spec in fields(item)
        if spec.name not in skip and not _is_default(spec, value := getattr(item, spec.name))
    }
