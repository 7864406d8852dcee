"""S87: one row that somebody damaged never blanks a list, and its own page says in words that it cannot be read.

Rows of a run are edited as the owner of the tables, with the triggers off; every page, every answer of the API and
what the live pages read is asked for afterwards.
"""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from django.test import Client

from runs.selectors.history import RunDamaged
from runs.selectors.listed import RunsHas, runs_changed
from runs.selectors.pages import run_changed
from runs.selectors.runs import EVERY
from runs.services.wake import run_wake
from tests.support.approvals import edit_as_owner
from tests.support.world import row
from tests.support.world_fixtures import payments, world

__all__ = ["payments", "world"]

LAST = "seq = (SELECT max(seq) FROM runs_event WHERE run_id = '{run}')"
DAMAGE = {
    "a status that does not exist": ("runs_run", "status = 'nonsense'", "id = '{run}'"),
    "a detail of no form": ("runs_run", "detail = '[[[ ,, 7 x'", "id = '{run}'"),
    "a reducer that does not exist": ("runs_run", "reducer_version = 99", "id = '{run}'"),
    "a head behind its history": ("runs_run", "seq = seq + 5", "id = '{run}'"),
    "a title of escapes": ("runs_run", "title = E'\\u202e\\n<b>'", "id = '{run}'"),
    "a call's state that does not exist": ("runs_call", "state = 'nonsense'", "id = '{call}'"),
    "a call's bytes": ("runs_call", "canonical = '\\x00ff'::bytea", "id = '{call}'"),
    "a call's answer, a number": ("runs_call", "answer = '7'", "id = '{call}'"),
    "a call's answer, a list": ("runs_call", "answer = '[1]'", "id = '{call}'"),
    "a call's answer, a wrong error": ("runs_call", """answer = '{{"error": 7}}'""", "id = '{call}'"),
    "a call's answer, a wrong result": ("runs_call", """answer = '{{"result": [], "receipt": 7}}'""", "id = '{call}'"),
    "an event's kind": ("runs_event", "kind = 'nonsense'", "run_id = '{run}' AND " + LAST),
    "an event's body, a number": ("runs_event", "body = '7'", "run_id = '{run}' AND " + LAST),
    "an event's body, empty": ("runs_event", "body = '{{}}'", "run_id = '{run}' AND " + LAST),
    "an event's actor": ("runs_event", "actor = '7'", "run_id = '{run}' AND " + LAST),
    "an event's schema": ("runs_event", "schema = 99", "run_id = '{run}' AND " + LAST),
}  # fmt: skip


def signed_in(person):
    client = Client(raise_request_exception=False)
    form = {"username": person.email, "password": person.password}
    assert client.post("/sign-in/", form).status_code == 302
    return client


@pytest.fixture
def damaged(world, owner_sql):
    """damaged(how): a run that waits, with one row damaged, and a sound one. (bad call, good call)"""

    def do(how):
        bad, good = world.held(), world.held()
        table, assignment, where = DAMAGE[how]
        names = {"run": bad.run_id, "call": bad.id}
        edit_as_owner(owner_sql, table, assignment.format(**names), where.format(**names))
        if table == "runs_event":
            # A checkpoint behind the event would spare the reader from it.
            owner_sql(
                "ALTER TABLE runs_checkpoint DISABLE TRIGGER USER; "
                f"DELETE FROM runs_checkpoint WHERE run_id = '{bad.run_id}'; "
                "ALTER TABLE runs_checkpoint ENABLE TRIGGER USER"
            )
        return bad, good

    return do


@pytest.mark.parametrize("how", DAMAGE)
def test_one_damaged_row_is_told_in_words_and_hides_and_stops_nothing_else(world, damaged, how):
    bad, good = damaged(how)
    pages_show_both(world, bad, good)
    the_api_answers(world, bad, good)
    live_pages_go_on(world, bad, good)
    world.decide(good)
    with suppress(RunDamaged):
        run_wake(run_id=bad.run_id)
    run_wake(run_id=good.run_id)
    assert row(good).state == "succeeded"


def pages_show_both(world, bad, good):
    operator, reviewer = signed_in(world.asker), signed_in(world.reviewer)
    answers = {}
    for client, paths in (
        (operator, ["/runs/", f"/runs/{good.run_id}/", f"/runs/{bad.run_id}/", "/unresolved/"]),
        (reviewer, ["/", "/?view=all", f"/proposals/{good.proposal_id}/", f"/proposals/{bad.proposal_id}/"]),
    ):
        for path in paths:
            answers[path] = client.get(path)
    assert {path: answer.status_code for path, answer in answers.items()} == dict.fromkeys(answers, 200)
    for call in (bad, good):
        assert f"/runs/{call.run_id}/" in answers["/runs/"].content.decode()
        assert f"/proposals/{call.proposal_id}/" in answers["/?view=all"].content.decode()
    assert "Cannot be read" not in answers[f"/runs/{good.run_id}/"].content.decode()


def the_api_answers(world, bad, good):
    client = Client(raise_request_exception=False)
    token = {"Authorization": f"Bearer {world.agent.token(on_behalf_of=world.asker.user_id)}"}
    for call in (bad, good):
        run = f"/api/v1/runs/{call.run_id}"
        for path in (run, f"{run}/events", f"{run}/calls/{call.call_id}", "/api/v1/proposals?view=all"):
            answer = client.get(path, headers=token)
            assert answer.status_code in (200, 202), (path, answer.content)
    again = {"call_id": "another", "tool": "get_order", "arguments": {"order_id": next(iter(world.orders))}}
    answer = client.post(f"/api/v1/runs/{bad.run_id}/calls", again, content_type="application/json", headers=token)
    assert answer.status_code in (200, 202, 409), answer.content
    if answer.status_code == 409:
        assert answer.json()["error"]["code"] == "RUN_DAMAGED"
        assert "operator" in answer.json()["error"]["message"]


def live_pages_go_on(world, bad, good):
    actor = world.asker.actor
    listing, _ = runs_changed(actor, RunsHas(EVERY, {bad.run_id: 0, good.run_id: 0}, datetime(2020, 1, 1, tzinfo=UTC)))
    assert {listed.run.id for listed in listing.rows} == {bad.run_id, good.run_id}
    assert run_changed(actor, bad.run_id, after=0).run.id == bad.run_id
    assert run_changed(actor, good.run_id, after=0).events


BREAKS_THE_RUN = [
    "a reducer that does not exist", "a head behind its history", "an event's kind", "an event's body, a number",
]  # fmt: skip


@pytest.mark.parametrize("how", BREAKS_THE_RUN)
def test_the_page_of_a_run_whose_history_cannot_be_read_says_so_and_offers_nothing(world, damaged, how):
    bad, _ = damaged(how)
    page = signed_in(world.asker).get(f"/runs/{bad.run_id}/").content.decode()
    assert "Cannot be read" in page
    assert "Tell an operator" in page
    assert bad.call_id in page  # the rows that are sound are shown
    assert "Cancel this run" not in page
