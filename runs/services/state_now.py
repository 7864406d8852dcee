"""Reading a target's state for a simulation, as a worker reads it for a call: through the same boundary, and no more.

The same adapter with its allow-list, credential, limits and reference table, asked once and never again by itself.
Nothing is stored but two entries of the log: one before the target is asked, so that no question goes out that nobody
can find, and one with what came of it. The state itself is kept nowhere.
"""

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from access.services.target_reads import target_read_take
from approvals.core.contract_types import Contract
from approvals.core.digest import snapshot_bytes, snapshot_hash
from approvals.core.template import render_text
from approvals.services.simulation import Reading, ToRead
from audit.core.actor import Actor
from audit.core.jsondoor import Json
from audit.core.refusal import Refusal, Unavailable
from audit.services.record import audit_record, audit_refusals
from audit.store import clock
from runs.models import Dispatch
from runs.selectors.state_offer import LONGEST_S, unsafe_read
from runs.services.dispatch import state_read


def state_now(*, actor: Actor, wanted: ToRead) -> Reading:
    """Ask the target of a simulated call for its state. What goes wrong there is told, never raised.

    Raises Forbidden and TooMany (TARGET_READ_THROTTLED), both recorded; then nothing was asked.
    """
    contract = wanted.contract
    if contract.adapter.read_state is None and contract.adapter.reference is None:
        return Reading(text="This tool reads no state; nothing was asked.", standing="noted")
    unsafe = unsafe_read(contract)
    if unsafe is not None:
        return Reading(text="Not asked:", standing="unknown", refusal=unsafe)
    entry: dict[str, Any] = {"object_type": "tool", "object_id": contract.name, "tool": contract.name}
    detail = {
        "version": wanted.number,
        "target": render_text(contract.target, {"args": dict(wanted.arguments)}),
        "agent": str(wanted.requester.agent.get("id", "")),
        "acting_for": wanted.acting_user,
        "digest": wanted.digest,
    }
    with audit_refusals(actor=actor, action="contract.target_asked", detail=detail, **entry):
        target_read_take(actor=actor)
        audit_record(actor=actor, action="contract.target_asked", detail=detail, **entry)
    reading, size = _asked(actor, wanted)
    refusal, state = reading.refusal, reading.state
    came = {"code": refusal.code} if refusal else {"snapshot": None if state is None else _hash(state)}
    with transaction.atomic():
        audit_record(
            actor=actor,
            action="contract.target_read",
            verdict="failed" if refusal else "ok",
            detail=detail | came,
            result_bytes=size,
            duration_ms=reading.took_ms,
            **entry,
        )
    return reading


def _hash(state: Mapping[str, Json]) -> str:
    return snapshot_hash(snapshot_bytes(dict(state)))


def _asked(actor: Actor, wanted: ToRead) -> tuple[Reading, int]:
    contract, requester = wanted.contract, wanted.requester
    at, started = clock.now(), time.monotonic()
    try:
        observed = state_read(
            contract=contract,
            arguments=wanted.arguments,
            tenant_id=actor.tenant_id,
            principal={"agent": dict(requester.agent), "user": dict(requester.user or {})},
            deadline=started + min(LONGEST_S, contract.timeout_ms / 1000),
        )
    except Refusal as refusal:
        return _failed(contract, refusal, at=at, took_ms=_since(started)), 0
    reads = contract.adapter.read_state is not None
    text = "Read now, as a worker reads it." if reads else "Its row is in the reference table; no state is read."
    size = observed.observation.received_bytes
    facts = (("answer", f"{size:,} bytes"),) if reads else ()
    reading = Reading(text=text, state=observed.state, at=observed.read_at, took_ms=_since(started), facts=facts)
    return reading, size


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _failed(contract: Contract, refusal: Refusal, *, at: datetime, took_ms: int) -> Reading:
    later = isinstance(refusal, Unavailable)
    facts = [("a real call then", _then(contract, refusal))]
    if cause := str(refusal.detail.get("cause", "")):
        facts.insert(0, ("cause", cause))
    if later and contract.timeout_ms / 1000 > LONGEST_S:
        facts.append(
            ("waited", f"{LONGEST_S:g} s, the longest of a page; a worker waits {contract.timeout_ms / 1000:g} s")
        )
    return Reading(
        text="It cannot be read now:" if later else "Refused:",
        standing="unknown" if later else "refused",
        refusal=refusal,
        at=at,
        took_ms=took_ms,
        facts=tuple(facts),
    )


def _then(contract: Contract, refusal: Refusal) -> str:
    if not isinstance(refusal, Unavailable):
        return "It is refused with the same words before it is judged. Nothing is sent."
    most: int = Dispatch._meta.get_field("max_attempts").default
    tries = min(contract.retry.attempts, most)
    again = f"It is tried up to {tries} times while its time lasts" if tries > 1 else "It is not tried again"
    return f"{again}, and is then refused as TARGET_UNAVAILABLE. Nothing is sent."
