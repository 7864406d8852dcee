# ruff: noqa: ARG001, ARG005 - handlers of one table share one signature, whether they need all of it or not
"""The run's state machine, version 1: `fold(state, event)` gives the next state and the commands that follow (R1).

Two tables say everything; below them stand only the handlers that copy an event's facts. An event is looked up in
the run's table first and, when it is about a call, in the call's. What is in no line raises `IllegalTransition` and
changes nothing. docs/lifecycle.md is generated from the tables (how to read a line: `runs.core.table`).

What it prevents (R2): a second completion of one attempt lineage, an outcome from a fence that is not in force, a
command of a finished run, a second sending that nobody proved safe. What it does not: two writers at once (the append
function does), a worker that sends late (the kernel timer does).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runs.core import guards
from runs.core.events import BODIES, Event
from runs.core.kinds import FINAL_CALLS, OPEN_CALLS, SENT_CALLS, CallState, EffectState, EventKind, RunPhase
from runs.core.orders import SCHEDULING, call_command, run_commands
from runs.core.state import CallMachine, Command, State, changed
from runs.core.table import IllegalTransition, Row, choose, index, read

__all__ = ["CALL_TABLE", "NO_CALL", "REDUCERS", "RUN_TABLE", "CallMachine", "Command", "IllegalTransition", "Reducer",
           "State", "fold", "initial_state"]  # fmt: skip

Facts = dict[str, Any]
NO_CALL = "-"
WORDS = ("rejected", "expired", "withdrawn", "superseded", "cancelled", "refused")

CALL_TABLE = read(
    """
from          | event               | guards                               | to              | commands
-             | call_proposed       | amends in_turn                       | new             | read_state evaluate
open sent     | state_observed      |                                      | =               |
new           | call_allowed        |                                      | ready           | dispatch
open          | call_held           | next_round                           | waiting         | hold_proposal tell_agent
new ready     | call_refused        |                                      | refused expired | tell_agent
waiting       | call_refused        | no_proposal                          | refused expired | tell_agent
open          | call_withdrawn      |                                      | withdrawn       | tell_agent
waiting       | resolution_consumed | granted? own_proposal                | ready           | dispatch
waiting ready | resolution_consumed | not_granted? own_proposal            | word            | tell_agent
final         | resolution_consumed | own_proposal                         | =               |
waiting ready | question_asked      | own_proposal no_question             | =               | tell_agent
waiting ready | question_answered   | own_question                         | =               |
ready         | timer_due           | timer                                | =               | dispatch
ready         | dispatch_started    | new_fence next_try same_key no_timer | started         |
started       | dispatch_succeeded  | current                              | succeeded       | tell_agent
started       | dispatch_failed     | timed? safe? running? current proven | ready           | set_timer
started       | dispatch_failed     | current proven certain               | failed          | tell_agent
started       | outcome_unknown     | read_only? current                   | failed          | tell_agent
started       | outcome_unknown     | current                              | unknown         | look_up tell_agent
unknown       | timer_due           |                                      | =               | look_up
open          | outcome_reconciled  | happened? restored                   | succeeded       | tell_agent
unknown       | outcome_reconciled  | happened?                            | succeeded       | tell_agent
unknown       | outcome_reconciled  | did_not_happen? conclusive           | failed          | tell_agent
unknown       | outcome_reconciled  | retry? void? conclusive running      | waiting         | hold_proposal
unknown       | outcome_reconciled  | retry? conclusive running            | ready           | dispatch
unknown       | outcome_reconciled  | compensated? made_good               | compensated     | tell_agent
waiting ready | late_result_kept    | attempted                            | =               |
sent final    | late_result_kept    | attempted                            | =               |
open          | cancel_asked        |                                      | cancelled       |
open          | kill_asked          |                                      | cancelled       |
open          | run_failed          |                                      | cancelled       |
started       | kill_done           | read_only?                           | failed          |
started       | kill_done           |                                      | unknown         | look_up
""",
    states={state.value: (state.value,) for state in CallState}
    | {NO_CALL: (NO_CALL,), "open": OPEN_CALLS, "sent": SENT_CALLS, "final": FINAL_CALLS, "word": WORDS},
    guards=vars(guards),
)

RUN_TABLE = read(
    """
from          | event                                | guards           | to                | commands
none          | run_created                          |                  | pending           |
pending       | run_admitted                         | managed?         | open              | ask_model
pending       | run_admitted                         |                  | open              |
active        | call_proposed call_allowed call_held |                  | =                 |
active        | call_refused call_withdrawn          |                  | =                 |
active        | question_asked question_answered     |                  | =                 |
open          | dispatch_started                     |                  | =                 |
working       | dispatch_succeeded dispatch_failed   |                  | =                 |
working       | outcome_unknown outcome_reconciled   |                  | =                 |
working       | state_observed timer_due             |                  | =                 |
settling      | outcome_reconciled                   |                  | settling finished |
settling      | state_observed timer_due             |                  | =                 |
begun         | late_result_kept resolution_consumed |                  | =                 |
live          | user_steered                         |                  | =                 | tell_agent
open          | turn_opened                          | new_turn next_number | =             |
open          | model_asked                          | no_ask           | =                 |
working       | model_answered                       | same_ask         | =                 |
open          | pause_asked                          |                  | paused            | tell_agent
paused        | pause_drained                        | undrained quiet  | =                 |
paused        | resume_asked                         |  | open | read_state evaluate dispatch tell_agent
live          | cancel_asked                         |                  | stopping          | stop_children tell_agent
stopping      | cancel_acknowledged                  | unacknowledged   | =                 |
stopping      | run_quiescent                        | quiet            | settling finished |
live stopping | kill_asked                           | unkilled         | stopping          | stop_children tell_agent
stopping      | kill_done                            | killed           | settling finished | tell_agent
active        | run_completed                        | all_final no_ask | finished          |
live          | run_failed                           | none_sent no_ask | finished          | tell_agent
active        | definition_migrated                  | quiet            | =                 |
active        | budget_reserved                      |                  | =                 |
live          | budget_topped_up                     |                  | =                 |
begun         | budget_settled run_forked            |                  | =                 |
""",
    states={phase.value: (phase.value,) for phase in RunPhase}
    | {
        "live": ("pending", "open", "paused"),
        "active": ("open", "paused"),
        "working": ("open", "paused", "stopping"),
        "begun": ("open", "paused", "stopping", "settling", "finished"),
    },
    guards=vars(guards),
)

CALL_INDEX, RUN_INDEX = index(CALL_TABLE), index(RUN_TABLE)
# Events about one call; and events of the run that reach every call with a line for them.
ABOUT_A_CALL = frozenset(event for row in CALL_TABLE for event in row.events if "call_id" in BODIES[event][0].split())
REACHING = frozenset(event for row in CALL_TABLE for event in row.events) - ABOUT_A_CALL


def initial_state() -> State:
    """The state before the first event."""
    return State()


def fold(state: State, event: Event) -> tuple[State, tuple[Command, ...]]:
    """The next state and its commands, in the order in which they were decided.

    Raises IllegalTransition when the history does not allow `event` here; `state` is a value and never changes.
    """
    if event.seq != state.seq + 1:
        sentence = f"Event {event.seq} does not follow event {state.seq}; read the history again from there."
        raise IllegalTransition(state.phase, event.kind, sentence)
    row = choose(RUN_INDEX, state.phase, event, state)
    if row is None:
        raise IllegalTransition(state.phase, event.kind, f"{event.kind} does not apply: {_run_stands(state)}")
    facts: Facts = {"seq": event.seq}
    if event.kind in STAMPS:
        facts[STAMPS[event.kind]] = event.at
    if event.kind in RUN_CHANGES:
        facts |= RUN_CHANGES[event.kind](state, event)
    after = changed(state, facts)
    commands: tuple[Command, ...] = ()
    if event.kind in ABOUT_A_CALL:
        after, commands = _fold_call(after, event, event.body["call_id"])
    elif event.kind in REACHING:
        for call_id in [call.call_id for call in state.calls.values() if (call.state, event.kind) in CALL_INDEX]:
            after, more = _fold_call(after, event, call_id)
            commands += more
    commands = run_commands(row.commands, state, after, event) + commands
    if state.paused and after.paused:
        commands = tuple(command for command in commands if command.kind not in SCHEDULING)
    return after, commands


def _fold_call(state: State, event: Event, call_id: str) -> tuple[State, tuple[Command, ...]]:
    call = state.calls.get(call_id)
    where = call.state if call else NO_CALL
    row = choose(CALL_INDEX, where, event, state, call)
    if row is None:
        raise IllegalTransition(where, event.kind, f"{event.kind} does not apply: {_call_stands(call, event)}")
    if call is None:
        moved = _proposed(event)
    else:
        target = CallState(_target(row, call, event))
        since = call.since if target is call.state else event.at
        moved = changed(call, {"state": target, "since": since, **CALL_CHANGES[event.kind](call, event, target)})
    after = state.with_call(moved)
    return after, tuple(call_command(kind, after, moved, event) for kind in row.commands)


def _target(row: Row, call: CallMachine, event: Event) -> str:
    if len(row.to) <= 1:
        return row.to[0] if row.to else call.state
    word: str = event.body.get("resolution") or event.body.get("final") or CallState.REFUSED
    return word


# Handlers: what an event writes into the call or the run. None of them decides anything.


def _proposed(event: Event) -> CallMachine:
    read = ("call_id", "tool", "contract_version", "digest", "key", "side_effect", "retry_class", "read_only")
    may = ("message_id", "deadline", "compensates", "turn")
    values = {name: event.body[name] for name in read} | {name: event.body.get(name) for name in may}
    return CallMachine(state=CallState.NEW, since=event.at, **values)


def _effect(call: CallMachine, effect: EffectState | None) -> EffectState | None:
    return None if call.read_only else effect


def _copy(*names: str) -> Callable[[CallMachine, Event, CallState], Facts]:
    return lambda call, event, target: {name: event.body.get(name) for name in names}


def _resolved(call: CallMachine, event: Event, target: CallState) -> Facts:
    if target is call.state:
        return {}  # it came after the call's end: the history keeps it, the call does not change
    if target is CallState.READY:
        return {"by": event.body.get("by")}
    message = event.body.get("message") or event.body.get("reason")
    return {"by": event.body.get("by"), "code": event.body.get("code") or target.upper(), "message": message}


def _withdrawn(call: CallMachine, event: Event, target: CallState) -> Facts:
    return {"by": event.body.get("by"), "code": "WITHDRAWN", "message": event.body.get("reason")}


def _started(call: CallMachine, event: Event, target: CallState) -> Facts:
    body = event.body
    sent = {"attempt": body["attempt"], "fence": body["fence"], "dispatch_id": body["dispatch_id"]}
    effect = _effect(call, EffectState.INTENDED)
    return sent | {"request_deadline": body["deadline"], "effect": effect, "code": None, "message": None}


def _succeeded(call: CallMachine, event: Event, target: CallState) -> Facts:
    effect = EffectState.DUPLICATE if event.body.get("duplicate") else EffectState.COMMITTED
    return {"effect": _effect(call, effect), "reference": event.body["reference"]}


def _failed(call: CallMachine, event: Event, target: CallState) -> Facts:
    said = {"code": event.body["code"], "message": event.body["message"]}
    if target is CallState.READY:
        return said | {"effect": None, "retry_at": event.body["retry_at"]}
    return said | {"effect": _effect(call, EffectState.REFUSED)}


def _lost(call: CallMachine, event: Event, target: CallState) -> Facts:
    code = "OUTCOME_UNKNOWN" if target is CallState.UNKNOWN else "ANSWER_LOST"
    reason = event.body.get("reason") or f"The run ended its work ({event.kind})."
    return {"effect": _effect(call, EffectState.UNKNOWN), "code": code, "message": reason}


def _reconciled(call: CallMachine, event: Event, target: CallState) -> Facts:
    facts: Facts = {"by": event.body["by"], "code": None, "message": None}
    if target is CallState.SUCCEEDED:
        return facts | {"effect": EffectState.COMMITTED, "reference": event.body.get("reference")}
    if target is CallState.FAILED:
        return facts | {"effect": EffectState.REFUSED, "code": "DID_NOT_HAPPEN"}
    if target is CallState.COMPENSATED:
        return facts | {"effect": EffectState.COMMITTED, "compensated_by": event.body["compensated_by"]}
    # Sent again. A void approval takes its proposal with it, so that an old grant of it cannot be consumed.
    return facts | {"effect": None} | ({"proposal_id": None} if target is CallState.WAITING else {})


def _ended(call: CallMachine, event: Event, target: CallState) -> Facts:
    return {"code": event.kind.upper(), "message": "The run ended before this call was sent."}


CALL_CHANGES: Mapping[EventKind, Callable[[CallMachine, Event, CallState], Facts]] = {
    EventKind.STATE_OBSERVED: _copy("snapshot_hash", "read_at"),
    EventKind.CALL_ALLOWED: _copy("rule_id", "policy_number", "boundary"),
    EventKind.CALL_HELD: _copy("proposal_id", "round", "expires_at", "rule_id", "policy_number"),
    EventKind.CALL_REFUSED: _copy("code", "message"),
    EventKind.CALL_WITHDRAWN: _withdrawn,
    EventKind.RESOLUTION_CONSUMED: _resolved,
    EventKind.QUESTION_ASKED: _copy("question_id"),
    EventKind.QUESTION_ANSWERED: lambda call, event, target: {"question_id": None},
    EventKind.TIMER_DUE: lambda call, event, target: {"retry_at": None},
    EventKind.DISPATCH_STARTED: _started,
    EventKind.DISPATCH_SUCCEEDED: _succeeded,
    EventKind.DISPATCH_FAILED: _failed,
    EventKind.OUTCOME_UNKNOWN: _lost,
    EventKind.OUTCOME_RECONCILED: _reconciled,
    EventKind.LATE_RESULT_KEPT: lambda call, event, target: {"late": call.late + 1},
    EventKind.CANCEL_ASKED: _ended,
    EventKind.KILL_ASKED: _ended,
    EventKind.RUN_FAILED: _ended,
    EventKind.KILL_DONE: _lost,
}


def _created(state: State, event: Event) -> Facts:
    names = ("scope", "agent", "place", "deadline")
    return {name: event.body.get(name) for name in names} | {"managed": bool(event.body.get("managed"))}


def _turn(state: State, event: Event) -> Facts:
    turn = {name: event.body[name] for name in ("turn_id", "number", "tools", "narrowed")} | {"at": event.at}
    return {"turn": turn, "turns": {**state.turns, event.body["turn_id"]: event.body["number"]}}


# Facts that are a moment: the event's time goes into this field.
STAMPS: Mapping[EventKind, str] = {
    EventKind.RUN_CREATED: "created_at",
    EventKind.RUN_ADMITTED: "admitted_at",
    EventKind.PAUSE_ASKED: "pause_asked_at",
    EventKind.PAUSE_DRAINED: "drained_at",
    EventKind.CANCEL_ASKED: "cancel_asked_at",
    EventKind.CANCEL_ACKNOWLEDGED: "acknowledged_at",
    EventKind.KILL_ASKED: "kill_asked_at",
    EventKind.RUN_QUIESCENT: "quiescent_at",
    EventKind.KILL_DONE: "quiescent_at",
    EventKind.RUN_COMPLETED: "completed_at",
    EventKind.RUN_FAILED: "failed_at",
}
RUN_CHANGES: Mapping[EventKind, Callable[[State, Event], Facts]] = {
    EventKind.RUN_CREATED: _created,
    EventKind.RUN_ADMITTED: lambda state, event: {"place": None},
    EventKind.USER_STEERED: lambda state, event: {"steers": state.steers + 1},
    EventKind.TURN_OPENED: _turn,
    EventKind.MODEL_ASKED: lambda state, event: {"ask_id": event.body["ask_id"]},
    EventKind.MODEL_ANSWERED: lambda state, event: {"ask_id": None},
    EventKind.RESUME_ASKED: lambda state, event: {"pause_asked_at": None, "drained_at": None},
    EventKind.KILL_DONE: lambda state, event: {"ask_id": None},
    EventKind.DEFINITION_MIGRATED: lambda state, event: {"definition": event.body["to_version"]},
    EventKind.RUN_FAILED: lambda state, event: {"code": event.body["code"], "message": event.body["message"]},
}


# Sentences for what stands in no line.


def _run_stands(state: State) -> str:
    word = "completed" if state.completed else "failed" if state.failed else "cancelled"
    return {
        RunPhase.NONE: "the run does not exist yet.",
        RunPhase.PENDING: "the run is pending; it waits to be admitted.",
        RunPhase.OPEN: "the run is open, not paused and not being stopped.",
        RunPhase.PAUSED: "the run is paused; resume it first.",
        RunPhase.STOPPING: "the run is being stopped; nothing new is scheduled.",
        RunPhase.SETTLING: "the run has stopped; only its unknown outcomes are settled now.",
        RunPhase.FINISHED: f"the run is {word} and stays so; open another run.",
    }[state.phase]


def _call_stands(call: CallMachine | None, event: Event) -> str:
    call_id = event.body["call_id"]
    if call is None:
        return f"call {call_id} is not in this run; propose it first."
    if event.kind is EventKind.CALL_PROPOSED:
        return f"call id {call_id} is taken in this run; a repeated id is the same call, a new call needs a new id."
    if call.state in FINAL_CALLS:
        return f"call {call_id} is {call.state} and stays so; a result that comes now is kept as a late one."
    advice = {
        CallState.NEW: "it is being judged; wait for the verdict.",
        CallState.WAITING: "people decide about it; wait for their resolution.",
        CallState.READY: "it may be sent but was not; start its dispatch or withdraw it.",
        CallState.STARTED: "it was sent; wait for its outcome.",
        CallState.UNKNOWN: "its outcome is unknown; look it up at the target and reconcile it first.",
    }[call.state]
    return f"call {call_id} is {call.state}: {advice}"


@dataclass(frozen=True, slots=True)
class Reducer:
    """One numbered behaviour. A version that histories were made with stays as it is for ever (R1)."""

    version: int
    fold: Callable[[State, Event], tuple[State, tuple[Command, ...]]]
    initial_state: Callable[[], State]


REDUCERS: Mapping[int, Reducer] = {1: Reducer(1, fold, initial_state)}
