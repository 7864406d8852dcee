"""runs/services/replay.py and approvals/services/replay.py: a text tried on past calls, by the production evaluator."""

import pytest
from django.core.management import CommandError, call_command

from approvals.models import Judgement, PolicyReplay
from approvals.selectors.replays import replay_get, replay_latest
from approvals.services import replay as replays
from approvals.services.policy_draft import policy_draft_create, policy_draft_save
from approvals.services.replay import replay_ask, replay_begin, replay_cancel, replays_left_alone
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from runs.services import dispatch
from runs.services import replay as running
from runs.services.replay import replay_run
from runs.store import past_calls
from tests.support import factories
from tests.support.world import POLICY

REFUND = "  - {id: refund, tool"
SMALL = '  - {id: small, tool: refund_order, when: "args.amount <= 5000", effect: allow}\n'
MARA = """  - {id: mara, tool: refund_order, when: "state.customer == 'Mara Lindqvist'", effect: deny}\n"""
LOOSE = POLICY.replace(REFUND, SMALL + REFUND)
NAMED = POLICY.replace(REFUND, MARA + REFUND)
SUMS = POLICY + (
    "limits:\n  - {id: day, tool: refund_order, per: tool, window: 24h, amount: {AUD: 6000}, over: deny}\n"
)


def tried(world, source, **options):
    """Asked for, worked on to its end, and as a page shows it."""
    asked = replay_ask(actor=world.admin, source=source, **options)
    assert replay_run(replay_id=asked.id) is True
    found = replay_get(world.admin, asked.id)
    assert (found.status, found.percent) == ("done", 100)
    return found


def moves(found):
    return [(move.before, move.after, move.calls, move.sums) for move in found.moves]


@pytest.fixture
def history(world):
    """An allowed read, a held refund, a rejected one, one that was executed, and one that was denied."""
    world.admit("refund_order", lambda document: document.update(approval="policy"))
    run, order = world.run(), world.order(500_000)
    world.submit(run, "get_order", {"order_id": order})
    held, rejected, done = (world.refund(run, order, amount) for amount in (4_000, 4_500, 6_000))
    denied = world.refund(run, order, 200_000)
    world.work(run)
    world.decide(world.look(rejected), "reject")
    world.decide(world.look(done))
    world.work(run)
    assert world.look(done).state == "succeeded"
    return {"held": held, "rejected": rejected, "done": done, "denied": denied, "order": order}


def test_what_the_draft_would_let_through_comes_first_with_sums_examples_and_whether_people_rejected_it(world, history):
    stricter_and_looser = LOOSE.replace("args.amount > 100000", "args.amount > 300000").replace(
        "{id: read-orders, tool: get_order, effect: allow}",
        "{id: read-orders, tool: get_order, effect: deny, message: No.}",
    )
    found = tried(world, stricter_and_looser)
    assert moves(found) == [
        ("ask", "allow", 2, ("A$85.00",)),
        ("deny", "ask", 1, ("A$2,000.00",)),
        ("allow", "deny", 1, ()),
    ]
    first = found.moves[0]
    assert (first.looser, first.rejected, first.rules) == (True, 1, (("refund", "small", 2),))
    assert {(one.call_id, one.rejected, one.money) for one in first.examples} == {
        (history["held"].call_id, False, "A$40.00"), (history["rejected"].call_id, True, "A$45.00"),
    }  # fmt: skip
    assert all(one.proposal_id for one in first.examples)
    assert (found.judged, found.total, found.same, found.changed) == (5, 5, 1, 4)


def test_no_tool_is_called_and_the_version_in_force_itself_changes_nothing(world, history, monkeypatch):
    touched = []
    for boundary in (dispatch.direct, dispatch.gateway):
        for name in ("read_state", "execute", "look_up"):
            monkeypatch.setattr(boundary, name, lambda *_, name=name, **__: touched.append(name), raising=False)
    found = tried(world, POLICY)
    assert (found.moves, found.same, found.left_out, found.as_now) == ((), 5, (), 0)
    assert touched == []
    assert len(world.refunds(history["order"])) == 1


def test_rules_see_the_state_of_that_day_and_what_was_not_kept_is_said(world, history, owner_sql):
    found = tried(world, NAMED.replace("args.amount > 100000", "args.amount > 300000"))
    assert (moves(found), found.same) == ([("ask", "deny", 3, ("A$145.00",))], 2)
    assert Judgement.objects.count() == 5
    # Of a call that was held, people saw the state: it is there, and the rights are those of now.
    forget(owner_sql, f"call_id = '{history['held'].call_id}'")
    found = tried(world, NAMED)
    assert (found.left_out, found.as_now, moves(found)[0][:3]) == ((), 1, ("ask", "deny", 3))
    # Of one that was denied, nothing is left: it is left out, counted and listed.
    forget(owner_sql, f"call_id = '{history['denied'].call_id}'")
    found = tried(world, NAMED)
    [left] = found.left_out
    assert (left.calls, [one.call_id for one in left.examples]) == (1, [history["denied"].call_id])
    assert ("was not kept" in left.why, found.judged) == (True, 5)
    # A state that neither a rule nor a check asks for is not missed: the read has none.
    forget(owner_sql, "true")
    found = tried(world, POLICY)
    assert (sum(left.calls for left in found.left_out), found.same, found.as_now) == (1, 4, 4)


def test_sums_of_the_day_are_counted_from_the_calls_of_then(world, history):
    later = world.refund(world.run(), history["order"], 1_000)
    world.work(later)
    found = tried(world, SUMS)
    assert moves(found) == [("ask", "deny", 1, ("A$10.00",))]
    assert found.moves[0].examples[0].call_id == later.call_id
    assert found.moves[0].rules == (("refund", "limit:day", 1),)


def test_a_replay_goes_on_where_its_worker_died_and_counts_nothing_twice(world, history, monkeypatch, owner_sql):
    asked = replay_ask(actor=world.admin, source=SUMS)
    monkeypatch.setattr(past_calls, "BATCH", 2)
    monkeypatch.setattr(running, "past_calls", lambda **span: past_calls.past_calls(**span, batch=2))
    first = replay_begin(replay_id=asked.id)
    batches = past_calls.past_calls(tenant_id=first.tenant_id, since=first.begins, until=first.until, batch=2)
    assert first.feed(next(batches))
    assert replay_begin(replay_id=asked.id) is None
    owner_sql("UPDATE approvals_policyreplay SET lease_until = clearance_now() - interval '1 second'")
    assert replays_left_alone() == [asked.id]
    assert replay_run(replay_id=asked.id)
    found = replay_get(world.admin, asked.id)
    assert (found.judged, found.same + found.changed) == (5, 5)
    assert first.feed(next(batches)) is False
    assert replay_get(world.admin, asked.id) == found


def test_one_that_nobody_takes_up_is_found_by_the_sweep_and_a_cancelled_one_stops_at_its_next_batch(world, owner_sql):
    asked = replay_ask(actor=world.admin, source=LOOSE)
    assert replays_left_alone() == []
    owner_sql("UPDATE approvals_policyreplay SET asked_at = clearance_now() - interval '4 seconds'")
    assert replays_left_alone() == [asked.id]
    under_way = replay_begin(replay_id=asked.id)
    assert replay_cancel(actor=world.admin, replay_id=asked.id).status == "cancelled"
    assert under_way.feed([]) is False
    assert replay_run(replay_id=asked.id) is False
    assert replay_get(world.admin, asked.id).said.endswith("cancelled it.")


def test_it_is_stale_as_soon_as_the_draft_or_the_version_in_force_changes(world):
    draft = policy_draft_create(actor=world.admin, name="Small refunds", source=LOOSE)
    found = tried(world, LOOSE, draft_id=draft.id)
    assert (replay_latest(world.admin, draft.id), found.stale) == (found, "")
    policy_draft_save(actor=world.admin, draft_id=draft.id, revision=draft.revision, source=POLICY)
    assert "draft was changed" in replay_get(world.admin, found.id).stale
    world.publish(SUMS)
    assert "in force since" in replay_get(world.admin, found.id).stale


def test_asking_again_for_a_draft_cancels_the_one_that_is_open(world):
    draft = policy_draft_create(actor=world.admin, name="Small refunds", source=LOOSE)
    first = replay_ask(actor=world.admin, source=LOOSE, draft_id=draft.id)
    second = replay_ask(actor=world.admin, source=LOOSE, draft_id=draft.id)
    assert replay_get(world.admin, first.id).status == "cancelled"
    assert replay_latest(world.admin, draft.id).id == second.id
    with pytest.raises(NotFound):
        replay_ask(actor=factories.tenant().admin.actor, source=LOOSE, draft_id=draft.id)


def test_calls_of_before_the_span_are_not_judged_and_a_damaged_one_is_left_out(world, history, owner_sql):
    edit(owner_sql, "runs_call", "created_at = created_at - interval '9 days'", f"id = '{history['held'].id}'")
    assert tried(world, LOOSE, days=7).judged == 4
    assert tried(world, LOOSE, days=10).judged == 5
    edit(owner_sql, "runs_call", "canonical = '\\x7b7d'", f"id = '{history['held'].id}'")
    found = tried(world, LOOSE, days=10)
    assert [(left.calls, "recorded" in left.why) for left in found.left_out] == [(1, True)]


def test_another_organisations_calls_and_replays_are_not_there(world, history):
    other = factories.tenant()
    asked = replay_ask(
        actor=other.admin.actor, source=POLICY.replace("{group: finance, count: 1}", "{group: x, count: 1}")
    )
    assert replay_run(replay_id=asked.id)
    assert replay_get(other.admin.actor, asked.id).judged == 0
    assert replay_get(world.admin, asked.id) is None
    with pytest.raises(NotFound):
        replay_cancel(actor=world.admin, replay_id=asked.id)


def test_only_an_admin_tries_a_policy_only_a_text_that_is_one_and_few_at_once(world):
    with pytest.raises(Forbidden):
        replay_ask(actor=world.reviewer.actor, source=POLICY)
    with pytest.raises(Invalid) as refused:
        replay_ask(actor=world.admin, source="version: 1\nrules: [{id: x}]\n")
    assert refused.value.code == "POLICY_INVALID"
    with pytest.raises(Invalid):
        replay_ask(actor=world.admin, source=POLICY, days=0)
    assert not PolicyReplay.objects.exists()
    for _ in range(replays.MOST_OPEN):
        replay_ask(actor=world.admin, source=POLICY)
    with pytest.raises(Conflict, match="under way"):
        replay_ask(actor=world.admin, source=POLICY)


def test_a_replay_that_breaks_is_closed_and_says_so(world, history, monkeypatch):
    asked = replay_ask(actor=world.admin, source=LOOSE)

    def broken(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(replays, "evaluate", broken)
    assert replay_run(replay_id=asked.id) is False
    found = replay_get(world.admin, asked.id)
    assert (found.status, "could not be brought to its end" in found.said) == ("failed", True)


def test_a_file_is_tried_at_the_command_line_with_the_result_of_the_pages(world, history, tmp_path, capsys):
    file = tmp_path / "policy.yaml"
    file.write_text(LOOSE)
    call_command("policy", "replay", str(file), tenant=world.tenant.slug, email=world.tenant.admin.email, days=7)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "5 calls of the last 7 days, by version 1 and by this text; no tool was called."
    assert said[1] == "ask -> allow: 2 calls, A$85.00; 1 of them had been rejected by people"
    assert said[2].strip() == "refund -> small: 2"
    assert said[-1] == "3 calls would be judged as today."
    file.write_text("version: 1\nrules: [{id: x}]\n")
    with pytest.raises(CommandError, match="cannot be used"):
        call_command("policy", "replay", str(file), tenant=world.tenant.slug, email=world.tenant.admin.email)


def edit(owner_sql, table, assignment, where):
    owner_sql(
        f"ALTER TABLE {table} DISABLE TRIGGER USER; UPDATE {table} SET {assignment} WHERE {where}; "
        f"ALTER TABLE {table} ENABLE TRIGGER USER"
    )


def forget(owner_sql, where):
    """As for calls of before anything was kept."""
    owner_sql(
        f"ALTER TABLE approvals_judgement DISABLE TRIGGER USER; DELETE FROM approvals_judgement WHERE {where}; "
        "ALTER TABLE approvals_judgement ENABLE TRIGGER USER"
    )
