"""A tenant in which calls are held: tools, a policy, people and an agent, all through the real services."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction

from access.selectors.actors import RequesterFacts, requester_facts
from approvals.services.contract import contract_admit
from approvals.services.decision import DecisionRow, decision_record
from approvals.services.judge import Prepared, call_judge, call_prepare
from approvals.services.permit import RedeemResult, permit_redeem
from approvals.services.policy import policy_publish
from approvals.services.proposal import ProposalRow, proposal_hold
from audit.core.actor import SYSTEM, Actor
from audit.store import clock
from tests.core.approvals.documents import read_document, refund_document
from tests.support import factories
from tests.support.once import made_once

STATE: dict[str, Any] = {
    "amount": 12000,
    "refunded": 0,
    "currency": "AUD",
    "customer": "Anna Berg",
    "left": 12000,
}
"""What the target says of the order, unless a test says otherwise."""

POLICY = """\
version: 1
rules:
  - {id: read-orders, tool: get_order, effect: allow}
  - id: too-large
    tool: refund_order
    when: "args.amount > 100000"
    effect: deny
    message: "Refunds over A$1,000 are made by hand."
  - {id: refund, tool: refund_order, effect: ask, approvers: [{group: finance, count: 1}], expires_in_s: 900}
"""


def asking(*approvers: tuple[str, int], expires_in_s: int = 900) -> str:
    """A policy that asks these groups for every refund."""
    groups = ", ".join(f"{{group: {group}, count: {count}}}" for group, count in approvers)
    return (
        "version: 1\nrules:\n"
        f"  - {{id: refund, tool: refund_order, effect: ask, approvers: [{groups}], expires_in_s: {expires_in_s}}}\n"
    )


DENYING = "version: 1\nrules:\n  - {id: stop, tool: refund_order, effect: deny, message: Refunds are stopped.}\n"
ALLOWING = "version: 1\nrules:\n  - {id: free, tool: refund_order, effect: allow}\n"


@dataclass
class Held:
    """A held call with what its worker knows of it."""

    row: ProposalRow
    prepared: Prepared
    call_id: str
    run_id: UUID

    @property
    def id(self) -> UUID:
        return self.row.id

    @property
    def digest(self) -> str:
        return self.row.digest


@dataclass
class World:
    """One tenant. `customer_care` is the person the agent acts for; `mara` and `noor` review in finance."""

    tenant: factories.Tenant
    customer_care: factories.Person
    owner: factories.Person
    mara: factories.Person
    noor: factories.Person
    agent: factories.Agent
    pair: Any = field(repr=False)
    actor: Actor
    policy_number: int = 1

    @property
    def session_id(self) -> UUID:
        return UUID(self.actor.session_id)

    def publish(self, source: str) -> None:
        """The next version of the policy."""
        row = policy_publish(actor=self.tenant.admin.actor, source=source, based_on=self.policy_number)
        self.policy_number = row.number

    def requester(self) -> RequesterFacts:
        """The requester's rights of now."""
        return requester_facts(
            tenant_id=self.tenant.id,
            agent_id=self.agent.id,
            acting_user_id=self.customer_care.user_id,
            token_session_id=self.session_id,
        )

    def prepare(self, amount: int = 4500, *, tool: str = "refund_order", **arguments: Any) -> Prepared:
        """A refund as the agent sends it."""
        given = {"order_id": "ord_1029", "amount": amount, **arguments}
        return call_prepare(actor=self.actor, tool=tool, arguments=given, acting_user=self.customer_care.user_id)

    def hold(
        self,
        amount: int = 4500,
        *,
        run_id: UUID | None = None,
        call_id: str = "",
        state: Mapping[str, Any] | None = None,
        expires_in_s: float = 900,
        expires_at: datetime | None = None,
        run_title: str = "Ticket 5512",
        reason: str = "The lamp arrived broken.",
        tool: str = "refund_order",
        **arguments: Any,
    ) -> Held:
        """A refund that today's policy holds."""
        prepared = self.prepare(amount, tool=tool, **arguments)
        run_id, call_id = run_id or uuid4(), call_id or f"call-{uuid4().hex[:8]}"
        state = STATE if state is None else state
        with transaction.atomic():
            now = clock.now()
            verdict = call_judge(
                tenant_id=self.tenant.id,
                tool_version_id=prepared.tool_version_id,
                canonical=prepared.canonical,
                state=state,
                requester=self.requester(),
            )
            assert verdict.effect == "ask", verdict
            row = proposal_hold(
                actor=SYSTEM("worker", self.tenant.id),
                tenant_id=self.tenant.id,
                run_id=run_id,
                run_title=run_title,
                call_id=call_id,
                key=f"clr_{call_id}",
                tool=tool,
                tool_version_id=prepared.tool_version_id,
                canonical=prepared.canonical,
                given=prepared.given,
                digest=prepared.digest,
                target=prepared.target,
                resource=prepared.resource,
                state=state,
                state_read_at=now,
                verdict=verdict,
                requester=self.requester(),
                expires_at=expires_at or now + timedelta(seconds=expires_in_s),
                reason=reason,
                token_session_id=self.session_id,
            )
        return Held(row=row, prepared=prepared, call_id=call_id, run_id=run_id)

    def decide(
        self, held: Held, verdict: str = "approve", *, by: factories.Person | None = None, **changes: Any
    ) -> DecisionRow:
        """A click on the page."""
        click: dict[str, Any] = {"digest": held.digest, "reason": "" if verdict == "approve" else "Not plausible."}
        return decision_record(
            actor=(by or self.mara).actor,
            proposal_id=held.id,
            verdict=verdict,  # type: ignore[arg-type]
            **(click | changes),
        )

    def redeem(self, held: Held, *, state: Mapping[str, Any] | None = None, **changes: Any) -> RedeemResult:
        """What a worker does right before it sends, in a transaction that commits whatever the answer is."""
        with transaction.atomic():
            facts: dict[str, Any] = {
                "canonical": held.prepared.canonical,
                "digest": held.digest,
                "dispatch_id": uuid4(),
                "state": STATE if state is None else state,
                "state_read_at": clock.now(),
                "requester": self.requester(),
                "request_ms": 7500,
            }
            return permit_redeem(proposal_id=held.id, **(facts | changes))


def world(policy: str = POLICY, *, contract: Mapping[str, Any] | None = None) -> World:
    """A new tenant with both demo tools and `policy`; `contract` changes the refund tool's document."""
    key = ("approvals", policy, repr(contract))
    return World(**dict(made_once(key, lambda: tuple(_parts(policy, contract).items()))))


def _parts(policy: str, contract: Mapping[str, Any] | None) -> dict[str, Any]:
    tenant = factories.tenant()
    customer_care = factories.person(tenant, roles=["reviewer"], groups=["finance"], name="Jon Hale")
    owner = factories.person(tenant, roles=["reviewer"], groups=["finance"], name="Ola Brandt")
    mara = factories.person(tenant, groups=["finance"], name="Mara Lind")
    noor = factories.person(tenant, groups=["finance", "leads"], name="Noor Aziz")
    agent = factories.agent(tenant, acts_for=[customer_care], owner=owner, name="support-agent")
    contract_admit(actor=tenant.admin.actor, document=read_document())
    contract_admit(actor=tenant.admin.actor, document=refund_document(dict(contract or {})))
    policy_publish(actor=tenant.admin.actor, source=policy, based_on=None)
    actor = agent.actor(on_behalf_of=customer_care.user_id)
    return {
        "tenant": tenant,
        "customer_care": customer_care,
        "owner": owner,
        "mara": mara,
        "noor": noor,
        "agent": agent,
        "pair": None,
        "actor": actor,
    }


type OwnerSql = Callable[..., list[tuple[Any, ...]]]


def edit_as_owner(owner_sql: OwnerSql, table: str, assignment: str, where: str) -> None:
    """An owner's deed: triggers off, one edit, triggers on (S84)."""
    owner_sql(
        f"ALTER TABLE {table} DISABLE TRIGGER USER; UPDATE {table} SET {assignment} WHERE {where}; "
        f"ALTER TABLE {table} ENABLE TRIGGER USER"
    )
