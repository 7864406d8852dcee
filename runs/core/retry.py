"""What an error says about the effect, and who may therefore send again (R7, data rule 3).

The table errs to one side: a class that nobody listed counts as *unknown*, because treating an unknown outcome
as a failure is how a refund happens twice.
"""

from enum import StrEnum


class Certainty(StrEnum):
    """What an error class proves about the target."""

    BEFORE_EFFECT = "before_effect"
    REFUSAL = "refusal"
    UNKNOWN = "unknown"


class ErrorClass(StrEnum):
    """Why an attempt did not succeed. Adapters translate their own exceptions to these words."""

    # The request never left, or the target turned it away before looking at it.
    NOT_SENT = "not_sent"
    CONNECT_REFUSED = "connect_refused"
    CONNECT_TIMEOUT = "connect_timeout"
    NAME_NOT_RESOLVED = "name_not_resolved"
    TLS_FAILED = "tls_failed"
    BREAKER_OPEN = "breaker_open"
    RATE_LIMITED = "rate_limited"
    # The target answered in words that it did not do it. Shown, never retried by a machine.
    AUTHENTICATION = "authentication"
    AUTHORIZATION = "authorization"
    VALIDATION = "validation"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    BUSINESS = "business"
    # It may have happened.
    TIMEOUT = "timeout"
    CONNECTION_LOST = "connection_lost"
    SERVER_ERROR = "server_error"
    BAD_ANSWER = "bad_answer"
    ANSWER_TOO_LARGE = "answer_too_large"
    POSTCONDITION_OPEN = "postcondition_open"
    LEASE_ENDED = "lease_ended"
    KILLED = "killed"


_BEFORE_EFFECT = frozenset(
    {
        ErrorClass.NOT_SENT,
        ErrorClass.CONNECT_REFUSED,
        ErrorClass.CONNECT_TIMEOUT,
        ErrorClass.NAME_NOT_RESOLVED,
        ErrorClass.TLS_FAILED,
        ErrorClass.BREAKER_OPEN,
        ErrorClass.RATE_LIMITED,
    }
)
_REFUSAL = frozenset(
    {
        ErrorClass.AUTHENTICATION,
        ErrorClass.AUTHORIZATION,
        ErrorClass.VALIDATION,
        ErrorClass.NOT_FOUND,
        ErrorClass.CONFLICT,
        ErrorClass.BUSINESS,
    }
)


def classify(error_class: str) -> Certainty:
    """What `error_class` proves: nothing was done, the target refused, or nobody knows."""
    if error_class in _BEFORE_EFFECT:
        return Certainty.BEFORE_EFFECT
    if error_class in _REFUSAL:
        return Certainty.REFUSAL
    return Certainty.UNKNOWN


def may_retry(*, retry_class: str, side_effect: str, certainty: Certainty) -> bool:
    """Whether a machine may send the same call again after an error of this certainty.

    `retry_class` is the contract's `never`, `before_effect` or `safe`; `side_effect` its `read`, `idempotent`,
    `reversible` or `irreversible`. *Safe* is believed only of a read or an idempotent tool (data rule 3): a contract
    that calls an irreversible tool safe gets no second effect from it.
    """
    if retry_class == "never" or certainty is Certainty.REFUSAL:
        return False
    if certainty is Certainty.BEFORE_EFFECT:
        return True
    return retry_class == "safe" and side_effect in ("read", "idempotent")
