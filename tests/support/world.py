"""An organisation at work: agent, reviewers, the demo's tools on a real payment server, a policy. For runs' tests."""

import itertools
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from django.conf import settings

from access.services.credentials import credential_store
from approvals.selectors.proposals import proposal_detail
from approvals.services.contract import contract_admit
from approvals.services.decision import decision_record
from approvals.services.policy import policy_publish
from audit.core.actor import Actor
from runs.models import Call, Dispatch, Run
from runs.selectors.rows import CallRow, RunRow
from runs.selectors.runs import call_row
from runs.services.call import call_submit
from runs.services.run import run_open
from runs.services.wake import run_wake
from tests.support import factories
from tests.support.contracts import demo_document
from tests.support.once import made_once
from tests.support.stripe import KEY, LocalStripe

type Change = Callable[[dict[str, Any]], object]

POLICY = """
version: 1
rules:
  - {id: read-orders, tool: get_order, effect: allow}
  - {id: refund-by-hand, tool: refund_order, when: "args.amount > 100000", effect: deny, message: By hand.}
  - {id: refund, tool: refund_order, effect: ask, approvers: [{group: finance, count: 1}], expires_in_s: 900}
"""

_calls = itertools.count(1)


def quick(document: dict[str, Any]) -> None:
    """Short limits, so that leases and settling are over within a test's patience."""
    document["timeout_ms"] = 1000
    document["retry"] |= {"base_ms": 50, "factor": 1}
    if "settle_after_ms" in document:
        document["settle_after_ms"] = 300


@dataclass
class World:
    """One tenant. Everything is made through the services, as the doors do it."""

    stripe: LocalStripe
    change: Change = quick
    policy: str = POLICY
    orders: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        key = ("runs", type(self), self.stripe.host, self.change, self.policy)
        parts = made_once(key, self._make)
        self.tenant, self.asker, self.reviewer, self.second_reviewer, self.agent, self.number = parts
        shutil.rmtree(Path(settings.REFERENCE_DIR) / self.tenant.slug, ignore_errors=True)

    def _make(
        self,
    ) -> tuple[factories.Tenant, factories.Person, factories.Person, factories.Person, factories.Agent, int]:
        self.tenant = factories.tenant(f"t-{uuid.uuid4().hex[:10]}")
        asker = factories.person(self.tenant, roles=["operator"], name="Ada Asker")
        reviewer = factories.person(self.tenant, groups=["finance"], name="Rita Reviewer")
        second = factories.person(self.tenant, groups=["finance"], name="Sven Second")
        agent = factories.agent(self.tenant, acts_for=[asker], name="Support agent")
        credential_store(actor=self.admin, name="payments", secret=KEY)
        for name in ("get_order", "refund_order"):
            self.admit(name)
        return self.tenant, asker, reviewer, second, agent, self.publish(self.policy)

    @property
    def admin(self) -> Actor:
        return self.tenant.admin.actor

    @cached_property
    def agent_actor(self) -> Actor:
        """The agent with a token, acting for the asker."""
        return self.agent.actor(on_behalf_of=self.asker.user_id)

    def admit(self, name: str, change: Change | None = None, *, host: str = "") -> None:
        """Admit a demo tool, with this world's limits and one more change."""
        document = demo_document(name, host or self.stripe.host)
        self.change(document)
        if change is not None:
            change(document)
        contract_admit(actor=self.admin, document=document)

    def be_patient(self) -> None:
        """Limits that twenty threads on a busy machine do not reach by themselves."""
        for name in ("get_order", "refund_order"):
            self.admit(name, lambda document: document.update(timeout_ms=15_000))

    def publish(self, source: str, based_on: int | None = None) -> int:
        """Put a policy in force; its number."""
        based = based_on if based_on is not None else getattr(self, "number", None)
        self.number = policy_publish(actor=self.admin, source=source, based_on=based).number
        return self.number

    # -- what the agent does ----------------------------------------------------------------------------------------

    def order(self, amount: int = 18_900, currency: str = "aud") -> str:
        """A paid order's number."""
        number = f"ord_{uuid.uuid4().int % 10**11}"
        self.orders[number] = {
            "charge": self.stripe.create_charge(amount, currency),
            "customer": "Mara Lindqvist",
            "items": ["Lamp"],
            "placed": "2026-11-01",
        }
        self.stripe.write_orders(Path(settings.REFERENCE_DIR), self.tenant.slug, self.orders)
        return number

    def run(self, **kwargs: Any) -> RunRow:
        """A new run of the agent's."""
        return run_open(actor=self.agent_actor, title="Refund a customer", **kwargs)

    def submit(self, run: RunRow, tool: str, arguments: dict[str, Any], call_id: str = "", **kwargs: Any) -> CallRow:
        """Ask for a call."""
        return call_submit(
            actor=self.agent_actor,
            run_id=run.id,
            call_id=call_id or f"call-{next(_calls)}",
            tool=tool,
            arguments=arguments,
            **kwargs,
        )

    def refund(self, run: RunRow, order: str, amount: int = 4_500, **kwargs: Any) -> CallRow:
        """Ask for a refund."""
        arguments = {"order_id": order, "amount": amount, "currency": "AUD"}
        return self.submit(run, "refund_order", arguments, **kwargs)

    def held(self, order: str = "", amount: int = 4_500, **kwargs: Any) -> CallRow:
        """A refund that waits for people, judged by a worker's turn in this process."""
        run = self.run()
        call = self.refund(run, order or self.order(), amount, **kwargs)
        self.work(run)
        call = self.look(call)
        assert call.state == "waiting", (call.state, call.answer)
        return call

    # -- what people and workers do ----------------------------------------------------------------------------------

    def decide(
        self, call: CallRow, verdict: str = "approve", *, by: factories.Person | None = None, **kwargs: Any
    ) -> Any:
        """A reviewer's click on what the page shows."""
        actor = (by or self.reviewer).actor
        assert call.proposal_id is not None
        detail = proposal_detail(actor, call.proposal_id)
        reason = kwargs.pop("reason", "" if verdict == "approve" else "Not this one.")
        return decision_record(
            actor=actor,
            proposal_id=call.proposal_id,
            verdict=verdict,
            digest=kwargs.pop("digest", detail.digest),
            reason=reason,
            **kwargs,
        )

    def work(self, run: RunRow | CallRow) -> int:
        """A worker's turn in this process."""
        return run_wake(run_id=run.id if isinstance(run, RunRow) else run.run_id)

    def look(self, call: CallRow) -> CallRow:
        """The call as its agent sees it now."""
        return call_row(self.agent_actor, call.run_id, call.call_id)

    def head(self, call: CallRow) -> Run:
        return Run.objects.get(pk=call.run_id)

    def refunds(self, order: str) -> list[dict[str, Any]]:
        """What the payment server says, asked by a way of its own."""
        return self.stripe.refunds(self.orders[order]["charge"])

    def keys(self, order: str) -> list[str]:
        """The keys under which refunds of an order were made."""
        return [refund["metadata"].get("clearance_key", "") for refund in self.refunds(order)]


def break_audit(owner_sql: Callable[..., Any], action: str) -> None:
    """From now on no entry of this action can be written."""
    owner_sql(
        "CREATE FUNCTION test_log_is_full() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the log is full'; END $$"
    )
    owner_sql(
        "CREATE TRIGGER test_log_is_full BEFORE INSERT ON audit_entry FOR EACH ROW "
        f"WHEN (NEW.action = '{action}') EXECUTE FUNCTION test_log_is_full()"
    )


def mend_audit(owner_sql: Callable[..., Any]) -> None:
    """Entries can be written again."""
    owner_sql("DROP TRIGGER test_log_is_full ON audit_entry")


def row(call: CallRow) -> Call:
    """The stored call."""
    return Call.objects.get(pk=call.id)


def live_rows(call: CallRow) -> list[tuple[str, str]]:
    """(kind, status) of the call's rows of work that are not done."""
    rows = Dispatch.objects.filter(call_id=call.id).exclude(status="done").order_by("created_at", "kind")
    return list(rows.values_list("kind", "status"))


def kinds(run_id: uuid.UUID) -> list[str]:
    """The kinds of the run's events, in order."""
    return list(Run.objects.get(pk=run_id).events.order_by("seq").values_list("kind", flat=True))
