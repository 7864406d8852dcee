"""The real services go where the models go, label by label: every history up to a length, longer ones of fewer labels.

How it is done, and what of it is not as in production, stands in `driving`. The lengths are those of `make test`; with
LONG=1 in the environment the walks go on to the second ones (docs/operations.md, "Drills").
"""

import os
from collections.abc import Iterator

import pytest
from django.db import connection

from tests.model import restore_model, turn_model
from tests.model.book import Book
from tests.model.drive_call import CANCEL, PEOPLE, STOPS, WORLD, CallDriver
from tests.model.drive_compensation import CompensationDriver
from tests.model.drive_contention import ContentionDriver
from tests.model.drive_record import RecordDriver, another_record, sent_again, without_operators
from tests.model.drive_restore import RestoreDriver
from tests.model.drive_turns import ASKED_IN_ORDER, ENDS, TurnDriver
from tests.model.driving import SESSION_CLOCK, Stage
from tests.model.restoring import ELSEWHERE, RestoreWalk
from tests.model.walking import Walk
from tests.support.target import Target


@pytest.fixture
def stage(committed_db: str, owner_sql) -> Iterator[Stage]:
    """A tenant in a database whose clock is this session's."""
    owner_sql(SESSION_CLOCK)
    book = Book()
    with Target(book) as target:
        yield Stage.build(book, target.host)
    connection.close()


ASIDE = frozenset({
    "cancel", "look-up finds nothing yet", "operator: it happened", "the compensation is rejected",
})  # fmt: skip
WORKERS = WORLD | STOPS | PEOPLE | CANCEL
PAUSES = frozenset({"pause", "resume", "cancel"})
ENDS_IN_ORDER = frozenset({
    "request 1 is lost", "request 2 is lost", "request 3 is lost", "its answer is recorded",
    "it is turned away, backs off", "it is refused by the target", "operator: it did not happen",
})  # fmt: skip
EVERYTHING: frozenset[str] = frozenset()
LONG = bool(os.environ.get("LONG"))


def drive(walk: Walk, labels: int, missing: frozenset[str] = EVERYTHING) -> None:
    """Walk; the short lengths come to this many of the model's labels, and none but `missing` is ever left undone."""
    walk.run()
    print(walk.figures)
    assert walk.missing <= missing
    assert len(walk.labels) >= labels if LONG else len(walk.labels) == labels


@pytest.mark.parametrize(
    ("without", "plain", "length", "labels"),
    [
        pytest.param(EVERYTHING, 4, 5 if LONG else 4, 17, id="everything"),
        pytest.param(WORKERS, 8 if LONG else 4, 14 if LONG else 12, 34, id="only workers"),
        pytest.param(WORLD | STOPS | PEOPLE, 5 if LONG else 3, 11 if LONG else 10, 34, id="and cancel"),
        pytest.param(WORKERS - STOPS, 5 if LONG else 3, 11 if LONG else 10, 37, id="and stops"),
        pytest.param(WORLD | STOPS | CANCEL, 5 if LONG else 3, 10 if LONG else 9, 33, id="and changed minds"),
        pytest.param(STOPS | PEOPLE | CANCEL, 4 if LONG else 2, 8, 34, id="and a world that changes"),
    ],
)
def test_the_services_go_through_the_histories_of_a_call(stage, without, plain, length, labels):
    # The void time is hours away, a request's deadline seconds: where one is under way the driver cannot do it.
    # Without a world that changes, when a worker has read its record makes no difference but to what stops it.
    driver = CallDriver(stage, read=without in (WORKERS, WORKERS - STOPS))
    drive(Walk(driver, plain, length, without), labels, frozenset({"clock passes the void time"}))


@pytest.mark.parametrize(
    ("without", "plain", "length", "labels"),
    [
        pytest.param(PAUSES, 3 if LONG else 2, 8, 28, id="workers and losses"),
        pytest.param(EVERYTHING, 2, 4, 19, id="and pause and cancel"),
    ],
)
def test_the_services_go_through_the_histories_of_two_calls_on_one_record(stage, without, plain, length, labels):
    drive(Walk(ContentionDriver(stage, alike=without is PAUSES), plain, length, without), labels)


@pytest.mark.parametrize(
    ("without", "plain", "length", "labels"),
    [
        pytest.param(EVERYTHING, 3 if LONG else 2, 6 if LONG else 5, 20, id="everything"),
        pytest.param(ASIDE, 3 if LONG else 2, 14 if LONG else 10, 19, id="through to every end"),
    ],
)
def test_the_services_go_through_the_histories_of_an_unknown_call_and_of_what_makes_up_for_it(
    stage, without, plain, length, labels
):
    drive(Walk(CompensationDriver(stage), plain, length, without), labels)


@pytest.mark.parametrize(
    ("starts", "without", "length", "labels"),
    [
        pytest.param(turn_model.STARTS, ENDS, 4 if LONG else 3, 19, id="lists and turns"),
        pytest.param(turn_model.STARTS[:1], ASKED_IN_ORDER, 9 if LONG else 7, 13, id="through to every end"),
    ],
)
def test_the_services_go_through_the_histories_of_turns_and_of_a_call_that_is_asked_in_one(
    stage, starts, without, length, labels
):
    drive(Walk(TurnDriver(stage, starts, most=3 if LONG else 2), 0, length, without), labels)


@pytest.mark.parametrize(
    ("starts", "without", "length", "labels"),
    [
        pytest.param(restore_model.STARTS, EVERYTHING, 4, 16, id="everything"),
        pytest.param(restore_model.STARTS[:1], ENDS_IN_ORDER, 7, 14, id="sent on an approval"),
        pytest.param(restore_model.STARTS[1:], ENDS_IN_ORDER | {"request 1 arrives"}, 9, 10, id="sent twice"),
    ],
)
def test_the_services_go_through_the_histories_of_a_call_whose_database_is_restored(
    stage, owner_sql, starts, without, length, labels
):
    owner_sql(ELSEWHERE)
    drive(RestoreWalk(RestoreDriver(stage, starts), 1, length, without), labels)


@pytest.mark.parametrize(
    ("left", "length", "labels"),
    [
        pytest.param(without_operators, 12 if LONG else 9, 12, id="one record"),
        pytest.param(sent_again, 15 if LONG else 13, 13, id="sent again in the lost time"),
        pytest.param(another_record, 13 if LONG else 10, 12, id="and another record"),
    ],
)
def test_the_services_go_through_the_histories_of_two_calls_whose_records_lease_is_lost_with_a_restore(
    stage, owner_sql, left, length, labels
):
    owner_sql(ELSEWHERE)
    drive(RestoreWalk(RecordDriver(stage, left), 0, length), labels, frozenset({"a has no attempt left"}))
