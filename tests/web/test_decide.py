"""The click: it carries what was shown, it counts once, and whoever comes second or late reads a plain sentence."""

import re
from uuid import uuid4

import pytest
from django.test import Client

from access.services import people
from approvals.models import Decision, Permit, Proposal
from approvals.services.proposal import proposal_cancel_for_run, proposal_observe
from audit.models import Entry
from audit.store import clock
from tests.support import factories
from tests.support.approvals import STATE, World, asking, world
from tests.web.test_proposal import text, wait_until_past, words

HTMX = {"HX-Request": "true"}


@pytest.fixture
def acme(db) -> World:
    return world()


@pytest.fixture
def held(acme):
    return acme.hold()


@pytest.fixture
def mara(acme, signed_in):
    return signed_in(acme.mara)


def click(client, held, verdict="approve", *, headers=None, **fields):
    form = {"verdict": verdict, "digest": held.digest, "round": "1", "reason": ""} | fields
    form = {name: value for name, value in form.items() if value is not None}
    return client.post(f"/proposals/{held.id}/decide/", form, headers=headers or {})


def status(held):
    return Proposal.objects.get(pk=held.id).status


# -- what counts ------------------------------------------------------------------------------------------------


def test_an_approval_grants_and_leads_back_to_the_page(mara, held):
    answer = click(mara, held, reason="ticket checked")
    assert (answer.status_code, answer["Location"]) == (302, f"/proposals/{held.id}/")
    assert status(held) == "granted"
    assert Permit.objects.get(proposal_id=held.id).status == "ready"
    assert Decision.objects.get(proposal_id=held.id).reason == "ticket checked"


def test_a_rejection_with_its_reason_rejects(mara, held):
    assert click(mara, held, "reject", reason="not our parcel").status_code == 302
    assert status(held) == "rejected"
    assert "not our parcel" in words(text(mara.get(f"/proposals/{held.id}/")))


def test_htmx_gets_the_changed_parts_of_the_page_at_once(mara, held):
    html = text(click(mara, held, headers=HTMX))
    assert "<html" not in html
    assert html.lstrip().startswith('<section class="act is-over" id="p-act"')
    for part in ("p-head", "p-notices", "p-outcome", "p-effect", "p-people"):
        assert re.search(rf'id="{part}"[^>]*hx-swap-oob="true"', html)
    assert "Approved by Mara Lind" in words(html)
    assert 'id="p-call"' not in html


def test_a_double_click_is_one_record_and_a_normal_answer(mara, held):
    assert [click(mara, held).status_code for _ in range(2)] == [302, 302]
    assert Decision.objects.filter(proposal_id=held.id).count() == 1


def test_the_first_of_two_approvals_runs_nothing(acme, mara):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    assert click(mara, held).status_code == 302
    assert status(held) == "pending"
    assert not Permit.objects.filter(proposal_id=held.id).exists()


# -- what does not ------------------------------------------------------------------------------------------------


def test_a_rejection_without_a_reason_is_refused_and_says_what_is_missing(mara, held):
    html = text(click(mara, held, "reject", reason="  \u200b "), 422)
    assert "a reason is needed" in words(html)
    assert 'aria-invalid="true" autofocus' in html
    assert status(held) == "pending"


def test_the_second_decider_reads_who_decided_when_and_what_now(acme, signed_in, held):
    acme.decide(held, "reject")
    html = text(click(signed_in(acme.noor), held, reason="looks right to me"), 409)
    said = words(html)
    assert "Your click came after the decision and changed nothing." in said
    assert re.search(r"Rejected by Mara Lind at \d\d:\d\d:\d\d AED?T\. Nothing ran", said)
    assert "What you wrote was not recorded." in said
    assert "looks right to me" in html
    assert status(held) == "rejected"
    assert Decision.objects.filter(proposal_id=held.id).count() == 1


def test_a_late_decider_reads_when_the_time_ended(acme, mara):
    held = acme.hold(expires_in_s=1)
    wait_until_past(held)
    said = words(text(click(mara, held, reason="sorry, lunch"), 409))
    assert "Your click came after the time was up and changed nothing." in said
    assert re.search(r"The time ended at \d\d:\d\d:\d\d AED?T", said)
    assert Decision.objects.count() == 0


def test_a_click_on_a_cancelled_call_says_that_it_never_ran(acme, mara, held):
    proposal_cancel_for_run(actor=acme.tenant.admin.actor, run_id=held.run_id)
    said = words(text(click(mara, held), 409))
    assert "It was cancelled with its run and never ran" in said


@pytest.mark.parametrize("digest", ["0" * 64, "", None, "x", "<b>", "a" * 10_000])
def test_a_click_that_carries_another_digest_decides_nothing_and_keeps_the_reason(mara, held, digest):
    html = text(click(mara, held, digest=digest, reason="typed with care"), 409)
    assert ">typed with care</textarea>" in html
    assert "Load the page again" in words(html)
    assert (status(held), Decision.objects.count()) == ("pending", 0)


def test_a_page_of_an_earlier_round_decides_nothing_on_what_it_never_showed(acme, mara, held):
    acme.publish(asking(("finance", 2)))
    proposal_observe(proposal_id=held.id, state=STATE | {"refunded": 2000, "left": 10000}, read_at=clock.now())
    html = text(click(mara, held, reason="typed with care"), 409)
    assert "This is asked anew since you opened the page" in words(html)
    assert 'name="round" value="2"' in html
    assert ">typed with care</textarea>" in html
    assert (status(held), Decision.objects.count()) == ("pending", 0)


@pytest.mark.parametrize("number", ["", "x", "-1", "1.0", "٢", "9" * 30, None])
def test_a_click_that_does_not_say_which_round_it_saw_decides_nothing(mara, held, number):
    text(click(mara, held, round=number), 409)
    assert (status(held), Decision.objects.count()) == ("pending", 0)


@pytest.mark.parametrize("verdict", ["", "APPROVE", "maybe", None, "approve\0"])
def test_a_word_that_is_no_verdict_decides_nothing(mara, held, verdict):
    text(click(mara, held, verdict), 422)
    assert (status(held), Decision.objects.count()) == ("pending", 0)


@pytest.mark.parametrize("reason", ["a\0b", "x" * 2001])
def test_a_reason_that_cannot_be_kept_is_refused_in_words(mara, held, reason):
    text(click(mara, held, "reject", reason=reason), 422)
    assert (status(held), Decision.objects.count()) == ("pending", 0)


@pytest.mark.parametrize(
    ("who", "why"), [("customer_care", "the agent acts for you"), ("owner", "the agent that asked is yours")]
)
def test_nobody_decides_on_their_own_call_by_a_forged_form(acme, signed_in, held, who, why):
    html = text(click(signed_in(getattr(acme, who)), held), 403)
    assert why in words(html)
    assert Decision.objects.count() == 0
    refused = Entry.objects.filter(action="proposal.decided", verdict="refused").get()
    assert refused.detail["code"] == "SELF_APPROVAL"


def test_somebody_removed_from_the_group_while_the_page_was_open_is_refused(acme, mara, held):
    text(mara.get(f"/proposals/{held.id}/"))
    people.group_remove(actor=acme.tenant.admin.actor, group="finance", user_id=acme.mara.user_id)
    html = text(click(mara, held, reason="typed with care"), 403)
    assert "you are in none of these" in words(html)
    assert "typed with care" in html
    assert Decision.objects.count() == 0


def test_a_deactivated_person_decides_nothing(acme, mara, held):
    people.member_change(actor=acme.tenant.admin.actor, membership_id=acme.mara.membership_id, active=False)
    text(click(mara, held), 401)
    assert Decision.objects.count() == 0


def test_a_foreign_proposal_looks_like_an_unknown_one(acme, signed_in, held):
    stranger = signed_in(factories.person(factories.tenant(), groups=["finance"]))
    unknown = type(held)(row=held.row, prepared=held.prepared, call_id="", run_id=held.run_id)
    answers = [
        click(stranger, held),
        stranger.post(f"/proposals/{uuid4()}/decide/", {"verdict": "approve", "round": "1"}),
    ]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content
    assert status(unknown) == "pending"


@pytest.mark.parametrize("method", ["get", "head", "put", "delete", "patch"])
def test_only_a_post_decides(mara, held, method):
    address = f"/proposals/{held.id}/decide/?verdict=approve&digest={held.digest}&round=1"
    assert getattr(mara, method)(address).status_code == 405
    assert (status(held), Decision.objects.count()) == ("pending", 0)


def test_a_post_from_another_site_decides_nothing(acme, held):
    browser = Client()
    browser.post("/sign-in/", {"username": acme.mara.email, "password": acme.mara.password})
    browser.handler.enforce_csrf_checks = True
    html = text(click(browser, held, reason="typed with care"), 403)
    assert "Nothing was changed" in words(html)
    assert (status(held), Decision.objects.count()) == ("pending", 0)


# -- long texts -----------------------------------------------------------------------------------------------------


@pytest.fixture
def wide(db):
    return world(contract={"/input_schema/properties/note": {"type": "string", "maxLength": 400_000}})


def test_a_long_text_must_have_been_read_to_its_end_before_an_approval(wide, signed_in):
    held = wide.hold(note="line\n" * 3000 + "and everything else")
    mara = signed_in(wide.mara)
    html = text(click(mara, held, reason="typed with care"), 422)
    assert "Read the long texts to their end" in words(html)
    assert ">typed with care</textarea>" in html
    assert status(held) == "pending"
    assert click(mara, held, read_to_end="yes").status_code == 302
    assert status(held) == "granted"


def test_a_long_text_may_be_rejected_unread(wide, signed_in):
    held = wide.hold(note="line\n" * 3000)
    assert click(signed_in(wide.mara), held, "reject", reason="too long").status_code == 302
    assert status(held) == "rejected"


# -- a typed reason is never lost ---------------------------------------------------------------------------


def test_a_session_that_ended_keeps_the_reason_over_signing_in_again(acme, mara, held):
    mara.post("/sign-out/")
    answer = click(mara, held, "reject", reason="not <our> parcel")
    html = text(answer, 401)
    assert "Your session had ended, so nothing was decided" in words(html)
    assert f'name="next" value="/proposals/{held.id}/"' in html
    assert 'name="kept" value="not &lt;our&gt; parcel"' in html
    assert Decision.objects.count() == 0
    form = {"username": acme.mara.email, "password": acme.mara.password, "next": f"/proposals/{held.id}/"}
    back = mara.post("/sign-in/", form | {"kept": "not <our> parcel"}, follow=True)
    assert ">not &lt;our&gt; parcel</textarea>" in text(back)
    click(mara, held, "reject", reason="not <our> parcel")
    assert mara.session.get("kept_text", {}) == {}


def test_inside_the_page_the_bar_becomes_the_form_to_sign_in_again(mara, held):
    mara.post("/sign-out/")
    html = text(click(mara, held, "reject", reason="not ours", headers=HTMX), 401)
    assert "<html" not in html
    assert html.lstrip().startswith('<section class="act" id="p-act"')
    assert 'name="kept" value="not ours"' in html


def test_a_refused_reason_is_in_its_field_again_when_the_page_is_loaded(mara, held):
    click(mara, held, digest="0" * 64, reason="typed with care")
    assert ">typed with care</textarea>" in text(mara.get(f"/proposals/{held.id}/"))


def test_a_reason_that_has_no_field_any_more_is_shown_once_to_be_copied(acme, mara, held):
    acme.decide(held, "reject", by=acme.noor)
    click(mara, held, reason="typed with care")
    assert "typed with care" in text(mara.get(f"/proposals/{held.id}/"))
    assert "typed with care" not in text(mara.get(f"/proposals/{held.id}/"))
