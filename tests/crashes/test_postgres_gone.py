"""PostgreSQL is killed under running workers and comes back: nothing decided is lost, nothing is done twice (R7).

An immediate shutdown and a kill -9 leave the same behind: open transactions that never were, and committed ones.
"""

import os
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from django.db import connections

from config.stack.process import StackError
from config.stack.servers import start_postgres
from tests.support import databases

pytestmark = pytest.mark.stack


def patient(world):
    for name in ("get_order", "refund_order"):
        world.admit(name, lambda document: document.update(timeout_ms=2000))


def settled(world, running, call, *, seconds=60.0):
    return running.until(lambda: world.look(call).final and world.look(call), f"{call.call_id} ends", seconds=seconds)


@pytest.fixture
def committed_db(monkeypatch, django_db_setup, django_db_blocker):
    """In this file the world stands in a server of the test's own: the session's is not ours to kill."""
    # Not below pytest's own folder: each pytest that starts closes that to the user that PostgreSQL runs as.
    folder = Path(tempfile.mkdtemp(prefix="clr-test-"))
    folder.chmod(0o711)
    server = start_postgres(folder / "postgres", durable=False)
    monkeypatch.setenv("DATABASE_URL", server.app_url)
    monkeypatch.setenv("DATABASE_OWNER_URL", server.owner_url)
    databases.migrate()
    before = {alias: dict(connections[alias].settings_dict) for alias in ("default", "owner")}
    there = {"HOST": str(server.socket_folder), "NAME": "clearance"}
    try:
        with django_db_blocker.unblock():
            for alias, role in (("default", "clr_app"), ("owner", "clr_owner")):
                connections[alias].close()
                connections[alias].settings_dict |= there | {"PASSWORD": server.passwords[role]}
                connections.settings[alias]["NAME"] = "clearance"
            yield server
    finally:
        with django_db_blocker.unblock():
            for alias, settings in before.items():
                connections[alias].close()
                connections[alias].settings_dict.update(settings)
                connections.settings[alias]["NAME"] = settings["NAME"]
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def end_and_start(server, number):
    """End it by this signal, and start it again once the last of its processes has let go of the memory they share."""
    os.kill(server.pid, number)
    server.process.wait(20)
    until = time.monotonic() + 30
    while True:
        try:
            server.restart()
            return
        except StackError:
            if time.monotonic() > until:
                raise


@pytest.fixture
def postgres(committed_db):
    return committed_db


@pytest.mark.parametrize("harm", [signal.SIGKILL, signal.SIGQUIT], ids=["crash", "immediate shutdown"])
def test_postgresql_goes_away_under_workers_at_three_steps(postgres, world, running, harm):
    """Every decision that was answered is there afterwards and is carried out once; the processes live through it."""
    patient(world)
    stage = running.stage("shared")
    steps = ["after_claim", "after_answer", "before_outcome"]
    orders = [world.order() for _ in range(4)]
    calls = [world.held(order) for order in orders]
    names = ["one", "two", "three"]
    for name in names:
        running.worker(name, threads=1, staged=True, wait=False, STAGED_FOLDER=str(stage.folder))
    for name in names:
        running.ready(name)
    pids = []
    for step, call in zip(steps, calls[:3], strict=True):
        stage.arm(step, call=call.id)
        world.decide(call)
        pids.append(running.stand_still(stage, step, call.run_id)["pid"])
    world.decide(calls[3])  # answered, and nobody is there to take it up
    connections.close_all()
    end_and_start(postgres, harm)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    running.sweep()
    running.worker("spare")
    for order, call in zip(orders, calls, strict=True):
        assert settled(world, running, call).state == "succeeded"
        assert world.keys(order) == [call.key]
    assert running.running["sweep"].poll() is None


def test_postgresql_is_away_for_seconds_and_everything_goes_on_by_itself(postgres, world, running):
    """Nobody starts a process again: worker and sweep find the server when it is back."""
    patient(world)
    running.worker("one")
    running.sweep()
    orders = [world.order() for _ in range(6)]
    calls = [world.held(order) for order in orders]
    for call in calls:
        world.decide(call)
    connections.close_all()
    os.kill(postgres.pid, signal.SIGKILL)
    postgres.process.wait()
    time.sleep(3)  # how long it is away is the point here
    until = time.monotonic() + 30
    while True:
        with suppress(StackError):
            postgres.restart()
            break
        assert time.monotonic() < until
    for order, call in zip(orders, calls, strict=True):
        assert settled(world, running, call).state == "succeeded"
        assert world.keys(order) == [call.key]
    assert [process.poll() for process in running.running.values()] == [None, None]
