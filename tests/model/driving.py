"""The real services, led through a model's labels one by one, with the states compared after each.

Everything happens in one transaction of the application's role on a real database, with a savepoint before each label,
so that histories share their beginnings: a history is left by rolling back to where it parts from the next. What is
real: every service, the store and its triggers, the SQL functions, the HTTP adapter and the requests to the target.
What is not: hints after a commit (labels say who does what next), waiting (the database's clock is a setting of this
session), and two transactions at once (tests/races has those); a model's step is one transaction in its order.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from audit.store import clock
from runs.models import Dispatch, Run
from runs.selectors.history import folded
from runs.selectors.rows import CallRow
from runs.services import sending
from runs.services.dispatch import Observed, dispatch_send
from runs.services.reconciliation import Choice, reconciliation_decide
from runs.services.recording import dispatch_record
from runs.services.resolution import resolutions_consume
from runs.services.sending import dispatch_call
from runs.services.sweep import sweep_expired_leases
from runs.services.wake import wake_claimed
from runs.services.work import Work
from runs.store import claims
from runs.store.append import FenceLost
from runs.store.claims import Claim
from runs.tools.outcome import Outcome
from tests.model.book import Book, Shop
from tests.support.world import World

SETTLE_MS = 5_000
"""Longer than the margin by which a lease outlives its request, so that a lost lease is no proof yet."""

SESSION_CLOCK = """CREATE OR REPLACE FUNCTION clearance_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE AS
$$ SELECT coalesce(nullif(current_setting('clearance.stands_at', true), '')::timestamptz, clock_timestamp()) $$"""


def policy(effect: str) -> str:
    """A policy of one rule."""
    return f"version: 1\nrules:\n  - {{id: refund, tool: refund_order, effect: {effect}, expires_in_s: 36000}}\n"


ASKING = policy("ask, approvers: [{group: finance, count: 1}]")
STRICTER = policy("ask, approvers: [{group: finance, count: 2}]")
DENYING = policy("deny, message: Refunds are stopped.").replace(", expires_in_s: 36000", "")


def patient(document: dict[str, Any]) -> None:
    """Limits that a busy machine does not reach; the model's clock moves by labels alone."""
    document["timeout_ms"] = 30_000
    document["settle_after_ms"] = SETTLE_MS
    document["expires_in_s"] = 36_000
    document["retry"] |= {"base_ms": 50, "factor": 1, "attempts": 10}
    # The target's book shows an effect when the model says so, which may be after the answer.
    document["adapter"]["postcondition"] = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What the database shows of one call: `work` is (kind, status, whether a lease holds) of each row that is not
    done, `holds` whether it has leased its resource, `asks` how many groups and people its round needs. `worker` has
    its dispatch while a lease holds; that two are alike but for their workers' names makes no difference."""

    call: str
    run: str
    key: str
    proposal: str
    round: int
    permit: str
    outcome: str
    asks: str
    work: tuple[tuple[str, str, bool], ...]
    holds: bool
    answered: str
    worker: str = field(compare=False)


SHOWN = """
SELECT c.state, r.status, c.key, coalesce(p.status, 'none'), coalesce(p.round, 0), coalesce(t.status, 'none'),
  coalesce(p.outcome, ''), coalesce(p.requires::text, ''),
  array(SELECT d.kind || ' ' || d.status || ' ' || coalesce(d.lease_until > clearance_now(), false)
    FROM runs_dispatch d WHERE d.call_id = c.id AND d.status <> 'done' ORDER BY 1),
  EXISTS (SELECT 1 FROM runs_resourcelease l JOIN runs_dispatch d ON d.id = l.dispatch_id WHERE d.call_id = c.id),
  coalesce(c.answer->>'outcome', c.answer->'error'->>'outcome', ''),
  coalesce((SELECT d.worker FROM runs_dispatch d WHERE d.call_id = c.id AND d.kind = 'dispatch'
    AND d.status IN ('claimed', 'started') AND d.lease_until > clearance_now()), '')
FROM runs_call c JOIN runs_run r ON r.id = c.run_id LEFT JOIN approvals_proposal p ON p.id = (
  SELECT id FROM approvals_proposal WHERE run_id = c.run_id AND call_id = c.call_id)
LEFT JOIN approvals_permit t ON t.proposal_id = p.id AND t.round = p.round WHERE c.id = %s
"""


def shown(call: CallRow) -> Shown:
    """One look at everything that belongs to a call."""
    with connection.cursor() as cursor:
        cursor.execute(SHOWN, [call.id])
        row = cursor.fetchone()
    assert row is not None
    work = tuple((kind, status, holds == "true") for kind, status, holds in (each.split() for each in row[8]))
    call_, run, key, proposal, round_, permit, outcome, asks, _, holds, answered, worker = row
    return Shown(call_, run, key, proposal, round_, permit, outcome, asks, work, holds, answered, worker)


@dataclass
class Hand:
    """What one worker of the model holds in its memory."""

    claim: Claim
    work: Work | None = None
    observed: Observed | None = None
    outcome: Outcome | None = None


@dataclass
class Stage:
    """A tenant with one refund policy, its target, and the session's clock."""

    book: Book
    world: World
    policies: int = 1
    stop_id: Any = None
    hands: dict[str, Hand] = field(default_factory=dict)

    @classmethod
    def build(cls, book: Book, host: str) -> "Stage":
        """Made through the services, as the doors do it."""
        world = World(Shop(host), change=patient, policy=ASKING)  # type: ignore[arg-type]
        stage = cls(book, world)
        assert world.agent_actor, "its token session outlives the walks"
        world.stripe.write_orders(Path(settings.REFERENCE_DIR), world.tenant.slug, world.orders)
        return stage

    # -- time --------------------------------------------------------------------------------------------------------

    def stand_at(self, instant: datetime) -> None:
        """The session's clock never goes back by itself."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('clearance.stands_at', %s, false)", [instant.isoformat()])

    def pass_time(self, until: datetime | None) -> None:
        """Let time go on to an instant, if it is still to come."""
        now = clock.now()
        self.stand_at(max(until or now, now) + timedelta(milliseconds=1))

    # -- a worker's pieces ---------------------------------------------------------------------------------------------

    def claim(self, name: str, call: CallRow) -> None:
        """The worker gets the call's dispatch, as one that finds an expired lease after the sweep has been there."""
        row = Dispatch.objects.get(call_id=call.id, kind="dispatch", status__in=("ready", "claimed"))
        if row.status == "claimed":
            sweep_expired_leases()
            row.refresh_from_db()
        self.hands[name] = Hand(self.claim_of(row, name))

    def claim_of(self, row: Dispatch, worker: str) -> Claim:
        """The worker gets this row, when it is due."""
        self.pass_time(row.not_before)
        found = claims.claim_next(worker=worker, run_id=row.run_id, kinds=(row.kind,))
        while found is not None and found.id != row.id:
            # Another call of the run has waited longer: who claims it first is the history's to say.
            claims.give_back(found, wait_ms=0, count_attempt=False)
            self.pass_time(None)
            found = claims.claim_next(worker=worker, run_id=row.run_id, kinds=(row.kind,))
        assert found is not None
        return found

    def begin(self, name: str, *, observed: Observed | None = None) -> bool:
        """The worker's turn from its claim to the recorded intent, stopped right before it sends. False: there is
        nothing to send, because the call was settled, held, or given back.

        `observed`: it read the target before, when it was stopped between reading and starting (`read`).
        """
        hand = self.hands[name]
        try:
            with breakpoint_at("dispatch_send"), _read_before(observed):
                dispatch_call(claim=hand.claim)
        except Reached as reached:
            hand.work, hand.observed = reached.facts["work"], reached.facts["observed"]
            return True
        except FenceLost:
            pass
        del self.hands[name]
        return False

    def read(self, name: str) -> None:
        """The worker's turn from its claim until it has read the target, stopped right before it starts."""
        hand = self.hands[name]
        try:
            with breakpoint_at("_start"), _found_free():
                dispatch_call(claim=hand.claim)
        except Reached as reached:
            hand.observed = reached.facts["observed"]

    def send(self, name: str, answer: Callable[..., None] | None = None) -> Outcome:
        """The worker looks once more and writes its request; the target answers by `answer`."""
        hand = self.hands[name]
        assert hand.work is not None
        assert hand.observed is not None
        with self.book.answering(answer):
            hand.outcome = dispatch_send(work=hand.work, observed=hand.observed)
        return hand.outcome

    def record(self, name: str) -> None:
        """The worker records what came of it, or keeps it as evidence."""
        hand = self.hands.pop(name)
        assert hand.work is not None
        assert hand.outcome is not None
        dispatch_record(work=hand.work, outcome=hand.outcome)

    def turn(self, call: CallRow, kind: str) -> None:
        """A worker does the call's row of this kind when it is due."""
        row = Dispatch.objects.get(call_id=call.id, kind=kind, status="ready")
        wake_claimed(claim=self.claim_of(row, "turn"))

    def lease_ends(self, call: CallRow) -> None:
        """Time passes until the lease of the call's dispatch is over."""
        live = Dispatch.objects.filter(call_id=call.id, kind="dispatch", status__in=("claimed", "started"))
        for until in live.values_list("lease_until", flat=True):
            self.pass_time(until)

    def lose(self, call: CallRow) -> None:
        """The lease of a started dispatch is over, and the sweep says so."""
        self.lease_ends(call)
        assert sweep_expired_leases() >= 1

    def as_if_claimed_at(self, instant: datetime) -> None:
        """Claims that hold now hold on from a later instant, as if the history had begun later: how long before the
        void time a worker claimed is nothing that a history says."""
        for hand in self.hands.values():
            if claims.extend(hand.claim, lease_until=instant + timedelta(seconds=10)):
                hand.claim = replace(hand.claim, claimed_at=instant)

    def keep_up(self, instant: datetime) -> None:
        """Claims that hold now hold on, and what was read stays young: what another call waits for takes no time here,
        because no history says how long it took."""
        for hand in self.hands.values():
            if claims.extend(hand.claim, lease_until=instant + timedelta(seconds=10)) and hand.observed is not None:
                hand.observed = replace(hand.observed, read_at=instant)

    def until_nothing_arrives(self, call: CallRow, *, settle_ms: int = SETTLE_MS) -> datetime:
        """When the last request's deadline and the target's settling time are over."""
        sent = Dispatch.objects.filter(call_id=call.id, kind="dispatch").exclude(request_deadline=None)
        [deadline] = sent.order_by("-fence").values_list("request_deadline", flat=True)[:1]
        assert deadline is not None
        return deadline + timedelta(milliseconds=settle_ms)

    def can_arrive_no_more(self, call: CallRow) -> None:
        """Time passes until then."""
        self.pass_time(self.until_nothing_arrives(call))

    # -- people --------------------------------------------------------------------------------------------------------

    def approve(self, call: CallRow) -> None:
        """As many reviewers as this round asks for."""
        call = self.world.look(call)
        for person in (self.world.reviewer, self.world.second_reviewer):
            if self.world.decide(call, by=person).status == "granted":
                return
        raise AssertionError("two reviewers are not enough")

    def operator(self, call: CallRow, choice: Choice, **more: Any) -> None:
        """An operator's word on what the page shows about an unknown outcome."""
        attempt = folded(Run.objects.get(pk=call.run_id)).calls[call.call_id].attempt
        reconciliation_decide(
            actor=self.world.asker.actor,
            unresolved_id=call.id,
            choice=choice,
            attempt=attempt,
            reason="Looked into it.",
            **more,
        )

    def take_up(self, call: CallRow) -> None:
        """The run takes up what was decided about it."""
        resolutions_consume(run_id=call.run_id)

    def publish(self, source: str) -> None:
        """Another policy is in force."""
        self.world.number = self.policies
        self.policies = self.world.publish(source)


class Reached(BaseException):
    """A worker has come to where a history wants it to stand still. `facts`: what it called the next step with."""

    def __init__(self, facts: dict[str, Any]) -> None:
        super().__init__()
        self.facts = facts


@contextmanager
def breakpoint_at(name: str) -> Iterator[None]:
    """A worker's turn ends right before it calls `name`, with `Reached`."""

    def stand_still(*args: Any, **facts: Any) -> None:
        raise Reached(dict(zip(("work", "observed"), args, strict=False)) | facts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sending, name, stand_still)
        yield


@contextmanager
def _found_free() -> Iterator[None]:
    """The worker goes on from where it stood: it found the resource free when it got its claim."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sending.resources, "is_held", lambda **_: False)
        yield


@contextmanager
def _read_before(observed: Observed | None) -> Iterator[None]:
    """The worker goes on from where it stood: it has read the target already."""
    if observed is None:
        yield
        return
    with _found_free(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sending, "dispatch_observe", lambda work: observed)
        yield
