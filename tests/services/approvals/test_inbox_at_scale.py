"""What keeps the inbox quick with a hundred thousand waiting (issue 4, point 9): counts that end, a search that asks an
index, and readings that an index alone can answer. benchmarks/inbox.py measures it."""

import re
from uuid import UUID

import pytest
from django.db import connection, transaction

from approvals.core.narrowing import Narrowing
from approvals.selectors import narrowing as narrowings
from approvals.selectors import proposals
from approvals.selectors.proposals import InboxCounts, inbox, inbox_counts, inbox_sums
from approvals.selectors.watch import list_tokens
from approvals.templatetags.show import counted as counted_shown
from audit.selectors import counted


def plans(reading, *, also_off: str = "") -> list[str]:
    """The plans of what is sent, as for a table that is too large to be read whole. `also_off`: a further way of
    reading that the planner of a table of three rows may not choose. In a database of the test's own: what other
    tests left in the tables and indexes (rows rolled back, widths, counts) sways the planner too."""
    sent = []

    def remember(execute, statement, parameters, many, context):
        sent.append((statement, parameters))
        return execute(statement, parameters, many, context)

    with connection.execute_wrapper(remember):
        reading()
    found = []
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off")
        if also_off:
            cursor.execute(f"SET LOCAL {also_off} = off")
        for statement, parameters in sent:
            cursor.execute("EXPLAIN (COSTS OFF) " + statement, parameters)
            found.append("\n".join(line for (line,) in cursor.fetchall()))
    return found


def test_counts_end_and_say_that_there_are_more(acme, monkeypatch):
    monkeypatch.setattr(counted, "COUNTED", 2)
    for amount in (100, 200):
        acme.hold(amount)
    assert inbox_counts(acme.mara.actor) == InboxCounts(mine=2, all=2)
    for amount in (300, 400):
        acme.hold(amount)
    assert inbox_counts(acme.mara.actor) == InboxCounts(mine=3, all=3)
    assert (counted.count_words(2), counted.count_words(3)) == ("2", "2+")


def test_a_count_that_ended_is_shown_with_a_plus():
    assert [counted_shown(count) for count in (0, 1_000, 1_001)] == ["0", "1000", "1,000+"]


@pytest.mark.parametrize("few", [1_000, 0], ids=["by the index of words", "along the list"])
def test_a_word_is_found_in_every_field_in_any_case_and_means_itself(acme, monkeypatch, few):
    """`%` and `_` are wildcards of the database, and a backslash escapes there."""
    monkeypatch.setattr(narrowings, "SUMMED", few)
    plain = acme.hold(100, run_title="Ticket 5512").id
    odd = acme.hold(200, run_title=r"100%_of\it").id

    def found(q):
        return {row.id for row in inbox(acme.mara.actor, narrowing=Narrowing(q=q)).rows}

    for q in ("ANNA berg", "refund_ORDER", "Support-Agent", "t"):
        assert found(q) == {plain, odd}, q
    for q in ("0%_", r"F\I", "%", "\\"):
        assert found(q) == {odd}, q
    assert found("ticket 5512") == {plain}
    for q in ("0%of", "5512 refund", "agentTicket", "zebra"):
        assert found(q) == set(), q


def test_a_list_narrowed_by_a_word_keeps_its_order_and_its_pages(acme, monkeypatch):
    held = [acme.hold(100 + n, expires_in_s=600 - n).id for n in range(5)]
    for few in (1_000, 2):
        monkeypatch.setattr(narrowings, "SUMMED", few)
        narrowing = Narrowing(q="anna")
        first = inbox(acme.mara.actor, narrowing=narrowing, limit=3)
        second = inbox(acme.mara.actor, narrowing=narrowing, limit=3, cursor=first.next)
        assert [row.id for row in first.rows + second.rows] == held[::-1]
        assert second.next == ""


@pytest.mark.parametrize("view", ["mine", "all"])
def test_which_rows_a_list_has_is_asked_of_an_index_alone(acme_committed, view):
    acme_committed.hold()
    actor = acme_committed.mara.actor
    [rows, _] = plans(lambda: inbox(actor, view=view))
    assert re.search(r"Index Only Scan using approvals_proposal_waiting", rows), rows
    narrowing = Narrowing(tool="refund_order", group="finance", low="1", high="500", currency="AUD")
    for reading in (lambda: inbox(actor, view=view, narrowing=narrowing), lambda: inbox_sums(actor, view=view)):
        assert "Index Only Scan using approvals_proposal_waiting" in plans(reading)[0]


def test_counting_and_the_live_look_ask_an_index_alone(acme_committed):
    acme_committed.hold()
    actor, tenant = acme_committed.mara.actor, UUID(acme_committed.tenant.id)
    [counts] = plans(lambda: inbox_counts(actor), also_off="enable_indexscan")
    assert counts.count("Index Only Scan using approvals_proposal_waiting") == 2, counts
    [token] = plans(lambda: list_tokens([tenant]), also_off="enable_indexscan")
    assert "Index Only Scan using approvals_proposal_waiting" in token


def test_the_decided_list_begins_behind_those_that_wait(acme_committed):
    """Their deadlines lie ahead: without a bound the index is walked past a hundred thousand of them."""
    acme_committed.decide(acme_committed.hold())
    actor = acme_committed.mara.actor
    [rows, _] = plans(lambda: inbox(actor, view="decided"))
    assert re.search(r"approvals_proposal_decided.*\n\s*Index Cond: .*COALESCE\(.* <= ", rows), rows


def test_a_far_page_begins_at_its_cursor_and_walks_nothing_before(acme_committed):
    for amount in range(100, 104):
        acme_committed.hold(amount)
    actor = acme_committed.mara.actor
    page = inbox(actor, view="all", limit=2)
    rows = plans(lambda: inbox(actor, view="all", limit=2, cursor=page.next))[0]
    condition = re.search(r"using approvals_proposal_waiting.*\n\s*Index Cond: (.*)", rows)
    assert condition, rows
    assert "expires_at >=" in condition[1]


def test_a_row_of_which_the_clock_says_overdue_is_in_the_decided_list_at_once(acme, stand_at):
    held = acme.hold()
    at = held.row.expires_at
    stand_at(at)
    assert [row.id for row in inbox(acme.mara.actor, view="decided").rows] == [held.id]
    assert inbox(acme.mara.actor, view="all").rows == []
    assert proposals.inbox_counts(acme.mara.actor).all == 0
