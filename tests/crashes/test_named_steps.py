"""One worker at each named step of a dispatch, killed there, or stopped past its lease and deadline and continued.

S10, S37, S40, S80 and R7 at every point at which a worker can be lost. That the point was reached is asserted from the
process table (state T), from the rows and from the payment server, before the harm is done.
"""

import os
import signal
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import psutil
import pytest

from runs.core.kinds import RunStatus
from runs.models import Call, Dispatch, Event
from runs.selectors.runs import run_get
from tests.support.processes import in_transactions, within
from tests.support.world import kinds

pytestmark = pytest.mark.stack

RECORDED = "found by look-up"
OPEN = "left to people"
DONE = "done by another"
MS = 2000
"""The tools' time limit: leases of seven seconds, and none that a busy machine reaches by itself."""


@dataclass(frozen=True)
class Point:
    """What stands when a worker has come to the step, and what must come of the call without that worker."""

    row: str
    permit: str
    effects: int
    end: str


POINTS = {
    "before_claim": Point("ready", "ready", 0, DONE),
    "after_claim": Point("claimed", "ready", 0, DONE),
    "after_redeem": Point("started", "redeemed", 0, OPEN),
    "before_send": Point("started", "redeemed", 0, OPEN),
    "after_answer": Point("started", "redeemed", 1, RECORDED),
    "before_outcome": Point("started", "redeemed", 1, RECORDED),
}


@dataclass
class Drill:
    """One call and the worker that stands at the step."""

    step: str
    call: object
    order: str
    pid: int = 0
    name: str = ""
    lease_until: datetime | None = None

    @property
    def point(self) -> Point:
        return POINTS[self.step]


@pytest.fixture
def drills(world, running, owner_sql):
    """Six approved refunds, and six workers of which one stands at each step."""
    for name in ("get_order", "refund_order"):
        world.admit(name, lambda document: document.update(timeout_ms=MS))
    stage = running.stage("shared")
    made = []
    for step in POINTS:
        order = world.order()
        made.append(Drill(step, world.held(order), order))
    # Before the claim any other worker may take the row: the first drill has one worker, the others come after it.
    running.worker("worker0", threads=1, staged=True, STAGED_FOLDER=str(stage.folder))
    stand(world, running, owner_sql, stage, made[0])
    for number in range(1, len(POINTS)):
        running.worker(f"worker{number}", threads=1, staged=True, wait=False, STAGED_FOLDER=str(stage.folder))
    for number in range(1, len(POINTS)):
        running.ready(f"worker{number}")
    for drill in made[1:]:
        stand(world, running, owner_sql, stage, drill)
    for drill in made:
        drill.name = next(name for name, process in running.running.items() if process.pid == drill.pid)
    return made


def stand(world, running, owner_sql, stage, drill):
    """Decide, and see a worker stand at the step: by its own word, the process table, the rows, the payment server."""
    stage.arm(drill.step, call=drill.call.id)
    world.decide(drill.call)
    drill.pid = running.stand_still(stage, drill.step, drill.call.run_id)["pid"]
    row = Dispatch.objects.get(call_id=drill.call.id, kind="dispatch")
    permit = owner_sql("SELECT status FROM approvals_permit WHERE proposal_id = %s", [drill.call.proposal_id])
    assert (row.status, permit) == (drill.point.row, [(drill.point.permit,)])
    assert len(world.refunds(drill.order)) == drill.point.effects
    assert ("dispatch_started" in kinds(drill.call.run_id)) is (drill.point.row == "started")
    if drill.step in ("before_send", "after_answer"):
        where = [each.raddr.port for each in psutil.Process(drill.pid).net_connections("tcp") if each.raddr]
        assert (world.stripe.port in where) is (drill.step == "before_send")
    if drill.step == "before_outcome":
        assert in_transactions() == 1
    drill.lease_until = row.lease_until


def rescued(world, running, drills):
    """A sweep and another worker do what is left; then every call stands where it must."""
    running.sweep()
    there = datetime.now(UTC)
    running.worker("spare")
    for drill in drills:
        running.until(lambda drill=drill: arrived_at_its_end(world, drill), f"{drill.step} ends", seconds=90)
        keys = [drill.call.key] if drill.point.end != OPEN else []
        assert world.keys(drill.order) == keys, drill.step
        events = kinds(drill.call.run_id)
        assert events.count("dispatch_started") == 1, drill.step
        if drill.point.end == DONE:
            assert events[-1] == "dispatch_succeeded", drill.step
            continue
        assert events[events.index("dispatch_started") + 1] == "outcome_unknown", drill.step
        told_at = Event.objects.get(run_id=drill.call.run_id, kind="outcome_unknown").at
        assert told_at < max(drill.lease_until, there) + timedelta(seconds=within(2)), drill.step
    assert Dispatch.objects.exclude(status="done").count() == 0


def arrived_at_its_end(world, drill):
    call = world.look(drill.call)
    if drill.point.end == OPEN:
        looked_up = Dispatch.objects.filter(call_id=call.id, kind="look_up", status="done").exists()
        at = run_get(world.agent_actor, call.run_id).status
        return looked_up and call.state == "unknown" and at == RunStatus.NEEDS_RECONCILIATION
    found_by = (call.answer or {}).get("receipt", {}).get("found_by")
    return call.state == "succeeded" and (found_by == "look-up") is (drill.point.end == RECORDED)


def test_a_worker_killed_at_any_step_doubles_nothing_loses_nothing_and_leaves_nothing_stuck(world, running, drills):
    """S10, S39, S40, S80: kill -9 before and after each thing that a worker does with a call."""
    for drill in drills:
        os.kill(drill.pid, signal.SIGKILL)
        assert running.running[drill.name].wait(10) == -signal.SIGKILL
    rescued(world, running, drills)


def test_a_worker_stopped_at_any_step_and_continued_too_late_does_nothing_more(world, running, drills):
    """S37: SIGSTOP past lease and request deadline, then SIGCONT. Between the last look and the write only the kernel's
    timer can help: it ends the process."""
    rescued(world, running, drills)
    stage = running.stage("shared")
    stage.arm("turn_over", "CONT", keep=True)
    standing = {drill.step: (world.head(drill.call).seq, world.look(drill.call)) for drill in drills}
    for drill in drills:
        os.kill(drill.pid, signal.SIGCONT)
    for drill in drills:
        process = running.running[drill.name]
        if drill.step in ("before_send", "after_answer"):
            assert process.wait(10) == -signal.SIGALRM, drill.step
            continue
        running.until(
            lambda drill=drill: stage.reached("turn_over", drill.pid), f"the turn at {drill.step} is over", seconds=60
        )
        assert process.poll() is None, drill.step
    for drill in drills:
        seq, call = standing[drill.step]
        late = ["late_result_kept"] if drill.step in ("after_redeem", "before_outcome") else []
        assert kinds(drill.call.run_id)[seq:] == late, drill.step
        after = world.look(drill.call)
        assert (after.state, after.answer) == (call.state, call.answer), drill.step
        assert len(world.refunds(drill.order)) == (drill.point.end != OPEN), drill.step
    assert Call.objects.exclude(state__in=["succeeded", "unknown"]).count() == 0
