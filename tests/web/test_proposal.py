"""One proposal's page: everything that would happen, who may decide, why not, and that looking changes nothing."""

import re
from datetime import timedelta
from uuid import UUID

import pytest

from access.services import people
from approvals.models import Proposal
from approvals.services.settling import permit_settle
from audit.models import Entry
from audit.store import clock
from tests.support import factories
from tests.support.approvals import STATE, World, asking, edit_as_owner, world

NOBODYS = "6a2f41a3-c54c-4ad7-8d09-6f5d5a7ff2d1"


@pytest.fixture
def acme(db) -> World:
    return world()


@pytest.fixture
def mara(acme, signed_in):
    return signed_in(acme.mara)


@pytest.fixture
def held(acme):
    return acme.hold()


def text(answer, status=200):
    assert answer.status_code == status, answer.content
    return answer.content.decode()


def words(html):
    """What a reader reads: markup away, white space of one kind."""
    body = re.sub(
        r"<head>.*?</head>|<template.*?</template>|<nav.*?</nav>|<section class=\"list.*?</section>",
        " ",
        html,
        flags=re.S,
    )
    plain = re.sub(r"<[^>]+>", "", body)
    for name, char in (("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#x27;", "'")):
        plain = plain.replace(name, char)
    return " ".join(plain.split())


def page(client, held):
    return text(client.get(f"/proposals/{held.id}/"))


# -- what it shows ---------------------------------------------------------------------------------------


def test_the_page_says_in_one_sentence_what_would_happen(mara, held):
    html = page(mara, held)
    heading = re.search(r"<h1>(.*?)</h1>", html, re.S).group(1)
    assert words(heading) == "Refund A$45.00 of A$120.00 to Anna Berg for order ord_1029"
    assert "<title>Refund A$45.00 of A$120.00 to Anna Berg for order ord_1029 · waiting · Clearance</title>" in html


def test_the_page_says_who_asked_for_whom_in_which_run_and_until_when(mara, held):
    html = page(mara, held)
    said = words(html)
    assert "support-agent v1, in Ticket 5512, for Jon Hale" in said
    assert f'href="/runs/{held.run_id}/"' in html
    assert "silence refuses it then" in said
    assert re.search(r"Void \d+ \w+ \d{4}, \d\d:\d\d:\d\d AED?T \(.*UTC\)", said)
    assert f'data-deadline="{held.row.expires_at.isoformat()}"' in html


def test_every_effective_argument_is_shown_and_defaults_are_marked(mara, held):
    html = page(mara, held)
    said = words(html)
    assert "45.00 AUD (raw 4500)" in said
    assert "4500 minor units" in said
    assert '"ord_1029"' in said
    defaults = re.findall(r'<th scope="row">(?:(?!</th>).)*?<span class="default">', html, re.S)
    assert len(defaults) == sum(row["default"] for row in rows(held))


def rows(held):
    from approvals.core.present import argument_rows
    from approvals.selectors.catalogue import contract_of
    from audit.core.jsondoor import open_json

    proposal = Proposal.objects.get(pk=held.id)
    contract = contract_of(proposal.tool_version_id)
    effective = open_json(bytes(proposal.canonical))["arguments"]
    return [{"default": row.default} for row in argument_rows(contract, open_json(bytes(proposal.given)), effective)]


def test_the_digest_of_these_bytes_is_shown_and_stands_in_the_form_and_on_the_button(mara, held):
    html = page(mara, held)
    short = f"{held.digest[:4]} {held.digest[4:8]}"
    assert f'name="digest" value="{held.digest}"' in html
    assert f'Approve this exact call <span class="mono nowrap">{short}</span> · runs now' in html
    assert f"{short} {held.digest[8:12]} {held.digest[12:16]}" in words(html)


def test_what_changes_is_read_by_the_server_before_and_after(mara, held):
    said = words(page(mara, held))
    assert re.search(r"Refunded A\$0\.00 A\$45\.00", said)
    assert re.search(r"read by the server \d\d:\d\d:\d\d AED?T", said)


def test_the_rule_that_held_it_is_named_with_the_values(acme, mara):
    acme.publish(
        "version: 1\nrules:\n  - {id: refund-over-20, tool: refund_order, when: 'args.amount > 2000', effect: ask, "
        "approvers: [{group: finance, count: 1}], expires_in_s: 900}\n"
    )
    said = words(page(mara, acme.hold()))
    assert "Rule refund-over-20, policy v2" in said
    assert "args.amount 4500 > 2000" in said


def test_what_an_advisory_rule_noted_stands_beside_the_rule_that_held_it(acme, mara):
    acme.publish(
        "version: 1\nrules:\n"
        "  - {id: rather-much, tool: refund_order, when: 'args.amount > 2000', effect: deny, level: advisory, "
        "message: Rather much.}\n"
        "  - {id: refund, tool: refund_order, effect: ask, approvers: [{group: finance, count: 1}]}\n"
    )
    said = words(page(mara, acme.hold()))
    assert "Rule refund, policy v2" in said
    assert "Noted by rather-much: Rather much. (args.amount 4500 > 2000)" in said


def test_the_agents_own_words_are_quoted_with_who_wrote_them(acme, mara):
    html = page(mara, acme.hold(reason="<b>Trust me</b>, **urgent**"))
    assert "Written by the agent, not checked" in html
    assert "&lt;b&gt;Trust me&lt;/b&gt;, **urgent**" in html


def test_a_hidden_character_is_a_visible_escape_with_a_warning(acme, mara):
    html = page(mara, acme.hold(note="gift\u200bcard \u202eDUA"))
    assert "\u200b" not in html
    assert "\u202e" not in html
    assert ">U+200B</span>" in html
    assert "do not show or that reorder the text" in words(html)


def test_a_text_of_two_hundred_kilobytes_is_whole_in_its_own_box(db, signed_in):
    note = "Please read. " * 15_000 + "AND PAY EVERYTHING"
    wide = world(contract={"/input_schema/properties/note": {"type": "string", "maxLength": 400_000}})
    html = page(signed_in(wide.mara), wide.hold(note=note))
    assert note in html
    assert "195,018 characters in 1 line. Read it to its end." in words(html)
    assert 'name="read_to_end"' in html


def test_arguments_up_to_the_doors_limit_are_whole_on_the_page(db, signed_in):
    note = "0123456789abcdef" * 65_000 + " AND PAY EVERYTHING"
    wide = world(contract={"/input_schema/properties/note": {"type": "string", "maxLength": 1_100_000}})
    html = page(signed_in(wide.mara), wide.hold(note=note))
    assert html.count(note) == 1
    assert "1,040,019 characters in 1 line. Read it to its end." in words(html)


def test_a_short_call_asks_for_no_reading_to_the_end(mara, held):
    assert 'name="read_to_end"' not in page(mara, held)


# -- who may decide --------------------------------------------------------------------------------------


def test_a_reviewer_of_the_group_gets_the_bar_with_reject_in_focus(mara, held):
    html = page(mara, held)
    assert re.search(r'value="reject" class="stop" autofocus', html)
    assert "Needs 1 of finance; 0 so far." in words(html)


@pytest.mark.parametrize(
    ("who", "why"),
    [
        ("customer_care", "You may not decide this, because the agent acts for you."),
        ("owner", "You may not decide this, because the agent that asked is yours."),
    ],
)
def test_nobody_decides_on_their_own_call_and_is_told_why(acme, signed_in, held, who, why):
    html = page(signed_in(getattr(acme, who)), held)
    assert 'name="verdict"' not in html
    assert why in words(html)


def test_somebody_of_another_group_reads_it_and_is_told_why_they_may_not_decide(acme, signed_in, held):
    html = page(signed_in(factories.person(acme.tenant, groups=["legal"])), held)
    assert 'name="verdict"' not in html
    assert "This needs finance; you are in none of these." in words(html)


def test_an_operator_reads_it_and_is_told_that_deciding_takes_a_reviewer(acme, signed_in, held):
    html = page(signed_in(factories.person(acme.tenant, roles=["operator"], groups=["finance"])), held)
    assert 'name="verdict"' not in html
    assert "you are not a reviewer" in words(html)


def test_the_first_of_two_is_told_that_nothing_runs_yet(acme, mara, signed_in):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    assert "1 of 2, nothing runs yet" in words(page(mara, held))
    acme.decide(held)
    said = words(page(mara, held))
    assert "You approved it; one verdict a round." in said
    assert "Mara Lind approved" in said
    assert "runs now" in words(page(signed_in(acme.noor), held))


def test_a_group_that_was_emptied_is_said_aloud(acme, mara, held):
    for person in (acme.noor, acme.mara):
        people.member_change(actor=acme.tenant.admin.actor, membership_id=person.membership_id, roles=["auditor"])
    assert "Too few people can decide this now" in words(page(mara, held))


# -- how it stands ---------------------------------------------------------------------------------------


def test_an_overdue_page_offers_nothing_and_says_when_it_ended(acme, mara):
    held = acme.hold(expires_in_s=1)
    wait_until_past(held)
    html = page(mara, held)
    assert 'name="verdict"' not in html
    said = words(html)
    assert re.search(
        r"The time ended at \d\d:\d\d:\d\d AED?T and nobody had decided; it is refused and nothing ran\.", said
    )
    assert "· expired · Clearance</title>" in html
    assert Proposal.objects.get(pk=held.id).status == "pending"


def wait_until_past(held):
    import time

    while clock.now() <= held.row.expires_at:
        time.sleep(0.01)


def test_the_page_carries_the_words_for_the_moment_the_time_is_up(mara, held):
    html = page(mara, held)
    over = re.search(r'<template id="p-over">(.*?)</template>', html, re.S).group(1)
    assert 'name="verdict"' not in over
    assert "Expired" in over
    assert "and nobody had decided; it is refused and nothing ran" in words(over)
    assert 'id="p-head"' in over
    assert 'id="p-act"' in over


def test_after_a_rejection_the_page_says_who_when_and_what_now(acme, mara, signed_in, held):
    acme.decide(held, "reject", reason="not <our> parcel")
    for client in (mara, signed_in(acme.noor)):
        html = page(client, held)
        said = words(html)
        assert 'name="verdict"' not in html
        assert re.search(
            r"Rejected by Mara Lind at \d\d:\d\d:\d\d AED?T\. Nothing ran, and the agent was told why\.", said
        )
        assert "not <our> parcel" in said
        assert re.search(r"Decided \d+ \w+ \d{4}, \d\d:\d\d:\d\d AED?T", said)
        assert "Void " not in said
        assert "What would have changed" in said
        assert "Nothing was changed by this call." in said
        assert "cannot be called back" not in said


@pytest.mark.parametrize(
    ("outcome", "detail", "said"),
    [
        ("started", {}, "Under way: the target's answer is awaited"),
        ("succeeded", {"reference": "re_51x"}, "Succeeded, the provider's reference is re_51x"),
        ("succeeded", {"reference": "re_51x", "found_by": "look-up"}, "(found at the target) re_51x"),
        ("failed", {"message": "charge is <closed>"}, "It did not happen. charge is <closed>"),
        ("unknown", {"message": "the answer was lost"}, "Nobody sends it again before the target was asked."),
    ],
)
def test_afterwards_the_page_tells_what_became_of_it(acme, mara, held, outcome, detail, said):
    acme.decide(held)
    acme.redeem(held)  # which says that it was started
    if outcome != "started":
        permit_settle(proposal_id=held.id, outcome=outcome, detail=detail)
    html = page(mara, held)
    assert said in words(html)
    assert "Approved by Mara Lind" in words(html)
    assert 'name="verdict"' not in html


def test_right_after_the_approval_the_page_says_what_comes_next(acme, mara, held):
    acme.decide(held)
    assert "It runs now, after everything is checked once more." in words(page(mara, held))


def test_a_record_that_changed_is_shown_before_and_now_and_asked_anew(acme, mara, held):
    from approvals.services.proposal import proposal_observe

    acme.publish(asking(("finance", 2)))
    proposal_observe(
        proposal_id=held.id, state=STATE | {"refunded": 2000, "left": 10000}, read_at=clock.now() + timedelta(seconds=1)
    )
    html = page(mara, held)
    said = words(html)
    assert "round 2" in said
    assert "earlier votes are void" in said
    assert "when it was asked" in said
    assert "A$20.00 (changed)" in said
    assert 'name="round" value="2"' in html


def test_an_edited_row_is_not_shown_and_cannot_be_decided(acme_committed, owner_sql, signed_in):
    held = acme_committed.hold()
    edit_as_owner(
        owner_sql,
        "approvals_proposal",
        "canonical = convert_to(replace(convert_from(canonical, 'UTF8'), '4500', '450000'), 'UTF8')",
        f"id = '{held.id}'",
    )
    html = text(signed_in(acme_committed.mara).get(f"/proposals/{held.id}/"))
    said = words(html)
    assert "This proposal cannot be shown" in said
    assert "is not the one that was made" in said
    assert 'name="verdict"' not in html
    assert "450000" not in html
    assert "4,500.00" not in html


@pytest.fixture
def acme_committed(committed_db) -> World:
    return world()


# -- looking changes nothing -----------------------------------------------------------------------------


def test_opening_the_page_records_that_it_was_shown_and_the_wish_to_see_the_target_anew(acme, mara, held):
    Proposal.objects.filter(pk=held.id).update(snapshot_at=clock.now() - timedelta(minutes=1))
    before = Proposal.objects.values().get(pk=held.id)
    entries = Entry.objects.count()
    page(mara, held)
    page(mara, held)
    after = Proposal.objects.values().get(pk=held.id)
    assert after.pop("refresh_asked_at") is not None
    before.pop("refresh_asked_at")
    assert after == before
    assert Entry.objects.count() == entries + 1, "the same shown twice within a minute is one entry"
    shown = Entry.objects.get(action="proposal.shown")
    assert (shown.actor_id, shown.object_id, shown.call_id) == (acme.mara.user_id, str(held.id), held.call_id)
    assert shown.detail["digest"] == held.digest


@pytest.mark.parametrize(
    ("method", "headers"), [("head", {}), ("get", {"Sec-Purpose": "prefetch"}), ("get", {"Purpose": "prefetch"})]
)
def test_who_does_not_look_wishes_nothing(acme, mara, held, method, headers):
    Proposal.objects.filter(pk=held.id).update(snapshot_at=clock.now() - timedelta(minutes=1))
    assert getattr(mara, method)(f"/proposals/{held.id}/", headers=headers).status_code == 200
    assert Proposal.objects.get(pk=held.id).refresh_asked_at is None


def test_a_scanner_without_a_session_changes_nothing(client, acme, held):
    before = Proposal.objects.values().get(pk=held.id)
    for path in (
        f"/proposals/{held.id}/",
        f"/proposals/{held.id}/decide/?verdict=approve&digest={held.digest}&round=1",
    ):
        for method in (client.get, client.head):
            assert method(path).status_code in (302, 405)
    assert Proposal.objects.values().get(pk=held.id) == before


def test_a_forwarded_link_opens_with_the_openers_own_rights(acme, signed_in, held):
    stranger = signed_in(factories.person(factories.tenant()))
    answers = [stranger.get(f"/proposals/{proposal_id}/") for proposal_id in (held.id, UUID(NOBODYS))]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content


def test_a_member_without_a_role_sees_nothing(acme, signed_in, held):
    text(signed_in(factories.person(acme.tenant, roles=[])).get(f"/proposals/{held.id}/"), 404)


def test_the_list_stands_beside_it_with_this_one_marked(acme, mara, held):
    other = acme.hold(5000)
    html = page(mara, held)
    strips = re.findall(r'<a class="strip[^>]*href="/proposals/([0-9a-f-]+)/"[^>]*>', html)
    assert set(strips) == {str(held.id), str(other.id)}
    assert re.search(rf'href="/proposals/{held.id}/" data-soon aria-current="true"', html)
