"""A worker that waits for a target holds no connection to the database (architecture.md, *Connections*)."""

import threading

import pytest
from django.db import connections

from tests.support.target import Target

CHARGE = {"amount": 18_900, "amount_refunded": 0, "currency": "aud", "status": "succeeded"}
REFUND = {"id": "re_1", "amount": 4_500, "currency": "aud", "status": "succeeded"}


@pytest.mark.parametrize("held_at", ["GET", "POST"])
def test_while_a_target_lets_a_worker_wait_no_connection_is_held(world, owner_sql, held_at):
    arrived, go_on = threading.Event(), threading.Event()

    def behaviour(visit):
        if armed.is_set() and visit.line.startswith(held_at) and not arrived.is_set():
            arrived.set()
            go_on.wait(10)
        visit.answer_json(REFUND if visit.line.startswith("POST") else CHARGE)

    armed = threading.Event()
    with Target(behaviour) as target:
        world.admit("refund_order", lambda document: document.update(timeout_ms=9000), host=target.host)
        call = world.held()
        world.decide(call)
        connections.close_all()  # this thread's own
        armed.set()
        worker = threading.Thread(target=world.work, args=(call,))
        worker.start()
        try:
            assert arrived.wait(10)
            held = owner_sql(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'clr_app'"
            )
        finally:
            go_on.set()
            worker.join(20)
    assert held == [(0,)]
