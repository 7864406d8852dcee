"""Whatever is polled has a partial index that holds open rows only, so that a poll costs what is open (data rule 8)."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from access.services.webhook import webhooks_due
from approvals.services.proposal import proposals_to_refresh
from approvals.services.resolution import resolutions_open
from approvals.store import alarms, replays
from approvals.store.reach import reaches_open
from approvals.store.rows import overdue
from runs.store import claims, stops

POLLS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "ready rows and due timers": (lambda: claims.claim_next(worker="w"), ["runs_dispatch"]),
    "rows whose hint was lost": (lambda: claims.waiting(older_than_s=1, limit=10), ["runs_dispatch"]),
    "approved calls that are held back": (lambda: stops.held_back(limit=10), ["runs_dispatch", "runs_stop"]),
    "leases that are over": (lambda: claims.expired(limit=10), ["runs_dispatch"]),
    "proposals whose time is up": (lambda: overdue(10), ["approvals_proposal", "approvals_permit"]),
    "states that somebody looks at": (lambda: proposals_to_refresh(limit=10), ["approvals_proposal"]),
    "open proposals under a new policy": (reaches_open, ["approvals_policyreach"]),
    "replays that nobody works on": (lambda: replays.left_alone(limit=10), ["approvals_policyreplay"]),
    "people to be reminded": (lambda: alarms.remind_due(10), ["approvals_proposal"]),
    "open alarms": (lambda: alarms.open_alarms(10), ["approvals_alarm"]),
    "mails that wait": (lambda: alarms.people_due(10, quiet=timedelta(seconds=60)), ["approvals_notice"]),
    "webhooks that wait": (lambda: webhooks_due(), ["access_webhookdelivery"]),
    "the outbox": (lambda: resolutions_open(limit=10), ["approvals_resolution"]),
}
"""What is polled: the poll, and the tables whose open rows it looks for."""


def plans(poll: Callable[[], Any]) -> str:
    """The plans of the statements that `poll` sends, made as for a table that is too large to be read whole."""
    sent: list[tuple[str, Any]] = []

    def remember(execute: Any, statement: str, parameters: Any, many: bool, context: Any) -> Any:
        sent.append((statement, parameters))
        return execute(statement, parameters, many, context)

    with connection.execute_wrapper(remember):
        poll()
    found = []
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        for statement, parameters in sent:
            cursor.execute("EXPLAIN " + statement, parameters)
            found += [line for (line,) in cursor.fetchall()]
    return "\n".join(found)


@pytest.mark.parametrize("what", POLLS)
def test_a_poll_is_served_by_a_partial_index(committed_db, what):
    """In a database of its own: what other tests left in the tables sways the planner."""
    poll, tables = POLLS[what]
    plan = plans(poll)
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename, indexname FROM pg_indexes WHERE indexdef LIKE '%% WHERE %%'")
        partial = [(table, index) for table, index in cursor.fetchall() if re.search(rf"\b{index}\b", plan)]
    assert {table for table, _ in partial} >= set(tables), plan


@pytest.mark.django_db
def test_nothing_ties_the_audit_log_to_another_table():
    """Data rule 12: no foreign key, and the time that it is partitioned by stands in the primary key."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_constraint WHERE contype = 'f' "
            "AND (conrelid::regclass::text LIKE 'audit_%' OR confrelid::regclass::text LIKE 'audit_%')"
        )
        assert cursor.fetchone() == (0,)
        cursor.execute(
            "SELECT pg_get_partkeydef('audit_entry'::regclass), pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE contype = 'p' AND conrelid = 'audit_entry'::regclass"
        )
        assert cursor.fetchall() == [("RANGE (at)", "PRIMARY KEY (at, id)")]
