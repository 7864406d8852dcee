"""What one answer means for the effect: the table of docs/boundaries.md, *What an answer means*, as one function.

The leaning is always to one side: what does not prove that nothing was done, or that it was done, is unknown. A
needless look-up costs a second; taking an unknown outcome for a failure is how a refund happens twice (S80).
"""

from dataclasses import dataclass
from typing import Final, Literal

from runs.core.retry import ErrorClass
from runs.tools.http import HttpAnswer

type Status = Literal["succeeded", "failed_before_effect", "refused", "unknown"]


@dataclass(frozen=True, slots=True)
class Meaning:
    """`status` of the effect, the error class that the reducer judges retries by ("" on success), a stable code and a
    plain sentence."""

    status: Status
    error_class: str
    code: str
    message: str


SUCCEEDED: Final = Meaning("succeeded", "", "", "")

_NOT_SENT: Final = {
    "CONNECT_FAILED": ErrorClass.CONNECT_REFUSED,
    "CONNECT_TIMEOUT": ErrorClass.CONNECT_TIMEOUT,
    "DNS_FAILED": ErrorClass.NAME_NOT_RESOLVED,
    "TLS_FAILED": ErrorClass.TLS_FAILED,
}
_OPEN: Final = {
    "ANSWER_TIMEOUT": ErrorClass.TIMEOUT,
    "CONNECTION_LOST": ErrorClass.CONNECTION_LOST,
    "ANSWER_TOO_LARGE": ErrorClass.ANSWER_TOO_LARGE,
}

# Four answers in the 400s that are no refusal. 425 and 429 are defined as *turned away before being looked at* (RFC
# 8470, RFC 6585). 408 and 499 say that the target, or something before it, stopped waiting, not what it had done by
# then. 409 is what targets answer when an earlier request with this key is still running or has already had its
# effect, so it is the one refusal that may mean the opposite.
_TURNED_AWAY: Final = {
    425: Meaning("failed_before_effect", ErrorClass.NOT_SENT, "TOO_EARLY", "The target would not take it yet (425)."),
    429: Meaning(
        "failed_before_effect", ErrorClass.RATE_LIMITED, "RATE_LIMITED", "The target takes no more now (429)."
    ),
}
_STILL_OPEN: Final = {
    408: Meaning("unknown", ErrorClass.TIMEOUT, "TARGET_TIMEOUT", "The target stopped waiting (408)."),
    409: Meaning(
        "unknown",
        ErrorClass.BAD_ANSWER,
        "TARGET_CONFLICT",
        "The target answered with a conflict (409), which may mean that it is being done or has been done already.",
    ),
    499: Meaning("unknown", ErrorClass.TIMEOUT, "TARGET_TIMEOUT", "Something before the target stopped waiting (499)."),
}
_REFUSED: Final = {
    400: ErrorClass.VALIDATION,
    401: ErrorClass.AUTHENTICATION,
    403: ErrorClass.AUTHORIZATION,
    404: ErrorClass.NOT_FOUND,
    410: ErrorClass.NOT_FOUND,
    412: ErrorClass.CONFLICT,
    413: ErrorClass.VALIDATION,
    414: ErrorClass.VALIDATION,
    415: ErrorClass.VALIDATION,
    422: ErrorClass.VALIDATION,
    423: ErrorClass.CONFLICT,
}


def meaning_of(answer: HttpAnswer) -> Meaning:
    """What `answer` says about the effect. SUCCEEDED means only *a whole 2xx answer with JSON*: whether the target did
    it is then decided by the contract's `success` condition, never by the status alone (R10)."""
    if answer.kind == "not_sent":
        return Meaning(
            "failed_before_effect", _NOT_SENT.get(answer.code, ErrorClass.NOT_SENT), answer.code, answer.message
        )
    if answer.kind == "lost":
        return Meaning("unknown", _OPEN.get(answer.code, ErrorClass.BAD_ANSWER), answer.code, answer.message)
    if answer.status >= 500:
        return Meaning(
            "unknown",
            ErrorClass.SERVER_ERROR,
            "TARGET_ERROR",
            f"The target failed while it worked on this ({answer.status}); how far it came is unknown.",
        )
    if not answer.structured:
        # Also in the 400s: an HTML page may come from anything between here and the target.
        return Meaning("unknown", _OPEN.get(answer.code, ErrorClass.BAD_ANSWER), answer.code, answer.message)
    if answer.status < 300:
        return SUCCEEDED
    if answer.status in _TURNED_AWAY:
        return _TURNED_AWAY[answer.status]
    if answer.status in _STILL_OPEN:
        return _STILL_OPEN[answer.status]
    return Meaning(
        "refused",
        _REFUSED.get(answer.status, ErrorClass.BUSINESS),
        "TARGET_REFUSED",
        f"The target refused this ({answer.status}); nothing was done there.",
    )


def not_confirmed(code: str, message: str) -> Meaning:
    """A 2xx answer that does not establish the effect: unknown, whatever is wrong with it. A target that says
    `pending`, and one that leaves out the receipt, may both have done it."""
    error_class = ErrorClass.POSTCONDITION_OPEN if code == "NOT_CONFIRMED" else ErrorClass.BAD_ANSWER
    return Meaning("unknown", error_class, code, message)
