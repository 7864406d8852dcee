"""The bodies of the reducer's commands.

R2 wants of every external command its actor, scope, approval, step, attempt, key and input fingerprint: every command
about a call carries them, because the row that delivers it later knows nothing else.
"""

from typing import Any

from runs.core.events import Event
from runs.core.kinds import OPEN_CALLS, CallState, CommandKind
from runs.core.state import CallMachine, Command, State

K = CommandKind
# What a pause holds back and a resume repeats. A look-up asks about the past, so it goes on.
SCHEDULING = frozenset({K.READ_STATE, K.EVALUATE, K.DISPATCH, K.ASK_MODEL})


def call_command(kind: CommandKind, state: State, call: CallMachine, event: Event) -> Command:
    """The command `kind` about `call`, as `call` stands after `event`."""
    body: dict[str, Any] = {
        "actor": event.actor,
        "scope": dict(state.scope),
        "tool": call.tool,
        "contract_version": call.contract_version,
        "digest": call.digest,
        "key": call.key,
        "attempt": call.attempt,
        "proposal_id": call.proposal_id,
        "round": call.round,
        "rule_id": call.rule_id,
        "policy_number": call.policy_number,
        "boundary": call.boundary,
    }
    if kind is K.DISPATCH:
        # `fence` is the floor: the row starts there, so that its first claim is above every fence of this call.
        body |= {"attempt": call.attempt + 1, "fence": call.fence, "deadline": call.deadline}
    elif kind is K.SET_TIMER:
        body |= {"due": call.retry_at}
    elif kind is K.HOLD_PROPOSAL:
        # Without a proposal (a retry whose approval no longer holds) one has to be made, for the round after.
        held = call.proposal_id is not None
        body |= {"round": call.round if held else call.round + 1, "expires_at": call.expires_at if held else None}
    elif kind is K.LOOK_UP:
        body |= {
            "dispatch_id": call.dispatch_id,
            "fence": call.fence,
            "request_deadline": call.request_deadline,
            "occasion": event.seq,
        }
    elif kind is K.TELL_AGENT:
        body |= {
            "state": call.state.value,
            "effect": None if call.effect is None else call.effect.value,
            "code": call.code,
            "message": call.message,
            "reference": call.reference,
            "occasion": event.seq,
        }
    return Command(kind, call.call_id, body)


def run_commands(kinds: tuple[CommandKind, ...], before: State, after: State, event: Event) -> tuple[Command, ...]:
    """The commands that a row of the run's table orders, all calls' included."""
    base: dict[str, Any] = {"actor": event.actor, "scope": dict(after.scope), "occasion": event.seq}
    out: list[Command] = []
    for kind in kinds:
        if kind is K.TELL_AGENT:
            out.append(Command(kind, None, base | {"event": event.kind.value, **_moved(before, after)}))
        elif kind is K.STOP_CHILDREN:
            if before.in_flight:
                body = {"kill": after.kill_asked_at is not None, "ask_id": after.ask_id, "calls": _started(after)}
                out.append(Command(kind, None, base | body))
        elif kind is K.ASK_MODEL:
            out.append(Command(kind, None, base))
        else:
            out.extend(call_command(kind, after, call, event) for call in after.calls.values() if _owed(kind, call))
    return tuple(out)


def _owed(kind: CommandKind, call: CallMachine) -> bool:
    """Whether a pause may have held `kind` back for `call`; a repeat of what was delivered is the same row."""
    if kind is K.DISPATCH:
        return call.state is CallState.READY and call.retry_at is None
    return call.state is CallState.NEW


def _started(state: State) -> list[str]:
    if not state.count(CallState.STARTED):
        return []
    return [call.call_id for call in state.calls.values() if call.state is CallState.STARTED]


def _moved(before: State, after: State) -> dict[str, Any]:
    """Which calls the event ended, with the proposals that have to be closed, and which still run."""
    ended = []
    if before.count(*OPEN_CALLS) or before.count(CallState.STARTED):
        for call in after.calls.values():
            was = before.calls[call.call_id].state
            if was is not call.state:
                ended.append(
                    {
                        "call_id": call.call_id,
                        "was": was.value,
                        "state": call.state.value,
                        "proposal_id": call.proposal_id,
                    }
                )
    return {"moved": ended, "in_flight": _started(after)}
