"""Executors against each other and against those who take the approval away: one permit, one dispatch."""

from collections import Counter
from uuid import uuid4

import pytest
from django.db import transaction

from access.services import people
from approvals.selectors.proposals import proposal_detail
from approvals.services.contract import contract_admit
from approvals.services.permit import Redeemed, Refused
from approvals.services.policy import policy_publish
from approvals.services.proposal import proposal_withdraw
from approvals.services.revoking import permit_revoke
from approvals.services.settling import permit_settle
from audit.core.refusal import Conflict
from audit.selectors.entries import EntryFilters, entries_page
from tests.core.approvals.documents import refund_document
from tests.races.approvals.test_decisions import in_thread, waiting_for_a_lock
from tests.support import factories
from tests.support.approvals import DENYING, POLICY


@pytest.fixture
def granted(acme):
    held = acme.hold()
    acme.decide(held)
    return held


def test_one_permit_is_redeemed_by_exactly_one_of_twenty(acme, race, granted):
    """S4."""
    dispatches = [uuid4() for _ in range(20)]
    answers = race(lambda i: acme.redeem(granted, dispatch_id=dispatches[i]))
    assert Counter(type(answer) for answer in answers) == {Redeemed: 1, Refused: 19}
    assert {answer.kind for answer in answers if isinstance(answer, Refused)} == {"taken"}
    [entry] = entries_page(acme.tenant.id, EntryFilters(action="permit.redeemed"))
    won = next(i for i, answer in enumerate(answers) if isinstance(answer, Redeemed))
    assert entry.detail["dispatch"] == str(dispatches[won])
    assert proposal_detail(acme.mara.actor, granted.id).status == "granted"


def test_a_redeeming_that_rolls_back_leaves_the_permit_to_the_next(acme, granted):
    with pytest.raises(RuntimeError), transaction.atomic():
        assert isinstance(acme.redeem(granted), Redeemed)
        raise RuntimeError("the intent could not be recorded")
    assert isinstance(acme.redeem(granted), Redeemed)


def test_a_given_back_permit_is_redeemed_by_exactly_one_of_twenty(acme, race, granted):
    acme.redeem(granted)
    permit_settle(proposal_id=granted.id, outcome="retry")
    answers = race(lambda i: acme.redeem(granted))
    assert Counter(type(answer) for answer in answers) == {Redeemed: 1, Refused: 19}


@pytest.mark.parametrize("deed", ["revoke", "withdraw"])
def test_an_approval_is_either_executed_or_taken_back(acme, race, deed):
    held = [acme.hold(100 + i) for i in range(10)]
    for one in held:
        acme.decide(one)

    def take_back(one):
        if deed == "revoke":
            return permit_revoke(actor=acme.tenant.admin.actor, proposal_id=one.id, reason="Stop.")
        with transaction.atomic():
            return proposal_withdraw(actor=acme.actor, run_id=one.run_id, call_id=one.call_id)

    answers = race(lambda i: take_back(held[i // 2]) if i % 2 else acme.redeem(held[i // 2]))
    for i, one in enumerate(held):
        redeemed, taken_back = answers[2 * i], answers[2 * i + 1]
        page = proposal_detail(acme.mara.actor, one.id)
        if isinstance(redeemed, Redeemed):
            assert isinstance(taken_back, Conflict)
            assert taken_back.code == "ALREADY_STARTED"
            assert (page.status, page.afterwards.permit) == ("granted", "redeemed")
        else:
            assert redeemed.kind in ("ask_again", "refused")
            assert page.status == {"revoke": "pending", "withdraw": "withdrawn"}[deed]


def test_nothing_is_redeemed_on_a_policy_that_was_replaced_before_the_redeeming_committed(acme, race):
    """A publish waits for the judgements under way; whoever judges after it judges by it (S72, S81)."""
    held = [acme.hold(100 + i) for i in range(19)]
    for one in held:
        acme.decide(one)
    admin = acme.tenant.admin.actor

    def one(i):
        if i == 19:
            return policy_publish(actor=admin, source=DENYING, based_on=1)
        return acme.redeem(held[i])

    answers = race(one)
    published = answers[19]
    assert published.number == 2
    entries = entries_page(acme.tenant.id, EntryFilters(action="permit.redeemed"))
    redeemed_at = {entry.object_id: entry.at for entry in entries}
    for i in range(19):
        if isinstance(answers[i], Redeemed):
            assert redeemed_at[str(held[i].id)] <= published.published_at
        else:
            assert (answers[i].kind, answers[i].code) == ("refused", "DENIED")


def test_a_publisher_waits_for_a_judgement_that_has_not_committed_yet(acme, owner_sql):
    """The same without luck: redeemed and not committed, published, committed, in force."""
    held, later = acme.hold(), acme.hold(200)
    acme.decide(held)
    acme.decide(later)
    admin = acme.tenant.admin.actor
    with transaction.atomic():
        assert isinstance(acme.redeem(held), Redeemed)
        thread, results = in_thread(lambda: policy_publish(actor=admin, source=DENYING, based_on=1))
        assert waiting_for_a_lock(owner_sql)
        assert results == []
    thread.join()
    assert results[0].number == 2
    assert acme.redeem(later).code == "DENIED"


def test_a_decider_who_leaves_meanwhile_is_either_counted_or_not_but_never_half(acme, race):
    held = [acme.hold(100 + i) for i in range(19)]
    for one in held:
        acme.decide(one)

    def deed(i):
        if i == 19:
            return people.group_remove(actor=acme.tenant.admin.actor, group="finance", user_id=acme.mara.user_id)
        return acme.redeem(held[i])

    answers = race(deed)
    for i in range(19):
        page = proposal_detail(acme.noor.actor, held[i].id)
        if isinstance(answers[i], Redeemed):
            assert (page.status, page.round, page.afterwards.permit) == ("granted", 1, "redeemed")
        else:
            assert answers[i].code == "DECIDER_CHANGED"
            assert (page.status, page.round, page.afterwards.permit) == ("pending", 2, "")


def test_only_one_of_twenty_publishers_publishes_from_a_version(acme, race):
    """S72: the others get a conflict that says who, when, which number, and what differs."""
    admin = acme.tenant.admin.actor
    sources = [POLICY.replace("by hand.", f"by hand, says {i}.") for i in range(20)]
    answers = race(lambda i: policy_publish(actor=admin, source=sources[i], based_on=1))
    won = [answer for answer in answers if not isinstance(answer, Exception)]
    assert [row.number for row in won] == [2]
    for answer in answers:
        if answer is not won[0]:
            assert isinstance(answer, Conflict)
            assert (answer.code, answer.detail["number"], answer.detail["by"]) == ("POLICY_CHANGED", 2, admin.name)
            assert answer.detail["at"] == won[0].published_at.isoformat()
            assert any(line.startswith("+") and "by hand, says" in line for line in answer.detail["diff"])


def test_of_twenty_first_publishers_of_a_tenant_one_publishes(committed_db, race):
    tenant = factories.tenant()
    rule = "version: 1\nrules:\n  - {{id: rule-{i}, tool: get_order, effect: allow}}\n"
    admin = tenant.admin.actor
    answers = race(lambda i: policy_publish(actor=admin, source=rule.format(i=i), based_on=None))
    assert Counter(type(answer).__name__ for answer in answers) == {"PolicyRow": 1, "Conflict": 19}


def test_of_twenty_admissions_of_one_new_contract_all_get_the_same_version(acme, race):
    document = refund_document({"/description": "The same new words."})
    rows = race(lambda i: contract_admit(actor=acme.tenant.admin.actor, document=document))
    assert {(row.number, row.id) for row in rows} == {(2, rows[0].id)}
    assert Counter(row.created for row in rows) == {True: 1, False: 19}
