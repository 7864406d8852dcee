"""approvals/services/again.py: the one case in which a proposal's deadline moves on."""

from datetime import timedelta

import pytest
from django.db import Error, connection, transaction

from approvals.models import Permit
from approvals.selectors.proposals import proposal_detail
from approvals.services.again import proposal_ask_after_unknown
from approvals.services.permit import Redeemed
from approvals.services.settling import permit_settle
from audit.core.refusal import Conflict, NotFound
from audit.store import clock
from tests.support import factories
from tests.support.approvals import edit_as_owner


@pytest.fixture
def unknown(acme_committed):
    acme = acme_committed
    held = acme.hold()
    acme.decide(held)
    assert isinstance(acme.redeem(held), Redeemed)
    permit_settle(proposal_id=held.id, outcome="unknown", detail={})
    return held


@pytest.fixture
def ola(acme_committed):
    return factories.person(acme_committed.tenant, roles=["operator"], name="Ola Brandt")


def ask(ola, held, **changes):
    with transaction.atomic():
        return proposal_ask_after_unknown(actor=ola.actor, proposal_id=held.id, reason="Shows none.", **changes)


def test_a_later_round_has_a_deadline_of_its_own_and_no_votes(acme_committed, unknown, ola, stand_at):
    acme = acme_committed
    later = clock.now() + timedelta(hours=2)
    stand_at(later)
    row = ask(ola, unknown)
    assert (row.status, row.round) == ("pending", 2)
    assert later < row.expires_at <= later + timedelta(seconds=3600)
    detail = proposal_detail(acme.mara.actor, unknown.id)
    assert (detail.tampered, detail.people.left, detail.afterwards.outcome) == ("", 1, "")
    assert [permit.status for permit in Permit.objects.filter(proposal_id=unknown.id)] == ["void"]
    acme.decide(unknown, by=acme.noor)
    assert isinstance(acme.redeem(unknown), Redeemed)


def test_the_calls_own_deadline_is_never_passed(unknown, ola):
    latest = clock.now() + timedelta(seconds=30)
    assert ask(ola, unknown, latest=latest).expires_at == latest


def test_only_an_unknown_outcome_is_asked_anew(acme_committed, unknown, ola):
    waiting = acme_committed.hold(amount=4600)
    granted = acme_committed.hold(amount=4700)
    acme_committed.decide(granted)
    permit_settle(proposal_id=unknown.id, outcome="succeeded", detail={})
    for held in (waiting, granted, unknown):
        with pytest.raises(Conflict) as refused:
            ask(ola, held)
        assert refused.value.code == "NOT_UNKNOWN"
    stranger = factories.person(factories.tenant(), roles=["operator"])
    with pytest.raises(NotFound):
        ask(stranger, unknown)


def test_a_deadline_that_has_passed_is_not_asked_about(unknown, ola):
    with pytest.raises(Conflict) as refused:
        ask(ola, unknown, latest=clock.now() - timedelta(seconds=1))
    assert refused.value.code == "EXPIRED"
    assert proposal_detail(ola.actor, unknown.id).status == "granted"


def test_no_other_statement_of_ours_moves_a_deadline_on(unknown):
    for change in ("round = 1", "round = 3, status = 'pending'", "round = 2, status = 'granted'"):
        with pytest.raises(Error, match="never changes"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE approvals_proposal SET expires_at = expires_at + interval '1 hour', {change} WHERE id = %s",
                [unknown.id],
            )


def test_a_deadline_that_the_log_does_not_know_of_is_noticed(acme_committed, unknown, ola, owner_sql):
    ask(ola, unknown)
    assert proposal_detail(ola.actor, unknown.id).tampered == ""
    edit_as_owner(
        owner_sql, "approvals_proposal", "expires_at = expires_at + interval '1 second'", f"id = '{unknown.id}'"
    )
    assert "not the one that was made" in proposal_detail(ola.actor, unknown.id).tampered
