"""approvals/services/shown_tools.py: an admin's list cuts what an agent is shown, and what it may ask for."""

from uuid import UUID, uuid4

import pytest

from approvals.selectors.catalogue import active_contract, alternatives_for, tools_for
from approvals.selectors.shown_tools import shown_list
from approvals.services.judge import call_prepare
from approvals.services.shown_tools import shown_tools_set
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.selectors.entries import EntryFilters, entries_page
from tests.support import factories

REFUND = {"order_id": "ord_1029", "amount": 4500, "currency": "AUD"}


def show(acme, tools, **more):
    return shown_tools_set(actor=acme.tenant.admin.actor, agent_id=UUID(acme.agent.id), tools=tools, **more)


def names(acme):
    return [tool.name for tool in tools_for(acme.actor)]


def test_without_a_list_an_agent_is_shown_all_that_its_scopes_allow(acme):
    assert names(acme) == ["get_order", "refund_order"]


def test_a_list_cuts_what_is_shown_and_what_is_taken(acme):
    show(acme, ["get_order"])
    assert names(acme) == ["get_order"]
    with pytest.raises(Forbidden) as caught:
        call_prepare(actor=acme.actor, tool="refund_order", arguments=REFUND, acting_user="")
    assert (caught.value.code, caught.value.alternatives) == ("NOT_EXPOSED", ["get_order"])


def test_a_list_names_no_alternative_that_is_not_shown(acme):
    show(acme, ["refund_order"])
    assert alternatives_for(acme.actor, active_contract(acme.tenant.id, "refund_order").contract) == []


def test_a_list_never_widens_what_the_scopes_allow(acme):
    reader = factories.agent(acme.tenant, scopes=["orders:read"])
    shown_tools_set(actor=acme.tenant.admin.actor, agent_id=UUID(reader.id), tools=["get_order", "refund_order"])
    assert [tool.name for tool in tools_for(reader.actor())] == ["get_order"]
    with pytest.raises(Forbidden) as caught:
        call_prepare(actor=reader.actor(), tool="refund_order", arguments=REFUND, acting_user="")
    assert caught.value.code == "SCOPE_MISSING"


def test_an_empty_list_shows_nothing_and_none_shows_everything_again(acme):
    show(acme, [])
    assert names(acme) == []
    show(acme, None)
    assert names(acme) == ["get_order", "refund_order"]


def test_a_list_of_one_agent_says_nothing_of_another(acme):
    other = factories.agent(acme.tenant)
    show(acme, [])
    assert [tool.name for tool in tools_for(other.actor())] == ["get_order", "refund_order"]


def test_a_person_is_shown_every_tool(acme):
    show(acme, [])
    assert shown_list(acme.tenant.id, acme.agent.id).tools == frozenset()
    prepared = call_prepare(actor=acme.actor, tool="refund_order", arguments=REFUND, acting_user="", shown_only=False)
    assert prepared.contract.name == "refund_order"


def test_each_change_is_recorded_and_the_same_again_is_none(acme):
    assert show(acme, ["get_order"]) is True
    assert show(acme, ["get_order"]) is False
    entries = entries_page(acme.tenant.id, EntryFilters(action="agent.tools_set"))
    assert [(entry.detail["before"], entry.detail["tools"]) for entry in entries] == [(None, ["get_order"])]


def test_the_second_of_two_admins_is_told_of_the_first(acme):
    show(acme, ["get_order"], seen=0)
    with pytest.raises(Conflict) as caught:
        show(acme, ["refund_order"], seen=0)
    assert caught.value.code == "LIST_CHANGED"
    assert names(acme) == ["get_order"]


def test_a_tool_that_nobody_knows_is_not_listed(acme):
    with pytest.raises(Invalid, match="no tool called nothing"):
        show(acme, ["nothing"])


@pytest.mark.parametrize("role", ["reviewer", "operator", "auditor"])
def test_only_an_admin_changes_a_list(acme, role):
    with pytest.raises(Forbidden):
        shown_tools_set(actor=factories.person(acme.tenant, roles=[role]).actor, agent_id=UUID(acme.agent.id), tools=[])


def test_another_organisations_agent_is_an_unknown_one(acme):
    for agent_id in (UUID(factories.agent(factories.tenant()).id), uuid4()):
        with pytest.raises(NotFound):
            shown_tools_set(actor=acme.tenant.admin.actor, agent_id=agent_id, tools=[])
