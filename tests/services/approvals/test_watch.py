"""approvals/selectors/watch.py: what live pages ask every few seconds is cheap, and tells whatever must be told."""

import time
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.selectors.watch import list_tokens, proposal_tokens
from approvals.services.claim import proposal_claim
from approvals.services.settling import permit_settle
from audit.store import clock
from tests.support import factories
from tests.support.approvals import STATE, asking


def of_page(held):
    return proposal_tokens([held.id]).get(held.id)


def of_list(tenant):
    return list_tokens([UUID(tenant.id)]).get(UUID(tenant.id))


def tokens(acme, held):
    return of_page(held), of_list(acme.tenant)


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
def test_a_decision_is_news_for_the_page_and_for_the_list(acme, verdict):
    held = acme.hold()
    before = tokens(acme, held)
    acme.decide(held, verdict)
    after = tokens(acme, held)
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_a_further_proposal_is_news_for_the_list_and_none_for_another_page(acme):
    held = acme.hold()
    page, waiting = tokens(acme, held)
    acme.hold(5000, state=STATE | {"customer": "Ben Koch"})
    assert of_page(held) == page
    assert of_list(acme.tenant) != waiting


def test_a_deadline_that_passes_is_news_although_no_row_changed(acme):
    held = acme.hold(expires_in_s=1)
    before = tokens(acme, held)
    while clock.now() <= held.row.expires_at:
        time.sleep(0.02)
    after = tokens(acme, held)
    assert (before[0][1], after[0][1]) == ("pending", "expired")
    assert before[1] != after[1]


def test_what_happens_to_a_decided_one_is_news_for_its_page(acme):
    held = acme.hold()
    acme.decide(held)
    page = of_page(held)
    acme.redeem(held)
    started = of_page(held)
    permit_settle(proposal_id=held.id, outcome="succeeded", detail={})
    assert len({page, started, of_page(held)}) == 3


def test_another_tenants_proposal_is_no_news(acme):
    acme.hold()
    stranger = factories.tenant()
    assert of_list(stranger) is None
    other = of_list(acme.tenant)
    assert of_list(acme.tenant) == other


def test_each_is_one_query_however_many_are_asked_for(acme):
    held = [acme.hold(), acme.hold(5000)]
    with CaptureQueriesContext(connection) as queries:
        proposal_tokens([each.id for each in held])
        list_tokens([UUID(acme.tenant.id), UUID(factories.tenant().id)])
    assert len([query for query in queries if "approvals_proposal" in query["sql"]]) == 3


def test_what_a_pages_history_is_made_of_is_news_for_it_while_it_waits(acme):
    """The same call asked and rejected elsewhere, and a call for the same customer."""
    held = acme.hold()
    seen = [of_page(held)]
    same = acme.hold()
    seen.append(of_page(held))
    acme.decide(same, "reject")
    seen.append(of_page(held))
    acme.hold(5000)
    seen.append(of_page(held))
    assert len(set(seen)) == 4
    acme.decide(held)
    decided = of_page(held)
    acme.hold(5100)
    assert of_page(held) == decided, "what is decided needs no history"


def test_a_claim_that_lapses_is_news_although_no_row_changed(acme, stand_at):
    stand_at(clock.now())
    held = acme.hold()
    claim = proposal_claim(actor=acme.mara.actor, proposal_id=held.id)
    stand_at(claim.until - timedelta(milliseconds=1))
    before = of_page(held)
    stand_at(claim.until)
    assert before != of_page(held)
