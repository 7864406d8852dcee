"""approvals/selectors/proposals.py: lists of summaries, in few queries, by the rights of now."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest

from access.services import people
from approvals.selectors.proposals import InboxCounts, inbox, inbox_counts, rows_by_id
from approvals.services.settling import permit_settle
from audit.core.refusal import Invalid
from tests.support import factories
from tests.support.approvals import asking, world


def ids(page):
    return [row.id for row in page.rows]


def walk(actor, **kwargs):
    """Every row of a view, page after page, with the number of pages."""
    rows, cursor, pages = [], "", 0
    while True:
        page = inbox(actor, cursor=cursor, **kwargs)
        rows += page.rows
        pages += 1
        if not page.next:
            return rows, pages
        cursor = page.next


# What a row says.


def test_a_row_is_a_summary_of_one_sentence(acme):
    held = acme.hold(run_title="Ticket 5512")
    [row] = inbox(acme.mara.actor).rows
    assert row.sentence == "Refund A$45.00 of A$120.00 to Anna Berg for order ord_1029"
    assert (row.amount, row.amount_minor, row.currency) == ("A$45.00", 4500, "AUD")
    assert (row.needs, row.progress, row.status) == ("1 of finance", "", "pending")
    assert (row.agent_name, row.acting_for, row.run_title) == ("support-agent", "Jon Hale", "Ticket 5512")
    assert (row.rule_id, row.why) == ("refund", "The policy's rule refund holds this call.")
    assert (row.id, row.version, row.round, row.digest) == (held.id, 1, 1, held.digest)
    assert row.may_decide
    assert row.readable


def test_what_a_row_takes_from_outside_is_one_line_with_visible_escapes(acme):
    """S12."""
    acme.hold(run_title="Ticket\n\u202e5512", note="a\u200bb")
    [row] = inbox(acme.mara.actor).rows
    assert row.run_title == "Ticket[U+000A][U+202E]5512"
    assert row.hidden_characters


def test_progress_and_who_decided_are_told(acme):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    acme.decide(held)
    [row] = inbox(acme.noor.actor).rows
    assert (row.progress, row.needs) == ("1 of 2", "2 of finance")
    acme.decide(held, "reject", by=acme.noor)
    [row] = inbox(acme.noor.actor, view="decided").rows
    assert (row.status, row.decided_by) == ("rejected", "Noor Aziz")


def test_equal_calls_say_so_in_both_rows(acme):
    """S91."""
    first, second, other = acme.hold(), acme.hold(), acme.hold(700)
    seen = {row.id: row.same_as for row in inbox(acme.mara.actor).rows}
    assert "Same as another call, pending" in seen[first.id]
    assert "Same as another call, pending" in seen[second.id]
    assert seen[other.id] == ""


@pytest.mark.parametrize(
    ("outcome", "words"), [("", "started"), ("succeeded", "executed"), ("unknown", "sent, outcome unknown")]
)
def test_an_equal_call_that_was_executed_is_named_before_one_that_was_not(acme, outcome, words):
    executed = acme.hold()
    acme.decide(executed)
    acme.redeem(executed)
    if outcome:
        permit_settle(proposal_id=executed.id, outcome=outcome)
    acme.hold()
    [row] = rows_by_id(acme.mara.actor, [acme.hold().id])
    assert row.same_as.startswith(f"Same as another call, {words}")
    assert row.same_as.endswith(("just now.", "ago."))


# Views and counts.


def test_mine_are_those_that_wait_for_me_and_all_are_those_that_wait_for_anybody(acme):
    finance = acme.hold(100)
    acme.publish(asking(("leads", 1)))
    leads = acme.hold(200)
    assert ids(inbox(acme.mara.actor, view="mine")) == [finance.id]
    assert set(ids(inbox(acme.noor.actor, view="mine"))) == {finance.id, leads.id}
    assert set(ids(inbox(acme.mara.actor, view="all"))) == {finance.id, leads.id}
    assert inbox_counts(acme.mara.actor) == InboxCounts(mine=1, all=2)
    assert inbox_counts(acme.noor.actor) == InboxCounts(mine=2, all=2)


@pytest.mark.parametrize("who", ["customer_care", "owner"])
def test_what_one_may_not_decide_because_it_is_ones_own_is_not_mine(acme, who):
    acme.hold()
    person = getattr(acme, who)
    assert inbox(person.actor, view="mine").rows == []
    [row] = inbox(person.actor, view="all").rows
    assert not row.may_decide
    assert inbox_counts(person.actor) == InboxCounts(mine=0, all=1)


def test_what_i_have_voted_on_is_no_longer_mine_until_its_next_round(acme):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    acme.decide(held)
    assert inbox(acme.mara.actor, view="mine").rows == []
    assert ids(inbox(acme.noor.actor, view="mine")) == [held.id]
    acme.hold(run_id=held.run_id, call_id=held.call_id)
    assert ids(inbox(acme.mara.actor, view="mine")) == [held.id]


def test_without_the_role_or_the_group_nothing_is_mine(acme):
    acme.hold()
    operator = factories.person(acme.tenant, roles=["operator"], groups=["finance"])
    loner = factories.person(acme.tenant)
    for person in (operator, loner):
        assert inbox(person.actor, view="mine").rows == []
        assert len(inbox(person.actor, view="all").rows) == 1
    people.group_remove(actor=acme.tenant.admin.actor, group="finance", user_id=acme.mara.user_id)
    assert inbox(acme.mara.actor, view="mine").rows == []


def test_a_decided_one_leaves_the_queue_and_heads_the_decided(acme):
    first, second, waiting = acme.hold(100), acme.hold(200), acme.hold(300)
    acme.decide(second)
    acme.decide(first, "reject")
    assert ids(inbox(acme.mara.actor, view="decided")) == [first.id, second.id]
    assert ids(inbox(acme.mara.actor, view="all")) == [waiting.id]


def test_a_view_that_does_not_exist_is_named(acme):
    with pytest.raises(Invalid) as caught:
        inbox(acme.mara.actor, view="everything")
    assert caught.value.code == "VIEW_UNKNOWN"


# Who sees what (S62).


def test_another_tenant_sees_and_finds_nothing(acme):
    held = acme.hold()
    globex = world()
    for view in ("mine", "all", "decided"):
        assert inbox(globex.mara.actor, view=view).rows == []
    assert inbox_counts(globex.mara.actor) == InboxCounts(mine=0, all=0)
    assert rows_by_id(globex.mara.actor, [held.id]) == []


def test_an_agent_sees_its_own_and_only_for_the_same_person(acme):
    held = acme.hold()
    other_agent = factories.agent(acme.tenant)
    assert ids(inbox(acme.actor, view="all")) == [held.id]
    assert inbox(acme.actor, view="mine").rows == []
    assert inbox(other_agent.actor(), view="all").rows == []
    assert inbox(acme.agent.actor(), view="all").rows == []


def test_a_member_without_any_role_sees_nothing(acme):
    acme.hold()
    bare = factories.person(acme.tenant, roles=[], groups=["finance"])
    assert inbox(bare.actor, view="all").rows == []


# Order, pages, search.


def test_the_soonest_deadline_comes_first_and_pages_neither_repeat_nor_lose(acme):
    held = {acme.hold(100 + i, expires_in_s=600 + (i * 7) % 13).id for i in range(13)}
    rows, pages = walk(acme.mara.actor, view="mine", limit=5)
    assert pages == 3
    assert {row.id for row in rows} == held
    assert [row.expires_at for row in rows] == sorted(row.expires_at for row in rows)
    assert len(rows) == 13


def test_rows_with_one_deadline_are_paged_by_id(acme_committed, stand_at):
    acme = acme_committed
    at = acme.hold(99).row.expires_at
    stand_at(at - timedelta(seconds=900))
    held = {acme.hold(100 + i).id for i in range(6)}
    rows, _ = walk(acme.mara.actor, view="all", limit=2)
    assert [row.id for row in rows if row.id in held] == sorted(held)
    for one in rows:
        acme.decide(type("Held", (), {"id": one.id, "digest": one.digest}), "reject")
    decided, pages = walk(acme.mara.actor, view="decided", limit=2)
    assert pages == 4
    assert len({row.id for row in decided}) == 7


@pytest.mark.parametrize("cursor", ["x", "////", "MjAyNg", "MjAyNi0wMS0wMVQwMDowMDowMHx4"])
def test_a_cursor_that_is_none_of_ours_is_refused(acme, cursor):
    with pytest.raises(Invalid) as caught:
        inbox(acme.mara.actor, cursor=cursor)
    assert caught.value.code == "CURSOR_INVALID"


@pytest.mark.parametrize(
    ("search", "found"),
    [("anna", True), ("ORD_1029", True), ("refund_order", True), ("support-", True), ("5512", True),
     ("nobody", False), ("%", False), ("_", True), ("\\", False), ("a\0nna", True), ("  ", True)],
)  # fmt: skip
def test_search_looks_in_sentence_tool_agent_and_run_title_and_takes_no_wildcards(acme, search, found):
    acme.hold(run_title="Ticket 5512")
    assert bool(inbox(acme.mara.actor, view="all", search=search).rows) == found


def test_rows_by_id_gives_any_that_one_may_see_whatever_their_status(acme):
    waiting, decided = acme.hold(100), acme.hold(200)
    acme.decide(decided)
    rows = rows_by_id(acme.mara.actor, [waiting.id, decided.id, uuid4()])
    assert {row.id: row.status for row in rows} == {waiting.id: "pending", decided.id: "granted"}


# Cost.


@pytest.mark.parametrize("view", ["mine", "all", "decided"])
def test_the_number_of_queries_does_not_grow_with_the_rows(acme, view, django_assert_num_queries):
    acme.publish(asking(("finance", 2)))
    actor = acme.mara.actor

    def fill(n):
        for i in range(n):
            held = acme.hold(100 + i)
            acme.decide(held, "reject" if view == "decided" else "approve", by=acme.noor)

    fill(2)
    with django_assert_num_queries(2):
        assert len(inbox(actor, view=view).rows) == 2
    fill(6)
    with django_assert_num_queries(2):
        assert len(inbox(actor, view=view).rows) == 8
    with django_assert_num_queries(1):
        inbox_counts(actor)


def test_no_body_is_read_for_a_list(acme, django_assert_num_queries):
    """S88: the bytes are judged in the database and stay there."""
    acme.hold(note="x" * 2000)
    actor = acme.mara.actor
    with django_assert_num_queries(2) as captured:
        inbox(actor, view="all")
    read = re.sub(r"approvals_intact\([^)]*\)", "", captured[0]["sql"]).partition(" FROM ")[0]
    for body in ("canonical", "given", "snapshot", "observed", "outcome_detail", "reason"):
        assert f'"approvals_proposal"."{body}"' not in read
