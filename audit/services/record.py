"""The one way to add to the audit log (U1, S69, data rule 4).

No entry, no effect: `audit_record` writes in the transaction of the change and raises when it cannot, so that the
change goes with it. Only verbs that stop things may go on without: `audit_record_or_owe` leaves a debt that the sweep
pays.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from audit.core.actor import Actor
from audit.core.entry import utc_text
from audit.core.jsondoor import Json
from audit.core.redact import redact_secrets, redact_text
from audit.core.refusal import Refusal
from audit.store import entries

logger = logging.getLogger(__name__)

REFUSED_WAIT_MS = 3000
_LONGEST_ID = 200  # characters; an id that a stranger typed (an unknown client id) must not fill the log


def audit_record(
    *,
    actor: Actor,
    action: str,
    object_type: str,
    object_id: object,
    verdict: str = "ok",
    run_id: object = "",
    call_id: str = "",
    tool: str = "",
    detail: Mapping[str, object] | None = None,
    result_bytes: int | None = None,
    duration_ms: int | None = None,
) -> None:
    """Append one entry in the caller's transaction.

    `detail` is redacted by member name and known secret pattern; the caller has applied the tool's own paths (E5).
    `verdict` is ok, refused, duplicate, unknown or failed. Raises DatabaseError when the entry cannot be written and
    RuntimeError outside a transaction, where the change could outlive a missing entry: either way nothing may happen.
    """
    if not connection.in_atomic_block:
        raise RuntimeError(f"{action} would be recorded outside the transaction of its change")
    entries.insert_entry(
        _values(
            actor, action, object_type, object_id, verdict, run_id, call_id, tool, detail, result_bytes, duration_ms
        )
    )


def audit_record_or_owe(*, actor: Actor, action: str, object_type: str, object_id: object, **rest: Any) -> bool:
    """`audit_record` for verbs that stop things (cancel, kill, pause, revoke): never raises.

    True if the entry is written. False if it is owed (a row of `audit_owed`, paid by the sweep) or, should even that
    fail, only in the process's log: stopping must work while the audit log does not (S69). `rest` as `audit_record`.
    """
    fields: dict[str, Any] = {
        "verdict": "ok", "run_id": "", "call_id": "", "tool": "", "detail": None, "result_bytes": None
    }  # fmt: skip
    fields |= {"duration_ms": None} | rest
    try:
        values = _values(actor, action, object_type, object_id, **fields)
        try:
            # A savepoint, because a failed statement would otherwise take the caller's change with it.
            with transaction.atomic():
                entries.insert_entry(values)
            return True
        except Exception as error:
            logger.exception("An audit entry could not be written and is owed: %s %s", action, object_id)
            with transaction.atomic():
                entries.insert_owed(values, reason=redact_text(str(error))[:2000])
    except Exception:
        logger.critical(
            "NOT IN THE AUDIT LOG, AND NOT OWED: %s of %s %s by %s %s at %s",
            action, object_type, object_id, actor.kind, actor.id, rest.get("run_id") or "-", exc_info=True,
        )  # fmt: skip
    return False


def audit_refused(
    *, actor: Actor, refusal: Refusal, action: str, object_type: str, object_id: object, **rest: Any
) -> None:
    """Record that somebody was refused; in a transaction of its own, after the refused change has rolled back.

    The refusal stands whether or not this can be written (nothing happened), so a failure is only logged, and a log
    that somebody has locked keeps nobody waiting for their answer.
    """
    detail = {**(rest.pop("detail", None) or {}), "code": refusal.code}
    if refusal.missing:
        detail["missing"] = refusal.missing
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{REFUSED_WAIT_MS}ms"])
            audit_record(
                actor=actor, action=action, object_type=object_type, object_id=object_id,
                **{"verdict": "refused", **rest, "detail": detail},
            )  # fmt: skip
    except Exception:
        logger.exception("A refusal could not be recorded: %s of %s %s", action, object_type, object_id)


@contextmanager
def audit_refusals(*, actor: Actor, action: str, object_type: str, object_id: object, **rest: Any) -> Iterator[None]:
    """A transaction around a change; a `Refusal` that leaves it rolls it back, is recorded and raised again.

    Must be the outermost transaction: inside another one the entry would roll back with it.
    """
    try:
        with transaction.atomic():
            yield
    except Refusal as refusal:
        audit_refused(actor=actor, refusal=refusal, action=action, object_type=object_type, object_id=object_id, **rest)
        raise


def audit_pay_owed(*, limit: int = 100) -> int:
    """Write up to `limit` owed entries, oldest first, with the instant of the deed; returns how many were paid.

    A debt that cannot be paid stays and hides none behind it. Two sweeps never pay the same one: rows are locked and
    those that are held are passed over.
    """
    paid, last_id = 0, 0
    while paid < limit:
        with transaction.atomic():
            batch = entries.owed_after(last_id, limit - paid)
            for owed_id, at, values, reason in batch:
                last_id = owed_id
                paid += _pay(owed_id, at, values, reason)
        if not batch:
            break
    return paid


def _pay(owed_id: int, at: datetime, values: dict[str, Any], reason: str) -> int:
    try:
        detail = {**values["detail"], "owed": {"reason": reason}}
        with transaction.atomic():
            entries.insert_entry({**values, "detail": detail}, at=at)
            entries.delete_owed(owed_id)
    except Exception:
        logger.exception("The owed audit entry %s cannot be paid yet", owed_id)
        return 0
    return 1


def _values(
    actor: Actor,
    action: str,
    object_type: str,
    object_id: object,
    verdict: str,
    run_id: object,
    call_id: str,
    tool: str,
    detail: Mapping[str, object] | None,
    result_bytes: int | None,
    duration_ms: int | None,
) -> dict[str, object]:
    return {
        "tenant_id": _text(actor.tenant_id),
        "action": action,
        "verdict": verdict,
        "actor_kind": actor.kind,
        "actor_id": _text(actor.id),
        "actor_name": _text(actor.name),
        "on_behalf_of": _text(actor.on_behalf_of),
        "via": actor.via,
        "object_type": object_type,
        "object_id": redact_text(_text(str(object_id)))[:_LONGEST_ID],
        "run_id": _text(str(run_id)),
        "call_id": _text(call_id),
        "tool": _text(tool),
        "detail": redact_secrets(_plain(dict(detail or {}))),
        "result_bytes": result_bytes,
        "duration_ms": duration_ms,
    }


def _plain(value: object) -> Json:
    """JSON of whatever a service noted down; what has no JSON form is a programming error and raises TypeError."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return utc_text(value)
    if isinstance(value, Mapping):
        return {_text(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, Set):
        return [_plain(item) for item in sorted(value, key=str)]
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_plain(item) for item in value]
    raise TypeError(f"an audit entry cannot hold a {type(value).__name__}")


def _text(text: str) -> str:
    """Text that PostgreSQL can store: NUL and lone surrogates have no place there and must not cost us the entry."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")
