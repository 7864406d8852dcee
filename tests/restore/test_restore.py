"""A restored backup fires nothing: dumps by pg_dump at the worst moments, restored by pg_restore, the work goes on."""

import pytest
from django.core.management import call_command
from django.db import connection

from approvals.models import Epoch, Permit, Proposal
from approvals.services.epoch import epoch_last
from audit.selectors.entries import EntryFilters, entries_page
from runs.management.commands.sweep import Sweep
from runs.models import Dispatch
from runs.services import sending
from runs.services.evaluate import evaluate_call
from runs.services.restore import database_restored, database_restored_if_elsewhere
from runs.services.sweep import sweep_ready, sweep_refresh, sweep_wishes
from runs.store import claims
from tests.support import backups
from tests.support.world import kinds, live_rows


def approved(world, order):
    """A refund that people have approved and that no worker has taken up."""
    call = world.held(order)
    world.decide(call)
    return call


def test_approved_before_the_backup_and_sent_after_it_the_call_is_found_at_the_target_and_not_sent_again(
    world, backup, settled_within
):
    order = world.order()
    call = approved(world, order)
    backup.take()
    world.work(call)
    assert (world.look(call).state, len(world.refunds(order))) == ("succeeded", 1)
    [sent] = world.refunds(order)

    backup.restore()
    assert world.look(call).state == "waiting"  # the restored history does not know of it
    assert database_restored_if_elsewhere().permits_void == 1
    found = settled_within(world, call)

    assert (found.state, world.keys(order)) == ("succeeded", [call.key])
    assert found.answer["receipt"]["reference"] == sent["id"]
    assert found.answer["receipt"]["found_by"] == "look-up"
    assert "dispatch_started" not in kinds(call.run_id)
    proposal = Proposal.objects.get(pk=call.proposal_id)
    assert (proposal.status, proposal.outcome, proposal.outcome_detail["epoch"]) == ("granted", "succeeded", 2)


def test_approved_before_the_backup_and_never_sent_the_call_is_asked_anew_and_then_sent_once(
    world, backup, settled_within
):
    order = world.order()
    call = approved(world, order)
    backup.take()
    backup.restore()
    assert database_restored_if_elsewhere().epoch == 2
    waits = settled_within(world, call, until=lambda found: found.state == "waiting" and Permit.objects.count() == 1)
    settled_within(world, call, until=lambda _: Proposal.objects.get(pk=call.proposal_id).round == 2)

    assert (waits.state, world.refunds(order)) == ("waiting", [])
    proposal = Proposal.objects.get(pk=call.proposal_id)
    assert (proposal.status, proposal.why["opened_because"]["code"]) == ("pending", "RESTORED")
    assert "backup" in proposal.why["opened_because"]["message"]
    world.decide(call)
    done = settled_within(world, call)
    assert (done.state, world.keys(order)) == ("succeeded", [call.key])


def test_until_the_restore_is_taken_note_of_nothing_is_claimed_started_or_sent(world, backup, monkeypatch):
    order = world.order()
    call = approved(world, order)
    backup.take()
    backup.restore()
    assert not epoch_last().here
    assert world.work(call) == 0
    assert live_rows(call) == [("dispatch", "ready")]
    assert world.refunds(order) == []
    # A worker that claimed just before the database was exchanged under it gets no further either.
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE runs_dispatch SET status = 'claimed', fence = nextval('runs_fence'), worker = 'before', "
            "lease_until = clearance_now() + interval '1 minute', attempts = 1 WHERE status = 'ready' "
            "RETURNING id, run_id, call_id, kind, fence, worker, attempts, max_attempts, clearance_now(), lease_until"
        )
        claim = claims.Claim(*cursor.fetchone())
    assert not claims.look(claim.id).here
    with pytest.raises(Exception, match="restored from a backup"):
        sending.dispatch_call(claim=claim)
    assert world.refunds(order) == []
    assert Permit.objects.get().status == "ready"


def test_a_decision_of_that_moment_is_asked_anew(world, backup, settled_within):
    order = world.order()
    call = world.held(order)
    backup.take()
    backup.restore()
    world.decide(call)  # nobody has taken note yet: the permit is of no epoch
    assert Permit.objects.get().epoch is None
    database_restored_if_elsewhere()
    settled_within(world, call, until=lambda _: Proposal.objects.get(pk=call.proposal_id).round == 2)
    assert world.refunds(order) == []


def test_a_permit_of_before_is_not_redeemed_even_if_it_was_left_ready(world, backup, settled_within, owner_sql):
    order = world.order()
    call = approved(world, order)
    before = Permit.objects.get().epoch
    backup.take()
    backup.restore()
    database_restored_if_elsewhere()
    owner_sql("ALTER TABLE approvals_permit DISABLE TRIGGER approvals_permit_bound")
    owner_sql("UPDATE approvals_permit SET status = 'ready'")
    assert Permit.objects.get().epoch == before != epoch_last().id
    settled_within(world, call, until=lambda _: Proposal.objects.get(pk=call.proposal_id).round == 2)
    assert world.refunds(order) == []


def test_dumped_while_it_was_being_sent_it_is_unknown_looked_up_and_found(world, backup, settled_within, monkeypatch):
    order = world.order()
    call = approved(world, order)
    real = sending.dispatch_send

    def send(**kwargs):
        backup.take()
        return real(**kwargs)

    monkeypatch.setattr(sending, "dispatch_send", send)
    world.work(call)
    assert len(world.refunds(order)) == 1
    backup.restore()
    assert list(Dispatch.objects.filter(status="started").values_list("kind", flat=True)) == ["dispatch"]
    assert database_restored_if_elsewhere().unknown == 1
    assert (world.look(call).state, world.head(call).status) == ("unknown", "needs_reconciliation")
    found = settled_within(world, call)
    assert (found.state, world.keys(order)) == ("succeeded", [call.key])


def test_dumped_while_it_was_being_sent_and_never_arrived_it_stays_unknown_until_an_operator_decides(
    world, backup, settled_within, monkeypatch
):
    order = world.order()
    call = approved(world, order)
    monkeypatch.setattr(sending, "dispatch_send", lambda **_: backup.take() or (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        world.work(call)
    backup.restore()
    monkeypatch.undo()
    database_restored_if_elsewhere()
    settled_within(world, call, until=lambda _: live_rows(call) == [])
    assert (world.look(call).state, world.refunds(order)) == ("unknown", [])


def test_an_unknown_outcome_that_was_left_to_people_is_asked_about_anew(world, backup, settled_within, monkeypatch):
    """It may have been sent again in the lost time, on an operator's word."""
    order = world.order()
    call = approved(world, order)
    monkeypatch.setattr(sending, "dispatch_send", lambda **_: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        world.work(call)
    monkeypatch.undo()
    database_restored(always=True)
    settled_within(world, call, until=lambda _: live_rows(call) == [])
    assert world.look(call).state == "unknown"
    backup.take()
    world.stripe.refund(world.orders[order]["charge"], 4_500, key=call.key)  # in the lost time
    backup.restore()
    database_restored_if_elsewhere()
    assert live_rows(call) == [("look_up", "ready")]
    assert settled_within(world, call).state == "succeeded"


def test_what_waits_for_people_and_was_approved_and_sent_in_the_lost_time_is_found_before_they_decide_again(
    world, backup
):
    """S80: nobody rejects, or approves once more, what has happened."""
    order = world.order()
    call = world.held(order)
    backup.take()
    world.decide(call)
    world.work(call)
    assert len(world.refunds(order)) == 1
    backup.restore()
    database_restored_if_elsewhere()
    [wish] = sweep_wishes()
    assert sweep_refresh(wish=wish)
    found = world.look(call)
    assert (found.state, world.keys(order)) == ("succeeded", [call.key])
    proposal = Proposal.objects.get(pk=call.proposal_id)
    assert (proposal.status, proposal.outcome) == ("refused", "succeeded")
    assert proposal.outcome_detail["code"] == "ALREADY_HAPPENED"
    world.work(call)
    assert (world.look(call).state, kinds(call.run_id)[-1]) == ("succeeded", "resolution_consumed")


def test_a_call_that_the_backup_does_not_know_is_found_when_its_agent_asks_again_in_the_same_run(
    world, backup, settled_within
):
    order = world.order()
    run = world.run()
    backup.take()
    call = world.refund(run, order, call_id="same")
    world.work(call)
    world.decide(world.look(call))
    world.work(call)
    assert len(world.refunds(order)) == 1
    backup.restore()
    database_restored_if_elsewhere()
    again = world.refund(run, order, call_id="same")
    assert again.key == call.key
    settled_within(world, again, until=lambda found: found.state == "waiting")
    world.decide(world.look(again))
    found = settled_within(world, again)
    assert (found.state, world.keys(order)) == ("succeeded", [call.key])


def test_a_tool_that_cannot_be_looked_up_and_that_nobody_approves_is_left_to_an_operator(world, backup, settled_within):
    def blind(document):
        document.update(side_effect="reversible", approval="policy")
        document["adapter"].pop("look_up")

    world.admit("refund_order", blind)
    world.publish("version: 1\nrules:\n  - {id: all, tool: '*', effect: allow}\n")
    order = world.order()
    run = world.run()
    call = world.refund(run, order)
    evaluate_call(claim=claims.claim_next(worker="w", run_id=run.id))
    assert world.look(call).state == "ready"
    backup.take()
    backup.restore()
    database_restored_if_elsewhere()
    found = settled_within(world, call, until=lambda found: found.state == "unknown")
    assert (world.refunds(order), found.answer["error"]["outcome"]) == ([], "unknown")
    assert "backup" in found.answer["error"]["message"]


def test_a_run_of_after_the_restore_costs_no_look_up(world, backup, settled_within, monkeypatch):
    backup.take()
    backup.restore()
    database_restored_if_elsewhere()
    monkeypatch.setattr("runs.services.lost_time.dispatch_look_up", None)
    order = world.order()
    call = world.held(order)
    world.decide(call)
    assert settled_within(world, call).state == "succeeded"


def test_restored_over_itself_the_database_shows_it_too(world, committed_db, backup):
    approved(world, world.order())
    backup.take()
    connection.close()
    backups.empty(committed_db)
    backups.restore(backup.file, committed_db)
    assert not epoch_last().here
    assert database_restored_if_elsewhere().permits_void == 1
    assert epoch_last().here


def test_the_sweep_takes_note_by_itself_and_each_organisation_reads_of_it(world, backup):
    approved(world, world.order())
    backup.take()
    backup.restore()
    Sweep().run(once=True)
    assert (epoch_last().number, epoch_last().here) == (2, True)
    [entry] = entries_page(world.tenant.id, EntryFilters(action="database.restored"))
    assert entry.detail["permits_void"] == 1
    assert sweep_ready(older_than_s=0) is not None


def test_eight_who_take_note_at_once_raise_one_epoch(world, backup, race):
    approved(world, world.order())
    backup.take()
    backup.restore()
    made = [each for each in race(lambda _: database_restored(), 8) if each is not None]
    assert [each.epoch for each in made] == [2]
    assert list(Epoch.objects.order_by("number").values_list("number", flat=True)) == [1, 2]


def test_where_the_database_cannot_know_it_a_person_says_so(world, capsys):
    call = approved(world, world.order())
    call_command("restored", "--if-noticed")
    assert "nothing to do" in capsys.readouterr().out
    call_command("restored", "--reason", "The disk was copied back.")
    assert "Epoch 2" in capsys.readouterr().out
    assert Permit.objects.get().status == "void"
    [entry] = entries_page(world.tenant.id, EntryFilters(action="database.restored"))
    assert entry.detail["because"] == "The disk was copied back."
    assert world.look(call).state == "waiting"


def test_fences_given_out_in_the_lost_time_are_not_given_out_again(world):
    before = claims.claim_next(worker="w")
    assert before is None
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('runs_fence')")
        [seen] = cursor.fetchone()
        database_restored(always=True)
        cursor.execute("SELECT nextval('runs_fence')")
        [now] = cursor.fetchone()
    assert now > seen + claims.FENCES_SKIPPED
