"""approvals/services/edit.py: a held call becomes a revision that somebody else decides on (S15, A9, E6)."""

import json

import pytest
from django.db import Error, transaction

from approvals.core.digest import idempotency_key
from approvals.models import Decision, Proposal, Resolution, Revision
from approvals.selectors.links import proposal_link
from approvals.selectors.proposals import inbox, proposal_detail
from approvals.selectors.revisions import line_of
from approvals.services.decision import decision_record
from approvals.services.edit import proposal_edit, proposal_edit_preview
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound, Refusal
from audit.models import Entry
from tests.support import factories
from tests.support.approvals import DENYING, POLICY, Held, World, asking
from tests.support.handling import edit

SMALLER = {"order_id": "ord_1029", "amount": 3900}


def looked(acme: World, held: Held, **changes: object) -> dict[str, object]:
    return {
        "actor": acme.mara.actor,
        "proposal_id": held.id,
        "digest": held.digest,
        "round": 1,
        "arguments": SMALLER,
    } | changes


def refused(kind: type[Refusal], acme: World, held: Held, **changes: object) -> Refusal:
    with pytest.raises(kind) as caught:
        proposal_edit_preview(**looked(acme, held, **changes))  # type: ignore[arg-type]
    assert Proposal.objects.count() == 1
    return caught.value


def test_an_edit_makes_a_revision_with_its_own_bytes_digest_and_key(acme):
    held = acme.hold()
    row = edit(acme.mara, held.id, SMALLER, reason="The cable was not broken.")
    old, new = Proposal.objects.get(pk=held.id), Proposal.objects.get(pk=row.proposal_id)
    assert (old.status, new.status, new.revision_number) == ("superseded", "pending", 2)
    assert new.call_id == f"{held.call_id}~r2"
    assert new.key == idempotency_key(str(held.run_id), held.call_id, "refund_order", 2)
    assert new.digest == row.digest != held.digest
    assert json.loads(bytes(new.canonical))["arguments"]["amount"] == 3900
    assert "A$39.00" in new.sentence
    assert (new.amount_minor, new.currency) == (3900, "AUD")
    assert (new.snapshot_hash, new.expires_at) == (old.snapshot_hash, old.expires_at)
    assert proposal_detail(acme.noor.actor, new.pk).tampered == ""


def test_earlier_votes_are_void_and_the_call_that_was_edited_is_decided_by_nobody(acme):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    acme.decide(held, by=acme.noor)
    row = edit(acme.mara, held.id, SMALLER)
    assert Decision.objects.filter(proposal_id=row.proposal_id).count() == 0
    with pytest.raises(Conflict, match="edited revision") as caught:
        acme.decide(held)
    assert caught.value.code == "CLOSED"


def test_whoever_edited_never_approves_the_revision(acme):
    held = acme.hold()
    row = edit(acme.mara, held.id, SMALLER)
    click = {"proposal_id": row.proposal_id, "verdict": "approve", "digest": row.digest}
    with pytest.raises(Forbidden, match="you edited it") as caught:
        decision_record(actor=acme.mara.actor, **click)
    assert caught.value.code == "SELF_APPROVAL"
    assert decision_record(actor=acme.noor.actor, **click).status == "granted"


def test_nor_does_whoever_edited_an_earlier_revision(acme):
    third = factories.person(acme.tenant, groups=["finance"], name="Tea Third")
    first = edit(acme.mara, acme.hold().id, SMALLER)
    second = edit(acme.noor, first.proposal_id, SMALLER | {"note": "both of us"})
    assert Revision.objects.get(pk=second.proposal_id).number == 3
    click = {"proposal_id": second.proposal_id, "verdict": "approve", "digest": second.digest}
    for editor in (acme.mara, acme.noor):
        with pytest.raises(Forbidden, match="you edited it"):
            decision_record(actor=editor.actor, **click)
    assert decision_record(actor=third.actor, **click).status == "granted"


def test_a_revision_does_not_wait_for_its_editor_in_the_list(acme):
    row = edit(acme.mara, acme.hold().id, SMALLER)
    assert [one.id for one in inbox(acme.mara.actor, view="mine").rows] == []
    assert [one.id for one in inbox(acme.noor.actor, view="mine").rows] == [row.proposal_id]
    assert proposal_detail(acme.mara.actor, row.proposal_id).people.may_decide is False


def test_that_nobody_is_left_to_decide_is_said_aloud(acme):
    acme.publish(asking(("leads", 1)))
    row = edit(acme.noor, acme.hold().id, SMALLER)
    assert proposal_detail(acme.mara.actor, row.proposal_id).people.nobody
    assert Entry.objects.filter(action="proposal.nobody_can_decide", object_id=str(row.proposal_id)).exists()


def test_the_run_and_the_agent_are_told_what_a_person_changed(acme):
    held = acme.hold()
    row = edit(acme.mara, held.id, SMALLER | {"note": "Cable kept."}, reason="The cable was not broken.")
    resolution = Resolution.objects.get(proposal_id=held.id)
    assert (resolution.kind, resolution.by["name"], resolution.by["revision"]) == (
        "superseded", "Mara Lind", str(row.proposal_id),
    )  # fmt: skip
    for proposal_id in (held.id, row.proposal_id):
        link = proposal_link(acme.actor, proposal_id)
        assert link is not None
        assert link.edited is not None
        assert (link.edited.by, link.edited.of, link.edited.call_id) == (
            "Mara Lind", held.call_id, f"{held.call_id}~r2",
        )  # fmt: skip
        assert link.edited.changes == [
            {"path": "/amount", "from": 4500, "to": 3900}, {"path": "/note", "to": "Cable kept."},
        ]  # fmt: skip


def test_the_page_knows_both_ends_of_an_edit(acme):
    held = acme.hold()
    row = edit(acme.mara, held.id, SMALLER)
    before, after = line_of(held.id), line_of(row.proposal_id)
    assert before.made_by is None
    assert before.replaced_by == after.made_by
    assert after.made_by is not None
    [change] = after.made_by.changes
    assert (change.label, change.was[0].text, change.becomes[0].text) == (
        "Amount", "45.00 AUD (raw 4500)", "39.00 AUD (raw 3900)",
    )  # fmt: skip


def test_the_log_names_the_editor_and_keeps_what_the_tool_redacts_out(acme):
    row = edit(acme.mara, acme.hold().id, SMALLER | {"note": "card 4111"})
    entry = Entry.objects.get(action="proposal.edited", object_id=str(row.proposal_id))
    assert (entry.actor_name, entry.detail["revision"]) == ("Mara Lind", 2)
    assert entry.detail["changed"] == ["/amount", "/note"]
    assert "4111" not in json.dumps(entry.detail)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"order_id": "ord_1029", "amount": "3900"}, "ARGUMENTS_INVALID"),
        ({"order_id": "ord_1029", "amount": 0}, "ARGUMENTS_INVALID"),
        ({"order_id": "ord_1029"}, "ARGUMENTS_INVALID"),
        ({"order_id": "ord_1029", "amount": 3900, "surplus": 1}, "ARGUMENTS_INVALID"),
        ({"order_id": "ord_7", "amount": 3900}, "TARGET_NOT_EDITABLE"),
        ({"order_id": "ord_1029", "amount": 4500}, "NOTHING_CHANGED"),
    ],
)
def test_schema_and_target_are_checked_again(acme, arguments, code):
    assert refused(Invalid, acme, acme.hold(), arguments=arguments).code == code


def test_the_contracts_checks_and_the_policy_judge_the_edited_call(acme):
    held = acme.hold()
    too_much = refused(Invalid, acme, held, arguments=SMALLER | {"amount": 12_001})
    assert (too_much.code, too_much.detail["code"]) == ("EDIT_DENIED", "AMOUNT_EXCEEDS_LEFT")
    acme.publish(DENYING)
    assert "Refunds are stopped" in refused(Invalid, acme, held).message


def test_another_tool_is_a_new_request(acme):
    refusal = refused(Invalid, acme, acme.hold(), tool="get_order")
    assert refusal.code == "TOOL_NOT_EDITABLE"
    assert "new request" in refusal.message


def test_the_editor_makes_nothing_free_that_was_held(acme):
    """A smaller amount that the policy would let pass was still a person's word, and needs another person's."""
    acme.publish(
        "version: 1\nrules:\n"
        '  - {id: small, tool: refund_order, when: "args.amount < 2000", effect: allow}\n'
        "  - {id: refund, tool: refund_order, effect: ask, approvers: [{group: finance, count: 2}]}\n"
    )
    row = edit(acme.mara, acme.hold().id, SMALLER | {"amount": 100})
    assert Proposal.objects.get(pk=row.proposal_id).requires == [{"group": "finance", "count": 2}]


def test_stricter_rules_for_the_edited_call_apply_to_it(acme):
    acme.publish(
        "version: 1\nrules:\n"
        '  - {id: large, tool: refund_order, when: "args.amount > 5000", effect: ask, '
        "approvers: [{group: leads, count: 1}], expires_in_s: 60}\n"
        "  - {id: refund, tool: refund_order, effect: ask, approvers: [{group: finance, count: 1}]}\n"
    )
    held = acme.hold()
    new = Proposal.objects.get(pk=edit(acme.mara, held.id, SMALLER | {"amount": 6000}).proposal_id)
    assert {item["group"] for item in new.requires} == {"finance", "leads"}
    assert new.expires_at < Proposal.objects.get(pk=held.id).expires_at


def test_a_policy_may_keep_a_call_from_being_edited(acme):
    acme.publish(POLICY.replace("expires_in_s: 900", "expires_in_s: 900, editable: false"))
    assert refused(Conflict, acme, acme.hold()).code == "EDIT_NOT_ALLOWED"


@pytest.mark.parametrize("who", ["customer_care", "owner"])
def test_whoever_may_not_decide_it_may_not_edit_it_either(acme, who):
    assert refused(Forbidden, acme, acme.hold(), actor=getattr(acme, who).actor).code == "SELF_APPROVAL"


def test_an_agent_edits_nothing(acme):
    assert refused(Forbidden, acme, acme.hold(), actor=acme.actor).code == "PERSON_REQUIRED"


def test_a_foreign_proposal_is_not_found(acme):
    stranger = factories.person(factories.tenant(), groups=["finance"])
    refused(NotFound, acme, acme.hold(), actor=stranger.actor)


@pytest.mark.parametrize(
    ("changes", "code"), [({"digest": "0" * 64}, "DIGEST_CHANGED"), ({"round": 2}, "ROUND_CHANGED")]
)
def test_an_edit_is_of_what_the_page_showed(acme, changes, code):
    assert refused(Conflict, acme, acme.hold(), **changes).code == code


def test_what_is_saved_is_what_was_looked_at(acme):
    held = acme.hold()
    shown = proposal_edit_preview(**looked(acme, held)).digest
    with pytest.raises(Conflict) as caught:
        proposal_edit(**looked(acme, held, arguments=SMALLER | {"amount": 3901}), shown=shown)
    assert caught.value.code == "EDIT_CHANGED"
    assert Proposal.objects.get().status == "pending"


def test_a_second_editor_is_told_that_a_revision_took_its_place(acme):
    held = acme.hold()
    edit(acme.mara, held.id, SMALLER)
    with pytest.raises(Conflict, match="edited revision"):
        edit(acme.noor, held.id, SMALLER | {"amount": 3000})
    assert Proposal.objects.count() == 2


def test_an_edit_into_what_was_rejected_in_this_run_is_refused_with_the_reason(acme):
    rejected = acme.hold(3900)
    acme.decide(rejected, "reject", reason="Too little.")
    held = acme.hold(run_id=rejected.run_id)
    with pytest.raises(Conflict, match=r"Too little\.") as caught:
        edit(acme.noor, held.id, SMALLER)
    assert caught.value.code == "REJECTED_BEFORE"


def test_a_reason_of_a_hundred_kilobytes_is_refused_in_words(acme):
    held = acme.hold()
    with pytest.raises(Invalid, match="100,000 characters; at most 2,000") as caught:
        edit(acme.mara, held.id, SMALLER, reason="x" * 100_000)
    assert caught.value.code == "REASON_TOO_LONG"
    assert Proposal.objects.get().status == "pending"


def test_a_preview_writes_nothing(acme):
    held = acme.hold()
    entries = Entry.objects.count()
    seen = proposal_edit_preview(**looked(acme, held))
    assert (seen.number, [one.path for one in seen.differences]) == (2, ["/amount"])
    assert seen.verdict.rule_id == "refund"
    assert (Proposal.objects.count(), Entry.objects.count()) == (1, entries)


def test_who_edited_cannot_be_changed_afterwards(acme):
    row = edit(acme.mara, acme.hold().id, SMALLER)
    with pytest.raises(Error, match=r"permission denied"), transaction.atomic():
        Revision.objects.filter(pk=row.proposal_id).update(editor_ids=[])
    with pytest.raises(Error, match="never changes"), transaction.atomic():
        Proposal.objects.filter(pk=row.proposal_id).update(revision_number=1)


def test_an_owner_who_strikes_out_the_editor_is_caught_by_the_log(acme_committed, owner_sql):
    acme = acme_committed
    row = edit(acme.mara, acme.hold().id, SMALLER)
    owner_sql(
        "ALTER TABLE approvals_revision DISABLE TRIGGER USER; UPDATE approvals_revision SET editor_ids = '{}'; "
        "ALTER TABLE approvals_revision ENABLE TRIGGER USER"
    )
    with pytest.raises(Conflict) as caught:
        decision_record(actor=acme.mara.actor, proposal_id=row.proposal_id, verdict="approve", digest=row.digest)
    assert (caught.value.code, caught.value.detail) == ("PROPOSAL_ALTERED", {"what": "parties"})
