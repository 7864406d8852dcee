"""approvals/services/proposal.py: the wish to see a target's state anew, and what an answer does."""

from datetime import timedelta
from uuid import uuid4

import pytest

from approvals.selectors.proposals import proposal_detail
from approvals.services.proposal import proposal_observe, proposal_refresh_ask, proposals_to_refresh
from approvals.services.resolution import resolutions_open
from audit.core.refusal import Conflict
from audit.store import clock
from tests.support.approvals import DENYING, STATE, asking, edit_as_owner, world

CHANGED = STATE | {"refunded": 2000, "left": 10000}


@pytest.fixture
def later(acme_committed, stand_at):
    """later(seconds) stands so long after now."""
    start = clock.now()
    return lambda seconds: stand_at(start + timedelta(seconds=seconds))


def wishes():
    return [wish.proposal_id for wish in proposals_to_refresh()]


def test_opening_a_page_records_one_wish_and_an_answer_ends_it(acme_committed, later):
    acme = acme_committed
    held = acme.hold()
    later(10)
    before = proposal_detail(acme.mara.actor, held.id).version
    assert proposal_refresh_ask(actor=acme.mara.actor, proposal_id=held.id)
    assert not proposal_refresh_ask(actor=acme.noor.actor, proposal_id=held.id)
    [wish] = proposals_to_refresh()
    assert (wish.proposal_id, wish.run_id, wish.call_id) == (held.id, held.run_id, held.call_id)
    assert proposal_detail(acme.mara.actor, held.id).version == before  # a wish changes nothing that is shown
    proposal_observe(proposal_id=held.id, state=STATE, read_at=clock.now())
    assert wishes() == []
    page = proposal_detail(acme.mara.actor, held.id)
    assert (page.round, page.content.effect.changed, page.content.effect.read_at) == (1, False, clock.now())
    assert page.version == before + 1


def test_a_state_that_was_just_read_is_not_wished_for(acme_committed, later):
    held = acme_committed.hold()
    later(1)
    assert not proposal_refresh_ask(actor=acme_committed.mara.actor, proposal_id=held.id)
    assert wishes() == []


def test_nothing_is_wished_for_where_nothing_is_left_to_decide_or_to_see(acme_committed, later):
    acme = acme_committed
    decided, overdue = acme.hold(100), acme.hold(200, expires_in_s=5)
    acme.decide(decided)
    later(10)
    foreign = world().mara.actor
    waiting = acme.hold(300)
    later(20)
    for actor, proposal_id in (
        (acme.mara.actor, decided.id),
        (acme.mara.actor, overdue.id),
        (acme.mara.actor, uuid4()),
        (foreign, waiting.id),
    ):
        assert not proposal_refresh_ask(actor=actor, proposal_id=proposal_id)
    assert wishes() == []


def test_a_target_that_could_not_be_read_ends_the_wish_and_changes_nothing(acme_committed, later):
    held = acme_committed.hold()
    later(10)
    proposal_refresh_ask(actor=acme_committed.mara.actor, proposal_id=held.id)
    proposal_observe(proposal_id=held.id, state=None, read_at=clock.now())
    assert wishes() == []
    assert proposal_detail(acme_committed.mara.actor, held.id).content.effect.read_at < clock.now()


def test_another_state_while_it_waits_opens_the_next_round(acme_committed, later):
    acme = acme_committed
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    acme.decide(held)
    later(10)
    proposal_observe(proposal_id=held.id, state=CHANGED, read_at=clock.now())
    page = proposal_detail(acme.mara.actor, held.id)
    assert (page.status, page.round, page.content.effect.changed) == ("pending", 2, True)
    assert page.content.held.opened_code == "STATE_CHANGED"
    assert "".join(piece.text for piece in page.content.effect.rows[0].now) == "A$20.00"
    with pytest.raises(Conflict) as caught:
        acme.decide(held, by=acme.noor, round=1)
    assert caught.value.code == "ROUND_CHANGED"
    assert resolutions_open(run_id=held.run_id) == []


def test_a_state_on_which_it_is_denied_closes_it(acme_committed, later):
    acme = acme_committed
    held = acme.hold()
    later(10)
    proposal_observe(proposal_id=held.id, state=STATE | {"left": 0, "refunded": 12000}, read_at=clock.now())
    assert proposal_detail(acme.mara.actor, held.id).status == "refused"
    [row] = resolutions_open(run_id=held.run_id)
    assert (row.kind, row.by["code"]) == ("refused", "AMOUNT_EXCEEDS_LEFT")


def test_todays_policy_is_asked_too_when_the_state_has_changed(acme_committed, later):
    acme = acme_committed
    held = acme.hold()
    acme.publish(DENYING)
    later(10)
    proposal_observe(proposal_id=held.id, state=CHANGED, read_at=clock.now())
    assert proposal_detail(acme.mara.actor, held.id).status == "refused"


def test_an_older_reading_than_the_one_known_changes_nothing(acme_committed, later):
    held = acme_committed.hold()
    later(10)
    proposal_observe(proposal_id=held.id, state=CHANGED, read_at=held.row.expires_at - timedelta(seconds=901))
    assert proposal_detail(acme_committed.mara.actor, held.id).round == 1


def test_a_change_after_the_decision_is_shown_and_left_to_the_dispatch(acme_committed, later):
    acme = acme_committed
    held = acme.hold()
    acme.decide(held)
    later(10)
    proposal_observe(proposal_id=held.id, state=CHANGED, read_at=clock.now())
    page = proposal_detail(acme.mara.actor, held.id)
    assert (page.status, page.round, page.content.effect.changed) == ("granted", 1, True)
    assert "".join(piece.text for piece in page.content.effect.seen_rows[0].now) == "A$20.00"
    assert acme.redeem(held, state=CHANGED).kind == "ask_again"


def test_an_altered_row_is_not_judged_by_its_bytes(acme_committed, later, owner_sql):
    held = acme_committed.hold()
    edit_as_owner(owner_sql, "approvals_proposal", "canonical = 'x'", f"id = '{held.id}'")
    later(10)
    proposal_observe(proposal_id=held.id, state=CHANGED, read_at=clock.now())
    assert owner_sql("SELECT status, round FROM approvals_proposal") == [("pending", 1)]


def test_an_answer_for_a_proposal_that_is_not_there_is_no_error(acme):
    proposal_observe(proposal_id=uuid4(), state=STATE, read_at=clock.now())
