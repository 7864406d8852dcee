"""How many statements a call's way takes, from the request to the receipt: the aim of 100 ms a step rests on that.

An upper bound each. Whoever needs one more says why here, in the commit that raises it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from approvals.selectors.proposals import proposal_detail
from approvals.services.decision import decision_record

SUBMIT, JUDGE, DECIDE, SEND = 12, 25, 17, 51


@contextmanager
def counted() -> Iterator[list[str]]:
    """The statements of this thread."""
    statements: list[str] = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        statements.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield statements


@pytest.fixture
def warm(world):
    """A world whose process has read its contracts and policy: each version is read once in a process."""
    call = world.held()
    world.decide(call)
    world.work(call)
    assert world.look(call).state == "succeeded"
    return world


def test_a_refund_from_the_request_to_the_receipt_takes_no_more_statements_than_this(warm):
    order, run = warm.order(), warm.run()
    with counted() as asked:
        call = warm.refund(run, order)
    with counted() as judged:
        warm.work(run)
    call = warm.look(call)
    detail = proposal_detail(warm.reviewer.actor, call.proposal_id)
    reviewer = warm.reviewer.actor
    with counted() as decided:
        decision_record(actor=reviewer, proposal_id=call.proposal_id, verdict="approve", digest=detail.digest)
    with counted() as sent:
        warm.work(run)
    assert warm.look(call).state == "succeeded"
    for statements, most in ((asked, SUBMIT), (judged, JUDGE), (decided, DECIDE), (sent, SEND)):
        assert len(statements) <= most, "\n".join(statements)
