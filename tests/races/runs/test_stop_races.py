"""A stop against dispatches that are under way: what is started is started before the stop's time, or not at all."""

import threading
import time

import psycopg
import pytest
from django.db import connections, transaction

from approvals.services.revoking import permit_revoke
from audit.core.refusal import Conflict
from audit.selectors.entries import EntryFilters, entries_page
from runs.models import Event, Stop
from runs.services.resolution import resolutions_consume
from runs.services.stop import stop_lift, stop_set
from runs.store import stops
from runs.store.claims import system_actor
from tests.support import databases
from tests.support.world import kinds

PATIENCE = 30.0


def in_thread(do):
    """`do` in a thread; join() gives its result or raises what it raised."""

    class Running(threading.Thread):
        result = None
        error = None

        def run(self):
            try:
                self.result = do()
            except BaseException as error:
                self.error = error
            finally:
                connections.close_all()

        def answer(self):
            self.join(PATIENCE)
            assert not self.is_alive()
            if self.error is not None:
                raise self.error
            return self.result

    thread = Running(daemon=True)
    thread.start()
    return thread


def wait_for(owner_sql, statement):
    until = time.monotonic() + PATIENCE
    while not owner_sql(statement)[0][0]:
        assert time.monotonic() < until, statement
        time.sleep(0.01)


WAITS_FOR_STOPS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@pytest.mark.parametrize("kind", ["tool", "installation"])
def test_nothing_is_started_after_a_stop_was_set_and_what_was_is_from_before(world, race, kind):
    """Seven workers race with the stop, each with one approved refund, and come with another one behind it."""
    world.be_patient()
    orders = [world.order() for _ in range(14)]
    calls = [world.held(order) for order in orders]
    for call in calls:
        world.decide(call)
    resolutions_consume(limit=100)
    actor = system_actor("") if kind == "installation" else world.admin
    subject = "refund_order" if kind == "tool" else ""
    at_return, is_set = [], threading.Event()

    def one(n):
        if n == 7:
            while Event.objects.filter(kind="dispatch_started").count() < 3:
                time.sleep(0.001)
            done = stop_set(actor=actor, kind=kind, subject=subject, reason="Stop.")
            at_return.append(Event.objects.filter(kind="dispatch_started").count())
            is_set.set()
            return done
        world.work(calls[n])
        assert is_set.wait(PATIENCE)
        return world.work(calls[n + 7])

    answers = race(one, 8)
    assert [answer for answer in answers if isinstance(answer, Exception)] == []
    done = answers[7]
    started = list(Event.objects.filter(kind="dispatch_started").values_list("at", flat=True))
    assert done.settled
    assert at_return == [len(started)]
    assert 3 <= len(started) <= 7
    assert max(started) < done.stop.set_at
    states = [world.look(call).state for call in calls]
    assert (states.count("succeeded"), states.count("ready")) == (len(started), 14 - len(started))
    assert [len(world.refunds(order)) for order in orders] == [int(state == "succeeded") for state in states]
    stop_lift(actor=actor, stop_id=done.stop.id, reason="Go on.")
    race(lambda n: [world.work(call) for call in calls[n::5]], 5)
    assert [world.keys(order) for order in orders] == [[call.key] for call in calls]


def test_a_stop_waits_for_the_start_that_has_looked_and_the_next_start_waits_for_the_stop(world, owner_sql):
    """The order is exact: a start that looked before is over when the stop has its time; one that comes while the stop
    is being written looks behind its commit."""
    looked, go = threading.Event(), threading.Event()
    who = {"tenant_id": world.agent_actor.tenant_id, "agent_id": world.agent.id, "tool": "refund_order"}

    def start():
        with transaction.atomic():
            assert stops.look(**who) is None
            looked.set()
            go.wait(PATIENCE)
        return time.monotonic()

    def late():
        with transaction.atomic():
            return stops.look(**who)

    first = in_thread(start)
    assert looked.wait(PATIENCE)
    stop = in_thread(lambda: (stop_set(actor=world.admin, kind="tenant", reason="Stop."), time.monotonic()))
    wait_for(owner_sql, WAITS_FOR_STOPS)
    second = in_thread(late)
    wait_for(owner_sql, f"SELECT ({WAITS_FOR_STOPS}) >= 2")
    assert Stop.objects.count() == 0
    go.set()
    ended = first.answer()
    done, returned = stop.answer()
    assert done.settled
    assert returned > ended
    found = second.answer()
    assert found is not None
    assert found.id == done.stop.id


def test_a_frozen_start_keeps_no_stop_waiting_for_ever(world, owner_sql, committed_db, monkeypatch):
    """Its session is not even ended by the server here: the stop is set, holds, and says that one may still start."""
    monkeypatch.setattr(stops, "WAIT_MS", 300)
    url = databases.with_database(databases.os.environ["DATABASE_URL"], committed_db)
    with psycopg.connect(url) as frozen:
        frozen.execute("SELECT * FROM runs_stop_look(%s, %s, 'refund_order')", [world.tenant.id, world.agent.id])
        done = stop_set(actor=world.admin, kind="tenant", reason="Stop.")
        assert (done.settled, done.repeated) == (False, False)
        again = stop_set(actor=world.admin, kind="tenant", reason="Stop.")
        assert (again.repeated, again.stop) == (True, done.stop)
        frozen.rollback()
    call = world.held()
    world.decide(call)
    world.work(call)
    assert world.look(call).state == "ready"


def test_a_stop_of_one_organisation_does_not_wait_for_anothers_start(world, owner_sql):
    looked, go = threading.Event(), threading.Event()

    def start():
        with transaction.atomic():
            stops.look(tenant_id=system_elsewhere, agent_id=system_elsewhere, tool="x")
            looked.set()
            go.wait(PATIENCE)

    system_elsewhere = "22222222-2222-2222-2222-222222222222"
    first = in_thread(start)
    assert looked.wait(PATIENCE)
    assert stop_set(actor=world.admin, kind="tenant", reason="Stop.").settled
    go.set()
    first.answer()


def test_of_twenty_who_set_the_same_stop_one_does_and_all_are_told_of_it(world, race):
    actors = [world.admin] * 20
    answers = race(lambda n: stop_set(actor=actors[n], kind="tenant", reason=f"Reason {n}."))
    assert [answer for answer in answers if isinstance(answer, Exception)] == []
    assert sorted(answer.repeated for answer in answers) == [False] + [True] * 19
    assert len({answer.stop.id for answer in answers}) == 1
    [entry] = entries_page(world.tenant.id, EntryFilters(action="stop.set"))
    assert entry.object_id == str(answers[0].stop.id)


def test_of_twenty_who_lift_one_stop_one_does(world, race):
    done = stop_set(actor=world.admin, kind="tenant", reason="Stop.")
    answers = race(lambda n: stop_lift(actor=world.admin, stop_id=done.stop.id, reason=f"Reason {n}."))
    assert [answer for answer in answers if isinstance(answer, Exception)] == []
    assert sorted(answer.repeated for answer in answers) == [False] + [True] * 19
    assert len({answer.stop.lifted_reason for answer in answers}) == 1
    assert len(entries_page(world.tenant.id, EntryFilters(action="stop.lifted"))) == 1


def test_an_approval_is_taken_back_or_executed_and_never_both(world, race):
    """Five approved refunds, a worker and an operator at each: what was taken back never reached the target (S81)."""
    world.be_patient()
    orders = [world.order() for _ in range(5)]
    calls = [world.held(order) for order in orders]
    for call in calls:
        world.decide(call)
    resolutions_consume(limit=100)

    def one(n):
        call = calls[n // 2]
        if n % 2:
            return world.work(call)
        return permit_revoke(actor=world.admin, proposal_id=call.proposal_id, reason="Not this one.")

    answers = race(one, 10)
    for n, (call, order) in enumerate(zip(calls, orders, strict=True)):
        revoked = answers[2 * n]
        world.work(call)
        executed = kinds(call.run_id).count("dispatch_started")
        assert isinstance(revoked, Conflict) == bool(executed), revoked
        assert len(world.refunds(order)) == executed
        if executed:
            assert revoked.code == "ALREADY_STARTED"
        else:
            assert world.look(call).state == "waiting"
