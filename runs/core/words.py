"""A run's history in words for people: one line an event, made by us from the event's fields.

A line is made of segments, because a page treats them differently: our own words, names in code type, and text from
outside (agents, targets, people), which is only ever quoted with its hidden characters made visible.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from runs.core.kinds import CallState, EffectState, EventKind, RunStatus
from runs.core.retry import Certainty, classify

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))")

MOST_NAMES = 20
"""Tools that a turn's line names."""

type Tone = Literal["plain", "wait", "work", "good", "bad", "unsure", "still"]
type SegmentKind = Literal["text", "code", "outside", "proposal", "time"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a line. `value` is text; for "proposal" the proposal's id, for "time" ISO 8601 with offset."""

    kind: SegmentKind
    value: str


@dataclass(frozen=True, slots=True)
class Line:
    """An event in words: its tone (told by mark and colour too), the sentence, and a few words beside it."""

    tone: Tone
    segments: tuple[Segment, ...]
    aside: tuple[Segment, ...] = ()


def _text(value: str) -> Segment:
    return Segment("text", value)


def _code(value: object) -> Segment:
    return Segment("code", str(value))


def _said(value: object) -> Segment:
    return Segment("outside", str(value))


RUN_TONE: Mapping[RunStatus, Tone] = {
    RunStatus.CREATED: "still",
    RunStatus.READY: "still",
    RunStatus.RUNNING: "work",
    RunStatus.WAITING_MODEL: "work",
    RunStatus.WAITING_TOOL: "work",
    RunStatus.WAITING_APPROVAL: "wait",
    RunStatus.PAUSED: "still",
    RunStatus.CANCELLING: "work",
    RunStatus.COMPLETED: "good",
    RunStatus.FAILED: "bad",
    RunStatus.CANCELLED: "still",
    RunStatus.NEEDS_RECONCILIATION: "unsure",
}

CALL_TONE: Mapping[CallState, Tone] = {
    CallState.NEW: "work",
    CallState.WAITING: "wait",
    CallState.READY: "work",
    CallState.STARTED: "work",
    CallState.UNKNOWN: "unsure",
    CallState.SUCCEEDED: "good",
    CallState.FAILED: "bad",
    CallState.REFUSED: "bad",
    CallState.REJECTED: "bad",
    CallState.EXPIRED: "bad",
    CallState.WITHDRAWN: "still",
    CallState.SUPERSEDED: "still",
    CallState.CANCELLED: "still",
    CallState.COMPENSATED: "still",
}

_EFFECT: Mapping[EffectState, str] = {
    EffectState.INTENDED: "under way",
    EffectState.COMMITTED: "it happened",
    EffectState.REFUSED: "it did not happen",
    EffectState.DUPLICATE: "it had happened before",
    EffectState.UNKNOWN: "nobody knows",
}
_RESOLVED: Mapping[str, tuple[Tone, str]] = {
    "granted": ("good", "was approved"),
    "rejected": ("bad", "was rejected"),
    "expired": ("bad", "was not decided in time and is refused"),
    "withdrawn": ("still", "was taken back"),
    "superseded": ("still", "was replaced by an edited revision"),
    "cancelled": ("still", "never ran: it was cancelled with its run"),
    "refused": ("bad", "was refused when it was checked again"),
}
# A failure that proves nothing is recorded only of a tool that reads.
_FAILED: Mapping[Certainty, str] = {
    Certainty.BEFORE_EFFECT: "nothing was sent",
    Certainty.REFUSAL: "the target refused",
    Certainty.UNKNOWN: "no usable answer came",
}
_RECONCILED: Mapping[str, tuple[Tone, str]] = {
    "happened": ("good", "it happened"),
    "did_not_happen": ("bad", "it did not happen"),
    "retry": ("work", "it did not happen and is sent again with the same key"),
    "compensated": ("still", "another call made up for it"),
}


def line(kind: str, body: Mapping[str, Any], actor: Mapping[str, Any], tools: Mapping[str, str]) -> Line:
    """The words of one event. `tools` maps the run's call ids to tool names. Never raises: an event of a kind or form
    that this code does not know is shown by its kind, so that a history is never cut."""
    try:
        return _WORDS[EventKind(kind)](_Fact(body, actor, tools))
    except (ValueError, KeyError, TypeError):
        return Line("plain", (_code(kind),))


@dataclass(frozen=True, slots=True)
class _Fact:
    """An event's fields, and the segments that most sentences are made of."""

    body: Mapping[str, Any]
    actor: Mapping[str, Any]
    tools: Mapping[str, str]

    @property
    def call(self) -> Segment:
        call_id = str(self.body["call_id"])
        return _code(self.tools.get(call_id, call_id))

    @property
    def who(self) -> tuple[Segment, ...]:
        return (_said(self.actor["name"]),) if self.actor.get("name") else ()

    @property
    def rule(self) -> tuple[Segment, ...]:
        version = f"policy v{self.body['policy_number']}"
        if not self.body.get("rule_id"):
            return (_text(version),)
        return (_text("rule "), _code(self.body["rule_id"]), _text(f", {version}"))

    def because(self, key: str) -> tuple[Segment, ...]:
        return (_text(": "), _said(self.body[key])) if self.body.get(key) else ()


type _Writer = Callable[[_Fact], Line]


def _plain(tone: Tone, sentence: str) -> _Writer:
    return lambda fact: Line(tone, (_text(sentence), *fact.because("reason")), fact.who)


def _created(fact: _Fact) -> Line:
    return Line("plain", (_text("Opened by "), _said(fact.body.get("agent") or fact.actor.get("name") or "an agent")))


def _proposed(fact: _Fact) -> Line:
    turn = (_text(", turn "), _said(fact.body["turn"])) if fact.body.get("turn") else ()
    return Line(
        "plain",
        (_text("The agent asks for "), _code(fact.body["tool"])),
        (_text(f"contract v{fact.body['contract_version']}, "), _code(str(fact.body["digest"])[:8]), *turn),
    )


def _turn(fact: _Fact) -> Line:
    tools = fact.body["tools"]
    names = [part for name in tools[:MOST_NAMES] for part in (_text(", "), _code(name))][1:]
    more = f" and {len(tools) - MOST_NAMES:,} more" if len(tools) > MOST_NAMES else ""
    all_ = "" if fact.body["narrowed"] else ": all that the run may call"
    shown = (*names, _text(more + all_)) if tools else (_text("no tool"),)
    return Line("plain", (_text(f"Turn {fact.body['number']:,}: shown "), *shown), (_said(fact.body["turn_id"]),))


def _refused(fact: _Fact) -> Line:
    return Line("bad", (fact.call, _text(" is refused: "), _said(fact.body["message"])), (_code(fact.body["code"]),))


def _held(fact: _Fact) -> Line:
    again = f" again, round {fact.body['round']}" if fact.body["round"] > 1 else ""
    return Line(
        "wait",
        (fact.call, _text(f" waits for people{again}: "), Segment("proposal", str(fact.body["proposal_id"]))),
        fact.rule,
    )


def _allowed(fact: _Fact) -> Line:
    return Line("plain", (fact.call, _text(" may run without asking people")), fact.rule)


def _withdrawn(fact: _Fact) -> Line:
    return Line("still", (fact.call, _text(" was withdrawn"), *fact.because("reason")), fact.who)


def _observed(fact: _Fact) -> Line:
    return Line("plain", (_text("The target's record was read for "), fact.call))


def _resolved(fact: _Fact) -> Line:
    tone, words = _RESOLVED[fact.body["resolution"]]
    by = (_text(" by "), _said(fact.body["by"])) if fact.body.get("by") else ()
    link = (_text(" · "), Segment("proposal", str(fact.body["proposal_id"])))
    # Why a run was cancelled stands in the event of the cancel; here it would only say the same words again.
    why = () if fact.body["resolution"] == "cancelled" else fact.because("reason")
    return Line(tone, (fact.call, _text(f" {words}"), *by, *why, *link))


def _question(fact: _Fact) -> Line:
    link = (_text(" · "), Segment("proposal", str(fact.body["proposal_id"])))
    return Line(
        "wait",
        (_said(fact.body["by"]), _text(" asks the agent about "), fact.call, *fact.because("text"), *link),
    )


def _answered(fact: _Fact) -> Line:
    return Line("plain", (_text("The agent answers about "), fact.call, *fact.because("text")), fact.who)


def _started(fact: _Fact) -> Line:
    return Line(
        "work",
        (fact.call, _text(" is being sent; the answer is awaited until "), Segment("time", fact.body["deadline"])),
        (_text(f"attempt {fact.body['attempt']}, fence {fact.body['fence']}"),),
    )


def _succeeded(fact: _Fact) -> Line:
    reference = (_text(", reference "), _said(fact.body["reference"])) if fact.body.get("reference") else ()
    before = " and had happened before: the target knew our key" if fact.body.get("duplicate") else ""
    return Line(
        "good", (fact.call, _text(f" succeeded{before}"), *reference), (_text(f"{fact.body['duration_ms']:,} ms"),)
    )


def _failed(fact: _Fact) -> Line:
    sent = _FAILED[classify(fact.body["error_class"])]
    again = (_text(" Tried again at "), Segment("time", fact.body["retry_at"])) if fact.body.get("retry_at") else ()
    return Line(
        "bad",
        (fact.call, _text(f" failed, {sent}: "), _said(fact.body["message"]), *again),
        (_code(fact.body["code"]),),
    )


def _unknown(fact: _Fact) -> Line:
    return Line("unsure", (fact.call, _text(": outcome unknown; the target is asked"), *fact.because("reason")))


def _reconciled(fact: _Fact) -> Line:
    tone, words = _RECONCILED[fact.body["outcome"]]
    reference = (_text(", reference "), _said(fact.body["reference"])) if fact.body.get("reference") else ()
    return Line(tone, (fact.call, _text(f" was looked up: {words}"), *reference), (_said(fact.body["by"]),))


def _late(fact: _Fact) -> Line:
    return Line("plain", (_text("A late result of "), fact.call, _text(" was kept as evidence; it moves nothing")))


def _timer(fact: _Fact) -> Line:
    return Line("plain", (_text("The time to try "), fact.call, _text(" again has come")))


def _run_failed(fact: _Fact) -> Line:
    return Line("bad", (_text("The run failed: "), _said(fact.body["message"])), (_code(fact.body["code"]),))


def _budget(words: str) -> _Writer:
    return lambda fact: Line(
        "plain", (_text(f"Budget {words}: "), _code(fact.body["budget"])), (_text(f"{fact.body['amount']:,}"),)
    )


E = EventKind
_WORDS: Mapping[EventKind, _Writer] = {
    E.RUN_CREATED: _created,
    E.RUN_ADMITTED: _plain("plain", "Admitted"),
    E.USER_STEERED: lambda fact: Line("plain", (_text("Steered"), *fact.because("text")), fact.who),
    E.TURN_OPENED: _turn,
    E.CALL_PROPOSED: _proposed,
    E.CALL_REFUSED: _refused,
    E.CALL_HELD: _held,
    E.CALL_ALLOWED: _allowed,
    E.CALL_WITHDRAWN: _withdrawn,
    E.STATE_OBSERVED: _observed,
    E.RESOLUTION_CONSUMED: _resolved,
    E.QUESTION_ASKED: _question,
    E.QUESTION_ANSWERED: _answered,
    E.DISPATCH_STARTED: _started,
    E.DISPATCH_SUCCEEDED: _succeeded,
    E.DISPATCH_FAILED: _failed,
    E.OUTCOME_UNKNOWN: _unknown,
    E.OUTCOME_RECONCILED: _reconciled,
    E.LATE_RESULT_KEPT: _late,
    E.MODEL_ASKED: _plain("plain", "The model is asked"),
    E.MODEL_ANSWERED: _plain("plain", "The model answered"),
    E.TIMER_DUE: _timer,
    E.PAUSE_ASKED: _plain("still", "Pause asked: nothing new starts"),
    E.PAUSE_DRAINED: _plain("still", "Paused, drained: nothing is in flight"),
    E.RESUME_ASKED: _plain("work", "Resumed"),
    E.CANCEL_ASKED: _plain("still", "Cancel asked"),
    E.CANCEL_ACKNOWLEDGED: _plain("still", "Cancel acknowledged: nothing new starts"),
    E.RUN_QUIESCENT: _plain("still", "Quiescent: nothing owned runs any more"),
    E.KILL_ASKED: _plain("still", "Kill asked"),
    E.KILL_DONE: _plain("still", "Killed: our processes have ended; nothing was undone"),
    E.RUN_FORKED: lambda fact: Line("plain", (_text("Forked into "), _code(fact.body["fork_run_id"]))),
    E.DEFINITION_MIGRATED: lambda fact: Line(
        "plain",
        (
            _text("Moved from definition "),
            _said(fact.body["from_version"]),
            _text(" to "),
            _said(fact.body["to_version"]),
        ),
    ),
    E.BUDGET_RESERVED: _budget("reserved"),
    E.BUDGET_SETTLED: _budget("settled"),
    E.BUDGET_TOPPED_UP: _budget("topped up"),
    E.RUN_COMPLETED: lambda fact: Line("good", (_text("Completed by the agent"), *fact.because("summary")), fact.who),
    E.RUN_FAILED: _run_failed,
}


def effect_words(effect: str) -> str:
    """What is known of an effect, in a few words; the word itself if it is none of ours."""
    try:
        return _EFFECT[EffectState(effect)]
    except ValueError:
        return effect


def detail_segments(detail: str) -> tuple[Segment, ...]:
    """A run's detail (`runs.core.status`) with the times in it apart, so that a page can tell them in a zone."""
    parts = _MOMENT.split(detail)
    return tuple(Segment("time" if odd % 2 else "outside", part) for odd, part in enumerate(parts) if part)
