"""From a killed worker to an operator's word to the end: real processes, real clock, one effect at most."""

import os
import signal

import pytest

from audit.core.refusal import Conflict
from runs.core.kinds import RunStatus
from runs.models import Dispatch
from runs.services.reconciliation import reconciliation_ask, reconciliation_decide
from tests.crashes.test_processes import between, patient, settled, waiting
from tests.support import factories
from tests.support.world import kinds

__all__ = ["between"]
pytestmark = pytest.mark.stack


@pytest.fixture
def operator(world):
    return factories.person(world.tenant, roles=["operator"], name="Ola Brandt")


def killed(world, running, between, order):
    """A refund whose request was lost with its worker; another worker and a sweep are there."""
    patient(world, between)
    worker = running.worker()
    call = waiting(world, running, world.run(), order)

    def die(visit):
        os.kill(worker.pid, signal.SIGKILL)
        raise OSError("the request never arrives")

    between.before_refund = die
    world.decide(call)
    running.until(lambda: between.refunds == 1, "the refund is sent")
    running.end("worker")
    between.before_refund = lambda visit: None
    running.worker("second")
    running.sweep()
    running.until(lambda: world.look(call).state == "unknown", "the lease is over")
    return call


def say(operator, call, choice, **more):
    return reconciliation_decide(
        actor=operator.actor, unresolved_id=call.id, choice=choice, attempt=1, reason="The provider shows none.", **more
    )


def conclusive(world, running, call):
    running.until(
        lambda: Dispatch.objects.filter(call_id=call.id, kind="look_up", status="done").exists(),
        "the look-up is conclusive",
    )


def test_killed_then_unknown_then_sent_again_by_an_operator_is_one_refund(world, running, between, operator):
    order = world.order()
    call = killed(world, running, between, order)
    with pytest.raises(Conflict) as refused:
        say(operator, call, "retry")
    assert refused.value.code == "NOT_CONCLUSIVE"
    conclusive(world, running, call)
    assert world.refunds(order) == []
    say(operator, call, "retry")
    call = settled(world, running, call)
    assert (call.state, world.keys(order)) == ("succeeded", [call.key])
    assert kinds(call.run_id).count("dispatch_started") == 2
    assert world.head(call).status == RunStatus.READY


def test_killed_then_unknown_then_found_when_an_operator_has_the_target_asked(world, running, between, operator):
    """The effect shows only after the look-up said nothing: a target slower than it declared."""
    order = world.order()
    call = killed(world, running, between, order)
    conclusive(world, running, call)
    world.stripe.refund(world.orders[order]["charge"], 4_500, key=call.key)

    def asked():
        return reconciliation_ask(actor=operator.actor, unresolved_id=call.id).message

    running.until(lambda: "asked now" in asked(), "the target may be asked again")
    call = settled(world, running, call)
    assert (call.state, world.keys(order)) == ("succeeded", [call.key])
    with pytest.raises(Conflict) as late:
        say(operator, call, "did_not_happen")
    assert late.value.code == "ALREADY_DECIDED"
