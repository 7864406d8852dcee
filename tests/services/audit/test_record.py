"""The audit log's only door: no entry, no effect; but what stops things works without it (S69, S71, U1)."""

import logging
from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest
from django.db import DatabaseError, connection, transaction

from audit.core.actor import SYSTEM, Actor
from audit.core.refusal import Forbidden
from audit.selectors.entries import EntryFilters, entries_for_object, entries_page
from audit.services.record import (
    audit_pay_owed,
    audit_record,
    audit_record_or_owe,
    audit_refusals,
)
from audit.store import clock

TENANT = "7f7a8f5e-0000-4000-8000-000000000001"
PERSON = Actor(
    kind="person", id="p-1", name="Ida", tenant_id=TENANT, roles=frozenset({"reviewer"}), groups=frozenset(),
    scopes=frozenset(), on_behalf_of="", session_id="", via="session",
)  # fmt: skip
AGENT = Actor(
    kind="agent", id="a-1", name="Bot", tenant_id=TENANT, roles=frozenset(), groups=frozenset(),
    scopes=frozenset(), on_behalf_of="p-1", session_id="s-1", via="token",
)  # fmt: skip


def add_tenant(slug: str) -> None:
    """A change like any service's, so that a test can see whether it survived."""
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO access_tenant VALUES (%s, %s, %s, clearance_now())", [uuid4(), slug, slug])


def tenants() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT slug FROM access_tenant ORDER BY slug")
        return [row[0] for row in cursor.fetchall()]


def owed() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM audit_owed")
        return cursor.fetchone()[0]


TAKEN_AWAY = {
    "right": ("REVOKE INSERT ON audit_entry FROM clr_app", "GRANT INSERT ON audit_entry TO clr_app"),
    "trigger": (
        "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'disk full'; END $$;"
        "CREATE TRIGGER broken BEFORE INSERT ON audit_entry FOR EACH ROW EXECUTE FUNCTION broken()",
        "DROP TRIGGER broken ON audit_entry",
    ),
    "table": ("ALTER TABLE audit_entry RENAME TO audit_away", "ALTER TABLE audit_away RENAME TO audit_entry"),
}


@pytest.fixture(params=TAKEN_AWAY)
def log_broken(request, committed_db, owner_sql):
    """The log cannot be written; yields what mends it."""
    breaks, mends = TAKEN_AWAY[request.param]
    owner_sql(breaks)
    return lambda: owner_sql(mends)


@pytest.mark.django_db
def test_an_entry_says_who_did_what_for_whom_and_when():
    before = clock.now()
    with transaction.atomic():
        audit_record(
            actor=AGENT, action="call.succeeded", object_type="call", object_id="c-1", run_id="r-1", call_id="c-1",
            tool="refund_order", detail={"amount": 4500}, result_bytes=120, duration_ms=33,
        )  # fmt: skip
    (row,) = entries_for_object(TENANT, "call", "c-1")
    assert (row.actor_kind, row.actor_id, row.actor_name, row.on_behalf_of) == ("agent", "a-1", "Bot", "p-1")
    assert (row.action, row.verdict, row.via, row.run_id, row.call_id) == (
        "call.succeeded",
        "ok",
        "token",
        "r-1",
        "c-1",
    )
    assert (row.tool, row.detail, row.result_bytes, row.duration_ms) == ("refund_order", {"amount": 4500}, 120, 33)
    assert before <= row.at <= clock.now()


def test_a_change_whose_entry_cannot_be_written_does_not_happen(log_broken):
    @transaction.atomic
    def create() -> None:
        add_tenant("acme")
        audit_record(actor=PERSON, action="tenant.created", object_type="tenant", object_id="acme")

    with pytest.raises(DatabaseError):
        create()
    assert tenants() == []


def test_a_change_outside_a_transaction_is_refused_before_anything_is_written(committed_db):
    with pytest.raises(RuntimeError, match="outside the transaction"):
        audit_record(actor=PERSON, action="tenant.created", object_type="tenant", object_id="acme")
    assert entries_page(TENANT) == []


def test_stopping_goes_on_without_its_entry_and_the_debt_is_paid_later(log_broken, caplog):
    with transaction.atomic():
        add_tenant("stopped")
        written = audit_record_or_owe(
            actor=PERSON, action="run.cancelled", object_type="run", object_id="r-9", run_id="r-9",
            detail={"reason": "enough", "password": "hunter22"},
        )  # fmt: skip
        deed = clock.now()
    assert (written, tenants(), owed()) == (False, ["stopped"], 1)
    assert "run.cancelled" in caplog.text

    assert audit_pay_owed() == 0, "while the log is broken nothing can be paid"
    assert owed() == 1, "and the debt stays"

    log_broken()
    assert audit_pay_owed() == 1
    assert (audit_pay_owed(), owed()) == (0, 0)
    (row,) = entries_for_object(TENANT, "run", "r-9")
    assert abs(row.at - deed) < timedelta(seconds=1), "the entry keeps the instant of the deed"
    assert (row.actor_id, row.action, row.detail["reason"]) == ("p-1", "run.cancelled", "enough")
    assert row.detail["password"] == "[redacted]"
    assert row.detail["owed"]["reason"]


def test_stopping_goes_on_even_when_the_debt_cannot_be_noted(log_broken, owner_sql, caplog):
    owner_sql("REVOKE INSERT ON audit_owed FROM clr_app")
    with caplog.at_level(logging.CRITICAL), transaction.atomic():
        add_tenant("stopped")
        assert not audit_record_or_owe(actor=PERSON, action="run.killed", object_type="run", object_id="r-9")
    assert tenants() == ["stopped"]
    assert "NOT IN THE AUDIT LOG" in caplog.text
    assert "run.killed" in caplog.text


def test_stopping_goes_on_when_the_detail_has_no_form(committed_db, caplog):
    with transaction.atomic():
        add_tenant("stopped")
        assert not audit_record_or_owe(
            actor=PERSON, action="run.killed", object_type="run", object_id="r-9", detail={"what": object()}
        )
    assert tenants() == ["stopped"]
    assert "NOT IN THE AUDIT LOG" in caplog.text


@pytest.mark.django_db
def test_a_stopping_verb_is_recorded_at_once_when_the_log_works():
    with transaction.atomic():
        assert audit_record_or_owe(actor=PERSON, action="run.cancelled", object_type="run", object_id="r-9")
    assert [row.action for row in entries_for_object(TENANT, "run", "r-9")] == ["run.cancelled"]
    assert owed() == 0


def test_a_debt_that_cannot_be_paid_hides_none_behind_it(committed_db, owner_sql):
    owner_sql(TAKEN_AWAY["right"][0])
    for run in ("r-1", "r-2", "r-3"):
        with transaction.atomic():
            audit_record_or_owe(actor=PERSON, action="run.cancelled", object_type="run", object_id=run)
    owner_sql(TAKEN_AWAY["right"][1])
    owner_sql("UPDATE audit_owed SET entry = jsonb_set(entry, '{detail}', '7') WHERE entry->>'object_id' = 'r-1'")
    assert audit_pay_owed(limit=1) == 1
    assert audit_pay_owed(limit=5) == 1
    assert {row.object_id for row in entries_page(TENANT)} == {"r-2", "r-3"}
    assert owed() == 1


def test_twenty_sweeps_pay_a_debt_once(committed_db, owner_sql, race):
    owner_sql(TAKEN_AWAY["right"][0])
    for run in range(30):
        with transaction.atomic():
            audit_record_or_owe(actor=PERSON, action="run.cancelled", object_type="run", object_id=f"r-{run}")
    owner_sql(TAKEN_AWAY["right"][1])
    results = race(lambda _: audit_pay_owed(limit=7), 20)
    assert sum(results) == 30
    assert len({row.object_id for row in entries_page(TENANT)}) == len(entries_page(TENANT)) == 30


def test_a_refusal_is_recorded_although_its_change_rolled_back(committed_db):
    def decide() -> None:
        with audit_refusals(actor=AGENT, action="proposal.decided", object_type="proposal", object_id="p-7"):
            add_tenant("acme")
            raise Forbidden(code="PERSON_REQUIRED", missing=["session"])

    with pytest.raises(Forbidden):
        decide()
    (row,) = entries_for_object(TENANT, "proposal", "p-7")
    assert (row.verdict, row.detail) == ("refused", {"code": "PERSON_REQUIRED", "missing": ["session"]})
    assert tenants() == []


def test_a_refusal_that_cannot_be_recorded_stays_a_refusal(log_broken, caplog):
    with (
        pytest.raises(Forbidden),
        audit_refusals(actor=AGENT, action="proposal.decided", object_type="proposal", object_id="p-7"),
    ):
        raise Forbidden
    assert "could not be recorded" in caplog.text


def test_a_fault_that_is_no_refusal_is_not_recorded_as_one(committed_db):
    with (
        pytest.raises(ZeroDivisionError),
        audit_refusals(actor=AGENT, action="proposal.decided", object_type="proposal", object_id="p-7"),
    ):
        raise ZeroDivisionError
    assert entries_page(TENANT) == []


@pytest.mark.django_db
def test_secrets_are_redacted_at_any_depth_by_name_and_by_pattern():
    jwt = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl"
    with transaction.atomic():
        audit_record(
            actor=AGENT, action="call.refused", object_type="call", object_id=f"oops {jwt}",
            detail={"args": [{"clientSecret": "s3cr3t", "note": f"use Bearer {jwt} please", "apiKey": ["k1"]}],
                    "order": "ord_1029"},
        )  # fmt: skip
    (row,) = entries_page(TENANT)
    kept = f"{row.object_id} {row.detail}"
    assert "s3cr3t" not in kept
    assert jwt not in kept
    assert "k1" not in kept
    assert row.detail["order"] == "ord_1029"


@pytest.mark.django_db
def test_characters_that_a_database_cannot_hold_cost_no_entry():
    with transaction.atomic():
        audit_record(
            actor=PERSON, action="proposal.decided", object_type="proposal", object_id="p\0",
            detail={"reason": "a\0b\ud800c", "k\0ey": 1},
        )  # fmt: skip
    (row,) = entries_page(TENANT)
    assert (row.object_id, row.detail["reason"]) == ("p\ufffd", "a\ufffdb?c")


@pytest.mark.django_db
def test_ids_times_and_sets_are_noted_as_text():
    run, at = uuid4(), clock.now()
    with transaction.atomic():
        audit_record(
            actor=PERSON, action="run.opened", object_type="run", object_id=run, run_id=run,
            detail={"at": at, "run": run, "scopes": frozenset({"b", "a"}), "parts": ("x", 1, None, True)},
        )  # fmt: skip
    (row,) = entries_for_object(TENANT, "run", str(run))
    assert row.run_id == str(run)
    assert row.detail["scopes"] == ["a", "b"]
    assert row.detail["parts"] == ["x", 1, None, True]
    assert row.detail["at"].endswith("Z")


@pytest.mark.django_db
def test_what_has_no_json_form_is_a_programming_error_and_stops_the_change():
    with pytest.raises(TypeError, match="bytes"), transaction.atomic():
        audit_record(actor=PERSON, action="x.done", object_type="x", object_id="1", detail={"raw": b"\x00"})


@pytest.mark.parametrize("verb", ["UPDATE {t} SET verdict = 'ok'", "DELETE FROM {t}", "TRUNCATE {t}"])
@pytest.mark.parametrize("part", ["audit_entry", "month", "audit_entry_default"])
def test_neither_the_application_nor_the_owner_changes_an_entry(committed_db, owner_sql, stand_at, verb, part):
    with transaction.atomic():
        audit_record(actor=PERSON, action="run.opened", object_type="run", object_id="r-1")
    stand_at(clock.now() + timedelta(days=4000))
    with transaction.atomic():
        audit_record(actor=PERSON, action="run.opened", object_type="run", object_id="r-2")
    stand_at(None)
    table = f"audit_entry_{clock.now():%Y_%m}" if part == "month" else part
    with pytest.raises(DatabaseError, match="permission denied"), connection.cursor() as cursor:
        cursor.execute(verb.format(t=table))
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
        owner_sql(verb.format(t=table))
    assert {row.object_id for row in entries_page(TENANT)} == {"r-1", "r-2"}


def test_the_application_cannot_write_into_a_partition_past_its_parent(committed_db):
    with pytest.raises(DatabaseError, match="permission denied"), connection.cursor() as cursor:
        cursor.execute("INSERT INTO audit_entry_default SELECT * FROM audit_entry")


@pytest.mark.django_db
def test_the_application_role_has_no_right_to_switch_the_triggers_off():
    with pytest.raises(DatabaseError, match="owner"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE audit_entry DISABLE TRIGGER ALL")


@pytest.mark.django_db
def test_the_systems_own_parts_are_named_in_their_entries():
    with transaction.atomic():
        audit_record(actor=SYSTEM("sweep", TENANT), action="proposal.expired", object_type="proposal", object_id="p")
    (row,) = entries_page(TENANT, EntryFilters(actor_id="system:sweep"))
    assert (row.actor_kind, row.via) == ("system", "system")
