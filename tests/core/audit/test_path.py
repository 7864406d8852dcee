"""The path of a call, told from its entries alone."""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from audit.core.actions import ACTIONS
from audit.core.entry import FIELDS, Entry
from audit.core.path import path_of

START = datetime(2026, 11, 29, 3, 2, tzinfo=UTC)
_number = count(1)


def entry(action: str, at: float = 0, verdict: str = "ok", **fields: Any) -> Entry:
    plain: dict[str, Any] = dict.fromkeys(FIELDS, "") | {
        "at": START + timedelta(seconds=at), "id": next(_number), "actor_kind": "system", "actor_name": "worker",
        "tool": "refund_order", "run_id": "r-1", "call_id": "call-1", "object_type": "call", "detail": {},
        "result_bytes": None, "duration_ms": None,
    }  # fmt: skip
    return Entry(**(plain | {"action": action, "verdict": verdict} | fields))


def whole_life() -> list[Entry]:
    """Asked, held, shown, approved, checked again, started, succeeded."""
    mara: dict[str, Any] = {"actor_kind": "person", "actor_id": "u-mara", "actor_name": "Mara Lind"}
    proposal: dict[str, Any] = {"object_type": "proposal", "object_id": "p-1"}
    return [
        entry("call.submitted", actor_kind="agent", actor_name="support-agent", on_behalf_of="u-jon",
              detail={"digest": "a1f39c07" * 8, "key": "clr_1", "contract_version": 3}),
        entry("proposal.held", 1, **proposal, detail={"rule": "refund", "policy": 8, "sentence": "Refund A$45.00",
              "requires": [{"group": "finance", "count": 1}], "expires_at": "2026-11-29T03:17:00.000000Z"}),
        entry("proposal.shown", 751, **mara, **proposal, detail={"round": 1, "snapshot": "bb" * 32, "long_texts": 1}),
        entry("proposal.decided", 884, **mara, **proposal, detail={"verdict": "approve", "round": 1,
              "status": "granted", "reason": "ok <b>", "read_to_end": True}),
        entry("permit.redeemed", 884.5, **proposal, detail={"rule": "refund", "policy": 8}),
        entry("call.started", 884.6, detail={"attempt": 1, "fence": 3, "key": "clr_1"}),
        entry("call.succeeded", 885, detail={"reference": "re_51x", "key": "clr_1"}, result_bytes=300, duration_ms=212),
    ]  # fmt: skip


def test_the_whole_life_of_an_approved_call_is_told_in_order():
    path = path_of(whole_life(), {"u-jon": "Jon Hale"})
    assert [step.title for step in path.steps] == [
        "Asked", "Held", "Shown", "Approved", "Checked again", "Started", "Succeeded",
    ]  # fmt: skip
    assert [passed.state for passed in path.stages] == ["done"] * 7
    assert path.missing == ()
    assert path.steps[0].text == "refund_order v3 by support-agent, for Jon Hale"
    assert path.steps[1].text == "by rule refund, policy v8"
    assert "needs 1 of finance" in path.steps[1].notes
    assert path.steps[3].said == "ok <b>"
    assert "said: read to the end" in path.steps[3].notes
    assert "re_51x" in path.steps[6].text
    assert "212 ms, 300 bytes" in path.steps[6].notes


def test_gaps_and_the_times_of_people_and_machine_are_told():
    path = path_of(whole_life(), {})
    assert path.steps[0].gap is None
    assert path.steps[2].gap == timedelta(seconds=750)
    assert path.took == timedelta(seconds=885)
    assert path.waited == timedelta(seconds=883)
    assert path.worked == timedelta(seconds=1)


def test_it_names_run_call_proposal_and_digest():
    path = path_of(whole_life(), {})
    assert (path.run_id, path.call_id, path.proposal_id, path.tool) == ("r-1", "call-1", "p-1", "refund_order")
    assert path.digest == "a1f39c07" * 8


def without(action: str) -> list[Entry]:
    return [one for one in whole_life() if one.action != action]


@pytest.mark.parametrize(
    ("action", "stage", "sentence"),
    [
        ("proposal.shown", "shown", "No entry says that Mara Lind was shown this before deciding"),
        ("call.submitted", "asked", "No entry says who asked"),
        ("permit.redeemed", "checked", "no entry says what allowed it"),
        ("proposal.decided", "decided", "no entry says who approved"),
    ],
)
def test_what_the_log_does_not_say_is_told_as_missing(action, stage, sentence):
    path = path_of(without(action), {})
    assert next(passed for passed in path.stages if passed.stage == stage).state == "missing"
    assert any(sentence in said for said in path.missing)


def test_somebody_else_who_was_shown_it_does_not_count():
    entries = [
        one if one.action != "proposal.shown" else entry("proposal.shown", 5, actor_id="u-noor", detail={"round": 1})
        for one in whole_life()
    ]
    assert any("Mara Lind" in said for said in path_of(entries, {}).missing)


def test_a_call_that_the_policy_allows_needs_no_people():
    path = path_of([entry("call.submitted"), entry("call.allowed", 1), entry("call.started", 2),
                    entry("call.succeeded", 3)], {})  # fmt: skip
    assert [passed.state for passed in path.stages] == [
        "done", "done", "not_needed", "not_needed", "not_needed", "done", "done",
    ]  # fmt: skip
    assert path.missing == ()


def test_a_call_that_was_refused_misses_nothing():
    path = path_of([entry("call.submitted"), entry("call.refused", 1, "refused", detail={"code": "NO_RULE"})], {})
    assert "missing" not in [passed.state for passed in path.stages]
    assert path.missing == ()
    assert path.steps[1].notes == ("NO_RULE",)


def test_a_call_that_still_waits_has_its_stages_ahead():
    path = path_of(whole_life()[:2], {})
    assert [passed.state for passed in path.stages] == ["done", "done", *["ahead"] * 5]
    assert path.waited is None


def test_a_rejected_call_has_nothing_ahead_and_who_looks_afterwards_was_not_shown_it():
    asked, held, *_ = whole_life()
    rejected = entry("proposal.decided", 884, actor_id="u-mara", actor_name="Mara Lind", object_type="proposal",
                     detail={"verdict": "reject", "round": 1, "status": "rejected", "reason": "no"})  # fmt: skip
    path = path_of([asked, held, rejected, entry("proposal.shown", 900, actor_id="u-mara", detail={"round": 1})], {})
    assert [passed.state for passed in path.stages] == [
        "done", "done", "missing", "done", "not_needed", "not_needed", "not_needed",
    ]  # fmt: skip
    assert path.steps[2].title == "Rejected"
    assert any("was shown this before deciding" in said for said in path.missing)


def test_a_refused_click_is_told_and_decides_nothing():
    refused = entry("proposal.decided", 2, "refused", actor_name="Jon Hale", detail={"code": "SELF_APPROVAL"})
    path = path_of([*whole_life()[:2], refused], {})
    assert path.steps[2].title == "Refused to decide a proposal"
    assert path.steps[2].notes == ("SELF_APPROVAL",)
    assert next(passed for passed in path.stages if passed.stage == "decided").state == "ahead"


def test_the_same_request_again_is_no_second_asking():
    path = path_of([entry("call.submitted"), entry("call.submitted", 5, "duplicate")], {})
    assert path.steps[1].title == "Asked again"
    assert path.stages[0].at == START


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("verdict", ["ok", "refused", "unknown"])
@pytest.mark.parametrize("detail", [{}, {"round": "x", "requires": "y", "code": 7, "key": None, "digest": [1]}])
def test_no_entry_breaks_the_telling(action, verdict, detail):
    path = path_of([entry(action, 0, verdict, detail=detail)], {})
    assert path.steps[0].title


def test_a_revision_begins_with_the_edit_and_misses_nobody_who_asked_for_it():
    told = {"of_call": "refund", "revision": 2, "changed": ["/amount"], "reason": "The cable was kept."}
    edited = entry("proposal.edited", detail=told)
    asked = entry("proposal.question_asked", detail={"text": "Is this the second lamp?"})
    found = path_of([edited, asked], {})
    assert [(step.stage, step.title, step.said) for step in found.steps] == [
        ("asked", "Edited", "The cable was kept."), ("other", "The agent was asked", "Is this the second lamp?"),
    ]  # fmt: skip
    assert found.steps[0].notes == ("revision 2", "changed /amount")
    assert "in the place of call refund" in found.steps[0].text
    assert found.missing == ()


def test_a_decision_in_anothers_place_says_whose_vote_it_is():
    giver = {"id": "u-b", "name": "Berta Cole"}
    detail = {"verdict": "approve", "round": 1, "for": giver}
    lent = entry("proposal.decided", 884, actor_id="u-anna", actor_name="Anna Berg", object_id="p1", detail=detail)
    told = [step.text for step in path_of([lent], {}).steps if step.stage == "decided"]
    assert told == ["by Anna Berg for Berta Cole"]
