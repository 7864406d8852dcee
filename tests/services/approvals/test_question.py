"""approvals/services/question.py: the agent is asked once, answers once, and the clock follows the policy (S20)."""

from datetime import timedelta

import pytest
from django.db import Error, transaction

from approvals.core.rounds import MOST_STOPPED
from approvals.models import Proposal, Question
from approvals.selectors.links import proposal_link
from approvals.selectors.proposals import proposal_detail
from approvals.services.question import question_answer, question_ask, question_take, questions_untold
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.models import Entry
from audit.store import clock
from tests.support import factories
from tests.support.approvals import POLICY, Held, World
from tests.support.handling import ask, edit

STOPPING = POLICY.replace("expires_in_s: 900", "expires_in_s: 900, question_clock: stops")


def answer(acme: World, held: Held, text: str = "The second one.", **changes: object):
    with transaction.atomic():
        return question_answer(actor=acme.actor, run_id=held.run_id, call_id=held.call_id, text=text, **changes)  # type: ignore[arg-type]


def test_a_question_is_open_until_the_agent_has_answered(acme):
    held = acme.hold()
    asked = ask(acme.mara, held.id)
    link = proposal_link(acme.actor, held.id)
    assert link is not None
    assert link.question is not None
    assert (link.question.text, link.question.by) == ("Is this the second lamp?", "Mara Lind")
    assert answer(acme, held).id == asked.id
    link = proposal_link(acme.actor, held.id)
    assert link is not None
    assert link.question is None
    kept = Question.objects.get()
    assert (kept.answer, kept.answered_at is None) == ("The second one.", False)


def test_the_same_click_twice_is_one_question(acme):
    held = acme.hold()
    first, second = ask(acme.mara, held.id), ask(acme.mara, held.id)
    assert (first.id, first.repeated, second.repeated) == (second.id, False, True)
    assert Entry.objects.filter(action="proposal.question_asked", verdict="ok").count() == 1


@pytest.mark.parametrize("who", ["mara", "noor"])
def test_another_question_waits_for_the_answer(acme, who):
    held = acme.hold()
    ask(acme.mara, held.id)
    with pytest.raises(Conflict, match="Mara Lind asked the agent") as caught:
        ask(getattr(acme, who), held.id, "And who broke it?")
    assert caught.value.code == "QUESTION_OPEN"
    answer(acme, held)
    assert not ask(acme.noor, held.id, "And who broke it?").repeated


def test_a_question_is_told_to_its_run_once(acme):
    held = acme.hold()
    asked = ask(acme.mara, held.id)
    assert [(row.id, row.run_id) for row in questions_untold()] == [(asked.id, held.run_id)]
    with transaction.atomic():
        taken = question_take(question_id=asked.id)
        assert taken is not None
        assert taken.text == asked.text
        assert question_take(question_id=asked.id) is None
    assert questions_untold() == []


def test_a_question_can_be_taken_up_only_in_a_transaction(acme_committed):
    with pytest.raises(RuntimeError, match="transaction"):
        question_take(question_id=ask(acme_committed.mara, acme_committed.hold().id).id)


def test_an_answer_is_once_and_the_same_again_is_a_normal_answer(acme):
    held = acme.hold()
    ask(acme.mara, held.id)
    assert not answer(acme, held).repeated
    assert answer(acme, held, " The second one. ").repeated
    with pytest.raises(Conflict) as caught:
        answer(acme, held, "No, the first.")
    assert caught.value.code == "NO_QUESTION"


def test_an_answer_that_nobody_asked_for_is_refused(acme):
    with pytest.raises(Conflict) as caught:
        answer(acme, acme.hold())
    assert caught.value.code == "NO_QUESTION"


def test_an_answer_to_a_call_that_was_decided_meanwhile_is_refused(acme):
    held = acme.hold()
    ask(acme.mara, held.id)
    acme.decide(held, "reject", by=acme.noor)
    with pytest.raises(Conflict, match="Nobody waits") as caught:
        answer(acme, held)
    assert caught.value.code == "CLOSED"
    link = proposal_link(acme.actor, held.id)
    assert link is not None
    assert link.question is None


def test_only_the_agent_that_asked_answers(acme):
    held = acme.hold()
    ask(acme.mara, held.id)
    other = factories.agent(acme.tenant, acts_for=[acme.customer_care])
    with pytest.raises(NotFound), transaction.atomic():
        question_answer(
            actor=other.actor(on_behalf_of=acme.customer_care.user_id),
            run_id=held.run_id,
            call_id=held.call_id,
            text="x",
        )


@pytest.mark.parametrize(("text", "code"), [(" \u200b ", "QUESTION_REQUIRED"), ("x" * 100_000, "QUESTION_TOO_LONG")])
def test_a_question_says_something_and_not_too_much(acme, text, code):
    held = acme.hold()
    with pytest.raises(Invalid) as caught:
        ask(acme.mara, held.id, text)
    assert caught.value.code == code


def test_an_empty_answer_is_refused_and_the_question_stays_open(acme):
    held = acme.hold()
    ask(acme.mara, held.id)
    with pytest.raises(Invalid) as caught:
        answer(acme, held, "\u2060")
    assert caught.value.code == "ANSWER_REQUIRED"
    assert not answer(acme, held).repeated


@pytest.mark.parametrize("who", ["customer_care", "owner"])
def test_whoever_may_not_decide_it_may_not_ask_about_it(acme, who):
    with pytest.raises(Forbidden):
        ask(getattr(acme, who), acme.hold().id)


def test_a_question_is_about_what_the_page_showed(acme):
    held = acme.hold()
    with pytest.raises(Conflict) as caught:
        question_ask(actor=acme.mara.actor, proposal_id=held.id, digest="0" * 64, round=1, text="Why?")
    assert caught.value.code == "DIGEST_CHANGED"


def test_the_clock_runs_unless_the_policy_says_otherwise(acme):
    held = acme.hold()
    ask(acme.mara, held.id)
    proposal = Proposal.objects.get(pk=held.id)
    assert (proposal.expires_at, proposal.stopped) == (held.row.expires_at, timedelta(0))


class TestAStoppedClock:
    """`question_clock: stops`."""

    @pytest.fixture
    def acme(self, acme_committed: World) -> World:
        acme_committed.publish(STOPPING)
        return acme_committed

    def test_the_time_to_decide_stands_still_while_the_question_is_open(self, acme, stand_at):
        start = clock.now()
        stand_at(start)
        held = acme.hold()
        stand_at(start + timedelta(minutes=5))
        ask(acme.mara, held.id)
        assert Proposal.objects.get(pk=held.id).expires_at == held.row.expires_at + MOST_STOPPED
        stand_at(start + timedelta(hours=2))
        answer(acme, held)
        proposal = Proposal.objects.get(pk=held.id)
        stopped = timedelta(hours=1, minutes=55)
        assert (proposal.expires_at, proposal.stopped) == (held.row.expires_at + stopped, stopped)
        detail = proposal_detail(acme.noor.actor, held.id)
        assert (detail.tampered, detail.status) == ("", "pending")
        acme.decide(held, by=acme.noor)

    def test_no_more_than_a_day_is_stopped_however_often_one_asks(self, acme, stand_at):
        start = clock.now()
        stand_at(start)
        held = acme.hold()
        for hours in (10, 20):
            ask(acme.mara, held.id, f"Question {hours}?")
            stand_at(start + timedelta(hours=hours))
            answer(acme, held, f"Answer {hours}.")
        ask(acme.mara, held.id, "And now?")
        assert Proposal.objects.get(pk=held.id).expires_at == held.row.expires_at + timedelta(hours=24)
        stand_at(start + timedelta(hours=24, minutes=15))
        assert proposal_detail(acme.noor.actor, held.id).status == "expired"

    def test_an_edit_ends_the_standing_still(self, acme, stand_at):
        start = clock.now()
        stand_at(start)
        held = acme.hold()
        ask(acme.mara, held.id)
        stand_at(start + timedelta(hours=1))
        row = edit(acme.mara, held.id, {"order_id": "ord_1029", "amount": 3900})
        revision = Proposal.objects.get(pk=row.proposal_id)
        assert revision.expires_at == held.row.expires_at + timedelta(hours=1)
        assert proposal_detail(acme.noor.actor, revision.pk).tampered == ""

    def test_the_application_cannot_move_a_deadline_by_calling_it_stopped_time(self, acme):
        held = acme.hold()
        for change in (
            {"expires_at": held.row.expires_at + timedelta(hours=1)},
            {"expires_at": held.row.expires_at + timedelta(hours=25), "stopped": timedelta(hours=25)},
        ):
            with pytest.raises(Error, match=r"never changes|approvals_proposal_stopped"), transaction.atomic():
                Proposal.objects.filter(pk=held.id).update(**change)

    def test_stopped_time_without_a_question_in_the_log_is_an_edit(self, acme):
        held = acme.hold()
        stopped = timedelta(hours=5)
        Proposal.objects.filter(pk=held.id).update(expires_at=held.row.expires_at + stopped, stopped=stopped)
        with pytest.raises(Conflict) as caught:
            acme.decide(held)
        assert caught.value.detail == {"what": "stopped"}

    def test_stopped_time_beyond_what_the_answer_told_of_is_an_edit(self, acme, stand_at):
        start = clock.now()
        stand_at(start)
        held = acme.hold()
        ask(acme.mara, held.id)
        stand_at(start + timedelta(minutes=5, milliseconds=900))
        answer(acme, held)
        assert proposal_detail(acme.noor.actor, held.id).tampered == ""
        stood = Proposal.objects.get(pk=held.id)
        more = timedelta(hours=20)
        Proposal.objects.filter(pk=held.id).update(expires_at=stood.expires_at + more, stopped=stood.stopped + more)
        with pytest.raises(Conflict) as caught:
            acme.decide(held)
        assert caught.value.detail == {"what": "stopped"}

    def test_so_is_what_a_revision_claims_beyond_its_own_making(self, acme, stand_at):
        start = clock.now()
        stand_at(start)
        held = acme.hold()
        ask(acme.mara, held.id)
        stand_at(start + timedelta(hours=1))
        revision = edit(acme.mara, held.id, {"order_id": "ord_1029", "amount": 3900}).proposal_id
        stood, more = Proposal.objects.get(pk=revision), timedelta(hours=3)
        Proposal.objects.filter(pk=revision).update(expires_at=stood.expires_at + more, stopped=stood.stopped + more)
        assert "not the one that was made" in proposal_detail(acme.noor.actor, revision).tampered


def test_a_question_stays_as_it_was_asked_and_an_answer_as_it_was_given(acme):
    held = acme.hold()
    ask(acme.mara, held.id)
    for change in ({"text": "Is it fine?"}, {"asked_by_name": "Noor Aziz"}):
        with pytest.raises(Error, match="stays as it was asked"), transaction.atomic():
            Question.objects.update(**change)
    answer(acme, held)
    with pytest.raises(Error, match="answered once"), transaction.atomic():
        Question.objects.update(answer="Yes.")
