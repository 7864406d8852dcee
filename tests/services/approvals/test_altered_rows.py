"""S84: the stored row is edited as owner, triggers off, at display, at decision and at dispatch; each refuses."""

import hashlib
from datetime import timedelta

import pytest

from approvals.selectors.proposals import inbox, proposal_detail, rows_by_id
from approvals.services.revoking import permit_revoke
from audit.core.refusal import Conflict
from audit.selectors.entries import EntryFilters, entries_page
from tests.support.approvals import STATE, asking, edit_as_owner


def other_bytes(acme):
    """The canonical bytes of a refund of 90.00 instead, and their digest."""
    prepared = acme.prepare(9000)
    return prepared.canonical, prepared.digest


def edits(acme):
    """Name → assignment: each is one way to make a row say something else."""
    canonical, digest = other_bytes(acme)
    in_bytes = f"canonical = '\\x{canonical.hex()}'::bytea"
    snapshot = b'{"state":{"amount":1,"currency":"AUD","customer":"Anna Berg","left":1,"refunded":0}}'
    in_snapshot = f"snapshot = '\\x{snapshot.hex()}'::bytea"
    leads = '[{"group": "leads", "count": 1}]'
    return {
        "bytes": in_bytes,
        "bytes and digest": f"{in_bytes}, digest = '{digest}'",
        "digest": f"digest = '{digest}'",
        "tool": "tool = 'get_order'",
        "target": "target = 'payments/order/ord_1'",
        "acting user": "acting_user_id = NULL",
        "snapshot": in_snapshot,
        "deadline": "expires_at = expires_at + interval '1 hour'",
        "snapshot and hash": f"{in_snapshot}, snapshot_hash = '{hashlib.sha256(snapshot).hexdigest()}'",
        "who must approve": f"requires = '{leads}'",
        "who must approve and why": f"requires = '{leads}', why = jsonb_set(why, '{{verdict,approvers}}', '{leads}')",
        "owner of the agent": "agent_owner_id = NULL",
        "agent": "agent_id = gen_random_uuid()",
        "session": "token_session_id = NULL",
        "why": "why = '{}'",
        "not JSON at all": "canonical = '\\x00ff'::bytea",
        "lone surrogate": r"""canonical = '{"a":"\\ud800"}'::bytea""",
    }


KINDS = [
    "bytes", "bytes and digest", "digest", "tool", "target", "acting user", "snapshot", "snapshot and hash", "deadline",
    "who must approve", "who must approve and why", "owner of the agent", "agent", "session", "why", "not JSON at all",
    "lone surrogate",
]  # fmt: skip


@pytest.fixture
def alter(acme_committed, owner_sql):
    def run(held, kind):
        edit_as_owner(owner_sql, "approvals_proposal", edits(acme_committed)[kind], f"id = '{held.id}'")

    return run


@pytest.mark.parametrize("kind", KINDS)
def test_an_altered_proposal_is_neither_shown_nor_decided(acme_committed, alter, kind):
    acme = acme_committed
    held, sound = acme.hold(), acme.hold(700)
    alter(held, kind)
    # Display.
    page = proposal_detail(acme.mara.actor, held.id)
    assert "not the one that was made" in page.tampered
    assert page.content is None
    assert not page.people.may_decide
    assert proposal_detail(acme.mara.actor, sound.id).tampered == ""
    # Decision, with the digest that the row now has and with the one that it had.
    for digest in (page.digest, held.digest):
        for verdict in ("approve", "reject"):
            with pytest.raises(Conflict) as caught:
                acme.decide(held, verdict, digest=digest)
            assert caught.value.code == "PROPOSAL_ALTERED"
    refused = entries_page(acme.tenant.id, EntryFilters(action="proposal.decided", verdict="refused"))
    assert {entry.detail["code"] for entry in refused} == {"PROPOSAL_ALTERED"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_altered_after_the_approval_is_not_executed(acme_committed, alter, kind):
    acme = acme_committed
    held = acme.hold()
    acme.decide(held)
    alter(held, kind)
    assert proposal_detail(acme.mara.actor, held.id).content is None
    canonical, digest = other_bytes(acme)
    # The call's own row may be the original one, or edited in step with the proposal's.
    answer = acme.redeem(held)
    assert (answer.kind, answer.code) == ("refused", "PROPOSAL_ALTERED")
    assert proposal_detail(acme.mara.actor, held.id).afterwards.permit == "void"
    assert acme.redeem(held, canonical=canonical, digest=digest).kind == "refused"


@pytest.mark.parametrize("kind", ["snapshot and hash", "who must approve and why"])
def test_a_later_round_is_held_against_its_own_entry(acme_committed, alter, kind):
    acme = acme_committed
    held = acme.hold()
    acme.decide(held)
    assert acme.redeem(held, state=STATE | {"refunded": 100, "left": 11900}).kind == "ask_again"
    assert proposal_detail(acme.mara.actor, held.id).tampered == ""
    alter(held, kind)
    assert "not the one that was made" in proposal_detail(acme.mara.actor, held.id).tampered
    with pytest.raises(Conflict) as caught:
        acme.decide(held)
    assert caught.value.code == "PROPOSAL_ALTERED"


def test_a_round_whose_entry_is_owed_is_not_taken_for_an_altered_one(acme_committed, alter, owner_sql):
    """An approval is taken back while no entry can be written (S69); the entry is among the owed."""
    acme = acme_committed
    held = acme.hold()
    acme.decide(held)
    owner_sql("REVOKE INSERT ON audit_entry FROM clr_app")
    permit_revoke(actor=acme.mara.actor, proposal_id=held.id, reason="Wrong order.")
    assert proposal_detail(acme.mara.actor, held.id).tampered == ""
    alter(held, "snapshot and hash")
    assert proposal_detail(acme.mara.actor, held.id).tampered


def test_proposal_and_call_edited_in_step_still_differ_from_what_was_decided(acme_committed, alter):
    """Bytes and digest edited alike in both rows: the decision, the permit and the log name the approved digest."""
    acme = acme_committed
    held = acme.hold()
    acme.decide(held)
    alter(held, "bytes and digest")
    canonical, digest = other_bytes(acme)
    answer = acme.redeem(held, canonical=canonical, digest=digest)
    assert (answer.kind, answer.code) == ("refused", "PROPOSAL_ALTERED")


def test_a_permit_edited_to_fit_is_not_enough(acme_committed, alter, owner_sql):
    acme = acme_committed
    held = acme.hold()
    acme.decide(held)
    alter(held, "bytes and digest")
    canonical, digest = other_bytes(acme)
    edit_as_owner(owner_sql, "approvals_permit", f"digest = '{digest}'", f"proposal_id = '{held.id}'")
    edit_as_owner(owner_sql, "approvals_decision", f"digest = '{digest}'", f"proposal_id = '{held.id}'")
    answer = acme.redeem(held, canonical=canonical, digest=digest)
    assert (answer.kind, answer.code) == ("refused", "PROPOSAL_ALTERED")


def test_an_edited_log_is_not_enough_while_the_decision_names_the_approved_digest(acme_committed, alter, owner_sql):
    acme = acme_committed
    held = acme.hold()
    acme.decide(held)
    alter(held, "bytes and digest")
    canonical, digest = other_bytes(acme)
    edit_as_owner(owner_sql, "approvals_permit", f"digest = '{digest}'", f"proposal_id = '{held.id}'")
    in_log = f"""detail = jsonb_set(detail, '{{digest}}', '"{digest}"')"""
    edit_as_owner(owner_sql, "audit_entry", in_log, f"object_id = '{held.id}' AND action = 'proposal.held'")
    answer = acme.redeem(held, canonical=canonical, digest=digest)
    assert (answer.kind, answer.code) == ("refused", "PROPOSAL_ALTERED")


def test_a_void_permit_made_ready_again_does_not_pass_without_votes(acme_committed, owner_sql):
    acme = acme_committed
    held = acme.hold()
    owner_sql(
        "INSERT INTO approvals_permit (id, proposal_id, round, digest, status, void_because, granted_at, epoch)"
        f" VALUES (gen_random_uuid(), '{held.id}', 1, '{held.digest}', 'ready', '',"
        " clearance_now(), clearance_epoch());"
        f" UPDATE approvals_proposal SET status = 'granted' WHERE id = '{held.id}'"
    )
    answer = acme.redeem(held)
    assert (answer.kind, answer.code) == ("ask_again", "DECIDER_CHANGED")


def test_a_decision_that_an_owner_wrote_for_somebody_who_may_not_decide_does_not_count(acme_committed, owner_sql):
    acme = acme_committed
    held = acme.hold()
    acme.decide(held)
    edit_as_owner(
        owner_sql, "approvals_decision", f"reviewer_id = '{acme.owner.user_id}'", f"proposal_id = '{held.id}'"
    )
    assert acme.redeem(held).kind == "ask_again"


def test_the_list_says_which_row_cannot_be_shown_and_shows_the_others(acme_committed, alter):
    """S87: one bad row never blanks the queue."""
    acme = acme_committed
    surrogate, broken, sound = acme.hold(100), acme.hold(200), acme.hold(300)
    alter(surrogate, "lone surrogate")
    alter(broken, "not JSON at all")
    for rows in (
        inbox(acme.mara.actor, view="all").rows,
        rows_by_id(acme.mara.actor, [surrogate.id, broken.id, sound.id]),
    ):
        seen = {row.id: row for row in rows}
        assert len(seen) == 3
        for bad in (surrogate, broken):
            assert not seen[bad.id].readable
            assert str(bad.id) in seen[bad.id].sentence
            assert "cannot be shown safely" in seen[bad.id].sentence
            assert (seen[bad.id].amount, seen[bad.id].may_decide) == ("", False)
        assert seen[sound.id].readable


def test_bytes_with_a_digest_that_fits_them_but_no_form_are_not_shown_safely_either(acme_committed, owner_sql):
    acme = acme_committed
    held = acme.hold()
    bad = rb'{"a":"\ud800"}'
    edit_as_owner(
        owner_sql,
        "approvals_proposal",
        f"canonical = '\\x{bad.hex()}'::bytea, digest = '{hashlib.sha256(bad).hexdigest()}'",
        f"id = '{held.id}'",
    )
    [row] = inbox(acme.mara.actor, view="all").rows
    assert not row.readable
    assert proposal_detail(acme.mara.actor, held.id).content is None


@pytest.mark.parametrize("column", ["requires", "why"])
@pytest.mark.parametrize("value", ["null", "7", '"x"', "[1]", '[{"group": "finance"}]', "[[]]"])
def test_no_damaged_column_breaks_a_page_or_a_list(acme_committed, owner_sql, column, value):
    acme = acme_committed
    held = acme.hold()
    edit_as_owner(owner_sql, "approvals_proposal", f"{column} = '{value}'::jsonb", f"id = '{held.id}'")
    assert proposal_detail(acme.mara.actor, held.id).content is None
    assert len(inbox(acme.mara.actor, view="all").rows) == 1
    with pytest.raises(Conflict) as caught:
        acme.decide(held)
    assert caught.value.code == "PROPOSAL_ALTERED"


def test_a_deadline_that_was_shortened_by_a_rule_is_no_alteration(acme_committed):
    acme = acme_committed
    held = acme.hold()
    acme.decide(held)
    acme.publish(asking(("finance", 2), expires_in_s=300))
    answer = acme.redeem(held)
    assert answer.kind == "ask_again"
    assert held.row.expires_at - answer.proposal.expires_at == pytest.approx(
        timedelta(seconds=600), abs=timedelta(seconds=1)
    )
    assert proposal_detail(acme.mara.actor, held.id).tampered == ""
    assert acme.decide(held, by=acme.mara).status == "pending"
