"""runs/services/run.py: opening a run."""

from datetime import timedelta

import pytest

from access.services.agents import agent_deactivate
from audit.core.refusal import Conflict, Forbidden, Invalid
from audit.store import clock
from runs.models import Run
from runs.services.run import run_open
from tests.support.world import kinds


def test_an_agent_opens_a_run_that_says_who_it_is_for(world):
    run = world.run(client_ref="ticket-7")
    assert (run.status, run.detail, run.repeated) == ("ready", "", False)
    assert (run.agent_name, run.acting_user_name) == ("Support agent", "Ada Asker")
    assert str(run.acting_user_id) == world.asker.user_id
    assert kinds(run.id) == ["run_created", "run_admitted"]


def test_the_same_client_ref_gives_the_same_run(world, owner_sql):
    first, second = world.run(client_ref="ticket-7"), world.run(client_ref="ticket-7")
    assert (first.id, second.repeated) == (second.id, True)
    assert Run.objects.count() == 1
    verdicts = owner_sql("SELECT verdict FROM audit_entry WHERE action = 'run.opened' ORDER BY at")
    assert verdicts == [("ok",), ("duplicate",)]


def test_runs_without_a_client_ref_are_runs_of_their_own(world):
    assert world.run().id != world.run().id


def test_another_agent_may_use_the_same_client_ref(world):
    from tests.support import factories

    other = factories.agent(world.tenant, acts_for=[world.asker])
    mine = world.run(client_ref="ticket-7")
    theirs = run_open(actor=other.actor(on_behalf_of=world.asker.user_id), title="Theirs", client_ref="ticket-7")
    assert mine.id != theirs.id


def test_a_client_ref_of_a_run_for_somebody_else_is_a_conflict(world):
    world.run(client_ref="ticket-7")
    with pytest.raises(Conflict) as caught:
        run_open(actor=world.agent.actor(), title="For nobody", client_ref="ticket-7")
    assert caught.value.code == "CLIENT_REF_REUSED"


def test_twenty_openings_with_one_client_ref_make_one_run(world, race):
    actor = world.agent_actor
    runs = race(lambda _: run_open(actor=actor, title="A ticket", client_ref="ticket-7").id)
    assert len(set(runs)) == 1
    assert Run.objects.count() == 1


def test_a_person_does_not_open_runs(world, owner_sql):
    with pytest.raises(Forbidden) as caught:
        run_open(actor=world.reviewer.actor, title="Mine")
    assert caught.value.code == "AGENT_REQUIRED"
    assert owner_sql("SELECT verdict, detail->>'code' FROM audit_entry WHERE action = 'run.opened'") == [
        ("refused", "AGENT_REQUIRED")
    ]


def test_a_deactivated_agent_opens_nothing_even_with_a_token_in_hand(world):
    actor = world.agent_actor
    agent_deactivate(actor=world.admin, agent_id=world.agent.id)
    with pytest.raises(Forbidden) as caught:
        run_open(actor=actor, title="Late")
    assert caught.value.code == "AGENT_INACTIVE"
    assert Run.objects.count() == 0


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"title": "  "}, "TITLE_INVALID"),
        ({"title": "x" * 201}, "TITLE_INVALID"),
        ({"title": "x", "client_ref": "y" * 201}, "CLIENT_REF_INVALID"),
    ],
)
def test_a_malformed_opening_names_what_is_wrong(world, fields, code):
    with pytest.raises(Invalid) as caught:
        run_open(actor=world.agent_actor, **fields)
    assert caught.value.code == code


def test_a_run_with_a_deadline_in_the_past_is_refused(world):
    with pytest.raises(Invalid) as caught:
        world.run(deadline=clock.now() - timedelta(seconds=1))
    assert caught.value.code == "DEADLINE_PASSED"


def test_no_run_without_its_audit_entry(world, owner_sql):
    owner_sql("ALTER TABLE audit_entry RENAME TO audit_entry_away")
    try:
        with pytest.raises(Exception, match="audit_entry"):
            world.run()
    finally:
        owner_sql("ALTER TABLE audit_entry_away RENAME TO audit_entry")
    assert Run.objects.count() == 0
