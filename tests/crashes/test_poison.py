"""S35: a step that kills whoever tries it is tried so often as its row allows, and no more. Others do not suffer by it.

Real processes: a worker and the sweep, both of which the step kills, started again each time as a supervisor does it.
"""

import signal

import pytest

from audit.store import clock
from runs.models import Dispatch
from runs.services.resolution import resolutions_consume
from tests.support.world import kinds

pytestmark = pytest.mark.stack

ATTEMPTS = 2


@pytest.fixture
def supervised(running):
    """`supervised(call)` starts again what was killed; `supervised.deaths` says how often somebody was. The claim that
    the dead held of the call is over at once: that a lease runs out by itself is shown in test_processes."""

    class Supervised:
        deaths = 0
        shared = {"STAGED_FOLDER": str(running.stage("shared").folder)}

        def start(self) -> None:
            running.worker("worker", staged=True, **self.shared)
            running.sweep(staged=True, **self.shared)

        def __call__(self, call) -> None:
            for name, start in (("worker", running.worker), ("sweep", running.sweep)):
                code = running.running[name].poll()
                if code is not None:
                    assert code == -signal.SIGKILL
                    self.deaths += 1
                    Dispatch.objects.filter(call_id=call.id, status="claimed").update(lease_until=clock.now())
                    start(name, staged=True, **self.shared)

    return Supervised()


def test_a_call_that_kills_each_process_that_claims_it_ends_at_its_limit_and_the_others_go_on(
    world, running, supervised
):
    poisoned, other, elsewhere = world.order(), world.order(), world.order()
    run = world.run()
    calls = [world.refund(run, poisoned), world.refund(run, other)]
    world.work(run)
    calls = [world.look(call) for call in calls]
    for call in calls:
        world.decide(call)
    assert resolutions_consume(run_id=run.id) == 2
    [bad, good], apart = calls, world.held(elsewhere)
    assert Dispatch.objects.filter(call_id=bad.id, kind="dispatch").update(max_attempts=ATTEMPTS) == 1
    running.stage("shared").arm("after_claim", "KILL", call=bad.id, keep=True)
    supervised.start()
    world.decide(apart)

    def all_ended():
        supervised(bad)
        return all(world.look(call).final for call in (bad, good, apart))

    running.until(all_ended, "every call ends", seconds=120)
    told = world.look(bad)
    assert (told.state, told.answer["error"]["code"], told.answer["outcome"]) == (
        "refused",
        "ATTEMPTS_EXHAUSTED",
        "none",
    )
    assert f"failed {ATTEMPTS} times" in told.answer["error"]["message"]
    assert "call_refused" in kinds(run.id)
    row = Dispatch.objects.get(call_id=bad.id, kind="dispatch")
    assert (row.status, row.attempts, supervised.deaths) == ("dead", ATTEMPTS, ATTEMPTS)
    assert [world.keys(order) for order in (poisoned, other, elsewhere)] == [[], [good.key], [apart.key]]
    assert world.head(bad).status not in ("needs_reconciliation", "failed")


def test_a_look_up_that_kills_each_process_that_tries_it_leaves_the_call_unknown_to_people(world, running, supervised):
    """R7, S80: the effect is there, nobody here can ask for it; nothing is sent again and an operator is told."""
    order = world.order()
    call = world.held(order)
    stage = running.stage("shared")
    stage.arm("after_answer", "KILL", call=call.id)
    stage.arm("after_claim_look_up", "KILL", call=call.id, keep=True)
    supervised.start()
    world.decide(call)

    def left_to_people():
        supervised(call)
        Dispatch.objects.filter(call_id=call.id, kind="look_up", attempts__lte=1).update(max_attempts=ATTEMPTS)
        return Dispatch.objects.filter(call_id=call.id, kind="look_up", status="dead").exists()

    running.until(left_to_people, "the look-up has used up its attempts", seconds=120)
    told = world.look(call)
    assert (told.state, told.answer["error"]["code"], told.answer["outcome"]) == (
        "unknown",
        "OUTCOME_UNKNOWN",
        "unknown",
    )
    assert world.head(call).status == "needs_reconciliation"
    assert world.keys(order) == [call.key]
    assert kinds(call.run_id).count("dispatch_started") == 1
    assert supervised.deaths == 1 + ATTEMPTS
