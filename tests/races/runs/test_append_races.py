"""Twenty at once on real PostgreSQL: one sequence, one claim, one resource."""

import json
import threading
import time
import uuid
from datetime import timedelta

import pytest
from django.db import connection, transaction

from audit.store import clock
from runs.core.kinds import EventKind as K
from runs.models import Dispatch, Event, Run
from runs.store import claims, resources
from runs.store.append import FenceLost, Guard, SequenceLost, append, lock_run
from tests.support.histories import SYSTEM, TENANT, add, allowed, new_run, propose


def test_twenty_appends_at_one_sequence_and_one_is_taken(committed_db, race):
    run_id = new_run()
    seq = Run.objects.get(pk=run_id).seq
    events = json.dumps([{"kind": "user_steered", "actor": {}, "body": {"text": "x"}}])

    def one(_):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT runs_append(%s, %s, %s::jsonb, NULL, NULL, 'ready', '', false)", [run_id, seq, events]
            )
            return cursor.fetchone()[0]

    answers = race(one)
    assert sorted(answers) == [-1] * 19 + [seq + 1]
    assert Event.objects.filter(run_id=run_id).count() == seq + 1


def test_twenty_who_loaded_before_anybody_appended_and_one_is_taken(committed_db, race):
    run_id = new_run()
    with transaction.atomic():
        stale = lock_run(run_id)

    def one(n):
        try:
            with transaction.atomic():
                append(stale, [(K.USER_STEERED, {"text": str(n)})], actor=SYSTEM)
        except SequenceLost:
            return "lost"
        return "won"

    assert sorted(race(one)) == ["lost"] * 19 + ["won"]


def test_twenty_who_lock_the_head_first_are_all_taken_one_after_the_other(committed_db, race):
    run_id = new_run()
    before = Run.objects.get(pk=run_id).seq
    assert [
        e for e in race(lambda n: add(run_id, (K.USER_STEERED, {"text": str(n)})).seq) if not isinstance(e, int)
    ] == []
    assert Run.objects.get(pk=run_id).seq == before + 20
    assert list(Event.objects.filter(run_id=run_id).order_by("seq").values_list("seq", flat=True)) == list(
        range(1, before + 21)
    )


def test_twenty_workers_one_row_and_one_claims_it(committed_db, race):
    run_id = new_run()
    propose(run_id)
    found = race(lambda n: claims.claim_next(worker=f"w{n}", run_id=run_id))
    assert len([claim for claim in found if claim is not None]) == 1
    assert Dispatch.objects.get(run_id=run_id).attempts == 1


def test_twenty_workers_twenty_rows_and_nobody_waits_for_another(committed_db, race):
    run_id = new_run()
    for n in range(20):
        propose(run_id, f"call-{n}")
    found = race(lambda n: claims.claim_next(worker=f"w{n}"))
    assert len({claim.id for claim in found}) == 20
    assert len({claim.fence for claim in found}) == 20


def test_twenty_dispatches_of_one_resource_and_one_gets_it(committed_db, race):
    run_id = new_run()
    ids = []
    for n in range(20):
        call = propose(run_id, f"call-{n}")
        ids.append(Dispatch.objects.get(call=call).id)

    def one(n):
        with transaction.atomic():
            return resources.take(tenant_id=TENANT, resource="order:1", dispatch_id=ids[n])

    assert sorted(race(one)) == [False] * 19 + [True]


def test_a_resource_is_one_in_its_tenant_and_free_again_after_its_holder(committed_db):
    run_id = new_run()
    first, second = (Dispatch.objects.get(call=propose(run_id, c)).id for c in ("a", "b"))
    other_tenant = uuid.uuid4()
    assert resources.take(tenant_id=TENANT, resource="order:1", dispatch_id=first)
    assert not resources.take(tenant_id=TENANT, resource="order:1", dispatch_id=second)
    assert resources.take(tenant_id=other_tenant, resource="order:1", dispatch_id=second)
    assert resources.take(tenant_id=TENANT, resource="", dispatch_id=second)
    resources.free(first)
    assert resources.take(tenant_id=TENANT, resource="order:1", dispatch_id=second)


@pytest.mark.parametrize("waits_in", ["lock_run", "runs_append"])
def test_a_lease_is_judged_after_the_heads_lock_was_granted_not_before(committed_db, race, waits_in):
    """A worker that waits for the head longer than its lease holds is refused (data rules 2 and 11): in the statement
    that loads the run, and in the SQL function."""
    run_id = new_run()
    propose(run_id)
    claim = claims.claim_next(worker="w", run_id=run_id, lease_ms=2000)
    assert claim is not None
    with transaction.atomic():
        loaded = lock_run(run_id)
    locked = threading.Event()

    def one(n):
        if n == 0:
            with transaction.atomic():
                lock_run(run_id)
                locked.set()
                time.sleep((claim.lease_until - clock.now()).total_seconds() + 0.3)
            return "held"
        locked.wait(5)
        assert clock.now() < claim.lease_until - timedelta(milliseconds=100)
        guard = Guard(claim.id, claim.fence)
        try:
            if waits_in == "lock_run":
                add(run_id, allowed(), guard=guard)
            else:
                with transaction.atomic():
                    append(loaded, [allowed()], actor=SYSTEM, guard=guard)
        except FenceLost:
            return "refused"
        return "accepted"

    assert race(one, 2) == ["held", "refused"]
