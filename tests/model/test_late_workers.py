"""A worker whose claim was taken over comes back while the other one holds the row: where its fence alone stops it.

An effect has more guards than the fence: under the run's head a call starts once, and a permit is redeemed once. What
has no other guard is what a late worker says of a call that was not sent (judged on what it read long ago), and the
row of work that the other one holds. Each test here is red when the one comparison that it is about is taken out.
"""

from dataclasses import replace

import pytest

from audit.store import clock
from runs.models import Dispatch
from runs.selectors.rows import CallRow
from runs.services import evaluate
from runs.services.stop import stop_lift, stop_set
from runs.services.sweep import sweep_expired_leases
from runs.services.wake import wake_claimed
from runs.store import claims
from tests.model import book
from tests.model.driving import ASKING, Reached, Stage, breakpoint_at, shown

ALLOWING_THE_FIRST = 'rules:\n  - {id: first, tool: refund_order, when: "state.refunded == 0", effect: allow}\n'


def asked(stage: Stage) -> CallRow:
    """A refund that waits to be judged."""
    return stage.world.refund(stage.world.run(), stage.world.order(book.WHOLE), book.AMOUNT)


def granted(stage: Stage) -> CallRow:
    """A refund that people approved."""
    call = asked(stage)
    stage.turn(call, "evaluate")
    stage.approve(call)
    stage.take_up(call)
    return call


def late(stage: Stage, call: CallRow) -> None:
    """The first worker has read the target and stands right before its start; its lease ends, the second one claims.
    What the first one read is young: it stood still before it read."""
    stage.claim("w0", call)
    stage.read("w0")
    stage.lease_ends(call)
    stage.claim("w1", call)
    hand = stage.hands["w0"]
    assert hand.observed is not None
    hand.observed = replace(hand.observed, read_at=clock.now())


def goes_on(stage: Stage) -> None:
    """The first worker is continued."""
    assert not stage.begin("w0", observed=stage.hands["w0"].observed)


def sends(stage: Stage, call: CallRow) -> None:
    """The second worker has the row still, and is the one that sends."""
    assert shown(call).worker == "w1"
    assert stage.begin("w1")
    assert stage.send("w1").status == "succeeded"
    stage.record("w1")
    assert (shown(call).call, shown(call).round) == ("succeeded", 1)


def test_people_are_not_asked_anew_on_what_a_late_worker_read(stage: Stage):
    """`runs_append` compares the fence: nothing else does before a call is held."""
    call = granted(stage)
    stage.book.others += 100  # while the first one reads; it is taken back before the second one does
    late(stage, call)
    stage.book.others -= 100
    goes_on(stage)
    sends(stage, call)


def test_a_late_worker_does_not_start_beside_the_one_that_has_the_call(stage: Stage):
    """Three comparisons stop it: in `runs_append`, in `mark_started`, and in the look before the write."""
    call = granted(stage)
    late(stage, call)
    goes_on(stage)
    assert shown(call).permit == "ready"
    sends(stage, call)


def test_a_late_worker_does_not_give_back_what_another_one_holds(stage: Stage):
    """`give_back` compares the fence; a row given back would be claimed again, and the one that holds it fail."""
    call = granted(stage)
    late(stage, call)
    stop = stop_set(actor=stage.world.admin, kind="tool", subject="refund_order", reason="Something is odd.").stop
    goes_on(stage)
    stop_lift(actor=stage.world.admin, stop_id=stop.id, reason="It was nothing.")
    sends(stage, call)


def test_a_late_worker_that_breaks_does_not_use_up_the_tries_of_another_one(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
):
    """`close` compares the fence: at its last try a fault ends the row, and would end the other one's."""
    call = granted(stage)
    Dispatch.objects.filter(call_id=call.id, kind="dispatch").update(max_attempts=2)
    stage.claim("w0", call)
    stage.lease_ends(call)
    stage.claim("w1", call)
    fault = replace(stage.hands.pop("w0").claim, attempts=2)
    monkeypatch.setattr("runs.services.wake.dispatch_call", _breaks)
    wake_claimed(claim=fault)
    assert shown(call).call == "ready"
    sends(stage, call)


def _breaks(**_: object) -> None:
    raise RuntimeError("a fault of ours")


def test_a_late_worker_does_not_lengthen_the_lease_of_another_one(stage: Stage):
    """`extend` compares the fence: it is the first thing that stops a worker that has not read the target yet."""
    call = granted(stage)
    stage.claim("w0", call)
    stage.lease_ends(call)
    stage.claim("w1", call)
    [before] = Dispatch.objects.filter(call_id=call.id, kind="dispatch").values_list("lease_until", flat=True)
    with breakpoint_at("_start"):
        assert not stage.begin("w0"), "it went on to its start"
    [after] = Dispatch.objects.filter(call_id=call.id, kind="dispatch").values_list("lease_until", flat=True)
    assert after == before
    sends(stage, call)


@pytest.mark.parametrize(
    ("first", "then", "stands"),
    [
        pytest.param(book.WHOLE, 0, "waiting", id="it would be refused, nothing being left"),
        pytest.param(0, 100, "waiting", id="it would be allowed, nothing being refunded"),
        pytest.param(100, 0, "ready", id="people would be asked, something being refunded"),
    ],
)
def test_what_a_late_worker_judged_does_not_count(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, first: int, then: int, stands: str
):
    """A verdict on an old state: only the fence in `runs_append` tells it from the verdict of whoever has the row."""
    stage.world.admit("refund_order", lambda document: document.update(approval="policy"))
    if first != book.WHOLE:
        stage.publish(ASKING.replace("rules:\n", ALLOWING_THE_FIRST))
    call = asked(stage)
    row = Dispatch.objects.get(call_id=call.id, kind="evaluate")
    stage.book.others = first
    with monkeypatch.context() as patch:
        patch.setattr(evaluate, "_judge", _stands_still)
        early = stage.claim_of(row, "w0")
        with pytest.raises(Reached) as reached:
            wake_claimed(claim=early)
    stage.book.others = then
    row.refresh_from_db()
    stage.pass_time(row.lease_until)
    sweep_expired_leases()
    row.refresh_from_db()
    second = stage.claim_of(row, "w1")
    with monkeypatch.context() as patch:
        patch.setattr(evaluate, "dispatch_observe", lambda work: reached.value.facts["observed"])
        wake_claimed(claim=early)
    assert shown(call).call == "new"
    wake_claimed(claim=second)
    assert shown(call).call == stands


def _stands_still(work: object, observed: object) -> None:
    raise Reached({"observed": observed})


def test_a_sweep_that_was_late_does_not_take_a_row_from_the_one_that_has_it_now(stage: Stage):
    """`take_from_dead_worker` compares what was read: fence, status, and that the lease is over."""
    call = granted(stage)
    stage.claim("w0", call)
    stage.lease_ends(call)
    [read] = claims.expired(limit=10)
    stage.claim("w1", call)
    stage.lease_ends(call)  # the second one's too: by the clock alone the row looks as it did
    assert not claims.take_from_dead_worker(read)
    [mine] = claims.expired(limit=10)
    assert mine.fence > read.fence
    assert claims.take_from_dead_worker(mine)
