"""Every refusal of the product, in the one form that a model, a program and a page can read (E3)."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

type Outcome = Literal["none", "committed", "unknown"]


class Refusal(Exception):
    """A structured refusal.

    `code` is UPPER_SNAKE and stable; `message` is a plain sentence with the remedy; `status` is the HTTP status.
    `missing` names what the caller lacks (scopes, fields, groups). `retry_after` is in whole seconds.
    `alternatives` are tools this session may use that do the nearest thing.
    `outcome` says what is known about the effect in the outside world.
    `retry_safe` is true only if sending the same call again cannot cause a second effect *and* may succeed.
    `detail` carries further JSON values (paths, findings); never a secret, never another tenant's data.
    """

    default_code: ClassVar[str] = "REFUSED"
    default_status: ClassVar[int] = 400
    default_message: ClassVar[str] = "The request was refused."
    default_retry_safe: ClassVar[bool] = False

    def __init__(
        self,
        message: str = "",
        *,
        code: str = "",
        status: int | None = None,
        missing: Sequence[str] = (),
        retry_after: int | None = None,
        alternatives: Sequence[str] = (),
        outcome: Outcome = "none",
        retry_safe: bool | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        self.code = code or self.default_code
        self.message = message or self.default_message
        self.status = self.default_status if status is None else status
        self.missing: list[str] = list(missing)
        self.retry_after = retry_after
        self.alternatives: list[str] = list(alternatives)
        self.outcome: Outcome = outcome
        self.retry_safe = self.default_retry_safe if retry_safe is None else retry_safe
        self.detail: dict[str, Any] = dict(detail or {})
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        # An exception with keyword-only fields loses them when it is pickled between processes unless told how.
        return _rebuild, (type(self), self.__dict__.copy())

    def as_dict(self) -> dict[str, Any]:
        """The E3 form: JSON types only; `detail` only when there is some."""
        form: dict[str, Any] = {
            "code": self.code,
            "message": self.message,
            "missing": list(self.missing),
            "retry_after": self.retry_after,
            "alternatives": list(self.alternatives),
            "outcome": self.outcome,
            "retry_safe": self.retry_safe,
        }
        if self.detail:
            form["detail"] = dict(self.detail)
        return form

    def with_alternatives(self, alternatives: Sequence[str]) -> Self:
        """The same refusal naming the tools that may be used instead; for the caller that knows the session."""
        self.alternatives = list(alternatives)
        return self


def _rebuild(kind: type[Refusal], fields: dict[str, object]) -> Refusal:
    refusal = kind(str(fields.get("message", "")))
    refusal.__dict__.update(fields)
    return refusal


class NotFound(Refusal):
    """404. A foreign id and an unknown id get exactly these words (S62)."""

    default_code = "NOT_FOUND"
    default_status = 404
    default_message = "There is nothing with this id here. Check the id and the account you are signed in to."


class Forbidden(Refusal):
    """403. The caller is known and may not do this; `missing` names what it would need."""

    default_code = "PERMISSION_DENIED"
    default_status = 403
    default_message = "You may not do this. Ask an admin for the right that is missing."


class Conflict(Refusal):
    """409. The thing has changed, or was decided, since the caller looked at it."""

    default_code = "CONFLICT"
    default_status = 409
    default_message = "This has changed since you looked at it. Load it again and decide on what it is now."


class Invalid(Refusal):
    """422. What was sent has the wrong shape or meaning; nothing was changed."""

    default_code = "INVALID"
    default_status = 422
    default_message = "What was sent is not valid. Correct the fields named here and send it again."


class Unauthenticated(Refusal):
    """401. No usable session or token."""

    default_code = "UNAUTHENTICATED"
    default_status = 401
    default_message = "Sign in, or send a valid access token, and try again."


class TooLarge(Refusal):
    """413. More bytes than this door takes."""

    default_code = "BODY_TOO_LARGE"
    default_status = 413
    default_message = "The body is larger than this door takes. Send less, or refer to an artifact."


class TooMany(Refusal):
    """429. Too many attempts; `retry_after` says when the next one is looked at."""

    default_code = "RATE_LIMITED"
    default_status = 429
    default_message = "Too many attempts. Wait and try again."
    default_retry_safe = True


class Unavailable(Refusal):
    """503. Something we need does not answer; nothing was started, so the same request may be sent again."""

    default_code = "UNAVAILABLE"
    default_status = 503
    default_message = "A part we need does not answer. Nothing was started; try again."
    default_retry_safe = True

    def __init__(self, message: str = "", *, retry_after: int | None = 5, **fields: object) -> None:
        super().__init__(message, retry_after=retry_after, **fields)  # type: ignore[arg-type]
