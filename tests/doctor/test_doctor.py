"""`manage.py doctor`: each thing broken once, told in a sentence with its remedy, and never a traceback or a secret."""

import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from cryptography.fernet import Fernet

from access.services.credentials import credential_store
from config.doctor import surroundings
from config.doctor.database import look_at_database, look_at_tables
from config.doctor.lines import Patient
from config.doctor.main import examine
from config.doctor.surroundings import REQUIRED
from tests.health.conftest import silent_port
from tests.support import databases, factories
from tests.support.processes import processes, within

__all__ = ["silent_port"]


def problems(found):
    return {subject: line for subject, lines in found.items() for line in lines if line.status == "problem"}


def only(found):
    """The one problem that there is."""
    [line] = problems(found).values()
    assert line.words.endswith(".")
    assert line.remedy
    return line


def address(url, **parts):
    """The URL with other parts: user, password, host, name."""
    split = urlsplit(url)
    user, password = parts.get("user", split.username), parts.get("password", split.password)
    name = "/" + parts["name"] if "name" in parts else split.path
    if "host" in parts:
        return f"postgresql://{user}:{password}@{parts['host']}{name}"
    return urlunsplit(split._replace(netloc=f"{user}:{password}@", path=name))


def test_a_sound_installation_has_no_problem(examined):
    assert problems(examined()) == {}


@pytest.mark.parametrize("name", REQUIRED)
def test_a_missing_variable_is_named_and_the_rest_is_looked_at_all_the_same(examined, name):
    found = examined(**{name: None})
    assert problems(found)[name].words == "is not set."
    assert len(found) > len(REQUIRED)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("DATABASE_URL", "mysql://here/clearance", "postgresql://"),
        ("REDIS_URL", "http://here", "redis://"),
        ("CLEARANCE_BASE_URL", "here", "http address"),
        ("CLEARANCE_DATABASE_POOL", "many", "whole number"),
    ],
)
def test_a_malformed_variable_is_told(examined, name, value, says):
    assert says in problems(examined(**{name: value}))[name].words


def test_settings_that_are_not_ours_are_told(examined):
    assert only(examined(DJANGO_SETTINGS_MODULE="somebody.elses")).subject == "settings"


def test_a_wrong_password_is_told_without_the_password(examined, sound):
    found = examined(DATABASE_URL=address(sound["DATABASE_URL"], password="not-this-one"))
    line = only(found)
    assert "refuses the password of clr_app" in line.words
    assert "not-this-one" not in str(found)
    assert [each.status for each in found["migrations"]] == ["skipped"]


def test_a_role_and_a_database_that_are_not_there_are_told(examined, sound):
    # With scram a server does not say which of the two is wrong: it refuses the password of a role that is not there.
    assert "of nobody" in only(examined(DATABASE_URL=address(sound["DATABASE_URL"], user="nobody"))).words
    line = only(examined(DATABASE_URL=address(sound["DATABASE_URL"], name="nowhere")))
    assert "no database nowhere" in line.words


def test_a_database_that_is_away_is_told_for_both_roles(examined, sound):
    away = {name: address(sound[name], host="127.0.0.1:9") for name in ("DATABASE_URL", "DATABASE_OWNER_URL")}
    found = problems(examined(**away))
    assert set(found) == {"database (the application's role)", "database (the owner's role)"}
    assert all("127.0.0.1" in line.words for line in found.values())


def test_a_database_that_says_nothing_is_told_in_bounded_time(sound, silent_port):
    began = time.monotonic()
    patient = Patient(sound | {"DATABASE_URL": address(sound["DATABASE_URL"], host=f"127.0.0.1:{silent_port}")})
    list(surroundings.look_at_environment(patient))
    lines = list(look_at_database(patient))
    patient.close()
    assert time.monotonic() - began < within(5)
    assert "does not answer" in lines[0].words


def test_two_databases_behind_the_two_addresses_are_told(examined, sound):
    line = only(examined(DATABASE_OWNER_URL=address(sound["DATABASE_OWNER_URL"], name="clearance")))
    assert "two databases" in line.words


def test_one_role_for_both_is_told_with_what_it_owns(examined, sound):
    found = problems(examined(DATABASE_URL=sound["DATABASE_OWNER_URL"]))
    assert "same role" in found["database"].words
    assert "append-only" in found["rights"].words or "owns" in found["rights"].words


def test_a_table_that_the_application_owns_is_told(examined, owner_sql, committed_db):
    databases_superuser(committed_db, "ALTER TABLE approvals_tool OWNER TO clr_app")
    assert "owns approvals_tool" in only(examined()).words


def test_a_history_that_the_application_may_change_is_told(examined, owner_sql):
    owner_sql("GRANT UPDATE ON runs_event TO clr_app")
    assert "append-only can be changed by the application: runs_event" in only(examined()).words


def test_a_right_to_delete_that_is_not_needed_is_told(examined, owner_sql):
    owner_sql("GRANT DELETE ON runs_run TO clr_app")
    assert "may remove rows of runs_run" in only(examined()).words


def test_rights_that_are_missing_are_told(examined, owner_sql):
    owner_sql("REVOKE ALL ON runs_run FROM clr_app")
    assert "lacks rights on runs_run" in only(examined()).words


def test_the_role_of_the_server_itself_is_told(examined, sound, committed_db):
    url = databases.with_database(os.environ[databases.SUPERUSER_URL], committed_db)
    assert "may do anything" in problems(examined(DATABASE_URL=url))["rights"].words


def test_a_migration_that_is_missing_is_named(examined, owner_sql):
    owner_sql("DELETE FROM django_migrations WHERE app = 'runs' AND name LIKE '0002%%'")
    line = only(examined())
    assert "runs.0002_append" in line.words
    assert "prepare_database" in line.remedy


def test_tables_that_are_not_there_are_told(examined, sound):
    databases.superuser("create database d_without_tables owner clr_owner")
    try:
        both = {name: address(sound[name], name="d_without_tables") for name in ("DATABASE_URL", "DATABASE_OWNER_URL")}
        assert "tables are not there" in only(examined(**both)).words
    finally:
        databases.superuser("drop database d_without_tables with (force)")


def test_a_silent_sweep_and_one_that_never_ran_are_told(examined, owner_sql):
    owner_sql("UPDATE audit_heartbeat SET beat_at = clock_timestamp() - interval '5 minutes'")
    assert "for 300 s" in only(examined()).words
    owner_sql("DELETE FROM audit_heartbeat")
    assert "ever run" in only(examined()).words


def test_a_restore_that_nobody_has_taken_note_of_is_told(examined, owner_sql):
    owner_sql("INSERT INTO approvals_epoch VALUES (gen_random_uuid(), 2, 'elsewhere', clearance_now(), 'copied')")
    assert "manage.py restored" in only(examined()).remedy


def test_a_clock_that_is_wrong_is_told(sound, monkeypatch):
    patient = Patient(sound)
    list(surroundings.look_at_environment(patient))
    list(look_at_database(patient))
    real = time.time
    monkeypatch.setattr("config.doctor.database.time.time", lambda: real() - 60)
    told = [line for line in look_at_tables(patient) if line.subject == "clocks"]
    patient.close()
    assert "60 s behind" in told[0].words


def test_valkey_that_is_away_is_told_and_what_goes_on_without_it(examined):
    line = only(examined(REDIS_URL="redis://127.0.0.1:9/0"))
    assert line.subject == "broker"
    assert "nothing is lost" in line.remedy


def test_a_wrong_password_of_valkey_is_told_without_it(examined, sound):
    split = urlsplit(sound["REDIS_URL"])
    wrong = urlunsplit(split._replace(netloc=f":not-this-one@{split.netloc.rpartition('@')[2]}"))
    found = examined(REDIS_URL=wrong)
    assert "password" in only(found).words
    assert "not-this-one" not in str(found)


@pytest.mark.parametrize(
    ("name", "subject"),
    [("CLEARANCE_SECRET_KEY_FILE", "secret key"), ("CLEARANCE_CREDENTIAL_KEY_FILE", "credential key")],
)
def test_a_key_file_that_is_not_there_or_open_to_others_is_told(examined, sound, tmp_path, name, subject):
    assert "cannot be read" in problems(examined(**{name: str(tmp_path / "nothing")}))[subject].words
    Path(sound[name]).chmod(0o644)
    line = only(examined())
    assert (line.subject, line.remedy) == (subject, f"chmod 600 {sound[name]}")


def test_a_short_secret_key_and_a_file_that_is_no_fernet_key_are_told(examined, sound):
    Path(sound["CLEARANCE_SECRET_KEY_FILE"]).write_text("short")
    assert "less than 32" in only(examined()).words
    Path(sound["CLEARANCE_SECRET_KEY_FILE"]).write_text("x" * 60)
    Path(sound["CLEARANCE_CREDENTIAL_KEY_FILE"]).write_text("not a key")
    assert "no Fernet key" in only(examined()).words


def test_token_keys_that_are_none_are_told(examined, sound):
    folder = Path(sound["CLEARANCE_TOKEN_KEYS_DIR"])
    (folder / "z.pem").write_text("not a key")
    assert "z.pem is no Ed25519" in only(examined()).words
    for path in folder.iterdir():
        path.unlink()
    assert "openssl" in only(examined()).remedy


def test_credentials_that_another_key_has_sealed_are_named(examined, sound):
    tenant = factories.tenant("acme")
    credential_store(actor=tenant.admin.actor, name="payments", secret="sk_test_very_secret")
    found = examined()
    assert problems(found) == {}
    Path(sound["CLEARANCE_CREDENTIAL_KEY_FILE"]).write_bytes(Fernet.generate_key())
    found = examined()
    line = only(found)
    assert "1 of 1 do not open with this key: payments" in line.words
    assert "sk_test" not in str(found)


def test_a_full_disk_is_told(examined, monkeypatch):
    monkeypatch.setattr(surroundings, "LEAST_FREE", 2**70)
    assert {line.subject for line in problems(examined()).values()} == {"disk"}


def test_a_web_server_that_is_away_and_another_program_at_its_port_are_told(sound, payments):
    def told(base):
        [line] = surroundings.look_at_port(Patient(sound | {"CLEARANCE_BASE_URL": base}))
        return line

    assert "None answers" in told("http://127.0.0.1:9").words
    assert "Another program" in told(payments.url).words


def test_workers_that_do_not_answer_are_told_in_bounded_time(sound):
    patient = Patient(sound, broker=True)
    began = time.monotonic()
    [line] = surroundings.look_at_workers(patient)
    assert "None answers" in line.words
    assert time.monotonic() - began < within(surroundings.WORKERS_S + 1)


@pytest.mark.stack
def test_a_worker_that_runs_is_found(committed_db, sound, tmp_path):
    with processes(tmp_path) as made:
        made.worker()
        [line] = surroundings.look_at_workers(Patient(sound | {"REDIS_URL": made.valkey.url}, broker=True))
    assert (line.status, line.words) == ("ok", "1 answer.")


def test_a_look_that_fails_is_a_line_and_the_others_go_on(sound, monkeypatch):
    def broken(patient):
        raise RuntimeError("secret")

    broken.__name__ = "look_at_disk"
    monkeypatch.setattr("config.doctor.main.LOOKS", (broken, surroundings.look_at_environment))
    lines = list(examine(sound))
    assert "could not be looked at (RuntimeError)" in lines[0].words
    assert len(lines) > 1


def run(environment):
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "manage.py", "doctor"],
        env=kept | environment,
        cwd=databases.ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_with_nothing_set_the_command_says_so_in_sentences_and_ends_with_one():
    done = run({})
    assert (done.returncode, done.stderr) == (1, "")
    assert "7 problems. Mend the first one first." in done.stdout
    assert "Traceback" not in done.stdout


def test_with_everything_wrong_at_once_it_still_ends_in_words(tmp_path):
    wrong = dict.fromkeys(REQUIRED, "nonsense") | {"DJANGO_SETTINGS_MODULE": "none", "CLEARANCE_HOME": str(tmp_path)}
    done = run(wrong)
    assert (done.returncode, done.stderr) == (1, "")
    assert "Traceback" not in done.stdout


def databases_superuser(database, statement):
    url = databases.with_database(os.environ[databases.SUPERUSER_URL], database)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)
