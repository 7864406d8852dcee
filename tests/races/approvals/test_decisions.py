"""Deciders against each other, against the clock, against the run and the sweep: one outcome, and it is told."""

import threading
import time
from collections import Counter
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connections, transaction

from approvals.models import Proposal
from approvals.selectors.proposals import proposal_detail
from approvals.services.decision import DecisionRow
from approvals.services.proposal import proposal_cancel_for_run, proposal_expire_due, proposal_withdraw
from approvals.services.resolution import resolutions_open
from audit.core.refusal import Conflict
from audit.selectors.entries import EntryFilters, entries_page
from audit.store import clock
from tests.support import factories
from tests.support.approvals import asking


def recorded(acme, held):
    """(verdict, name) of what is recorded of a proposal."""
    return [(vote.verdict, vote.name) for vote in proposal_detail(acme.mara.actor, held.id).people.votes]


def decided_entries(acme):
    return entries_page(acme.tenant.id, EntryFilters(action="proposal.decided", verdict="ok"))


class Holder:
    """Holds the proposal's row in a transaction of another thread until it is let go."""

    def __init__(self, proposal_id: UUID) -> None:
        self.held, self.release = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._hold, args=[proposal_id])
        self.thread.start()
        assert self.held.wait(10)

    def _hold(self, proposal_id: UUID) -> None:
        with transaction.atomic():
            Proposal.objects.select_for_update().get(pk=proposal_id)
            self.held.set()
            self.release.wait(30)
        connections.close_all()

    def let_go(self) -> None:
        self.release.set()
        self.thread.join()


def waiting_for_a_lock(owner_sql) -> bool:
    """True once another session waits for a row."""
    for _ in range(500):
        [(waiting,)] = owner_sql("SELECT count(*) FROM pg_locks WHERE NOT granted")
        if waiting:
            return True
        time.sleep(0.01)
    return False


def in_thread(function):
    """Runs `function` in a thread; returns (thread, results)."""
    results = []

    def run() -> None:
        try:
            results.append(function())
        except Exception as error:
            results.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread, results


def test_twenty_double_clicks_are_one_record(acme, race):
    held = acme.hold()
    answers = race(lambda i: acme.decide(held))
    assert all(isinstance(answer, DecisionRow) for answer in answers), answers
    assert Counter(answer.repeated for answer in answers) == {False: 1, True: 19}
    assert recorded(acme, held) == [("approve", "Mara Lind")]
    assert len(resolutions_open(run_id=held.run_id)) == 1
    assert len(decided_entries(acme)) == 1


def test_of_twenty_deciders_one_decides_and_the_others_are_told_who(acme, race):
    held = acme.hold()
    deciders = [factories.person(acme.tenant, groups=["finance"]) for _ in range(20)]
    answers = race(lambda i: acme.decide(held, "approve" if i % 2 else "reject", by=deciders[i]))
    won = [answer for answer in answers if isinstance(answer, DecisionRow)]
    assert len(won) == 1
    [(verdict, name)] = recorded(acme, held)
    assert verdict == won[0].verdict
    for answer in answers:
        if answer is not won[0]:
            assert isinstance(answer, Conflict)
            assert (answer.code, answer.detail["by"]) == ("ALREADY_DECIDED", name)
    [row] = resolutions_open(run_id=held.run_id)
    assert row.kind == {"approve": "granted", "reject": "rejected"}[verdict]


@pytest.mark.parametrize(("first", "second"), [("reject", "approve"), ("approve", "reject")])
def test_a_decision_that_waited_for_the_lock_finds_what_the_other_one_committed(acme, owner_sql, first, second):
    """S5, both orders: the second is stopped at the lock while the first commits."""
    held = acme.hold()
    with transaction.atomic():
        acme.decide(held, first, by=acme.mara)
        thread, results = in_thread(lambda: acme.decide(held, second, by=acme.noor))
        assert waiting_for_a_lock(owner_sql)
    thread.join()
    [answer] = results
    assert isinstance(answer, Conflict)
    assert (answer.code, answer.detail["by"], answer.detail["verdict"]) == ("ALREADY_DECIDED", "Mara Lind", first)
    assert recorded(acme, held) == [(first, "Mara Lind")]


def test_a_quorum_of_three_is_reached_once_by_twenty(acme, race):
    acme.publish(asking(("finance", 3)))
    held = acme.hold()
    deciders = [factories.person(acme.tenant, groups=["finance"]) for _ in range(20)]
    answers = race(lambda i: acme.decide(held, by=deciders[i]))
    rows = [answer for answer in answers if isinstance(answer, DecisionRow)]
    assert Counter(row.status for row in rows) == {"pending": 2, "granted": 1}
    assert len(recorded(acme, held)) == 3
    assert [row.kind for row in resolutions_open(run_id=held.run_id)] == ["granted"]


# The clock (A3, S6, S82; data rule 11).


@pytest.mark.parametrize("verdict", ["approve", "reject"])
@pytest.mark.parametrize(("offset_ms", "in_time"), [(-1, True), (0, False), (1, False)])
def test_only_the_decision_before_the_deadline_counts(acme, stand_at, verdict, offset_ms, in_time):
    held = acme.hold()
    stand_at(held.row.expires_at + timedelta(milliseconds=offset_ms))
    if in_time:
        assert acme.decide(held, verdict).status in ("granted", "rejected")
        return
    with pytest.raises(Conflict) as caught:
        acme.decide(held, verdict)
    assert caught.value.code == "EXPIRED"
    assert recorded(acme, held) == []
    assert resolutions_open(run_id=held.run_id) == []


def test_a_decision_that_waited_for_the_lock_past_the_deadline_is_refused(acme, owner_sql):
    """Begun in time, by the real clock; the row is let go 0.3 s after the deadline."""
    held = acme.hold(expires_in_s=1.0)
    holder = Holder(held.id)
    thread, results = in_thread(lambda: acme.decide(held))
    assert waiting_for_a_lock(owner_sql)
    assert clock.now() < held.row.expires_at
    time.sleep(max((held.row.expires_at - clock.now()).total_seconds(), 0) + 0.3)
    holder.let_go()
    thread.join()
    [answer] = results
    assert isinstance(answer, Conflict)
    assert answer.code == "EXPIRED"
    assert recorded(acme, held) == []


def test_a_decision_and_the_sweep_at_the_deadline_give_one_end(acme, race, stand_at):
    held = [acme.hold(100 + i) for i in range(10)]
    stand_at(max(one.row.expires_at for one in held))
    answers = race(lambda i: proposal_expire_due() if i % 2 else acme.decide(held[i // 2]))
    assert all(answer.code == "EXPIRED" for answer in answers if isinstance(answer, Exception)), answers
    assert not any(isinstance(answer, DecisionRow) for answer in answers)
    proposal_expire_due()  # rows that a decision held were passed over
    assert Counter(row.kind for row in resolutions_open()) == {"expired": 10}


def test_twenty_sweeps_write_each_expiry_down_once(acme, race, stand_at):
    held = [acme.hold(100 + i) for i in range(5)]
    stand_at(max(one.row.expires_at for one in held))
    assert sum(race(lambda i: proposal_expire_due())) == 5
    assert Counter(row.kind for row in resolutions_open()) == {"expired": 5}


# The run (S18).


@pytest.mark.parametrize("deed", ["withdraw", "cancel"])
def test_a_decision_against_the_runs_own_end_gives_one_end(acme, race, deed):
    held = [acme.hold(100 + i) for i in range(10)]

    def stop(one):
        with transaction.atomic():
            if deed == "withdraw":
                return proposal_withdraw(actor=acme.actor, run_id=one.run_id, call_id=one.call_id)
            return proposal_cancel_for_run(actor=acme.actor, run_id=one.run_id)

    answers = race(lambda i: stop(held[i // 2]) if i % 2 else acme.decide(held[i // 2]))
    assert not [answer for answer in answers if isinstance(answer, Exception) and not isinstance(answer, Conflict)]
    word = {"withdraw": "withdrawn", "cancel": "cancelled"}[deed]
    for one in held:
        page = proposal_detail(acme.mara.actor, one.id)
        # Decided first and stopped afterwards, or stopped first: the run's word is the last one, and no permit is left.
        assert (page.status, page.afterwards.permit) in ((word, "void"), (word, ""))
        assert [row.kind for row in resolutions_open(run_id=one.run_id)] == [word]
