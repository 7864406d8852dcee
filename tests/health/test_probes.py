"""/livez and /readyz: what makes a process unfit for requests, what only makes it slower, and how long asking takes."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.conf import settings
from django.db import connection

from audit.services.heartbeat import heartbeat_record
from config.asgi import application
from config.health import parts
from config.health.looking import Looking
from config.health.words import ESSENTIAL, MEANINGS
from runs.management.commands.sweep import Sweep
from tests.support import databases
from tests.support.broker import freeze, own_broker
from tests.support.processes import within


@pytest.fixture
def pointed(monkeypatch):
    """pointed(NAME="…") changes the address of the database that the probes ask."""

    def point(**changes):
        address = dict(settings.DATABASES["default"]) | {"NAME": connection.settings_dict["NAME"]} | changes
        monkeypatch.setitem(settings.DATABASES, "default", address)

    return point


@pytest.fixture
def swept(committed_db, pointed):
    """A database with a sweep that has just made a turn, for the probes too."""
    heartbeat_record(part="sweep")
    pointed(NAME=committed_db)


def test_livez_answers_and_touches_nothing(probe):
    def touched():
        raise AssertionError("livez looked at something")

    assert probe("/livez", looking=Looking({"database": touched})) == (200, {"status": "ok"})


def test_where_everything_works_readyz_says_so_part_by_part(probe, swept):
    status, said = probe("/readyz")
    assert (status, said["status"]) == (200, "ok"), said
    assert set(said["parts"]) == set(MEANINGS)
    assert all(part["status"] == "ok" and part["words"].endswith(".") for part in said["parts"].values())


def test_a_sweep_that_has_never_run_or_is_silent_is_impaired_and_still_ready(probe, swept, owner_sql):
    owner_sql("UPDATE audit_heartbeat SET beat_at = clock_timestamp() - interval '1 minute'")
    status, said = probe("/readyz")
    assert (status, said["status"]) == (200, "impaired")
    assert "for 60 s" in said["parts"]["sweep"]["words"]
    owner_sql("DELETE FROM audit_heartbeat")
    assert "ever run" in probe("/readyz")[1]["parts"]["sweep"]["words"]
    Sweep().run(once=True)
    assert probe("/readyz")[1]["status"] == "ok"


def test_a_dead_broker_is_impaired_and_still_ready(probe, swept, monkeypatch):
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:9/0")
    status, said = probe("/readyz")
    assert (status, said["status"], said["parts"]["broker"]["status"]) == (200, "impaired", "impaired")
    assert "Slower, nothing is lost" in said["parts"]["broker"]["words"]


@pytest.mark.stack
def test_a_frozen_broker_is_told_within_two_seconds(probe, swept, monkeypatch, tmp_path):
    with own_broker(tmp_path / "valkey") as (valkey, _):
        monkeypatch.setattr(settings, "REDIS_URL", valkey.url)
        assert probe("/readyz")[1]["status"] == "ok"
        freeze(valkey)
        began = time.monotonic()
        status, said = probe("/readyz")
        assert time.monotonic() - began < within(2.5)
        assert (status, said["parts"]["broker"]["status"]) == (200, "impaired")


def test_no_database_is_not_ready_and_no_address_is_told(probe, swept, pointed):
    pointed(HOST="127.0.0.1", PORT="9", NAME="secret_name", USER="secret_user", PASSWORD="secret-password")
    status, said = probe("/readyz")
    assert (status, said["status"], said["parts"]["database"]["status"]) == (503, "down", "impaired")
    assert "secret" not in str(said)
    assert "127.0.0.1" not in str(said)


def test_a_database_that_takes_connections_and_says_nothing_is_told_within_two_seconds(
    probe, swept, pointed, silent_port
):
    pointed(HOST="127.0.0.1", PORT=str(silent_port))
    began = time.monotonic()
    status, said = probe("/readyz")
    assert time.monotonic() - began < within(2.5)
    assert (status, said["status"]) == (503, "down")


def test_a_wrong_password_is_not_ready(probe, swept, pointed):
    pointed(PASSWORD="wrong")
    status, said = probe("/readyz")
    assert (status, said["parts"]["database"]["status"]) == (503, "impaired")
    assert "wrong" not in str(said)


def test_a_missing_migration_is_not_ready_and_is_named(probe, swept, owner_sql):
    owner_sql("DELETE FROM django_migrations WHERE app = 'approvals' AND name LIKE '0005%%'")
    status, said = probe("/readyz")
    assert status == 503
    assert "approvals.0005" in said["parts"]["migrations"]["words"]
    assert "prepare_database" in said["parts"]["migrations"]["words"]


def test_a_database_without_tables_is_not_ready(probe, committed_db, pointed):
    name = "t_nothing_in_it"
    databases.superuser(f"create database {name} owner clr_owner")
    try:
        pointed(NAME=name)
        status, said = probe("/readyz")
    finally:
        databases.superuser(f"drop database {name} with (force)")
    assert status == 503
    assert "prepare_database" in said["parts"]["migrations"]["words"]


@pytest.mark.parametrize("name", ["TOKEN_KEYS_DIR", "CREDENTIAL_KEY_FILE"])
def test_keys_that_cannot_be_read_are_not_ready(probe, swept, monkeypatch, tmp_path, name):
    monkeypatch.setattr(settings, name, str(tmp_path / "nothing"))
    status, said = probe("/readyz")
    assert (status, said["parts"]["keys"]["status"]) == (503, "impaired")
    assert f"CLEARANCE_{name}" in said["parts"]["keys"]["words"]


def test_a_restored_database_is_impaired_until_it_is_taken_note_of(probe, swept, owner_sql):
    owner_sql("INSERT INTO approvals_epoch VALUES (gen_random_uuid(), 2, 'elsewhere', clearance_now(), 'copied')")
    status, said = probe("/readyz")
    assert (status, said["parts"]["epoch"]["status"]) == (200, "impaired")
    Sweep().run(once=True)
    assert probe("/readyz")[1]["parts"]["epoch"]["status"] == "ok"


def test_owed_audit_entries_are_told(probe, swept, owner_sql):
    owner_sql("INSERT INTO audit_owed (at, entry, reason) VALUES (clearance_now(), '{}', 'test')")
    assert "1 entries" in probe("/readyz")[1]["parts"]["audit"]["words"]


def test_a_full_disk_is_told(probe, swept, monkeypatch):
    monkeypatch.setattr(parts, "LEAST_FREE", 2**70)
    status, said = probe("/readyz")
    assert (status, said["parts"]["disk"]["status"]) == (200, "impaired")


def test_it_cannot_be_used_to_load_the_database():
    looks = []

    def look():
        looks.append(1)
        return {"database": parts.Part("ok", "It answers.")}

    looking = Looking({"database": look})
    with ThreadPoolExecutor(20) as pool:
        began = time.monotonic()
        for _ in range(10):
            list(pool.map(lambda _: looking.now(), range(20)))
        spent = time.monotonic() - began
    # One a second, and one more where the twenty came as the first was being kept.
    assert len(looks) <= 2 + spent


def test_a_look_that_hangs_holds_one_thread_however_often_somebody_asks(monkeypatch):
    release = threading.Event()
    begun = []

    def hang():
        begun.append(1)
        release.wait(60)
        return {"database": parts.Part("ok", "It answers.")}

    monkeypatch.setattr("config.health.looking.WAIT_S", 0.05)
    monkeypatch.setattr("config.health.looking.KEPT_S", 0.0)
    looking = Looking({"database": hang})
    for _ in range(5):
        seen = looking.now()
        assert not seen.ready
    assert len(begun) == 1
    release.set()


def test_a_look_that_fails_is_told_and_hides_nothing(probe):
    def broken():
        raise RuntimeError("secret")

    looks = {"database": broken, "disk": lambda: {"disk": parts.Part("ok", "1 MiB are free.")}}
    status, said = probe("/readyz", looking=Looking(looks))
    assert (status, said["parts"]["disk"]["status"]) == (503, "ok")
    assert "secret" not in str(said)


def test_other_methods_are_refused_and_head_has_no_body(probe):
    assert probe("/livez", method="POST")[0] == 405
    assert probe("/livez", method="HEAD") == (200, None)


def test_the_application_has_the_probes_in_front():
    sent = []

    async def ask():
        async def send(message):
            sent.append(message)

        await application({"type": "http", "method": "GET", "path": "/livez", "headers": []}, None, send)

    asyncio.run(ask())
    assert sent[0]["status"] == 200


def test_what_is_essential_is_among_what_is_looked_at():
    assert set(ESSENTIAL) <= set(MEANINGS)
