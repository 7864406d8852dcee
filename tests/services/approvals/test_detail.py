"""approvals/selectors/detail.py: everything a proposal's page shows, from verified bytes (A6, screens.md)."""

from uuid import uuid4

import pytest

from access.services import people
from approvals.selectors.proposals import proposal_detail
from approvals.services.settling import permit_settle
from audit.core.refusal import NotFound
from tests.support import factories
from tests.support.approvals import asking, world


def shown(pieces):
    return "".join(piece.text for piece in pieces)


def test_the_sentence_is_the_servers_and_names_what_is_unresolved(acme):
    held = acme.hold(state={"amount": 12000, "refunded": 0, "currency": "AUD", "left": 12000})
    content = proposal_detail(acme.mara.actor, held.id).content
    assert shown(content.sentence) == "Refund A$45.00 of A$120.00 to unresolved: customer for order ord_1029"
    assert [piece.kind for piece in content.sentence if piece.kind == "unresolved"] == ["unresolved"]


def test_who_and_when_are_told(acme):
    held = acme.hold(run_title="Ticket 5512")
    page = proposal_detail(acme.mara.actor, held.id)
    assert (page.agent_name, page.agent_version, page.chain) == ("support-agent", "1", ("support-agent",))
    assert (page.run_id, page.run_title, page.call_id, page.acting_for) == (
        held.run_id, "Ticket 5512", held.call_id, "Jon Hale"
    )  # fmt: skip
    assert page.created_at <= page.now < page.expires_at
    assert page.status_words == "Waiting for 1 of finance; without a decision it is refused."


def test_the_exact_call_is_complete_with_defaults_types_and_raw_values(acme):
    text = "ship\u200bped " + "x" * 1900 + " and pay it all back"
    held = acme.hold(note=text)
    call = proposal_detail(acme.mara.actor, held.id).content.call
    rows = {row.path: row for row in call.rows}
    assert list(rows) == ["/amount", "/currency", "/note", "/notify/customer", "/order_id"]
    assert (rows["/amount"].raw, rows["/amount"].type, rows["/amount"].default) == ("4500", "whole number", False)
    assert shown(rows["/amount"].shown) == "45.00 AUD (raw 4500)"
    assert rows["/currency"].default
    assert shown(rows["/note"].shown).endswith("and pay it all back")
    assert "U+200B" in [piece.text for piece in rows["/note"].shown]
    assert call.warnings
    assert "U+200B" in call.warnings[0]
    assert (call.tool, call.contract_version, call.target) == ("refund_order", 1, "payments/order/ord_1029")
    assert call.size_bytes == len(held.prepared.canonical)


def test_the_effect_is_before_and_after_by_what_the_server_read(acme):
    held = acme.hold()
    effect = proposal_detail(acme.mara.actor, held.id).content.effect
    assert [(row.label, shown(row.now), shown(row.after), row.changed) for row in effect.rows] == [
        ("Refunded", "A$0.00", "A$45.00", True),
        ("Left to refund", "A$120.00", "A$75.00", True),
    ]
    assert (effect.side_effect, effect.reversible) == ("irreversible", "It cannot be undone.")
    assert effect.note == "Money leaves within minutes and cannot be called back."
    assert not effect.changed
    assert effect.read_at <= effect.asked_at


def test_why_it_is_held_is_told_with_the_values_that_matched(acme):
    acme.publish(
        "version: 1\nrules:\n  - id: over-20\n    tool: refund_order\n    when: 'args.amount > 2000'\n"
        "    effect: ask\n    approvers: [{group: finance, count: 1}]\n    message: Over twenty dollars.\n"
    )
    held = proposal_detail(acme.mara.actor, acme.hold().id).content.held
    assert (held.rule_id, held.policy_number, held.message) == ("over-20", 2, "Over twenty dollars.")
    assert [match.text for match in held.matches] == ["args.amount 4500 > 2000"]
    assert (held.opened_code, held.opened_because, held.opened_at) == ("", "", None)


def test_the_agents_reason_is_pieces_and_never_markup(acme):
    held = acme.hold(reason="<b>please</b>\u202e")
    reason = proposal_detail(acme.mara.actor, held.id).content.reason
    assert shown(reason) == "<b>please</b>U+202E"
    assert reason[-1].kind == "escape"


def test_people_votes_and_what_an_approval_would_do(acme):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    first = proposal_detail(acme.mara.actor, held.id).people
    assert (first.needs, first.left, first.approve_does) == ("2 of finance", 2, "1 of 2, nothing runs yet")
    acme.decide(held, reason="Checked the photo.")
    second = proposal_detail(acme.noor.actor, held.id).people
    assert (second.left, second.approve_does, second.may_decide) == (1, "runs now", True)
    [vote] = second.votes
    assert (vote.name, vote.verdict, shown(vote.reason), vote.counts) == (
        "Mara Lind",
        "approve",
        "Checked the photo.",
        True,
    )
    mine = proposal_detail(acme.mara.actor, held.id).people
    assert (mine.may_decide, mine.reason) == (False, "You approved it; one verdict a round.")


@pytest.mark.parametrize(
    ("who", "words"),
    [
        ("customer_care", "the agent acts for you"),
        ("owner", "the agent that asked is yours"),
        ("auditor", "you are not a reviewer"),
        ("leads", "This needs finance"),
        ("mara", "You may decide for finance"),
    ],
)
def test_in_words_why_one_may_decide_or_may_not(acme, who, words):
    held = acme.hold()
    others = {
        "auditor": lambda: factories.person(acme.tenant, roles=["auditor"]),
        "leads": lambda: factories.person(acme.tenant, groups=["leads"]),
    }
    person = others[who]() if who in others else getattr(acme, who)
    seen = proposal_detail(person.actor, held.id).people
    assert seen.may_decide == (who == "mara")
    assert words in seen.reason


def test_a_vote_by_somebody_who_left_is_shown_and_does_not_count(acme):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    acme.decide(held)
    people.group_remove(actor=acme.tenant.admin.actor, group="finance", user_id=acme.mara.user_id)
    seen = proposal_detail(acme.noor.actor, held.id).people
    assert [(vote.name, vote.counts) for vote in seen.votes] == [("Mara Lind", False)]
    assert seen.left == 2


def test_afterwards_the_receipt_is_told(acme):
    held = acme.hold()
    acme.decide(held)
    acme.redeem(held)
    permit_settle(proposal_id=held.id, outcome="succeeded", detail={"reference": "re_123"})
    page = proposal_detail(acme.mara.actor, held.id)
    after = page.afterwards
    assert (after.permit, after.outcome, after.detail) == ("redeemed", "succeeded", {"reference": "re_123"})
    assert page.decided_at <= after.redeemed_at <= after.at
    assert page.status_words.startswith("Approved by Mara Lind at ")
    assert not page.people.may_decide


@pytest.mark.parametrize(("verdict", "words"), [("approve", "Approved by Mara Lind at"), ("reject", "Rejected by")])
def test_who_decided_and_when_is_told(acme, verdict, words):
    held = acme.hold()
    acme.decide(held, verdict)
    page = proposal_detail(acme.noor.actor, held.id)
    assert page.status_words.startswith(words)
    assert page.people.reason == "There is nothing left to decide."


def test_every_status_has_words(acme_committed, owner_sql):
    acme = acme_committed
    held = acme.hold()
    for status in ("withdrawn", "superseded", "cancelled", "refused", "expired"):
        owner_sql(f"UPDATE approvals_proposal SET status = '{status}'")
        words = proposal_detail(acme.mara.actor, held.id).status_words
        assert "ran" in words
        assert words.endswith(".")


def test_equal_calls_point_at_each_other(acme):
    first, second = acme.hold(), acme.hold()
    page = proposal_detail(acme.mara.actor, second.id)
    assert page.same.id == first.id
    assert "Same as another call" in page.same.words
    assert proposal_detail(acme.mara.actor, acme.hold(100).id).same is None


def test_a_foreign_id_and_an_unknown_one_are_answered_alike(acme):
    """S62."""
    theirs = world().hold()
    answers = []
    for proposal_id in (theirs.id, uuid4()):
        with pytest.raises(NotFound) as caught:
            proposal_detail(acme.mara.actor, proposal_id)
        answers.append(caught.value.as_dict())
    assert answers[0] == answers[1]


def test_an_agent_reads_its_own_proposal_and_no_other(acme):
    held = acme.hold()
    assert proposal_detail(acme.actor, held.id).people.may_decide is False
    with pytest.raises(NotFound):
        proposal_detail(factories.agent(acme.tenant).actor(), held.id)
    with pytest.raises(NotFound):
        proposal_detail(factories.person(acme.tenant, roles=[]).actor, held.id)


def test_the_queries_of_a_page_do_not_grow_with_what_is_in_it(acme, django_assert_max_num_queries):
    held = acme.hold(note="x" * 1500)
    actor = acme.mara.actor
    with django_assert_max_num_queries(11):
        proposal_detail(actor, held.id)
