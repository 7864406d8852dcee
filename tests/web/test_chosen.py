"""Several proposals decided with one click: so many single decisions, each about what was shown of it."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client

from access.services.delegation import delegation_give
from approvals.core.bulk import MOST
from approvals.models import Decision, Proposal
from approvals.services.contract import contract_admit
from audit.models import Entry
from audit.store import clock
from tests.core.approvals.documents import refund_document
from tests.support import factories
from tests.support.approvals import POLICY, World, world
from tests.web.test_proposal import words

PAGE = "/inbox/chosen/"


def text(answer):
    return answer.content.decode()


@pytest.fixture
def acme(db) -> World:
    return world()


@pytest.fixture
def mara(acme, signed_in):
    return signed_in(acme.mara)


@pytest.fixture(autouse=True)
def at_most(settings):
    settings.BULK_SUMS = {"AUD": Decimal(100)}


def look(client, *held):
    return client.get(PAGE, {"id": [str(one.id) for one in held]})


def choice(held, digest="", round_="1"):
    return f"{held.id}:{digest or held.digest}:{round_}"


def decide(client, *choices, verdict="approve", **fields):
    return client.post(PAGE, {"choice": list(choices), "verdict": verdict} | fields)


def statuses(*held):
    return [Proposal.objects.get(pk=one.id).status for one in held]


def test_the_list_offers_to_choose_what_one_may_decide(acme, mara, signed_in):
    held = acme.hold()
    assert f'name="id" value="{held.id}"' in text(mara.get("/"))
    owner = signed_in(acme.owner)
    assert f'value="{held.id}"' not in text(owner.get("/", {"view": "all"}))


def test_the_chosen_are_shown_whole_with_their_sum_and_recorded_as_shown(acme, mara):
    held = acme.hold(note="ring twice"), acme.hold(700)
    html = words(text(look(mara, *held)))
    assert "2 calls, together A$52.00" in html
    assert "ring twice" in html
    assert "45.00 AUD (raw 4500)" in html
    assert "Approve these 2 exact calls" in html
    assert Entry.objects.filter(action="proposal.shown").count() == 2
    assert statuses(*held) == ["pending", "pending"]


def test_each_is_a_decision_of_its_own_about_its_own_digest(acme, mara):
    held = acme.hold(), acme.hold(700)
    answer = decide(mara, *map(choice, held))
    assert "2 decided" in words(text(answer))
    assert statuses(*held) == ["granted", "granted"]
    assert dict(Decision.objects.values_list("proposal_id", "digest")) == {one.id: one.digest for one in held}
    assert Entry.objects.filter(action="proposal.decided", verdict="ok").count() == 2


def test_what_fails_is_listed_in_words_and_costs_the_others_nothing(acme, mara):
    good, stale, gone = acme.hold(), acme.hold(700), acme.hold(800)
    acme.decide(gone, by=acme.noor)
    html = words(text(decide(mara, choice(good), choice(stale, "0" * 64), choice(gone))))
    assert "1 decided, 2 not" in html
    assert "You decided on another call than this one" in html
    assert "Noor Aziz approved this at" in html
    assert statuses(good, stale, gone) == ["granted", "pending", "granted"]


def test_a_choice_of_another_round_is_not_decided(acme, mara):
    held = acme.hold()
    assert "asked anew since" in words(text(decide(mara, choice(held, round_="2"))))
    assert statuses(held) == ["pending"]


def test_many_are_rejected_with_one_reason(acme, mara):
    held = acme.hold(), acme.hold(90_000, state={"amount": 99_999, "refunded": 0, "currency": "AUD", "left": 99_999})
    answer = decide(mara, *map(choice, held), verdict="reject", reason="A runaway agent.")
    assert "2 decided" in words(text(answer))
    assert set(Decision.objects.values_list("reason", flat=True)) == {"A runaway agent."}


def test_rejecting_many_needs_a_reason_and_keeps_what_was_typed(acme, mara):
    held = acme.hold(), acme.hold(700)
    assert decide(mara, *map(choice, held), verdict="reject").status_code == 422
    answer = decide(mara, *map(choice, held), verdict="reject", reason="no " * 33_333)
    assert answer.status_code == 422
    assert "at most 2,000" in words(text(answer))
    assert "no " * 33_332 in text(answer)
    assert statuses(*held) == ["pending", "pending"]


def test_above_the_sum_nothing_is_approved_and_rejecting_is_still_offered(acme, mara):
    held = acme.hold(6_000), acme.hold(4_001)
    html = words(text(look(mara, *held)))
    assert "Together they come to A$100.01; at most A$100.00" in html
    assert "Reject 2" in html
    assert "exact calls" not in html
    assert decide(mara, *map(choice, held)).status_code == 409
    assert statuses(*held) == ["pending", "pending"]


def test_calls_of_different_tools_are_not_decided_together(acme, mara):
    contract_admit(actor=acme.tenant.admin.actor, document=refund_document({"/name": "cancel_order"}))
    acme.publish(POLICY + "  - {id: other, tool: cancel_order, effect: ask, approvers: [{group: finance, count: 1}]}\n")
    held = acme.hold(), acme.hold(700, tool="cancel_order")
    assert "cancel_order and refund_order" in words(text(look(mara, *held)))
    for verdict in ("approve", "reject"):
        answer = decide(mara, *map(choice, held), verdict=verdict, reason="Both.")
        assert answer.status_code == 409
    assert statuses(*held) == ["pending", "pending"]


def test_what_has_to_be_read_by_itself_is_rejected_here_but_not_approved(acme, mara):
    short, long = acme.hold(), acme.hold(700, note="x" * 1_900)
    hidden = acme.hold(800, note="pay\u202eeman")
    html = words(text(look(mara, short, long, hidden)))
    assert "read to their end first" in html
    assert "hide or imitate" in html
    assert "Approve this exact call" in html
    html = words(text(decide(mara, choice(short), choice(long), choice(hidden))))
    assert "1 decided, 2 not" in html
    assert statuses(short, long, hidden) == ["granted", "pending", "pending"]


def test_what_waits_no_more_is_said_and_not_sent(acme, mara):
    held, gone = acme.hold(), acme.hold(700)
    acme.decide(gone, "reject", by=acme.noor)
    html = text(look(mara, held, gone))
    assert "Not decided here" in words(html)
    assert html.count('name="choice"') == 1


def test_nothing_chosen_very_many_and_nonsense_are_answered_in_words(acme, mara):
    assert "Nothing is chosen" in words(text(mara.get(PAGE, {"id": ["x", ""]})))
    assert decide(mara).status_code == 409
    assert decide(mara, "x:y:z", ":::", f"{acme.hold().id}::").status_code == 409
    many = [acme.hold(100 + n) for n in range(MOST + 1)]
    assert f"at most {MOST}" in words(text(decide(mara, *map(choice, many), verdict="reject", reason="No.")))
    assert set(statuses(*many)) == {"pending"}


def test_foreign_proposals_are_passed_over(acme, mara):
    other = world()
    held = other.hold()
    mine = acme.hold()
    assert look(mara, held).status_code == decide(mara, choice(held)).status_code == 404
    assert text(look(mara, held, mine)).count('name="choice"') == 1
    assert "1 decided, 1 not" in words(text(decide(mara, choice(held), choice(mine))))
    assert statuses(held, mine) == ["pending", "granted"]


def test_a_session_that_ended_keeps_the_reason_and_the_choice(acme):
    held, client = acme.hold(), Client()
    answer = decide(client, choice(held), verdict="reject", reason="Not ours.")
    assert answer.status_code == 401
    assert f"{PAGE}?id={held.id}" in text(answer)
    sign_in = {"username": acme.mara.email, "password": acme.mara.password, "next": f"{PAGE}?id={held.id}"}
    arrived = client.post("/sign-in/", sign_in | {"kept": "Not ours."})
    assert "Not ours." in text(client.get(arrived["Location"]))


def test_nobody_decides_together_what_they_may_not_decide_alone(acme, signed_in):
    held = acme.hold()
    client = signed_in(acme.owner)
    assert "Not decided here" in words(text(look(client, held)))
    assert "the agent that asked is yours" in words(text(decide(client, choice(held))))
    assert statuses(held) == ["pending"]
    assert Decision.objects.count() == 0


def test_who_may_decide_for_somebody_too_decides_together_as_themselves(acme, mara):
    anna = factories.person(acme.tenant, name="Anna Berg", groups=["finance"])
    until = clock.now() + timedelta(hours=1)
    delegation_give(actor=anna.actor, to_user_id=acme.mara.user_id, ends_at=until)
    held = acme.hold()
    assert "you decide as yourself" in text(look(mara, held))
    assert decide(mara, choice(held)).status_code == 200
    assert statuses(held) == ["granted"]
    assert [(str(one.reviewer_id), one.for_user_id) for one in Decision.objects.all()] == [(acme.mara.user_id, None)]
