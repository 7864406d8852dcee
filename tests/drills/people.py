"""Those who use the product while it is being broken: agents, reviewers, admins, an operator. All by the real doors.

Each repeats until it is answered, as a client has to: a call is known by its id, a click by what it was about.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
from django.db import connections

from sdk.clearance_client import Client, Refused, Unreachable
from tests.drills.ground import Ground, steady
from tests.drills.plan import Ask, Change, Schedule
from tests.support import factories
from tests.support.sessions import signed_in
from tests.support.world import POLICY, World

STRICTER = """
version: 1
rules:
  - {{id: read-orders, tool: get_order, effect: allow}}
  - {{id: too-much, tool: refund_order, when: "args.amount > {above}", effect: deny, message: Not now.}}
  - {{id: refund, tool: refund_order, effect: ask, approvers: [{{group: finance, count: {count}}}], expires_in_s: 900}}
"""
NEVER = 10**9
PATIENCE_S = 90.0


def hurried(document: dict[str, Any], pace: float) -> None:
    """Leases of seven seconds; a target that is slow because the machine is busy is asked again, more than once."""
    document["timeout_ms"] = round(2000 * pace)
    document["retry"] |= {"attempts": 5, "base_ms": 300, "factor": 2}


@dataclass(frozen=True)
class Answered:
    """A verdict that a reviewer was told is recorded."""

    proposal_id: str
    round: int
    reviewer_id: str
    verdict: str


@dataclass(frozen=True)
class Lost:
    """A right that is gone since `at` (database clock, after the commit): `what` names whose, `above` for how much."""

    kind: str
    at: datetime
    what: str = ""
    above: int = NEVER


@dataclass
class Crowd:
    """The people of one schedule, in a tenant of their own."""

    ground: Ground
    plan: Schedule
    world: World
    agents: list[factories.Agent]
    reviewers: list[factories.Person]
    orders: list[str]
    over: threading.Event = field(default_factory=threading.Event)
    asked: dict[str, str] = field(default_factory=dict)
    """Run id by the number of the ask."""
    answered: list[Answered] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """What went otherwise than a client may expect: answers that make no sense, threads that ended by an exception."""
    threads: list[threading.Thread] = field(default_factory=list)

    @staticmethod
    def gather(ground: Ground, plan: Schedule) -> "Crowd":
        """Make the tenant, its people, its orders and the payments behind them."""

        def make() -> Crowd:
            world = World(ground.payments, policy=POLICY)
            for name in ("get_order", "refund_order"):
                world.admit(name, lambda document: hurried(document, ground.pace), host=ground.between.host)
            agents = [world.agent, *(factories.agent(world.tenant, acts_for=[world.asker]) for _ in range(2))]
            third = factories.person(world.tenant, groups=["finance"], name="Tove Third")
            numbers = range(1 + max(ask.order for ask in plan.asks))
            orders = [world.order(50_000) for _ in numbers]
            return Crowd(ground, plan, world, agents, [world.reviewer, world.second_reviewer, third], orders)

        return steady(make)

    def begin(self) -> None:
        """Everybody starts at once; each thing happens at its second."""
        self._began = time.monotonic()
        clients = [
            Client(
                self.ground.processes.base_url,
                client_id=agent.client_id,
                client_secret=agent.secret,
                on_behalf_of=self.world.asker.user_id,
                timeout=6.0,
            )
            for agent in self.agents
        ]
        for ask in self.plan.asks:
            self._thread(lambda ask=ask: self._ask(clients[ask.agent], ask))
        for reviewer in self.reviewers:
            self._thread(lambda reviewer=reviewer: self._review(reviewer))
        for change in self.plan.changes:
            self._thread(lambda change=change: self._change(change))
        self._thread(self._operate)

    def end(self) -> None:
        """Everybody goes home."""
        self.over.set()
        for thread in self.threads:
            thread.join(30)

    def asking(self) -> bool:
        """Whether an agent still tries to get its request in."""
        return any(thread.is_alive() for thread in self.threads[: len(self.plan.asks)])

    def _thread(self, do: Callable[[], None]) -> None:
        def run() -> None:
            try:
                do()
            except Exception as error:
                self.wrong.append(f"{type(error).__name__}: {error}"[:300])
            finally:
                connections.close_all()

        thread = threading.Thread(target=run, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _wait_until(self, at_s: float) -> None:
        self.over.wait(max(0.0, self._began + at_s - time.monotonic()))

    # -- agents ------------------------------------------------------------------------------------------------------

    def _ask(self, client: Client, ask: Ask) -> None:
        self._wait_until(ask.at_s)
        run = self._persist(lambda: client.open_run(f"Refund {ask.number}", client_ref=f"ask-{ask.number}"))
        if run is None:
            return
        self.asked[str(ask.number)] = run["id"]
        more: dict[str, Any] = {}
        if ask.deadline_s is not None:
            more["deadline"] = (datetime.now(UTC) + timedelta(seconds=ask.deadline_s)).isoformat()
        arguments = {"order_id": self.orders[ask.order], "amount": ask.amount, "currency": "AUD"}
        self._persist(lambda: client.call(run["id"], f"refund-{ask.number}", "refund_order", arguments, **more))
        if ask.cancel_s is not None:
            self.over.wait(ask.cancel_s)
            self._persist(lambda: client.cancel(run["id"], "The customer called it off."))

    def _persist(self, say: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
        """The answer, or None where the server said no for good."""
        until = time.monotonic() + PATIENCE_S
        while not self.over.is_set() and time.monotonic() < until:
            try:
                return say()
            except Unreachable:
                pass
            except Refused as refusal:
                if refusal.status < 500 and refusal.status != 429:
                    return None
            self.over.wait(0.3)
        return None

    # -- people ------------------------------------------------------------------------------------------------------

    def _review(self, person: factories.Person) -> None:
        by_amount = {ask.amount: ask for ask in self.plan.asks}
        seen: dict[tuple[str, int], float] = {}
        client: httpx.Client | None = None
        while not self.over.wait(0.25):
            try:
                client = client or signed_in(self.ground.processes.base_url, person.email, person.password, timeout=6.0)
                listed = client.get("/api/v1/proposals", params={"view": "mine"})
                if listed.status_code != 200:
                    continue
                for row in listed.json()["proposals"]:
                    mark = (row["id"], row["round"])
                    ask = by_amount.get((row["amount"] or {}).get("minor", 0))
                    first = seen.setdefault(mark, time.monotonic())
                    if ask is not None and time.monotonic() - first >= ask.think_s:
                        self._click(client, person, row, ask)
            except (httpx.HTTPError, ValueError, AssertionError, KeyError) as error:
                if isinstance(error, KeyError) and "csrftoken" not in str(error):
                    raise
                client = None if client is None else client

    def _click(self, client: httpx.Client, person: factories.Person, row: dict[str, Any], ask: Ask) -> None:
        click = {"verdict": ask.verdict, "digest": row["digest"], "round": row["round"]}
        if ask.verdict == "reject":
            click["reason"] = "Not this one."
        answer = client.post(f"/api/v1/proposals/{row['id']}/decide", json=click)
        if answer.status_code == 200:
            told = answer.json()
            self.answered.append(Answered(row["id"], told["round"], person.user_id, told["verdict"]))

    def _change(self, change: Change) -> None:
        self._wait_until(change.at_s)
        what, above = steady(lambda: self._take_away(change))
        [(at,)] = self.ground.sql("SELECT clearance_now()")
        self.lost.append(Lost(change.kind, at, what, above))

    def _take_away(self, change: Change) -> tuple[str, int]:
        from access.services.agents import agent_deactivate
        from access.services.people import group_remove
        from approvals.services.revoking import permit_revoke
        from audit.core.refusal import Refusal

        admin = self.world.admin
        if change.kind == "policy tightened: refused":
            self.world.publish(STRICTER.format(above=change.above, count=1))
            return "", change.above
        if change.kind == "policy tightened: one more approval":
            self.world.publish(STRICTER.format(above=NEVER, count=2))
            return "two", NEVER
        if change.kind == "reviewer removed from the group":
            group_remove(actor=admin, group="finance", user_id=self.reviewers[0].user_id)
            return self.reviewers[0].user_id, NEVER
        if change.kind == "agent deactivated":
            agent_deactivate(actor=admin, agent_id=self.agents[0].id, because="A drill.")
            return self.agents[0].id, NEVER
        granted = self.ground.sql(
            "SELECT p.id FROM approvals_proposal p JOIN approvals_permit t ON t.proposal_id = p.id "
            "AND t.round = p.round WHERE p.tenant_id = %s AND t.status = 'ready' ORDER BY p.created_at",
            [self.world.tenant.id],
        )
        for (proposal_id,) in granted:
            try:
                row = permit_revoke(actor=admin, proposal_id=proposal_id, reason="A drill.")
            except Refusal:
                continue  # executed meanwhile
            return f"{proposal_id} before round {row.round}", NEVER
        return "nothing was there to take back", NEVER

    # -- the operator ------------------------------------------------------------------------------------------------

    def _operate(self) -> None:
        """Settle what the look-up could not: send it again with the same key, or say that it did not happen."""
        from audit.core.refusal import Refusal
        from runs.services.reconciliation import reconciliation_decide

        choice = {f"refund-{ask.number}": ask.settle for ask in self.plan.asks}
        while not self.over.wait(0.5):
            for call_pk, call_id, attempt in unknown_calls(self.ground, self.world.tenant.id):

                def settle(call_pk: Any = call_pk, call_id: str = call_id, attempt: int = attempt) -> None:
                    reconciliation_decide(
                        actor=self.world.asker.actor,
                        unresolved_id=call_pk,
                        choice=choice[call_id],
                        attempt=attempt,
                        reason="The payment server was asked and shows nothing.",
                    )

                try:
                    steady(settle, seconds=10)
                except Refusal as refusal:
                    if refusal.code in ("RUN_STOPPED", "DEADLINE_PASSED"):
                        choice[call_id] = "did_not_happen"
                    continue  # that, or not conclusive yet: looked at again


def unknown_calls(ground: Ground, tenant_id: str) -> list[tuple[Any, str, int]]:
    """(row id, call id, attempt) of the calls whose outcome nobody knows."""
    return ground.sql(
        "SELECT c.id, c.call_id, (SELECT max((e.body->>'attempt')::int) FROM runs_event e WHERE e.run_id = c.run_id "
        "AND e.kind = 'dispatch_started' AND e.body->>'call_id' = c.call_id) "
        "FROM runs_call c WHERE c.tenant_id = %s AND c.state = 'unknown'",
        [tenant_id],
    )
