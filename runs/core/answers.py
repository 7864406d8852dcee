"""What the agent is told of a call, in the forms of E3 and E4. Stored with the call's row in the event's transaction.

    {"status", "outcome", "retry_safe", "result": {...}, "receipt": {...}}       a call that worked
    {"status", "outcome", "retry_safe", "error": {...}}                          every other end, and *unknown*

`status` is the call's state. `outcome` is what is known of the effect: none, committed or unknown. `retry_safe` is true
only where sending the same call again cannot cause a second effect and may succeed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from audit.core.refusal import Outcome, Refusal

type Answer = dict[str, Any]


def worked(
    *,
    result: Mapping[str, Any] | None,
    observed_at: str,
    receipt: Mapping[str, Any],
    read_only: bool,
    problems: Sequence[str] = (),
) -> Answer:
    """A result. It comes from outside, so it is labelled with its source and never an instruction (E4).

    `result` is a Labelled's `as_dict()`: {source, untrusted, cut, size_bytes, value, excerpt?}, or None when the effect
    is proven and nothing fit to be shown is said about it. `receipt` is {reference, key, …}; `problems` are sentences.
    """
    outcome: Outcome = "none" if read_only else "committed"
    answer: Answer = {
        "status": "succeeded",
        "outcome": outcome,
        # The same call again is the same call and gets this answer; a call that only reads may also be made anew.
        "retry_safe": read_only,
        "result": None if result is None else {**result, "observed_at": observed_at},
        "receipt": dict(receipt),
    }
    return answer | {"problems": list(problems)} if problems else answer


def ended(status: str, error: Mapping[str, Any]) -> Answer:
    """Any end but success, and *unknown*; `error` is a Refusal's `as_dict()`."""
    return {
        "status": status,
        "outcome": error["outcome"],
        "retry_safe": error["retry_safe"],
        "error": dict(error),
    }


def sound(answer: Any) -> Answer | None:
    """A stored answer in the forms above; one that somebody gave another form is told as damaged, and hides no other
    call of a list (S87)."""
    if answer is None or (isinstance(answer, dict) and all(_has_form(*part) for part in answer.items())):
        return answer
    return ended("unknown", _DAMAGED.as_dict())


_DAMAGED = Refusal(
    "The stored answer of this call is not what was written. Do not send it again; tell an operator.",
    code="ANSWER_DAMAGED",
    status=500,
    outcome="unknown",
)
_FORMS: Mapping[str, tuple[type, ...]] = {
    "result": (dict, type(None)),
    "receipt": (dict, type(None)),
    "error": (dict, type(None)),
    "problems": (list,),
}


def _has_form(name: str, value: Any) -> bool:
    if name == "error" and isinstance(value, dict):
        return {"code", "message", "retry_after"} <= value.keys()
    return name not in _FORMS or isinstance(value, _FORMS[name])
