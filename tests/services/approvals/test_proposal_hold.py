"""approvals/services/proposal.py: holding a call, once and again."""

from datetime import timedelta

import pytest
from django.db import connection, transaction

from access.services import people
from approvals.selectors.proposals import inbox, proposal_detail
from approvals.services.resolution import resolutions_open
from audit.core.refusal import Conflict
from audit.selectors.entries import EntryFilters, entries_page
from audit.store import clock
from tests.support.approvals import asking, world


def test_a_held_call_stores_the_bytes_and_what_people_read(acme):
    held = acme.hold(note="as agreed", currency="AUD")
    with connection.cursor() as cursor:
        cursor.execute("SELECT canonical, digest FROM approvals_proposal WHERE id = %s", [held.id])
        canonical, digest = cursor.fetchone()
    assert bytes(canonical) == held.prepared.canonical
    assert digest == held.digest
    page = proposal_detail(acme.mara.actor, held.id)
    assert page.title == "Refund A$45.00 of A$120.00 to Anna Berg for order ord_1029"
    assert (page.content.amount_minor, page.content.currency) == (4500, "AUD")
    assert (page.agent_name, page.acting_for) == ("support-agent", "Jon Hale")
    assert page.expires_at - page.created_at == pytest.approx(timedelta(seconds=900), abs=timedelta(seconds=1))


def test_the_making_is_recorded_with_digest_and_deadline(acme):
    held = acme.hold()
    [entry] = entries_page(acme.tenant.id, EntryFilters(action="proposal.held"))
    assert (entry.object_id, entry.run_id, entry.call_id) == (str(held.id), str(held.run_id), held.call_id)
    assert entry.detail["digest"] == held.digest
    assert entry.detail["requires"] == [{"group": "finance", "count": 1}]


def test_a_call_that_is_expired_when_it_is_made_is_not_stored(acme):
    """S82: created already expired."""
    with pytest.raises(Conflict) as caught:
        acme.hold(expires_at=clock.now())
    assert caught.value.code == "EXPIRED"
    assert inbox(acme.mara.actor, view="all").rows == []


def test_the_same_call_id_with_another_amount_is_refused_and_the_first_stays(acme):
    """S2."""
    held = acme.hold(4900)
    with pytest.raises(Conflict) as caught:
        acme.hold(9000, run_id=held.run_id, call_id=held.call_id)
    assert caught.value.code == "CALL_DIFFERS"
    assert proposal_detail(acme.mara.actor, held.id).content.amount_minor == 4900


def test_what_was_rejected_in_this_run_is_refused_with_the_earlier_reason(acme):
    """S16: nobody is disturbed again; in another run it may be asked."""
    held = acme.hold()
    acme.decide(held, "reject", reason="The photo shows another lamp.")
    with pytest.raises(Conflict, match="another lamp") as caught:
        acme.hold(run_id=held.run_id)
    assert (caught.value.code, caught.value.detail["by"]) == ("REJECTED_BEFORE", "Mara Lind")
    assert inbox(acme.mara.actor, view="all").rows == []
    assert acme.hold(4600, run_id=held.run_id).row.status == "pending"
    assert acme.hold().row.status == "pending"


@pytest.mark.parametrize("decided", [False, True])
def test_holding_the_same_call_again_opens_the_next_round_and_voids_votes_and_permit(acme, decided):
    acme.publish(asking(("finance", 1 if decided else 2)))
    held = acme.hold()
    acme.decide(held)
    again = acme.hold(run_id=held.run_id, call_id=held.call_id)
    assert (again.id, again.row.round, again.row.status) == (held.id, 2, "pending")
    assert again.row.expires_at == held.row.expires_at
    page = proposal_detail(acme.mara.actor, held.id)
    assert [vote.counts for vote in page.people.votes] == [False]
    assert page.people.may_decide
    acme.decide(held, by=acme.mara)
    if not decided:
        acme.decide(held, by=acme.noor)
    assert [row.round for row in resolutions_open(run_id=held.run_id) if row.kind == "granted"][-1] == 2


def test_holding_again_after_the_deadline_gives_an_expired_one(acme_committed, stand_at):
    acme = acme_committed
    held = acme.hold()
    stand_at(held.row.expires_at)
    again = acme.hold(run_id=held.run_id, call_id=held.call_id)
    assert (again.id, again.row.status, again.row.round) == (held.id, "expired", 1)
    [row] = resolutions_open(run_id=held.run_id)
    assert (row.kind, row.by["reason"]) == ("expired", "Nobody decided in time; silence never approves.")


@pytest.mark.parametrize("end", ["reject", "redeem"])
def test_what_has_ended_or_is_being_executed_is_not_asked_again(acme, end):
    held = acme.hold()
    acme.decide(held, "reject" if end == "reject" else "approve")
    if end == "redeem":
        acme.redeem(held)
    with pytest.raises(Conflict) as caught:
        acme.hold(run_id=held.run_id, call_id=held.call_id)
    assert caught.value.code == "PROPOSAL_CLOSED"


def test_a_group_that_was_emptied_blocks_with_an_alarm(acme):
    """S8."""
    people.group_remove(actor=acme.tenant.admin.actor, group="finance", user_id=acme.mara.user_id)
    assert not proposal_detail(acme.noor.actor, acme.hold().id).people.nobody
    people.group_remove(actor=acme.tenant.admin.actor, group="finance", user_id=acme.noor.user_id)
    held = acme.hold()  # Jon and Ola are left in the group: it is asked for one, and its agent is the other's
    assert proposal_detail(acme.noor.actor, held.id).people.nobody
    alarms = entries_page(acme.tenant.id, EntryFilters(action="proposal.nobody_can_decide"))
    assert [(entry.object_id, entry.verdict) for entry in alarms] == [(str(held.id), "failed")]


def test_a_default_of_the_schema_is_in_what_is_shown_and_marked(acme):
    """S3: shown, hashed and executed are the same bytes."""
    held = acme.hold()
    rows = {row.path: row for row in proposal_detail(acme.mara.actor, held.id).content.call.rows}
    assert rows["/currency"].default
    assert rows["/notify/customer"].default
    assert not rows["/amount"].default
    assert b'"currency":"AUD"' in held.prepared.canonical


def test_holding_is_part_of_the_callers_transaction(acme_committed):
    try:
        with transaction.atomic():
            held = acme_committed.hold()
            raise RuntimeError("the run could not append its event")
    except RuntimeError:
        pass
    assert inbox(acme_committed.mara.actor, view="all").rows == []
    assert resolutions_open(run_id=held.run_id) == []


def test_another_tenants_rules_play_no_part(acme):
    globex = world(asking(("finance", 2)))
    assert acme.decide(acme.hold()).status == "granted"
    assert globex.decide(globex.hold()).status == "pending"
