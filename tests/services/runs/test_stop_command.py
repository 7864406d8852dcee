"""manage.py stop: the same stops at a command line, and the whole installation's."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from audit.selectors.entries import EntryFilters, entries_page
from runs.selectors.stops import stops_in_force
from tests.support import factories

REASON = "Refunds go to the wrong accounts."


def stop(*arguments):
    """What the command says."""
    out = StringIO()
    call_command("stop", *arguments, stdout=out, stderr=out)
    return out.getvalue()


@pytest.fixture
def who(world):
    """--tenant and --as of an operator."""
    operator = factories.person(world.tenant, roles=["operator"], name="Olga Operator")
    return ("--tenant", world.tenant.slug, "--as", operator.email)


def test_the_whole_installation_is_stopped_and_let_go(world):
    call = world.held()
    world.decide(call)
    assert stop("--all", "--reason", REASON) == "All dispatch of this installation: stopped.\n"
    world.work(call)
    assert world.look(call).state == "ready"
    assert "by the command line: Refunds go" in stop("--list")
    assert stop("--all", "--lift", "--reason", "Mended.") == "All dispatch of this installation: lifted.\n"
    world.work(call)
    assert world.look(call).state == "succeeded"
    assert [entry.action for entry in entries_page("", EntryFilters(action="stop.set"))] == ["stop.set"]


@pytest.mark.parametrize("what", ["--tool", "--agent", "--dispatch"])
def test_a_tool_an_agent_or_an_organisation_is_stopped_by_somebody(world, who, what):
    named = {"--tool": ["refund_order"], "--agent": [world.agent.id], "--dispatch": []}[what]
    assert stop(what, *named, *who, "--reason", REASON).endswith(": stopped.\n")
    [row] = stops_in_force(world.tenant.id)
    assert (row.set_by_name, row.reason) == ("Olga Operator", REASON)
    assert "was stopped before, by Olga Operator. Nothing was changed." in stop(what, *named, *who, "--reason", REASON)
    assert row.what in stop("--list", "--tenant", world.tenant.slug)
    stop(what, *named, *who, "--lift", "--reason", "Mended.")
    assert stop("--list", "--tenant", world.tenant.slug) == "Nothing is stopped.\n"


def test_without_a_reason_nothing_is_stopped(world):
    with pytest.raises(CommandError, match="Say why"):
        stop("--all")
    assert stops_in_force(None) == []


def test_what_is_not_stopped_cannot_be_lifted(world, who):
    with pytest.raises(CommandError, match="That is not stopped"):
        stop("--dispatch", *who, "--lift", "--reason", REASON)


def test_somebody_without_the_role_stops_nothing(world):
    with pytest.raises(CommandError, match="takes the role operator"):
        stop("--dispatch", "--tenant", world.tenant.slug, "--as", world.reviewer.email, "--reason", REASON)
    assert stops_in_force(world.tenant.id) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dispatch"], "Say which organisation"),
        (["--all", "--tenant", "acme"], "leave --tenant and --as out"),
        (["--dispatch", "--tenant", "nowhere", "--as", "a@b.example"], "is no active member of nowhere"),
    ],
)
def test_whose_command_it_is_has_to_be_said(world, arguments, said):
    with pytest.raises(CommandError, match=said):
        stop(*arguments, "--reason", REASON)
