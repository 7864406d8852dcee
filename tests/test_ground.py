"""The ground that every other test stands on."""

import psycopg
import pytest
from django.db import connection, transaction

from audit.store import clock
from config.management.commands.prepare_database import APPEND_ONLY


@pytest.mark.django_db
def test_tests_run_as_the_application_role_which_owns_nothing():
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, count(*) FROM pg_class WHERE relowner = current_user::regrole")
        assert cursor.fetchone() == ("clr_app", 0)


@pytest.mark.parametrize("table", APPEND_ONLY)
@pytest.mark.parametrize("verb", ["UPDATE {t} SET {first} = {first}", "DELETE FROM {t}", "TRUNCATE {t}"])
@pytest.mark.django_db
def test_the_application_role_may_not_change_what_is_append_only(table, verb):
    with connection.cursor() as cursor:
        first, *_ = (column.name for column in connection.introspection.get_table_description(cursor, table))
    statement = verb.format(t=table, first=first)
    with pytest.raises(Exception, match="permission denied"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


def test_a_committed_database_is_seen_by_other_connections_and_gone_afterwards(committed_db, owner_sql):
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO access_tenant VALUES (gen_random_uuid(), 'seen', 'Seen', clearance_now())")
    assert owner_sql("SELECT slug FROM access_tenant") == [("seen",)]


def test_the_clock_can_be_stood_at_an_instant(committed_db, stand_at):
    instant = clock.now().replace(year=2031)
    stand_at(instant)
    assert clock.now() == instant
    stand_at(None)
    assert clock.now() < instant


def test_twenty_threads_race_on_connections_of_their_own(committed_db, race):
    def pid(_: int) -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            return cursor.fetchone()[0]

    assert len(set(race(pid, 20))) == 20


def test_the_owner_is_refused_by_the_trigger_too(committed_db, owner_sql):
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
        owner_sql("TRUNCATE audit_entry")
