"""What can go wrong for an agent, in the server's own words."""

from typing import Any


class ClearanceError(Exception):
    """Every error of this package."""


class Unreachable(ClearanceError):
    """No answer, or one that was not the server's. Whether a request arrived is unknown.

    Repeating it is safe: a call is recognised by its call id, a run by its client reference.
    """


class Refused(ClearanceError):
    """The server said no. `code` is stable; the text is a plain sentence with the remedy, made for a model to read.

    - missing: what the caller lacks, for example scopes or fields
    - alternatives: tools that this session may use instead
    - retry_after: seconds, or None when repeating is no use
    - outcome: "none" (nothing happened), "committed" or "unknown"
    - retry_safe: whether the same request may be sent again
    - call: the call as it stands, when it was recorded and then refused; else None
    """

    def __init__(self, status: int, error: dict[str, Any], call: dict[str, Any] | None = None) -> None:
        super().__init__(str(error.get("message", f"The server answered {status}.")))
        self.status = status
        self.code = str(error.get("code", f"HTTP_{status}"))
        self.missing: list[Any] = list(error.get("missing") or [])
        self.alternatives: list[Any] = list(error.get("alternatives") or [])
        retry_after = error.get("retry_after")
        self.retry_after: float | None = None if retry_after is None else float(retry_after)
        self.outcome = str(error.get("outcome", "unknown" if status >= 500 else "none"))
        self.retry_safe = bool(error.get("retry_safe", False))
        self.detail: dict[str, Any] = dict(error.get("detail") or {})
        self.call = call
