# ruff: noqa: ARG001 - guards of one table share one signature, whether they need all of it or not
"""The guards that the reducer's tables name.

A call's guard gets the state, the call (None before `call_proposed`) and the event, a run's the state and the event.
It returns "" when it holds, else the sentence of the refusal. Its docstring is the text in docs/lifecycle.md.
"""

from collections.abc import Iterable

from runs.core.events import Event
from runs.core.kinds import FINAL_CALLS, OPEN_CALLS, SENT_CALLS, CallState
from runs.core.retry import Certainty, classify, may_retry
from runs.core.state import CallMachine, State
from runs.core.turns import open_turn

# Which of several rows an event means.


def granted(state: State, call: CallMachine, event: Event) -> str:
    """it was granted"""
    return "" if event.body["resolution"] == "granted" else "It was not granted."


def not_granted(state: State, call: CallMachine, event: Event) -> str:
    """it was not granted; the resolution's word is the call's"""
    if event.body["resolution"] != "granted":
        return ""
    return "This call was granted already; one grant is consumed once."


def happened(state: State, call: CallMachine, event: Event) -> str:
    """it happened"""
    return "" if event.body["outcome"] == "happened" else "It is not said that it happened."


def did_not_happen(state: State, call: CallMachine, event: Event) -> str:
    """it did not happen"""
    return "" if event.body["outcome"] == "did_not_happen" else "It is not said that it did not happen."


def retry(state: State, call: CallMachine, event: Event) -> str:
    """an operator decided to send it again"""
    return "" if event.body["outcome"] == "retry" else "Sending it again was not decided."


def compensated(state: State, call: CallMachine, event: Event) -> str:
    """another call made up for it"""
    return "" if event.body["outcome"] == "compensated" else "It is not said that it was compensated."


def restored(state: State, call: CallMachine, event: Event) -> str:
    """a backup was restored, and it happened in the time that the backup does not know of"""
    if event.body.get("epoch") is not None:
        return ""
    return "Only after a restore can a call have happened that this history has not sent."


def void(state: State, call: CallMachine, event: Event) -> str:
    """its approval no longer holds"""
    return "" if event.body.get("approval") == "void" else "Its approval still holds."


def read_only(state: State, call: CallMachine, event: Event) -> str:
    """the tool only reads, so no effect can be in doubt"""
    return "" if call.read_only else "The tool has effects."


def timed(state: State, call: CallMachine, event: Event) -> str:
    """budget and deadline leave another attempt (retry_at is given)"""
    return "" if event.body.get("retry_at") is not None else "No further attempt is planned."


def safe(state: State, call: CallMachine, event: Event) -> str:
    """the contract's retry class allows one after this error"""
    certainty = classify(event.body["error_class"])
    if may_retry(retry_class=call.retry_class, side_effect=call.side_effect, certainty=certainty):
        return ""
    return f"{call.tool} must not be sent again after {event.body['error_class']}."


def running(state: State, call: CallMachine, event: Event) -> str:
    """the run is not being stopped"""
    return "" if not state.stop_asked else "The run is being stopped; nothing new is scheduled."


# What protects a transition.


def amends(state: State, call: None, event: Event) -> str:
    """a compensating call names a call whose outcome is unknown"""
    target = event.body.get("compensates")
    if target is None:
        return ""
    other = state.calls.get(target)
    if other is not None and other.state is CallState.UNKNOWN:
        return ""
    return f"Call {target} has no unknown outcome; only such a call is compensated."


def in_turn(state: State, call: None, event: Event) -> str:
    """a turn that the new call names is open and shows its tool"""
    named, turn = event.body.get("turn"), open_turn(state)
    if named is None:
        return ""
    if turn is None or turn.turn_id != named:
        return f"Turn {named} is not the one that is open."
    return "" if turn.shows(event.body["tool"]) else f"Turn {named} does not show {event.body['tool']}."


def no_proposal(state: State, call: CallMachine, event: Event) -> str:
    """no proposal stands for it"""
    if call.proposal_id is None:
        return ""
    return f"People are asked about call {call.call_id}; close proposal {call.proposal_id} and consume its resolution."


def next_round(state: State, call: CallMachine, event: Event) -> str:
    """the round is above its last one"""
    if event.body["round"] > call.round:
        return ""
    return f"Call {call.call_id} was held in round {call.round}; a new round counts up from there."


def own_proposal(state: State, call: CallMachine, event: Event) -> str:
    """the resolution is of the proposal that it waits for"""
    if event.body["proposal_id"] == call.proposal_id:
        return ""
    return f"Call {call.call_id} waits for proposal {call.proposal_id}, not for {event.body['proposal_id']}."


def no_question(state: State, call: CallMachine, event: Event) -> str:
    """no question to the agent is open"""
    if call.question_id is None:
        return ""
    return f"Question {call.question_id} about call {call.call_id} has no answer yet; one is open at a time."


def own_question(state: State, call: CallMachine, event: Event) -> str:
    """it answers the question that is open"""
    if event.body["question_id"] == call.question_id:
        return ""
    return f"The open question about call {call.call_id} is {call.question_id or 'none'}; answer that one."


def timer(state: State, call: CallMachine, event: Event) -> str:
    """a back-off is running"""
    return "" if call.retry_at is not None else f"No timer runs for call {call.call_id}."


def no_timer(state: State, call: CallMachine, event: Event) -> str:
    """no back-off is running"""
    if call.retry_at is None:
        return ""
    return f"Call {call.call_id} backs off until {call.retry_at}; its timer comes first."


def new_fence(state: State, call: CallMachine, event: Event) -> str:
    """the fence is above its last one"""
    if event.body["fence"] > call.fence:
        return ""
    return (
        f"Fence {event.body['fence']} is not above {call.fence}, the last of call {call.call_id}; "
        "claim the dispatch again, from the fence that its command names."
    )


def next_try(state: State, call: CallMachine, event: Event) -> str:
    """the attempt is the next one"""
    if event.body["attempt"] == call.attempt + 1:
        return ""
    return f"The next attempt of call {call.call_id} is number {call.attempt + 1}, not {event.body['attempt']}."


def same_key(state: State, call: CallMachine, event: Event) -> str:
    """the idempotency key is unchanged"""
    if event.body["key"] == call.key:
        return ""
    return f"Call {call.call_id} keeps its idempotency key through every attempt; the given one differs."


def current(state: State, call: CallMachine, event: Event) -> str:
    """it comes from the attempt in force"""
    fence = event.body.get("fence", call.fence)
    if event.body["dispatch_id"] == call.dispatch_id and fence == call.fence:
        return ""
    return (
        f"The attempt in force of call {call.call_id} has fence {call.fence}; "
        f"what fence {fence} brings is kept as a late result."
    )


def attempted(state: State, call: CallMachine, event: Event) -> str:
    """an attempt with that fence was made"""
    if 1 <= event.body["fence"] <= call.fence:
        return ""
    return f"No attempt of call {call.call_id} had fence {event.body['fence']}; its last one is {call.fence}."


def proven(state: State, call: CallMachine, event: Event) -> str:
    """before_effect is said only of error classes that prove it"""
    error = event.body["error_class"]
    if not event.body["before_effect"] or classify(error) is Certainty.BEFORE_EFFECT:
        return ""
    return f"{error} does not prove that nothing was done; say before_effect: false, or record the outcome as unknown."


def certain(state: State, call: CallMachine, event: Event) -> str:
    """nothing was done, the target refused, or the tool only reads"""
    error = event.body["error_class"]
    if call.read_only or classify(error) is not Certainty.UNKNOWN:
        return ""
    return f"After {error} nobody knows whether {call.tool} happened; record outcome_unknown instead of a failure."


def made_good(state: State, call: CallMachine, event: Event) -> str:
    """a call of this run that compensates it, or that is named as having done so, has succeeded"""
    other = state.calls.get(event.body.get("compensated_by") or "")
    named = event.body.get("linked") is True and other is not None and other.compensates is None
    if other is None or other.call_id == call.call_id or not (other.compensates == call.call_id or named):
        return f"Name in compensated_by the call of this run that compensates {call.call_id}."
    if other.read_only:
        return f"{other.call_id} only reads; it makes up for nothing."
    if other.state is not CallState.SUCCEEDED:
        return f"The compensating call {other.call_id} is {other.state}; it has to succeed first."
    if any(one.compensated_by == other.call_id for one in state.calls.values()):
        return f"{other.call_id} makes up for another call already; one call makes up for one."
    return ""


def conclusive(state: State, call: CallMachine, event: Event) -> str:
    """the look-up was conclusive"""
    if event.body["conclusive"]:
        return ""
    return (
        "A look-up that finds nothing proves nothing before the old request's deadline and the target's settling "
        "time have passed; look again after that."
    )


# The run's own.


def managed(state: State, event: Event) -> str:
    """we drive the model"""
    return "" if state.managed else "The run's agent drives itself."


def _listed(state: State, states: Iterable[CallState]) -> str:
    wanted = tuple(states)
    names = [f"{call.call_id} ({call.state})" for call in state.calls.values() if call.state in wanted]
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(names[:10]) + more


def all_final(state: State, event: Event) -> str:
    """every call is final"""
    if state.count(*FINAL_CALLS) == len(state.calls):
        return ""
    return (
        f"These calls are not final: {_listed(state, OPEN_CALLS + SENT_CALLS)}. "
        "Wait for them, withdraw those that were not sent, or cancel the run."
    )


def none_sent(state: State, event: Event) -> str:
    """no call is started or unknown"""
    if not state.count(*SENT_CALLS):
        return ""
    return f"These calls were sent and have no outcome: {_listed(state, SENT_CALLS)}. Settle them first."


def quiet(state: State, event: Event) -> str:
    """nothing owned is running"""
    if not state.in_flight:
        return ""
    model = "" if state.ask_id is None else "the question to the model"
    named = ", ".join(part for part in (_listed(state, (CallState.STARTED,)), model) if part)
    return f"Still running: {named}."


def new_turn(state: State, event: Event) -> str:
    """its id has opened no turn before"""
    number = state.turns.get(event.body["turn_id"])
    return "" if number is None else f"Id {event.body['turn_id']} opened turn {number}; a new turn needs a new id."


def next_number(state: State, event: Event) -> str:
    """its number is the next one"""
    following = len(state.turns) + 1
    return "" if event.body["number"] == following else f"The next turn is number {following}."


def no_ask(state: State, event: Event) -> str:
    """the model is not being asked"""
    return "" if state.ask_id is None else f"The model is being asked ({state.ask_id}); wait for its answer."


def same_ask(state: State, event: Event) -> str:
    """it answers the question that is open"""
    if event.body["ask_id"] == state.ask_id:
        return ""
    return f"The open question to the model is {state.ask_id or 'none'}, not {event.body['ask_id']}."


def undrained(state: State, event: Event) -> str:
    """it was not said before"""
    return "" if state.drained_at is None else "The pause has drained already."


def unacknowledged(state: State, event: Event) -> str:
    """cancel was asked and not acknowledged before"""
    if state.cancel_asked_at is None:
        return "Cancel was not asked; a kill is not acknowledged, it is done."
    return "" if state.acknowledged_at is None else f"Cancel was acknowledged at {state.acknowledged_at}."


def unkilled(state: State, event: Event) -> str:
    """kill was not asked before"""
    return "" if state.kill_asked_at is None else f"Kill was asked at {state.kill_asked_at} already."


def killed(state: State, event: Event) -> str:
    """kill was asked"""
    return "" if state.kill_asked_at is not None else "Kill was not asked."
