"""Asking the agent, editing and claiming, over the pages: what is shown, what is kept, what is refused in words."""

import re

import pytest
from django.db import transaction
from django.test import Client

from approvals.models import Claim, Decision, Proposal, Question, Revision
from approvals.services.claim import proposal_claim
from approvals.services.question import question_answer
from tests.support import factories
from tests.support.approvals import POLICY, World, world
from tests.support.handling import ask, edit
from tests.web.test_decide import click
from tests.web.test_proposal import words

SMALLER = {"order_id": "ord_1029", "amount": 3900}


@pytest.fixture
def acme(db) -> World:
    return world()


@pytest.fixture
def held(acme):
    return acme.hold(note="ring twice")


@pytest.fixture
def mara(acme, signed_in):
    return signed_in(acme.mara)


def text(answer):
    """What a page says, whatever its status."""
    return answer.content.decode()


def at(held, verb):
    return f"/proposals/{held.id}/{verb}/"


def form(held, **fields):
    return {"digest": held.digest, "round": "1"} | fields


def filled(held, amount="3900", **fields):
    return form(held, **{"v.amount": amount, "v.note": "ring twice", "verb": "look"} | fields)


# -- editing ----------------------------------------------------------------------------------------------------


def test_the_form_has_the_calls_arguments_as_typed_fields(mara, held):
    html = text(mara.get(at(held, "edit")))
    assert 'name="v.amount" value="4500"' in html
    assert "45.00 AUD (raw 4500)" in html
    assert 'name="v.order_id"' not in html
    assert "Another one is another request" in words(html)


def test_the_difference_is_looked_at_before_anything_is_saved(mara, held):
    html = words(text(mara.post(at(held, "edit"), filled(held))))
    assert html.index("before") < html.index("45.00 AUD (raw 4500)") < html.index("39.00 AUD (raw 3900)")
    assert "you do not decide on it" in html
    assert Revision.objects.count() == 0


def test_what_was_looked_at_is_saved_and_leads_to_the_revision(mara, held):
    looked = mara.post(at(held, "edit"), filled(held))
    shown = looked.context["form"].preview.digest
    answer = mara.post(at(held, "edit"), filled(held, verb="save", shown=shown, reason="The cable was kept."))
    revision = Revision.objects.get()
    assert answer["Location"] == f"/proposals/{revision.proposal_id}/"
    page = words(text(mara.get(answer["Location"])))
    assert "Mara Lind edited it" in page
    assert "The cable was kept." in page
    assert "because you edited it" in page
    old = words(text(mara.get(f"/proposals/{held.id}/")))
    assert "Revision 2 took its place" in old


def test_a_field_that_cannot_be_read_says_why_and_keeps_what_was_typed(mara, held):
    answer = mara.post(at(held, "edit"), filled(held, amount="39,00", reason="Cable."))
    html = text(answer)
    assert answer.status_code == 422
    assert 'value="39,00"' in html
    assert "Write a whole number" in words(html)
    assert 'name="reason" value="Cable."' in html


@pytest.mark.parametrize(
    ("amount", "said"), [("0", "must be at least 1"), ("12001", "More than what is left to refund")]
)
def test_schema_and_checks_refuse_in_words_with_everything_kept(mara, held, amount, said):
    answer = mara.post(at(held, "edit"), filled(held, amount=amount))
    assert answer.status_code == 422
    assert said in words(text(answer))
    assert f'value="{amount}"' in text(answer)


def test_saving_something_else_than_was_looked_at_is_refused(mara, held):
    looked = mara.post(at(held, "edit"), filled(held))
    answer = mara.post(at(held, "edit"), filled(held, "3800", verb="save", shown=looked.context["form"].preview.digest))
    assert answer.status_code == 409
    assert "not what you looked at" in words(text(answer))
    assert Revision.objects.count() == 0


def test_another_tool_is_refused_in_words(mara, held):
    answer = mara.post(at(held, "edit"), filled(held, tool="get_order"))
    assert answer.status_code == 422
    assert "Another tool is a new request" in words(text(answer))


def test_an_edit_that_comes_after_the_decision_can_be_copied(acme, mara, held):
    acme.decide(held, by=acme.noor)
    answer = mara.post(at(held, "edit"), filled(held))
    assert answer.status_code == 409
    assert "What you wrote was not saved" in words(text(answer))
    assert "3900" in text(answer)


def test_a_session_that_ended_keeps_the_reason_of_an_edit(acme, held):
    client = Client()
    answer = client.post(at(held, "edit"), filled(held, reason="The cable was kept."))
    assert answer.status_code == 401
    sign_in = {"username": acme.mara.email, "password": acme.mara.password, "next": at(held, "edit")}
    client.post("/sign-in/", sign_in | {"kept": "The cable was kept."})
    assert "The cable was kept." in text(client.get(at(held, "edit")))


def test_the_page_offers_no_editing_where_the_policy_does_not(acme, mara):
    acme.publish(POLICY.replace("expires_in_s: 900", "expires_in_s: 900, editable: false"))
    held = acme.hold()
    assert at(held, "edit") not in text(mara.get(f"/proposals/{held.id}/"))
    assert mara.get(at(held, "edit")).status_code == 409


def test_a_change_that_hides_something_is_shown_with_escapes(acme, mara, held):
    row = edit(acme.noor, held.id, SMALLER | {"note": "pay\u202eeman"})
    html = text(mara.get(f"/proposals/{row.proposal_id}/"))
    assert "\u202e" not in html
    assert "U+202E" in html


# -- asking -----------------------------------------------------------------------------------------------------


def test_a_question_is_shown_as_open_until_the_agent_has_answered(acme, mara, held):
    answer = mara.post(at(held, "ask"), form(held, text="Is this the second lamp?"))
    assert answer["Location"] == f"/proposals/{held.id}/#p-talk"
    page = words(text(mara.get(f"/proposals/{held.id}/")))
    assert "Is this the second lamp?" in page
    assert "has not answered" in page
    with transaction.atomic():
        question_answer(
            actor=acme.actor, run_id=held.run_id, call_id=held.call_id, text="<b>Yes</b>\u202e, [see](http://x)"
        )
    html = text(mara.get(f"/proposals/{held.id}/"))
    assert "Written by the agent" in words(html)
    assert "not checked" in words(html)
    assert "&lt;b&gt;Yes&lt;/b&gt;" in html
    assert "U+202E" in html
    assert "\u202e" not in html


def test_a_refused_question_keeps_what_was_typed(acme, mara, held):
    ask(acme.noor, held.id)
    answer = mara.post(at(held, "ask"), form(held, text="And who broke it?"))
    assert answer.status_code == 409
    assert "Noor Aziz asked the agent" in words(text(answer))
    assert "And who broke it?" in text(answer)
    assert "And who broke it?" in text(mara.get(at(held, "ask")))


def test_a_question_of_a_hundred_kilobytes_is_refused_in_words_and_kept(mara, held):
    answer = mara.post(at(held, "ask"), form(held, text="why " * 25_000))
    assert answer.status_code == 422
    assert "at most 2,000" in words(text(answer))
    assert "why " * 24_999 in text(answer)
    assert Question.objects.count() == 0


def test_a_session_that_ended_keeps_the_question(acme, held):
    client = Client()
    assert client.post(at(held, "ask"), form(held, text="Which lamp?")).status_code == 401
    sign_in = {"username": acme.mara.email, "password": acme.mara.password, "next": at(held, "ask")}
    client.post("/sign-in/", sign_in | {"kept": "Which lamp?"})
    assert "Which lamp?" in text(client.get(at(held, "ask")))


def test_reading_the_pages_changes_nothing(mara, held):
    before = Proposal.objects.values_list("version", flat=True).get(pk=held.id)
    for verb in ("ask", "edit"):
        assert mara.get(at(held, verb)).status_code == 200
        assert mara.head(at(held, verb)).status_code == 200
    assert mara.get(at(held, "claim")).status_code == 405
    assert (Question.objects.count(), Revision.objects.count(), Claim.objects.count()) == (0, 0, 0)
    assert Proposal.objects.values_list("version", flat=True).get(pk=held.id) == before


# -- claiming ---------------------------------------------------------------------------------------------------


def test_a_claim_is_shown_to_both_and_keeps_nobody_from_deciding(acme, mara, held, signed_in):
    assert mara.post(at(held, "claim"), {"verb": "claim"}).status_code == 302
    assert "Claimed by you until" in words(text(mara.get(f"/proposals/{held.id}/")))
    noor = signed_in(acme.noor)
    page = words(text(noor.get(f"/proposals/{held.id}/")))
    assert "Claimed by Mara Lind until" in page
    assert "you may decide all the same" in page
    assert "claimed by Mara Lind until" in re.sub(r"<[^>]+>", "", text(noor.get("/")))
    assert click(noor, held).status_code == 302


def test_a_second_claim_is_refused_in_the_bar_and_a_release_frees_it(acme, mara, held):
    proposal_claim(actor=acme.noor.actor, proposal_id=held.id)
    answer = mara.post(at(held, "claim"), {"verb": "claim"}, headers={"HX-Request": "true"})
    assert answer.status_code == 409
    assert "Noor Aziz is looking at it" in words(text(answer))
    Claim.objects.all().delete()
    mara.post(at(held, "claim"), {"verb": "claim"})
    answer = mara.post(at(held, "claim"), {"verb": "release"}, headers={"HX-Request": "true"})
    assert "I am looking at it" in words(text(answer))
    assert Claim.objects.count() == 0


# -- reasons ----------------------------------------------------------------------------------------------------


def test_the_policys_reasons_are_offered_and_added_to_what_is_typed(acme, mara):
    acme.publish(POLICY.replace("expires_in_s: 900", 'expires_in_s: 900, reasons: ["Wrong amount", "Not our order"]'))
    bare, both = acme.hold(), acme.hold(700)
    assert '<option value="Not our order">' in text(mara.get(f"/proposals/{bare.id}/"))
    assert click(mara, bare, "reject", preset="Wrong amount").status_code == 302
    assert click(mara, both, "reject", preset="Wrong amount", reason="it was 7.").status_code == 302
    said = dict(Decision.objects.values_list("proposal_id", "reason"))
    assert said == {bare.id: "Wrong amount", both.id: "Wrong amount: it was 7."}


def test_a_reason_of_a_hundred_kilobytes_is_refused_in_words_and_kept(mara, held):
    answer = click(mara, held, "reject", reason="no " * 33_333)
    assert answer.status_code == 422
    assert "99,998 characters; at most 2,000" in words(text(answer))
    assert "no " * 33_332 in text(answer)
    assert Proposal.objects.get(pk=held.id).status == "pending"


def test_a_stranger_finds_none_of_these_pages(held, signed_in):
    client = signed_in(factories.person(factories.tenant(), groups=["finance"]))
    for verb in ("ask", "edit"):
        assert client.get(at(held, verb)).status_code == 404
    for verb in ("ask", "edit", "claim"):
        assert client.post(at(held, verb), filled(held, text="Why?")).status_code == 404


# -- history ----------------------------------------------------------------------------------------------------


def test_the_page_tells_of_an_earlier_rejection_and_of_what_was_started(acme, mara):
    acme.decide(acme.hold(), "reject", by=acme.noor, reason="Paid back already.")
    html = words(text(mara.get(f"/proposals/{acme.hold().id}/")))
    assert "This exact call was rejected by Noor Aziz" in html
    assert "Paid back already." in html
    assert re.search(r"This customer, Anna Berg\s*none\s*none", html)
