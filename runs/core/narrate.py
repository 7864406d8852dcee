# ruff: noqa: ARG005 - tellers of one table share one signature, whether they need all of it or not
"""One plain sentence for each event, for the timeline, as pieces.

A piece that came from outside (an agent, a target, a person's free text) is marked `outside`: it is shown as quoted
text, with invisible characters made visible, and never joined into markup. Everything else is ours.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runs.core.events import Event
from runs.core.kinds import EventKind
from runs.core.state import State


class Tone(StrEnum):
    """How the event is to be felt; pages turn it into a colour *and* a shape."""

    WAIT = "wait"
    GOOD = "good"
    BAD = "bad"
    UNSURE = "unsure"
    PLAIN = "plain"


class Source(StrEnum):
    """Who wrote a piece: this file, a name of ours (catalogue, policy, ids), or somebody outside."""

    OURS = "ours"
    NAME = "name"
    OUTSIDE = "outside"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a sentence. `kind` says what a name or a quotation is: tool, rule, code, call, time, text, …"""

    text: str
    source: Source = Source.OURS
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Narration:
    """The sentence of one event. `pieces` carry their own spaces."""

    pieces: tuple[Piece, ...]
    tone: Tone

    @property
    def text(self) -> str:
        """The sentence as plain text, for logs and tests. Not for markup."""
        return "".join(piece.text for piece in self.pieces)


def _name(value: Any, kind: str) -> Piece:
    return Piece(str(value), Source.NAME, kind)


def _outside(value: Any, kind: str = "text") -> Piece:
    return Piece(str(value), Source.OUTSIDE, kind)


def _reason(body: Mapping[str, Any], key: str = "reason") -> tuple[Piece, ...]:
    return (Piece(": "), _outside(body[key])) if body.get(key) else ()


# What a teller gets: the body and the name of the call's tool (or its call id, where the tool is not known).
Told = tuple[Tone, tuple[Piece | str, ...]]
E = EventKind


def _proposed(body: Mapping[str, Any], what: Piece) -> Told:
    made = " to make up for call " if body.get("compensates") else ""
    other = (_outside(body["compensates"], "call"),) if made else ()
    return Tone.PLAIN, ("Agent asks for ", what, made, *other)


def _refused(body: Mapping[str, Any], what: Piece) -> Told:
    word = " expired: " if body.get("final") == "expired" else " refused: "
    return Tone.BAD, (what, word, _name(body["code"], "code"), " ", _outside(body["message"]))


def _held(body: Mapping[str, Any], what: Piece) -> Told:
    again = f", round {body['round']}, earlier votes void" if body["round"] > 1 else ""
    until = (", void at ", _name(body["expires_at"], "time"))
    return Tone.WAIT, ("Waits for people: ", what, ", rule ", _name(body["rule_id"], "rule"), again, *until)


def _allowed(body: Mapping[str, Any], what: Piece) -> Told:
    return Tone.PLAIN, (
        what,
        " allowed by rule ",
        _name(body["rule_id"], "rule"),
        ", ",
        _name(body["boundary"], "boundary"),
    )


_RESOLVED: Mapping[str, tuple[Tone, str]] = {
    "granted": (Tone.GOOD, " approved"),
    "rejected": (Tone.BAD, " rejected"),
    "expired": (Tone.BAD, " expired: nobody decided in time, so it is refused"),
    "withdrawn": (Tone.PLAIN, " withdrawn"),
    "superseded": (Tone.PLAIN, " replaced by an edited revision"),
    "cancelled": (Tone.PLAIN, " cancelled, never ran"),
    "refused": (Tone.BAD, " refused after its approval"),
}


def _resolved(body: Mapping[str, Any], what: Piece) -> Told:
    tone, words = _RESOLVED[body["resolution"]]
    by = (" by ", _name(body["by"], "person")) if body.get("by") else ()
    return tone, (what, words, *by, *_reason(body))


def _started(body: Mapping[str, Any], what: Piece) -> Told:
    try_ = f", attempt {body['attempt']}" if body["attempt"] > 1 else ""
    return Tone.PLAIN, (what, f" started{try_}, answer due by ", _name(body["deadline"], "time"))


def _succeeded(body: Mapping[str, Any], what: Piece) -> Told:
    known = ", the target had done it already" if body.get("duplicate") else ""
    reference = (", ", _outside(body["reference"], "reference")) if body.get("reference") else ()
    return Tone.GOOD, (what, " succeeded", known, *reference, f", {body['duration_ms']} ms")


def _failed(body: Mapping[str, Any], what: Piece) -> Told:
    code = (_name(body["code"], "code"), " ", _outside(body["message"]))
    if body.get("retry_at"):
        return Tone.WAIT, (what, " not sent, next attempt at ", _name(body["retry_at"], "time"), ": ", *code)
    return Tone.BAD, (what, " not done: " if body["before_effect"] else " failed: ", *code)


_RECONCILED: Mapping[str, tuple[Tone, str]] = {
    "happened": (Tone.GOOD, " looked up: it happened"),
    "did_not_happen": (Tone.BAD, " looked up: it did not happen"),
    "retry": (Tone.WAIT, " looked up: it did not happen, sent again with the same key"),
    "compensated": (Tone.GOOD, " made up for by another call"),
}


def _reconciled(body: Mapping[str, Any], what: Piece) -> Told:
    tone, words = _RECONCILED[body["outcome"]]
    reference = (", ", _outside(body["reference"], "reference")) if body.get("reference") else ()
    again = ", people are asked anew" if body["outcome"] == "retry" and body.get("approval") == "void" else ""
    return tone, (what, words, again, *reference, ", by ", _name(body["by"], "person"))


def _late(body: Mapping[str, Any], what: Piece) -> Told:
    reference = (", ", _outside(body["reference"], "reference")) if body.get("reference") else ()
    said = (_outside(body["outcome"], "outcome"), *reference)
    return Tone.UNSURE, ("A late result of ", what, " was kept and changed nothing: ", *said)


def _plain(words: str, tone: Tone = Tone.PLAIN, key: str = "reason") -> Callable[[Mapping[str, Any], Piece], Told]:
    return lambda body, what: (tone, (words, *_reason(body, key)))


def _budget(words: str) -> Callable[[Mapping[str, Any], Piece], Told]:
    return lambda body, what: (Tone.PLAIN, ("Budget ", _name(body["budget"], "budget"), f" {words} {body['amount']}"))


_TELLERS: Mapping[EventKind, Callable[[Mapping[str, Any], Piece], Told]] = {
    E.RUN_CREATED: lambda body, what: (
        Tone.PLAIN,
        ("Run opened", *((" by ", _name(body["agent"], "agent")) if body.get("agent") else ())),
    ),
    E.RUN_ADMITTED: _plain("Run admitted"),
    E.USER_STEERED: _plain("Steered", key="text"),
    E.CALL_PROPOSED: _proposed,
    E.CALL_REFUSED: _refused,
    E.CALL_HELD: _held,
    E.CALL_ALLOWED: _allowed,
    E.CALL_WITHDRAWN: lambda body, what: (Tone.PLAIN, (what, " withdrawn", *_reason(body))),
    E.STATE_OBSERVED: lambda body, what: (
        Tone.PLAIN,
        ("Target of ", what, " read, as of ", _name(body["read_at"], "time")),
    ),
    E.RESOLUTION_CONSUMED: _resolved,
    E.DISPATCH_STARTED: _started,
    E.DISPATCH_SUCCEEDED: _succeeded,
    E.DISPATCH_FAILED: _failed,
    E.OUTCOME_UNKNOWN: lambda body, what: (Tone.UNSURE, (what, " outcome unknown", *_reason(body))),
    E.OUTCOME_RECONCILED: _reconciled,
    E.LATE_RESULT_KEPT: _late,
    E.MODEL_ASKED: _plain("Model asked"),
    E.MODEL_ANSWERED: _plain("Model answered"),
    E.TIMER_DUE: lambda body, what: (Tone.PLAIN, ("Timer of ", what, " is due")),
    E.PAUSE_ASKED: _plain("Pause asked: nothing new is started", Tone.WAIT),
    E.PAUSE_DRAINED: _plain("Paused, drained: nothing is in flight", Tone.WAIT),
    E.RESUME_ASKED: _plain("Resumed"),
    E.CANCEL_ASKED: _plain("Cancel asked: what was not sent is cancelled", Tone.BAD),
    E.CANCEL_ACKNOWLEDGED: _plain("Cancel acknowledged: nothing new is scheduled"),
    E.RUN_QUIESCENT: _plain("Quiescent: nothing of the run is running"),
    E.KILL_ASKED: _plain("Kill asked: our processes end, effects stay", Tone.BAD),
    E.KILL_DONE: _plain("Killed: our processes have ended", Tone.BAD),
    E.RUN_FORKED: lambda body, what: (Tone.PLAIN, ("Forked as run ", _name(body["fork_run_id"], "run"))),
    E.DEFINITION_MIGRATED: lambda body, what: (
        Tone.PLAIN,
        ("Definition ", _name(body["from_version"], "version"), " became ", _name(body["to_version"], "version")),
    ),
    E.BUDGET_RESERVED: _budget("reserved"),
    E.BUDGET_SETTLED: _budget("settled at"),
    E.BUDGET_TOPPED_UP: _budget("topped up by"),
    E.RUN_COMPLETED: _plain("Run completed", Tone.GOOD, key="summary"),
    E.RUN_FAILED: lambda body, what: (
        Tone.BAD,
        ("Run failed: ", _name(body["code"], "code"), " ", _outside(body["message"])),
    ),
}


def narrate(event: Event, state: State | None = None) -> Narration:
    """The sentence of `event`. `state` is any state of the run that knows its calls; without it calls go by their id.

    A call id is the agent's own text, a tool's name the catalogue's.
    """
    call_id = event.body.get("call_id")
    tool = event.body.get("tool")
    if tool is None and state is not None and call_id is not None and call_id in state.calls:
        tool = state.calls[call_id].tool
    what = _name(tool, "tool") if tool is not None else _outside(call_id, "call")
    tone, parts = _TELLERS[event.kind](event.body, what)
    pieces = (Piece(part) if isinstance(part, str) else part for part in parts)
    return Narration(tuple(piece for piece in pieces if piece.text), tone)
