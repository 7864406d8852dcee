"""The histories that break `restore_model` without one of its safeguards, led through the real services.

A savepoint is the backup and going back to it the restore: the database forgets, the target and the clock do not. That
the database notices a restore by itself is shown where real backups are made (tests of runs.services.restore).
"""

import pytest
from django.db import transaction

from audit.core.refusal import Conflict
from audit.store import clock
from runs.selectors.rows import CallRow
from runs.services.reconciliation import reconciliation_ask
from runs.services.restore import database_restored
from runs.store.look_ups import AGAIN_AFTER
from tests.model import book
from tests.model.driving import Stage


def granted(stage: Stage) -> tuple[CallRow, str]:
    """A refund that people approved, and its charge."""
    order = stage.world.order(book.WHOLE)
    call = stage.world.refund(stage.world.run(), order, book.AMOUNT)
    stage.turn(call, "evaluate")
    stage.approve(call)
    stage.take_up(call)
    return call, str(stage.world.orders[order]["charge"])


def go_back(stage: Stage, backup: str) -> None:
    """Restore the backup, and take note of it."""
    now = clock.now()
    transaction.savepoint_rollback(backup)
    stage.hands.clear()
    stage.stand_at(now)
    assert database_restored(always=True) is not None


def start(stage: Stage, call: CallRow) -> None:
    stage.claim("w0", call)
    assert stage.begin("w0")


def is_not_conclusive(stage: Stage, call: CallRow) -> None:
    for choice in ("did_not_happen", "retry"):
        with pytest.raises(Conflict) as refused:
            stage.operator(call, choice)
        assert refused.value.code == "NOT_CONCLUSIVE"


def is_found(stage: Stage, call: CallRow) -> None:
    """An operator asks, not in the very second of the last look-up, and the target shows it."""
    stage.pass_time(clock.now() + AGAIN_AFTER)
    reconciliation_ask(actor=stage.world.asker.actor, unresolved_id=call.id)
    stage.turn(call, "look_up")
    assert stage.world.look(call).state == "succeeded"


def test_a_look_up_of_before_a_restore_proves_nothing_after_it(stage: Stage):
    call, charge = granted(stage)
    start(stage, call)
    stage.lose(call)
    stage.can_arrive_no_more(call)
    stage.turn(call, "look_up")
    backup = transaction.savepoint_create()
    stage.operator(call, "retry")
    stage.hands.clear()
    start(stage, call)
    stage.book.arrive(charge, call.key)
    go_back(stage, backup)
    is_not_conclusive(stage, call)
    is_found(stage, call)
    assert stage.book.keys(charge) == [call.key]


def test_after_a_restore_a_proof_waits_for_the_requests_of_the_lost_time(stage: Stage):
    call, charge = granted(stage)
    start(stage, call)
    backup = transaction.savepoint_create()
    stage.send("w0", book.turn_away)
    stage.record("w0")
    stage.turn(call, "timer")
    stage.can_arrive_no_more(call)
    start(stage, call)
    go_back(stage, backup)
    stage.turn(call, "look_up")
    is_not_conclusive(stage, call)
    stage.book.arrive(charge, call.key)
    stage.turn(call, "look_up")
    assert stage.world.look(call).state == "succeeded"


def test_what_was_executed_in_the_lost_time_is_found_before_it_is_sent(stage: Stage):
    call, charge = granted(stage)
    backup = transaction.savepoint_create()
    start(stage, call)
    stage.book.arrive(charge, call.key)
    go_back(stage, backup)
    stage.claim("w0", call)
    assert not stage.begin("w0")
    assert stage.world.look(call).state == "succeeded"
    assert stage.book.keys(charge) == [call.key]
