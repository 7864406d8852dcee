"""runs/services/stop.py: who may set and lift a stop, and what is kept of it."""

import uuid

import psycopg
import pytest
from django.db import DatabaseError

from audit.core.refusal import Forbidden, Invalid, NotFound, Unavailable
from audit.selectors.entries import EntryFilters, entries_page
from audit.services import record
from audit.services.record import audit_pay_owed
from runs.live import hints
from runs.models import Stop
from runs.selectors.stops import stops_in_force, stops_listed
from runs.services import stop
from runs.services.stop import stop_lift, stop_set
from runs.store.claims import system_actor
from tests.support import databases, factories
from tests.support.world import World, break_audit, mend_audit

REASON = "Refunds go to the wrong accounts."
COMMAND = system_actor("")


@pytest.fixture
def operator(world):
    """The actor of a person who runs this organisation's agents."""
    return factories.person(world.tenant, roles=["operator"], name="Olga Operator").actor


# -- once only, and who ------------------------------------------------------------------------------------------------


def test_setting_it_twice_tells_who_was_first(world, operator):
    first = stop_set(actor=operator, kind="tenant", reason=REASON)
    second = stop_set(actor=world.admin, kind="tenant", reason="Me too.")
    assert (second.repeated, second.stop) == (True, first.stop)
    assert second.stop.set_by_name == "Olga Operator"


def test_lifting_it_twice_tells_who_was_first(world, operator):
    done = stop_set(actor=operator, kind="tenant", reason=REASON)
    first = stop_lift(actor=operator, stop_id=done.stop.id, reason="Mended.")
    second = stop_lift(actor=world.admin, stop_id=done.stop.id, reason="Again.")
    assert (first.repeated, second.repeated, second.stop) == (False, True, first.stop)
    assert second.stop.lifted_by_name == "Olga Operator"


def test_it_can_be_set_anew_after_it_was_lifted_and_both_stay_on_record(world, operator):
    done = stop_set(actor=operator, kind="tenant", reason=REASON)
    stop_lift(actor=operator, stop_id=done.stop.id, reason="Mended.")
    again = stop_set(actor=operator, kind="tenant", reason="It came back.")
    assert (again.repeated, again.stop.id == done.stop.id) == (False, False)
    listing = stops_listed(operator)
    assert [row.stop.reason for row in listing.in_force] == ["It came back."]
    assert [(row.reason, row.lifted_reason) for row in listing.lifted] == [(REASON, "Mended.")]


@pytest.mark.parametrize("roles", [["reviewer"], ["auditor"], ["reviewer", "auditor"]])
def test_setting_and_lifting_take_the_role_operator(world, operator, roles):
    actor = factories.person(world.tenant, roles=roles).actor
    done = stop_set(actor=operator, kind="tool", subject="refund_order", reason=REASON)
    for deed in (
        lambda: stop_set(actor=actor, kind="tenant", reason=REASON),
        lambda: stop_lift(actor=actor, stop_id=done.stop.id, reason=REASON),
    ):
        with pytest.raises(Forbidden) as caught:
            deed()
        assert (caught.value.code, caught.value.missing) == ("ROLE_MISSING", ["operator"])
    assert [row.id for row in stops_in_force(world.tenant.id)] == [done.stop.id]
    refused = entries_page(world.tenant.id, EntryFilters(verdict="refused"))
    assert {entry.action for entry in refused} >= {"stop.set", "stop.lifted"}


def test_no_token_sets_or_lifts_a_stop(world, operator):
    done = stop_set(actor=operator, kind="tool", subject="refund_order", reason=REASON)
    for deed in (
        lambda: stop_set(actor=world.agent_actor, kind="tenant", reason=REASON),
        lambda: stop_lift(actor=world.agent_actor, stop_id=done.stop.id, reason=REASON),
    ):
        with pytest.raises(Forbidden) as caught:
            deed()
        assert caught.value.code == "PERSON_REQUIRED"


def test_an_admin_does_not_stop_or_let_go_the_installation(world):
    done = stop_set(actor=COMMAND, kind="installation", reason=REASON)
    for deed in (
        lambda: stop_set(actor=world.admin, kind="installation", reason=REASON),
        lambda: stop_lift(actor=world.admin, stop_id=done.stop.id, reason=REASON),
    ):
        with pytest.raises(Forbidden) as caught:
            deed()
        assert caught.value.code == "INSTALLATION"


def test_a_foreign_stop_agent_or_tool_answers_like_an_unknown_one(world, operator, payments):
    elsewhere = World(payments)
    theirs = stop_set(actor=elsewhere.admin, kind="tenant", reason=REASON)
    told = set()
    for stop_id in (theirs.stop.id, uuid.uuid4()):
        with pytest.raises(NotFound) as caught:
            stop_lift(actor=operator, stop_id=stop_id, reason=REASON)
        told.add(str(caught.value))
    for agent in (elsewhere.agent.id, str(uuid.uuid4()), "no agent at all"):
        with pytest.raises(NotFound) as caught:
            stop_set(actor=operator, kind="agent", subject=agent, reason=REASON)
        told.add(str(caught.value))
    with pytest.raises(NotFound) as caught:
        stop_set(actor=operator, kind="tool", subject="launch_rocket", reason=REASON)
    told.add(str(caught.value))
    assert len(told) == 1
    assert stops_in_force(elsewhere.tenant.id)[0].id == theirs.stop.id
    assert stops_listed(operator).in_force == []


@pytest.mark.parametrize("reason", ["", "   ", "\u200b\u00a0"])
def test_a_reason_is_required(world, operator, reason):
    with pytest.raises(Invalid) as caught:
        stop_set(actor=operator, kind="tenant", reason=reason)
    assert caught.value.code == "REASON_REQUIRED"
    done = stop_set(actor=operator, kind="tenant", reason=REASON)
    with pytest.raises(Invalid) as caught:
        stop_lift(actor=operator, stop_id=done.stop.id, reason=reason)
    assert caught.value.code == "REASON_REQUIRED"


@pytest.mark.parametrize(("kind", "subject"), [("run", "x"), ("", ""), ("tenant", "refund_order")])
def test_what_is_no_kind_of_stop_is_refused(world, operator, kind, subject):
    with pytest.raises(Invalid) as caught:
        stop_set(actor=operator, kind=kind, subject=subject, reason=REASON)
    assert caught.value.code == "KIND_INVALID"


# -- the record --------------------------------------------------------------------------------------------------------


def test_setting_and_lifting_are_audited(world, operator):
    done = stop_set(actor=operator, kind="tool", subject="refund_order", reason=REASON)
    stop_lift(actor=operator, stop_id=done.stop.id, reason="Mended.")
    [lifted] = entries_page(world.tenant.id, EntryFilters(action="stop.lifted"))
    [set_] = entries_page(world.tenant.id, EntryFilters(action="stop.set"))
    for entry, reason in ((set_, REASON), (lifted, "Mended.")):
        assert (entry.actor_name, entry.object_id, entry.tool) == (
            "Olga Operator",
            str(done.stop.id),
            "refund_order",
        )
        assert entry.detail["reason"] == reason


def test_a_stop_holds_while_its_audit_entry_cannot_be_written_and_the_entry_is_paid_later(world, operator, owner_sql):
    """S69."""
    order = world.order()
    call = world.held(order)
    world.decide(call)
    break_audit(owner_sql, "stop.set")
    stop_set(actor=operator, kind="tenant", reason=REASON)
    world.work(call)
    assert (world.look(call).state, world.refunds(order)) == ("ready", [])
    assert entries_page(world.tenant.id, EntryFilters(action="stop.set")) == []
    mend_audit(owner_sql)
    assert audit_pay_owed() == 1
    [entry] = entries_page(world.tenant.id, EntryFilters(action="stop.set"))
    assert entry.detail["reason"] == REASON


def test_a_log_that_somebody_has_locked_does_not_keep_a_stop_waiting_for_ever(world, operator, owner_sql, committed_db):
    url = databases.with_database(databases.os.environ["DATABASE_OWNER_URL"], committed_db)
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE audit_entry IN ACCESS EXCLUSIVE MODE")
        stop_set(actor=operator, kind="tenant", reason=REASON)
        other.rollback()
    assert len(stops_in_force(world.tenant.id)) == 1
    assert audit_pay_owed() == 1


def test_without_its_audit_entry_nothing_is_lifted(world, operator, owner_sql):
    done = stop_set(actor=operator, kind="tenant", reason=REASON)
    break_audit(owner_sql, "stop.lifted")
    with pytest.raises(Unavailable, match="It stays stopped: nothing is let go while the audit log") as refused:
        stop_lift(actor=operator, stop_id=done.stop.id, reason="Mended.")
    assert (refused.value.code, refused.value.outcome) == ("AUDIT_UNAVAILABLE", "none")
    assert [row.id for row in stops_in_force(world.tenant.id)] == [done.stop.id]


def test_a_log_that_somebody_has_locked_refuses_a_lift_in_words(world, operator, committed_db, monkeypatch):
    monkeypatch.setattr(stop, "AUDIT_WAIT_MS", 100)
    monkeypatch.setattr(record, "REFUSED_WAIT_MS", 100)
    done = stop_set(actor=operator, kind="tenant", reason=REASON)
    url = databases.with_database(databases.os.environ["DATABASE_OWNER_URL"], committed_db)
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE audit_entry IN EXCLUSIVE MODE")
        with pytest.raises(Unavailable):
            stop_lift(actor=operator, stop_id=done.stop.id, reason="Mended.")
        other.rollback()
    assert [row.id for row in stops_in_force(world.tenant.id)] == [done.stop.id]


def test_auditors_of_every_organisation_read_of_a_stop_of_the_whole_installation(world, payments):
    other = World(payments)
    done = stop_set(actor=COMMAND, kind="installation", reason=REASON)
    stop_lift(actor=COMMAND, stop_id=done.stop.id, reason="Mended.")
    for tenant_id in (world.tenant.id, other.tenant.id, ""):
        found = entries_page(tenant_id, EntryFilters(object_id=str(done.stop.id)))
        assert [(entry.action, entry.detail["kind"], entry.detail["reason"]) for entry in found] == [
            ("stop.lifted", "installation", "Mended."),
            ("stop.set", "installation", REASON),
        ]
        assert {(entry.actor_kind, entry.actor_id) for entry in found} == {("system", COMMAND.id)}


def test_a_stop_of_one_organisation_is_in_no_other_ones_log(world, operator, payments):
    other = World(payments)
    done = stop_set(actor=operator, kind="tenant", reason=REASON)
    for tenant_id in (other.tenant.id, ""):
        assert entries_page(tenant_id, EntryFilters(object_id=str(done.stop.id))) == []


def test_a_stop_of_the_whole_installation_waits_once_for_a_locked_log_and_owes_every_entry(
    world, payments, committed_db, monkeypatch
):
    monkeypatch.setattr(stop, "AUDIT_WAIT_MS", 400)
    others = [World(payments) for _ in range(2)]
    url = databases.with_database(databases.os.environ["DATABASE_OWNER_URL"], committed_db)
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE audit_entry IN EXCLUSIVE MODE")
        done = stop_set(actor=COMMAND, kind="installation", reason=REASON)
        other.rollback()
    assert [row.id for row in stops_in_force(world.tenant.id)] == [done.stop.id]
    assert audit_pay_owed() == 1 + 1 + len(others)


def test_a_stop_needs_no_broker(world, operator, monkeypatch):
    monkeypatch.setattr(hints, "wake", lambda run_id: False)
    call = world.held()
    world.decide(call)
    done = stop_set(actor=operator, kind="tenant", reason=REASON)
    world.work(call)
    assert world.look(call).state == "ready"
    stop_lift(actor=operator, stop_id=done.stop.id, reason="Mended.")
    world.work(call)
    assert world.look(call).state == "succeeded"


@pytest.mark.parametrize(
    "change",
    [{"reason": "Another one."}, {"set_by_name": "Somebody else"}, {"kind": "tenant", "subject": ""}],
)
def test_what_was_said_when_it_was_set_stays(world, operator, change):
    done = stop_set(actor=operator, kind="tool", subject="refund_order", reason=REASON)
    with pytest.raises(DatabaseError):
        Stop.objects.filter(pk=done.stop.id).update(**change)


def test_a_lifted_stop_does_not_come_back_by_itself(world, operator):
    done = stop_set(actor=operator, kind="tenant", reason=REASON)
    stop_lift(actor=operator, stop_id=done.stop.id, reason="Mended.")
    for change in ({"lifted_at": None}, {"lifted_reason": "Another one."}):
        with pytest.raises(DatabaseError):
            Stop.objects.filter(pk=done.stop.id).update(**change)
    with pytest.raises(DatabaseError):
        Stop.objects.filter(pk=done.stop.id).delete()
