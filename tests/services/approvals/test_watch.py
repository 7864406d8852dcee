"""approvals/selectors/watch.py: what live pages ask every few seconds is cheap, and tells whatever must be told."""

import time

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.selectors.watch import list_token, proposal_token
from approvals.services.permit import permit_settle
from audit.core.refusal import NotFound
from audit.store import clock
from tests.support import factories
from tests.support.approvals import asking


def tokens(acme, held, *shown):
    actor = acme.mara.actor
    return proposal_token(actor, held.id), list_token(actor, [each.id for each in shown])


def test_nothing_new_is_the_same_answer(acme):
    held = acme.hold()
    assert tokens(acme, held) == tokens(acme, held)


def test_a_vote_that_decides_nothing_yet_is_news(acme):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    before = tokens(acme, held)
    acme.decide(held)
    after = tokens(acme, held)
    assert before[0] != after[0]
    assert before[1] != after[1]


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_a_decision_is_news_for_the_page_for_who_shows_it_and_for_who_waits(acme, verdict):
    held = acme.hold()
    page, showing = tokens(acme, held, held)
    waiting = list_token(acme.mara.actor, [])
    acme.decide(held, verdict)
    assert tokens(acme, held, held)[0] != page
    assert tokens(acme, held, held)[1] != showing
    assert list_token(acme.mara.actor, []) != waiting


def test_a_further_proposal_is_news_for_a_list_and_none_for_another_page(acme):
    held = acme.hold()
    page, showing = tokens(acme, held, held)
    acme.hold(5000)
    assert tokens(acme, held, held) == (page, list_token(acme.mara.actor, [held.id]))
    assert list_token(acme.mara.actor, [held.id]) != showing


def test_a_deadline_that_passes_is_news_although_no_row_changed(acme):
    held = acme.hold(expires_in_s=1)
    before = tokens(acme, held, held)
    while clock.now() <= held.row.expires_at:
        time.sleep(0.02)
    after = tokens(acme, held, held)
    assert (before[0][1], after[0][1]) == ("pending", "expired")
    assert before[1] != after[1]


def test_what_happens_to_a_decided_one_is_news_only_for_who_shows_it(acme):
    held = acme.hold()
    acme.decide(held)
    showing, other = list_token(acme.mara.actor, [held.id]), list_token(acme.mara.actor, [])
    acme.redeem(held)
    permit_settle(proposal_id=held.id, outcome="succeeded", detail={})
    assert list_token(acme.mara.actor, [held.id]) != showing
    assert list_token(acme.mara.actor, []) == other


def test_a_foreign_proposal_is_unknown_and_no_news(acme):
    held = acme.hold()
    stranger = factories.person(factories.tenant()).actor
    before = list_token(stranger, [held.id])
    with pytest.raises(NotFound):
        proposal_token(stranger, held.id)
    acme.decide(held)
    assert list_token(stranger, [held.id]) == before


def test_each_is_one_query(acme):
    held = acme.hold()
    actor = acme.mara.actor
    with CaptureQueriesContext(connection) as queries:
        proposal_token(actor, held.id)
        list_token(actor, [held.id])
    assert len(queries) == 2
