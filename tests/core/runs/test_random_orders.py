"""Random orders of events, right ones and wrong ones, against the invariants of R2.

Each step draws a kind and a body in which every field is either what fits the moment or something else, so that runs
get far and are still pushed at from every side.
"""

import json
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runs.core.events import BODIES, Event
from runs.core.kinds import FINAL_CALLS, OPEN_CALLS, CallState, EventKind, RunStatus
from runs.core.reducer import CallMachine, Command, IllegalTransition, State, fold, initial_state
from runs.core.replay import replay
from runs.core.status import detail, run_status
from tests.core.runs.story import READ, REFUND, moment

E = EventKind
CALLS = ("c1", "c2", "c3", "c4")
OUTCOMES = (E.DISPATCH_SUCCEEDED, E.DISPATCH_FAILED, E.OUTCOME_UNKNOWN)
IDEMPOTENT = REFUND | {"tool": "set_status", "side_effect": "idempotent", "retry_class": "safe"}

# What a value may be when it does not fit the moment.
OTHERWISE: dict[str, list[Any]] = {
    "resolution": ["granted", "granted", "rejected", "expired", "withdrawn", "superseded", "cancelled", "refused"],
    "outcome": ["happened", "did_not_happen", "retry", "compensated"],
    "approval": [None, "holds", "void"],
    "final": [None, "refused", "expired"],
    "epoch": [None, None, None, 2],
    "linked": [None, None, True],
    "error_class": ["connect_refused", "validation", "timeout"],
    "before_effect": [True, False],
    "conclusive": [True, False],
    "duplicate": [None, True],
    "managed": [None, True],
    "retry_at": [None, moment(30)],
    "compensates": [None, None, *CALLS],
    "compensated_by": [None, *CALLS],
    "fence": [1, 2, 3],
    "attempt": [1, 2, 3],
    "round": [1, 2, 3],
    "proposal_id": ["p-c1", "p-c2"],
    "dispatch_id": ["d-c1-1", "d-c2-1"],
    "ask_id": ["m1", "m2"],
    "key": ["clr_c1", "clr_other"],
    "call_id": list(CALLS),
    "scope": [{"tenant": "acme"}],
    "contract_version": [3],
    "side_effect": ["irreversible"],
    "retry_class": ["never"],
    "read_only": [False],
    "amount": [1],
    "turn_id": ["t1", "t2", "t3", "t4"],
    "turn": [None, None, None, "t1", "t2"],
    "tools": [[], ["refund_order"], ["get_order", "refund_order", "set_status"]],
    "narrowed": [True, False],
    "number": [1, 2, 3],
    "place": [None, 3],
    "policy_number": [8],
    "duration_ms": [5],
}
MOMENTS = ("deadline", "expires_at", "read_at")


def fitting(kind: EventKind, call: CallMachine | None, state: State) -> dict[str, Any]:
    """The values that the reducer expects just now."""
    unknown = [other.call_id for other in state.calls.values() if other.state is CallState.UNKNOWN]
    known: dict[str, Any] = {"ask_id": state.ask_id or "m1", "compensates": unknown[0] if unknown else None}
    known |= {"number": len(state.turns) + 1, "turn": state.turn["turn_id"] if state.turn else None}
    if call is None:
        return known
    known |= {"round": call.round + 1, "proposal_id": call.proposal_id, "key": call.key}
    if kind is E.CALL_HELD:
        known |= {"proposal_id": f"p-{call.call_id}"}
    if kind is E.DISPATCH_STARTED:
        number = call.attempt + 1
        known |= {"attempt": number, "fence": call.fence + 1, "dispatch_id": f"d-{call.call_id}-{number}"}
    else:
        known |= {"attempt": call.attempt or None, "fence": call.fence or None, "dispatch_id": call.dispatch_id}
    makers = [other for other in state.calls.values() if other.compensates == call.call_id]
    if makers:
        known |= {"compensated_by": makers[0].call_id, "outcome": "compensated"}
    return known


def usual(state: State, call: CallMachine | None) -> list[EventKind]:
    """Kinds that usually lead on from here."""
    if state.created_at is None:
        return [E.RUN_CREATED]
    if state.admitted_at is None and not state.stop_asked:
        return [E.RUN_ADMITTED]
    if call is None:
        return [E.CALL_PROPOSED]
    lead = {
        CallState.NEW: [E.CALL_HELD, E.CALL_ALLOWED],
        CallState.WAITING: [E.RESOLUTION_CONSUMED],
        CallState.READY: [E.DISPATCH_STARTED] if call.retry_at is None else [E.TIMER_DUE],
        CallState.STARTED: list(OUTCOMES),
        CallState.UNKNOWN: [E.OUTCOME_RECONCILED],
    }
    return lead.get(call.state, list(EventKind))


class Tape:
    """Choices read from bytes: Hypothesis draws and shrinks one value instead of thousands of small ones."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.position = 0

    def byte(self) -> int:
        self.position += 1
        return self.content[self.position - 1] if self.position <= len(self.content) else 0

    def choose(self, options: Sequence[Any]) -> Any:
        return options[self.byte() % len(options)]

    @property
    def over(self) -> bool:
        return self.position >= len(self.content)


def step(tape: Tape, state: State) -> Event:
    """The next event: nine times in ten one that usually leads on, seven fields in eight with what fits."""
    call_id = tape.choose(CALLS)
    call = state.calls.get(call_id)
    kind = tape.choose(usual(state, call) if tape.byte() % 10 else list(EventKind))
    right = fitting(kind, call, state)
    body: dict[str, Any] = {}
    required, optional = BODIES[kind]
    for key in (required + " " + optional).split():
        if key in MOMENTS:
            body[key] = moment(900)
        elif key == "call_id":
            body[key] = call_id
        elif right.get(key) is not None and tape.byte() % 8:
            body[key] = right[key]
        else:
            body[key] = tape.choose(OTHERWISE.get(key, ["text"]))
    if kind is E.CALL_PROPOSED:
        body |= tape.choose([REFUND, READ, IDEMPOTENT]) | {"key": f"clr_{call_id}"}
    return Event(kind, state.seq + 1, moment(state.seq + 1), {"kind": "system", "id": "test"}, body)


class Witness:
    """Watches a run from outside and keeps its own books, so that it does not believe the reducer's."""

    def __init__(self) -> None:
        self.fences: dict[str, int] = {}
        self.completed: Counter[tuple[str, int]] = Counter()
        self.may_send: set[str] = set()
        self.shown: dict[str, list[str]] = {}
        self.last = ""

    def saw(self, before: State, event: Event, after: State, commands: tuple[Command, ...]) -> None:
        if before.finished:
            assert commands == (), "a finished run emitted a command"
            assert run_status(after) == run_status(before)
            assert {c: m.state for c, m in after.calls.items()} == {c: m.state for c, m in before.calls.items()}
        for call_id, call in before.calls.items():
            now = after.calls[call_id]
            if call.state in FINAL_CALLS:
                assert now.state is call.state, "a final call moved"
            assert (now.key, now.digest, now.tool) == (call.key, call.digest, call.tool)
            assert now.turn == call.turn, "a call went over into another turn"
            assert now.fence >= call.fence
        self._sending(before, event, after)
        self._turns(before, event, after)
        for command in commands:
            if command.call_id is not None:
                call = after.calls[command.call_id]
                assert (command.body["key"], command.body["digest"]) == (call.key, call.digest)
                assert {"actor", "scope", "attempt", "proposal_id"} <= set(command.body)
        if after.stop_asked and before.stop_asked:
            assert not any(command.kind in ("dispatch", "evaluate", "ask_model") for command in commands)

    def _turns(self, before: State, event: Event, after: State) -> None:
        assert all(after.turns[turn_id] == number for turn_id, number in before.turns.items())
        if event.kind is E.TURN_OPENED:
            assert event.body["turn_id"] not in before.turns, "one id opened two turns"
            assert sorted(after.turns.values()) == list(range(1, len(after.turns) + 1))
            self.shown[event.body["turn_id"]] = event.body["tools"]
            self.last = event.body["turn_id"]
        if event.kind is E.CALL_PROPOSED and event.body.get("turn") is not None:
            assert event.body["turn"] == self.last, "asked in a turn that is over"
            assert event.body["tool"] in self.shown[self.last], "asked for a tool that its turn does not show"

    def _sending(self, before: State, event: Event, after: State) -> None:
        body, call_id = event.body, event.body.get("call_id", "")
        call = before.calls.get(call_id)
        if event.kind is E.CALL_ALLOWED or (event.kind is E.RESOLUTION_CONSUMED and body["resolution"] == "granted"):
            self.may_send |= {call_id} if call is not None and call.state in OPEN_CALLS else set()
        if event.kind is E.CALL_HELD:
            self.may_send.discard(call_id)
        if call is not None and event.kind is E.OUTCOME_RECONCILED and body["outcome"] == "retry":
            assert body["conclusive"], "sent again before the look-up proved anything"
            if body.get("approval") == "void":
                self.may_send.discard(call_id)
        if call is not None and event.kind is E.DISPATCH_STARTED:
            assert call_id in self.may_send, "sent without a verdict that allows it"
            assert not before.paused
            assert not before.stop_asked
            assert body["fence"] > self.fences.get(call_id, 0), "a fence did not rise"
            self.fences[call_id] = body["fence"]
        if call is not None and event.kind in OUTCOMES:
            self.completed[call_id, call.fence] += 1
            assert self.completed[call_id, call.fence] == 1, "one attempt completed twice"
            again = after.calls[call_id].state is CallState.READY
            proven = body.get("error_class") == "connect_refused"
            assert not again or proven or call.side_effect in ("read", "idempotent"), "sent again without proof"


def attempt(state: State, event: Event) -> tuple[State, tuple[Command, ...]] | None:
    """What the fold gives, or None where it refuses; a refusal has words and changes nothing."""
    written = state.to_json()
    refusal = result = None
    try:
        result = fold(state, event)
    except IllegalTransition as caught:
        refusal = caught
    assert state.to_json() == written, "an event changed the state that it started from"
    if refusal is not None:
        assert (refusal.event, bool(refusal.sentence)) == (event.kind, True)
    return result


def run(tape: Tape) -> tuple[list[Event], list[State]]:
    """One random run under the witness's eyes: its history and every state it went through."""
    state, witness = initial_state(), Witness()
    told: list[Event] = []
    states = [state]
    while not tape.over:
        event = step(tape, state)
        result = attempt(state, event)
        if result is None:
            continue
        after, commands = result
        assert fold(state, event) == result, "two folds differ"
        witness.saw(state, event, after, commands)
        state = after
        told.append(event)
        states.append(state)
        assert Counter(call.state for call in state.calls.values()) == Counter(state.counts)
        assert run_status(state) in RunStatus
        assert isinstance(detail(state), str)
    return told, states


@settings(max_examples=200, deadline=None)
@given(st.binary(min_size=300, max_size=600), st.integers(0, 40))
def test_whatever_happens_in_whatever_order_the_invariants_hold(content: bytes, position: int):
    told, states = run(Tape(content))
    state = states[-1]
    assert State.from_json(json.loads(json.dumps(state.to_json()))) == state
    assert replay(told) == state
    restored = State.from_json(replay(told[:position]).to_json())
    assert replay(told[position:], since=restored) == state


def test_random_runs_reach_every_state_of_a_call_and_of_a_run():
    """Guards the test above: if runs never got anywhere, its invariants would hold of nothing."""
    dice = random.Random(7)
    calls: set[CallState] = set()
    runs: set[RunStatus] = set()
    accepted = 0
    for _ in range(200):
        told, states = run(Tape(dice.randbytes(600)))
        accepted += len(told)
        runs.update(run_status(state) for state in states)
        calls.update(where for state in states for where in state.counts)
    assert calls == set(CallState)
    assert runs == set(RunStatus)
    assert accepted > 200 * 10
