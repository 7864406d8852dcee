"""A pause holds back what was not sent and a resume orders it again, but never between a worker's look and its deed."""

import threading

from django.db import connections, transaction

from runs.core.kinds import EventKind
from runs.services.resolution import resolutions_consume
from runs.services.sending import dispatch_call
from runs.store import claims
from runs.store.append import HeadBusy, append, lock_run
from tests.support.world import live_rows


def test_a_resume_while_a_worker_gives_up_its_row_for_a_pause_loses_no_work(world, monkeypatch):
    """The worker has seen the pause and ends its row; a resume before that would find the row live and order none."""
    order = world.order()
    call = world.held(order)
    world.decide(call)
    resolutions_consume(run_id=call.run_id)
    claim = claims.claim_next(worker="w", run_id=call.run_id, kinds=("dispatch",))
    assert claim is not None
    told = []

    def tell(kind: EventKind, *, wait: bool) -> None:
        with transaction.atomic():
            append(lock_run(call.run_id, wait=wait), [(kind, {})], actor=world.asker.actor)

    def resume_at_once() -> None:
        try:
            tell(EventKind.RESUME_ASKED, wait=False)
            told.append("resumed")
        except HeadBusy:
            told.append("has to wait")
        finally:
            connections.close_all()

    def close(*args, **more) -> bool:
        somebody = threading.Thread(target=resume_at_once)
        somebody.start()
        somebody.join()
        return closing(*args, **more)

    closing = claims.close
    tell(EventKind.PAUSE_ASKED, wait=True)
    monkeypatch.setattr(claims, "close", close)
    dispatch_call(claim=claim)
    assert len(told) == 1
    if told == ["has to wait"]:
        assert live_rows(call) == []
        tell(EventKind.RESUME_ASKED, wait=True)
    assert live_rows(call) == [("dispatch", "ready")]
    world.work(call)
    assert (world.look(call).state, len(world.refunds(order))) == ("succeeded", 1)
