"""Real processes on a restored database, and real recoveries: a restore is noticed without anybody saying so."""

import os
import shutil
import tempfile
from importlib import import_module
from pathlib import Path

import psycopg
import pytest

from approvals.models import Proposal
from approvals.services.epoch import epoch_last
from config.stack.servers import start_postgres
from tests.support.processes import processes

PLACE = import_module("approvals.migrations.0005_epoch").PLACE


@pytest.mark.stack
def test_workers_and_a_sweep_that_are_started_on_a_restored_database_send_nothing_twice_and_find_what_happened(
    world, backup, tmp_path
):
    done, never = world.order(), world.order()
    sent, unsent = world.held(done), world.held(never)
    world.decide(sent)
    world.decide(unsent)
    backup.take()
    world.work(sent)  # in the lost time; the other one is not reached any more
    assert len(world.refunds(done)) == 1

    backup.restore()
    with processes(tmp_path) as running:
        running.worker()
        running.sweep()
        running.until(lambda: epoch_last().number == 2, "the sweep takes note of the restore")
        running.until(lambda: world.look(sent).state == "succeeded", "what happened is found", seconds=60)
        running.until(lambda: round_of(unsent) == 2, "what did not happen is asked anew", seconds=60)
        assert (world.keys(done), world.keys(never)) == ([sent.key], [])
        world.decide(unsent)
        running.until(lambda: world.look(unsent).state == "succeeded", "what was approved anew is sent", seconds=60)
    assert (world.keys(done), world.keys(never)) == ([sent.key], [unsent.key])


def round_of(call):
    return Proposal.objects.get(pk=call.proposal_id).round


@pytest.fixture
def folder():
    """Outside pytest's own, which closes its folders to the server's user whenever another session begins."""
    with tempfile.TemporaryDirectory(prefix="clr-r-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.fixture
def server(folder):
    """A PostgreSQL of the test's own, which knows where it is and nothing else."""
    made = start_postgres(folder / "a", durable=False)
    with psycopg.connect(made.owner_url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE approvals_epoch (id uuid, number bigint, place text, raised_at timestamptz, because text)"
        )
        connection.execute(PLACE)
        connection.execute(
            "INSERT INTO approvals_epoch VALUES (gen_random_uuid(), 1, clearance_place(), clock_timestamp(), 'made')"
        )
    yield made
    made.stop()


def here(server):
    with psycopg.connect(server.owner_url, autocommit=True) as connection:
        row = connection.execute("SELECT clearance_epoch() IS NOT NULL, clearance_place()").fetchone()
    return row


@pytest.mark.stack
def test_a_restart_is_no_restore(server):
    before = here(server)
    server.stop()
    again = start_postgres(server.folder, durable=False)
    try:
        assert before[0]
        assert here(again) == before
    finally:
        again.stop()


@pytest.mark.stack
def test_a_recovery_from_the_log_begins_a_new_timeline_and_is_noticed(server):
    assert here(server)[0]
    server.stop()
    data = server.folder / "data"
    (data / "recovery.signal").touch()
    with (data / "postgresql.auto.conf").open("a") as file:
        file.write("restore_command = 'sleep 1; false'\n")
    if server.user:
        os.chown(data / "recovery.signal", *server.user)
    again = start_postgres(server.folder, durable=False)
    try:
        assert not here(again)[0]
    finally:
        again.stop()


@pytest.mark.stack
def test_a_copy_of_the_servers_files_cannot_be_told_from_the_original_and_is_in_the_document(server, folder):
    """The limit that docs/backup.md states, shown."""
    before = here(server)
    server.stop()
    copy = folder / "b"
    shutil.copytree(server.folder, copy, ignore=shutil.ignore_patterns("socket", "lock"))
    for path in (copy, *copy.rglob("*")):
        found = (server.folder / path.relative_to(copy)).stat()
        os.chown(path, found.st_uid, found.st_gid)
    again = start_postgres(copy, durable=False)
    try:
        assert here(again) == before
    finally:
        again.stop()
