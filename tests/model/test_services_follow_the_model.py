"""The real services go where the models go, label by label: every history up to a length, longer ones of fewer labels.

How it is done, and what of it is not as in production, stands in `driving`.
"""

from collections.abc import Iterator

import pytest
from django.db import connection

from tests.model import restore_model
from tests.model.book import Book
from tests.model.drive_call import CANCEL, PEOPLE, STOPS, WORLD, CallDriver
from tests.model.drive_compensation import CompensationDriver
from tests.model.drive_contention import ContentionDriver
from tests.model.drive_restore import ELSEWHERE, RestoreDriver, RestoreWalk
from tests.model.driving import SESSION_CLOCK, Stage
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
PAUSES = frozenset({"pause", "resume", "cancel"})
ENDS_IN_ORDER = frozenset({
    "request 1 is lost", "request 2 is lost", "request 3 is lost", "its answer is recorded",
    "it is turned away, backs off", "it is refused by the target", "operator: it did not happen",
})  # fmt: skip
EVERYTHING: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("without", "plain", "length"),
    [
        pytest.param(EVERYTHING, 4, 5, id="everything"),
        pytest.param(WORLD | STOPS | PEOPLE | CANCEL, 8, 14, id="workers, crashes, operators"),
        pytest.param(WORLD | STOPS | PEOPLE, 5, 11, id="and cancel"),
        pytest.param(WORLD | PEOPLE | CANCEL, 5, 11, id="and stops"),
        pytest.param(WORLD | STOPS | CANCEL, 5, 10, id="and people who change their minds"),
        pytest.param(STOPS | PEOPLE | CANCEL, 4, 8, id="and a world that changes"),
    ],
)
def test_the_services_go_through_the_histories_of_a_call(stage, without, plain, length):
    walk = Walk(CallDriver(stage), plain, length, without)
    walk.run()
    print(walk.figures)


@pytest.mark.parametrize(
    ("without", "plain", "length"),
    [pytest.param(PAUSES, 3, 8, id="workers and losses"), pytest.param(EVERYTHING, 2, 4, id="and pause and cancel")],
)
def test_the_services_go_through_the_histories_of_two_calls_on_one_record(stage, without, plain, length):
    walk = Walk(ContentionDriver(stage, alike=without is PAUSES), plain, length, without)
    walk.run()
    print(walk.figures)


@pytest.mark.parametrize(
    ("without", "plain", "length"),
    [pytest.param(EVERYTHING, 3, 6, id="everything"), pytest.param(ASIDE, 3, 14, id="through to every end")],
)
def test_the_services_go_through_the_histories_of_an_unknown_call_and_of_what_makes_up_for_it(
    stage, without, plain, length
):
    walk = Walk(CompensationDriver(stage), plain, length, without)
    walk.run()
    print(walk.figures)


@pytest.mark.parametrize(
    ("starts", "without", "length"),
    [
        pytest.param(restore_model.STARTS, EVERYTHING, 4, id="everything"),
        pytest.param(restore_model.STARTS[:1], ENDS_IN_ORDER, 7, id="sent on an approval"),
        pytest.param(restore_model.STARTS[1:], ENDS_IN_ORDER | {"request 1 arrives"}, 9, id="sent twice"),
    ],
)
def test_the_services_go_through_the_histories_of_a_call_whose_database_is_restored(
    stage, owner_sql, starts, without, length
):
    owner_sql(ELSEWHERE)
    walk = RestoreWalk(RestoreDriver(stage, starts), 1, length, without)
    walk.run()
    print(walk.figures)
