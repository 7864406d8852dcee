"""At the restore a request of the lost time is still under way at the provider, on a record that the backup shows free.

The lease of a record (R9) is a row, and a row of the lost time is lost: in the backup the call that holds the record
has not been sent, or is not there, or was settled and sent again on an operator's word. So nothing but time keeps the
next effect on the record from being judged on a state that changes under it.
"""

import threading
from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest

from approvals.models import Permit, Proposal
from audit.store import clock
from runs.models import ResourceLease
from runs.selectors.restored import quiet_at
from runs.services import sending
from runs.services.reconciliation import reconciliation_decide
from runs.services.restore import database_restored, database_restored_if_elsewhere
from runs.services.work import Job, Work
from tests.support.target import Target, Visit
from tests.support.world import live_rows, row

SETTLES_MS = 4_000
ALLOW = "version: 1\nrules:\n  - {id: all, tool: '*', effect: allow}\n"
WHOLE = 18_900


def as_the_policy_says(document) -> None:
    """Effects that may come late, and no people by the contract alone."""
    document.update(side_effect="reversible", approval="policy", settle_after_ms=SETTLES_MS)


class Slow:
    """Stands before the payment server and keeps each refund that it is asked for until it is let go."""

    def __init__(self, stripe) -> None:
        self.stripe = stripe
        self.let_go = threading.Event()
        self.keeps = True

    def __call__(self, visit: Visit) -> None:
        if self.keeps and visit.line.startswith("POST"):
            self.let_go.wait(60)
        method, path, _ = visit.line.split(" ")
        headers = {name: visit.headers[name] for name in ("authorization", "content-type") if name in visit.headers}
        answer = httpx.request(
            method, self.stripe.url + path, headers=headers, content=visit.body.encode(), trust_env=False
        )
        visit.answer(answer.content, status=f"{answer.status_code} as it said")


@pytest.fixture
def slow(world) -> Iterator[Slow]:
    """The world's refunds go by it, and take effect up to some seconds after their deadline, as is declared."""
    made = Slow(world.stripe)
    with Target(made) as target:
        world.admit("get_order", host=target.host)
        world.admit("refund_order", as_the_policy_says, host=target.host)
        yield made
        made.let_go.set()


def arrives(slow, world, order, effects) -> None:
    """What was kept under way takes effect now."""
    slow.let_go.set()
    for _ in range(200):
        if len(world.refunds(order)) == effects:
            return
        threading.Event().wait(0.05)
    raise AssertionError(world.refunds(order))


def test_what_an_agent_asks_anew_in_a_new_run_is_not_sent_while_the_same_may_be_under_way(
    world, backup, slow, settled_within
):
    """Its run of the lost time is not in the backup, so no key tells: the state protects, once it is the last."""
    world.publish(ALLOW)
    order = world.order(WHOLE)
    world.run()  # the agent's session is in the backup
    backup.take()
    lost = world.refund(world.run(), order, WHOLE // 2)
    world.work(lost)
    assert (world.look(lost).state, world.refunds(order)) == ("unknown", []), world.look(lost).answer

    backup.restore()
    database_restored_if_elsewhere()
    slow.keeps = False
    again = world.refund(world.run(), order, WHOLE)
    world.work(again)
    assert (world.look(again).state, world.refunds(order)) == ("ready", [])
    arrives(slow, world, order, 1)
    found = settled_within(world, again)
    assert (found.state, world.keys(order)) == ("refused", [lost.key])
    assert found.answer["error"]["code"] == "AMOUNT_EXCEEDS_LEFT"


def test_approved_after_the_restore_on_a_state_that_was_about_to_change_it_is_asked_anew(
    world, backup, slow, settled_within
):
    order = world.order(WHOLE)
    world.run()
    backup.take()
    lost = world.held(order, 4_500)
    world.decide(lost)
    world.work(lost)
    assert (world.look(lost).state, world.refunds(order)) == ("unknown", []), world.look(lost).answer

    backup.restore()
    database_restored_if_elsewhere()
    slow.keeps = False
    other = world.held(order, 4_500)
    world.decide(other)
    world.work(other)
    assert (Permit.objects.get().status, world.refunds(order)) == ("ready", [])
    arrives(slow, world, order, 1)
    settled_within(world, other, until=lambda _: Proposal.objects.get(pk=other.proposal_id).round == 2)
    assert world.keys(order) == [lost.key]


def test_settled_before_the_backup_and_sent_again_in_the_lost_time_its_free_record_takes_no_other_effect_until_then(
    world, backup, slow, settled_within, monkeypatch
):
    order = world.order(WHOLE)
    asked = world.held(order, 4_500)
    world.decide(asked)
    monkeypatch.setattr(sending, "dispatch_send", lambda **_: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        world.work(asked)
    monkeypatch.undo()
    database_restored(always=True)  # makes it unknown now, not when its lease ends
    settled_within(world, asked, until=lambda _: live_rows(asked) == [])
    assert not ResourceLease.objects.exists()  # left to people: its record is free
    backup.take()
    reconciliation_decide(
        actor=world.asker.actor, unresolved_id=asked.id, choice="retry", attempt=1, reason="Nothing is there."
    )
    settled_within(world, asked, until=lambda _: Proposal.objects.get(pk=asked.proposal_id).round == 2)
    world.decide(asked)
    settled_within(world, asked, until=lambda found: found.state == "unknown")

    backup.restore()
    database_restored_if_elsewhere()
    assert world.look(asked).state == "unknown"
    assert not ResourceLease.objects.exists()
    slow.keeps = False
    world.publish(ALLOW)
    other = world.refund(world.run(), order, WHOLE)
    world.work(other)
    assert (world.look(other).state, world.refunds(order)) == ("ready", [])
    arrives(slow, world, order, 1)
    found = settled_within(world, other)
    assert (found.state, world.keys(order)) == ("refused", [asked.key])


def quiet(work, at):
    return quiet_at(tenant_id=work.tenant_id, contract=work.contract, resource=work.resource, restored_at=at)


def test_a_tool_on_other_records_does_not_make_it_wait_and_one_on_the_same_does(world):
    order = world.order()
    world.admit(
        "refund_order",
        lambda d: d.update(name="ship_order", settle_after_ms=3_600_000, resource="parcel:${args.order_id}"),
    )
    call = world.held(order)
    work = Work.verified(Job.looking_at(row(call)))
    at = clock.now()
    assert quiet(work, at) == at + timedelta(milliseconds=2_000 + 300)
    world.admit(
        "refund_order",
        lambda d: d.update(name="cancel_order", settle_after_ms=60_000, resource="order:${args.order_id}"),
    )
    assert quiet(work, at) == at + timedelta(milliseconds=2_000 + 60_000)


def test_a_contract_that_was_altered_in_the_database_makes_it_wait_the_longest(world, owner_sql):
    call = world.held(world.order())
    work = Work.verified(Job.looking_at(row(call)))
    world.admit("refund_order", lambda d: d.update(name="altered_tool"))
    owner_sql("ALTER TABLE approvals_toolversion DISABLE TRIGGER USER")
    owner_sql("UPDATE approvals_toolversion SET digest = repeat('0', 64) WHERE document->>'name' = 'altered_tool'")
    at = clock.now()
    assert quiet(work, at) == at + timedelta(milliseconds=900_000 + 86_400_000)
