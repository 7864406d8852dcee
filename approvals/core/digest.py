"""What exactly is approved: the canonical bytes of a call, their digest, the key that goes downstream, the snapshot.

The bytes are made once, stored as bytes, shown from, hashed and executed from (data rule 14, A1). Whoever uses stored
bytes recomputes the digest first: an edited row is then refused at display, decision and dispatch (S84).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit.core.canonical import canonical_bytes, sha256_hex
from audit.core.jsondoor import open_json
from audit.core.refusal import Conflict, Refusal

FORMAT = 1
"""The number of the form below; a changed form gets the next one."""

_STORED_LIMIT = 8 * 1_048_576  # effective arguments with their defaults are larger than what came through the door
_STORED_MEMBERS = 200_000
_FIELDS = {
    "format": int,
    "tool": str,
    "contract_version": int,
    "target": str,
    "acting_user": str,
    "arguments": dict,
}


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What a call's canonical bytes say. `acting_user` is a user id as text, or "" if the agent acts for nobody."""

    format: int
    tool: str
    contract_version: int
    target: str
    acting_user: str
    arguments: dict[str, Any]


def call_bytes(
    *, tool: str, contract_version: int, target: str, acting_user: str, arguments: Mapping[str, Any]
) -> bytes:
    """The RFC 8785 bytes of a call; `arguments` are the effective ones, after validation and defaults."""
    return canonical_bytes(
        {
            "format": FORMAT,
            "tool": tool,
            "contract_version": contract_version,
            "target": target,
            "acting_user": acting_user,
            "arguments": dict(arguments),
        }
    )


def digest(data: bytes) -> str:
    """SHA-256 over a call's canonical bytes, in hex: the digest that a reviewer's click carries (A2)."""
    return sha256_hex(data)


def parse_call_bytes(data: bytes | memoryview) -> CallFacts:
    """Read stored canonical bytes. Raises `Conflict` (CALL_DAMAGED) if they are not exactly the form that
    `call_bytes` writes: then somebody edited the row (S84)."""
    data = bytes(data)  # drivers hand out memoryviews
    try:
        value = open_json(data, limit=_STORED_LIMIT, members=_STORED_MEMBERS)
    except Refusal as error:
        raise _damaged() from error
    if not isinstance(value, dict) or value.keys() != _FIELDS.keys() or value["format"] != FORMAT:
        raise _damaged()
    for name, kind in _FIELDS.items():
        if type(value[name]) is not kind:
            raise _damaged()
    if canonical_bytes(value) != data:
        raise _damaged()
    return CallFacts(**value)  # type: ignore[arg-type]


def check_call_bytes(data: bytes | memoryview, expected: str) -> CallFacts:
    """`parse_call_bytes` after the digest of `data` was recomputed and found to be `expected`, the digest that was
    recorded with the call. Raises `Conflict` (DIGEST_MISMATCH or CALL_DAMAGED)."""
    if digest(bytes(data)) != expected:
        raise Conflict(
            "The stored call is not the one that was recorded: its digest differs. Nothing was executed; "
            "ask for a new approval and tell an operator.",
            code="DIGEST_MISMATCH",
            detail={"recorded": expected, "stored": digest(bytes(data))},
        )
    return parse_call_bytes(data)


def idempotency_key(run_id: str, step_id: str, tool: str, revision: int = 1) -> str:
    """The key that goes downstream unchanged across retries and re-approvals (E6): `clr_` and 40 hex digits.

    Derived from run, step and tool alone, so a re-sent request, a second worker and a re-approved call have the same
    one. An edited revision is another call and adds its number. Raises ValueError for a part that is empty or holds
    NUL, which separates the parts, and for a revision below 1.
    """
    parts = [run_id, step_id, tool]
    if revision < 1 or any(not part or "\0" in part for part in parts):
        raise ValueError("a key needs run, step and tool without NUL, and a revision of 1 or more")
    if revision > 1:
        parts.append(str(revision))
    text = "\0".join(["clearance/key/1", *parts])
    return "clr_" + hashlib.sha256(text.encode()).hexdigest()[:40]


def snapshot_bytes(state: Mapping[str, Any] | None) -> bytes:
    """The RFC 8785 bytes of the business state a call was judged on; None where the tool reads none."""
    return canonical_bytes({"state": None if state is None else dict(state)})


def snapshot_hash(data: bytes) -> str:
    """SHA-256 over a snapshot's bytes, in hex."""
    return sha256_hex(data)


def parse_snapshot(data: bytes | memoryview) -> dict[str, Any] | None:
    """The state in stored snapshot bytes. Raises `Conflict` (SNAPSHOT_DAMAGED) if they are not that form."""
    data = bytes(data)
    try:
        value = open_json(data, limit=_STORED_LIMIT, members=_STORED_MEMBERS)
    except Refusal as error:
        raise _damaged_snapshot() from error
    if not isinstance(value, dict) or value.keys() != {"state"} or canonical_bytes(value) != data:
        raise _damaged_snapshot()
    state = value["state"]
    if state is not None and not isinstance(state, dict):
        raise _damaged_snapshot()
    return state


def _damaged() -> Conflict:
    return Conflict(
        "The stored call is not in the form it was written in, so it is not trusted. Nothing was executed; "
        "ask for a new approval and tell an operator.",
        code="CALL_DAMAGED",
    )


def _damaged_snapshot() -> Conflict:
    return Conflict(
        "The stored state of the target is not in the form it was written in, so it is not trusted. "
        "Ask for a new approval and tell an operator.",
        code="SNAPSHOT_DAMAGED",
    )
