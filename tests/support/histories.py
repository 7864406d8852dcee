"""Runs and calls made through the store alone, for tests of the floors below the services."""

import uuid
from datetime import datetime
from typing import Any

from django.db import transaction

from audit.core.actor import Actor
from audit.store import clock
from runs.core.kinds import EventKind as K
from runs.models import Call, Dispatch, Run
from runs.store import claims
from runs.store.append import Appended, Facts, Guard, append, lock_run

TENANT = uuid.UUID("11111111-1111-1111-1111-111111111111")
SYSTEM = Actor("system", "test", "Test", str(TENANT), frozenset(), frozenset(), frozenset())
KEY = "clr_test"


def new_run(*, tenant_id: uuid.UUID = TENANT, **fields: Any) -> uuid.UUID:
    """An open run of nobody's; its id."""
    at = clock.now()
    run = Run.objects.create(
        tenant_id=tenant_id,
        title="A run",
        agent_id=uuid.uuid4(),
        agent_name="Agent",
        created_at=at,
        updated_at=at,
        **fields,
    )
    add(run.id, (K.RUN_CREATED, {"scope": {"tenant": str(tenant_id)}}), (K.RUN_ADMITTED, {}))
    return run.id


def add(run_id: uuid.UUID, *facts: tuple[K, dict[str, Any]], guard: Guard | None = None, **kwargs: Any) -> Appended:
    """Append in a transaction of its own."""
    with transaction.atomic():
        return append(lock_run(run_id), facts, actor=SYSTEM, guard=guard, **kwargs)


def proposed(call_id: str, *, side_effect: str = "irreversible", retry_class: str = "before_effect") -> Facts:
    """The event of a call that somebody asks for."""
    return [
        (
            K.CALL_PROPOSED,
            {
                "call_id": call_id,
                "tool": "refund_order",
                "contract_version": 1,
                "digest": "d" * 64,
                "key": KEY,
                "side_effect": side_effect,
                "retry_class": retry_class,
                "read_only": side_effect == "read",
            },
        )
    ]


def propose(run_id: uuid.UUID, call_id: str = "call-1", **kwargs: Any) -> Call:
    """A call of the run, new, with its row of work."""
    with transaction.atomic():
        loaded = lock_run(run_id)
        call = Call.objects.create(
            run_id=run_id,
            tenant_id=loaded.run.tenant_id,
            call_id=call_id,
            tool="refund_order",
            contract_version=1,
            canonical=b"{}",
            given=b"{}",
            digest="d" * 64,
            key=KEY,
            target="",
            resource="",
            created_at=loaded.at,
            version=0,
        )
        append(loaded, proposed(call_id, **kwargs), actor=SYSTEM)
    call.refresh_from_db()
    return call


def allowed(call_id: str = "call-1") -> tuple[K, dict[str, Any]]:
    """The event of a call that a rule lets through."""
    return K.CALL_ALLOWED, {"call_id": call_id, "rule_id": "r", "policy_number": 1, "boundary": "gateway"}


def claimed(run_id: uuid.UUID, kind: str, *, worker: str = "w1", **kwargs: Any) -> claims.Claim:
    """A claim of the run's row of that kind; fails when there is none."""
    claim = claims.claim_next(worker=worker, run_id=run_id, kinds=[kind], **kwargs)
    assert claim is not None, f"no {kind} row is ready"
    return claim


def guard_of(claim: claims.Claim) -> Guard:
    """The worker's right to append."""
    return Guard(claim.id, claim.fence)


def started(claim: claims.Claim, deadline: datetime, *, call_id: str = "call-1", attempt: int = 1) -> Appended:
    """Record the intent of a claimed dispatch."""
    body = {
        "call_id": call_id,
        "dispatch_id": str(claim.id),
        "fence": claim.fence,
        "attempt": attempt,
        "deadline": deadline.isoformat(),
        "key": KEY,
    }
    with transaction.atomic():
        appended = append(lock_run(claim.run_id), [(K.DISPATCH_STARTED, body)], actor=SYSTEM, guard=guard_of(claim))
        assert claims.mark_started(claim, started_at=clock.now(), request_deadline=deadline, lease_until=deadline)
    return appended


def succeeded(claim: claims.Claim, *, call_id: str = "call-1") -> tuple[K, dict[str, Any]]:
    """The event of a call that worked."""
    return K.DISPATCH_SUCCEEDED, {
        "call_id": call_id,
        "dispatch_id": str(claim.id),
        "fence": claim.fence,
        "reference": "re_1",
        "result_digest": "r" * 64,
        "duration_ms": 3,
    }


def rows(run_id: uuid.UUID) -> list[tuple[str, str]]:
    """(kind, status) of the run's rows of work, oldest first."""
    return list(Dispatch.objects.filter(run_id=run_id).order_by("created_at", "kind").values_list("kind", "status"))
