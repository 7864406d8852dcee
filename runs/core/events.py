"""One fact of a run's history, and the table of what each kind must say.

A body is checked when the event is made, so an event that lacks something can be neither appended nor replayed.
Further keys are allowed: a history may say more than the reducer reads.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runs.core.kinds import EventKind

SCHEMA = 1

RESOLUTIONS = ("granted", "rejected", "expired", "withdrawn", "superseded", "cancelled", "refused")
OUTCOMES = ("happened", "did_not_happen", "retry", "compensated")
FINAL_WORDS = ("refused", "expired")
APPROVALS = ("holds", "void")


class InvalidEvent(ValueError):
    """The event cannot be recorded as it is; the message names what is missing or wrong."""


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _words(value: Any) -> bool:
    return isinstance(value, str)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _ordinal(value: Any) -> bool:
    return _count(value) and value >= 1


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _object(value: Any) -> bool:
    return isinstance(value, dict)


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(_text(item) for item in value)


def is_moment(value: Any) -> bool:
    """Whether `value` is ISO 8601 text with an offset."""
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).utcoffset() is not None
    except ValueError:
        return False


def _one_of(*allowed: str) -> Callable[[Any], bool]:
    return lambda value: value in allowed


# What a key means is the same in every event, so its check stands here once: (check, what it wants to be).
Check = tuple[Callable[[Any], bool], str]
KEYS: Mapping[str, Check] = {
    "agent": (_text, "text"),
    "amount": (_count, "an integer of minor units or pieces, 0 or more"),
    "approval": (_one_of(*APPROVALS), "holds or void"),
    "ask_id": (_text, "text"),
    "attempt": (_ordinal, "an integer from 1"),
    "before_effect": (_flag, "true or false"),
    "boundary": (_text, "text"),
    "budget": (_text, "text"),
    "by": (_text, "text"),
    "call_id": (_text, "text"),
    "code": (_text, "text"),
    "compensated_by": (_text, "text"),
    "compensates": (_text, "text"),
    "conclusive": (_flag, "true or false"),
    "contract_version": (_ordinal, "an integer from 1"),
    "deadline": (is_moment, "a time with its offset"),
    "digest": (_text, "text"),
    "dispatch_id": (_text, "text"),
    "duplicate": (_flag, "true or false"),
    "duration_ms": (_count, "an integer, 0 or more"),
    "epoch": (_ordinal, "an integer from 1"),
    "error_class": (_text, "text"),
    "expires_at": (is_moment, "a time with its offset"),
    "fence": (_ordinal, "an integer from 1"),
    "final": (_one_of(*FINAL_WORDS), "refused or expired"),
    "fork_run_id": (_text, "text"),
    "from_version": (_text, "text"),
    "key": (_text, "text"),
    "linked": (_flag, "true or false"),
    "managed": (_flag, "true or false"),
    "message": (_words, "a sentence"),
    "message_id": (_text, "text"),
    "narrowed": (_flag, "true or false"),
    "number": (_ordinal, "an integer from 1"),
    "outcome": (_text, "text"),
    "place": (_ordinal, "an integer from 1"),
    "policy_number": (_count, "an integer, 0 or more"),
    "proposal_id": (_text, "text"),
    "question_id": (_text, "text"),
    "read_at": (is_moment, "a time with its offset"),
    "read_only": (_flag, "true or false"),
    "reason": (_words, "a sentence"),
    "reference": (_words, "text"),
    "resolution": (_one_of(*RESOLUTIONS), "one of " + ", ".join(RESOLUTIONS)),
    "result_digest": (_text, "text"),
    "retry_at": (is_moment, "a time with its offset"),
    "retry_class": (_one_of("never", "before_effect", "safe"), "never, before_effect or safe"),
    "round": (_ordinal, "an integer from 1"),
    "rule_id": (_words, "text"),
    "scope": (_object, "an object"),
    "side_effect": (
        _one_of("read", "idempotent", "reversible", "irreversible"),
        "read, idempotent, reversible or irreversible",
    ),
    "snapshot_hash": (_text, "text"),
    "summary": (_words, "text"),
    "text": (_words, "text"),
    "to_version": (_text, "text"),
    "tool": (_text, "text"),
    "tools": (_names, "a list of names"),
    "turn": (_text, "text"),
    "turn_id": (_text, "text"),
}

E = EventKind
# kind -> (required keys, optional keys). A key of KEYS that stands in neither is not read by anybody.
BODIES: Mapping[EventKind, tuple[str, str]] = {
    E.RUN_CREATED: ("scope", "agent managed place deadline"),
    E.RUN_ADMITTED: ("", ""),
    E.USER_STEERED: ("text", ""),
    E.TURN_OPENED: ("turn_id number tools narrowed", ""),
    E.CALL_PROPOSED: (
        "call_id tool contract_version digest key side_effect retry_class read_only",
        "message_id deadline compensates turn",
    ),
    E.CALL_REFUSED: ("call_id code message", "final"),
    E.CALL_HELD: ("call_id proposal_id round expires_at rule_id policy_number", ""),
    E.CALL_ALLOWED: ("call_id rule_id policy_number boundary", ""),
    E.CALL_WITHDRAWN: ("call_id", "by reason"),
    E.STATE_OBSERVED: ("call_id snapshot_hash read_at", ""),
    E.RESOLUTION_CONSUMED: ("call_id proposal_id resolution", "by reason code message"),
    E.QUESTION_ASKED: ("call_id proposal_id question_id text by", "expires_at"),
    E.QUESTION_ANSWERED: ("call_id question_id text", ""),
    E.DISPATCH_STARTED: ("call_id dispatch_id fence attempt deadline key", ""),
    E.DISPATCH_SUCCEEDED: ("call_id dispatch_id fence reference result_digest duration_ms", "duplicate"),
    E.DISPATCH_FAILED: ("call_id dispatch_id fence error_class code message before_effect", "retry_at"),
    E.OUTCOME_UNKNOWN: ("call_id dispatch_id reason", ""),
    E.OUTCOME_RECONCILED: ("call_id outcome by conclusive", "reference approval epoch compensated_by linked"),
    E.LATE_RESULT_KEPT: ("call_id fence outcome", "reference"),
    E.MODEL_ASKED: ("ask_id", ""),
    E.MODEL_ANSWERED: ("ask_id", ""),
    E.TIMER_DUE: ("call_id", ""),
    E.PAUSE_ASKED: ("", "reason"),
    E.PAUSE_DRAINED: ("", ""),
    E.RESUME_ASKED: ("", "reason"),
    E.CANCEL_ASKED: ("", "reason"),
    E.CANCEL_ACKNOWLEDGED: ("", ""),
    E.RUN_QUIESCENT: ("", ""),
    E.KILL_ASKED: ("", "reason"),
    E.KILL_DONE: ("", ""),
    E.RUN_FORKED: ("fork_run_id", ""),
    E.DEFINITION_MIGRATED: ("from_version to_version", ""),
    E.BUDGET_RESERVED: ("budget amount", "call_id"),
    E.BUDGET_SETTLED: ("budget amount", "call_id"),
    E.BUDGET_TOPPED_UP: ("budget amount by", ""),
    E.RUN_COMPLETED: ("", "summary"),
    E.RUN_FAILED: ("code message", ""),
}
# A read has no provider's reference to give; the key still has to be there, so that nobody forgets it.
_NULLABLE = frozenset({"reference"})
_REQUIRED = {kind: tuple(required.split()) for kind, (required, _) in BODIES.items()}
_OPTIONAL = {kind: tuple(optional.split()) for kind, (_, optional) in BODIES.items()}


def check_body(kind: EventKind, body: Mapping[str, Any]) -> None:
    """Raise InvalidEvent, naming every missing key, when `body` does not say what `kind` must say.

    An optional key may be left out or null; a required one may not (but a reference may be null).
    """
    missing = [key for key in _REQUIRED[kind] if key not in body or (body[key] is None and key not in _NULLABLE)]
    if missing:
        raise InvalidEvent(f"{kind} lacks {', '.join(missing)}.")
    for key in _REQUIRED[kind] + _OPTIONAL[kind]:
        value = body.get(key)
        check, wanted = KEYS[key]
        if value is not None and not check(value):
            raise InvalidEvent(f"{kind}: {key} must be {wanted}, not {value!r:.80}.")
    if kind is E.OUTCOME_RECONCILED and body["outcome"] not in OUTCOMES:
        raise InvalidEvent(f"{kind}: outcome must be one of {', '.join(OUTCOMES)}.")
    if kind is E.CALL_PROPOSED and body["read_only"] != (body["side_effect"] == "read"):
        raise InvalidEvent(f"{kind}: read_only and side_effect contradict each other.")


@dataclass(frozen=True, slots=True)
class Event:
    """A fact, as stored: `at` is ISO 8601 with offset, by the database clock; `actor` who caused it."""

    kind: EventKind
    seq: int
    at: str
    actor: dict[str, Any]
    body: dict[str, Any]
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        # What comes back from the database is text; a caller that gives the text means the same.
        try:
            object.__setattr__(self, "kind", EventKind(self.kind))
        except ValueError:
            raise InvalidEvent(f"{self.kind!r:.80} is not a kind of event.") from None
        if self.schema != SCHEMA:
            raise InvalidEvent(f"Event schema {self.schema} is not known here; this code reads schema {SCHEMA}.")
        if not _ordinal(self.seq):
            raise InvalidEvent(f"seq is {self.seq!r:.80}; a history starts at 1.")
        if not is_moment(self.at):
            raise InvalidEvent(f"at must be a time with its offset, not {self.at!r:.80}.")
        if not _object(self.actor) or not _object(self.body):
            raise InvalidEvent("actor and body are objects.")
        check_body(self.kind, self.body)

    def to_json(self) -> dict[str, Any]:
        """The event as JSON values."""
        return {
            "kind": self.kind.value,
            "seq": self.seq,
            "at": self.at,
            "actor": self.actor,
            "body": self.body,
            "schema": self.schema,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | str | bytes) -> "Event":
        """The event again. Raises InvalidEvent when something is missing."""
        values = json.loads(data) if isinstance(data, str | bytes) else data
        missing = [key for key in ("kind", "seq", "at", "actor", "body") if key not in values]
        if missing:
            raise InvalidEvent(f"An event lacks {', '.join(missing)}.")
        return cls(
            values["kind"], values["seq"], values["at"], values["actor"], values["body"], values.get("schema", SCHEMA)
        )
