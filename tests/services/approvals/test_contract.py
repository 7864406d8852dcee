"""approvals/services/contract.py and the catalogue that reads what it admits."""

import pytest

from approvals.selectors import catalogue
from approvals.services.contract import contract_admit, contract_retire
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.selectors.entries import EntryFilters, entries_page
from tests.core.approvals.documents import GONE, read_document, refund_document
from tests.support import factories


@pytest.fixture
def tenant(db):
    return factories.tenant()


def test_the_same_document_is_the_same_version(tenant):
    first = contract_admit(actor=tenant.admin.actor, document=refund_document())
    again = contract_admit(actor=tenant.admin.actor, document=refund_document())
    assert (first.number, first.created) == (1, True)
    assert (again.id, again.number, again.created) == (first.id, 1, False)


def test_one_changed_word_is_a_new_version_and_the_one_in_force(tenant):
    first = contract_admit(actor=tenant.admin.actor, document=refund_document())
    second = contract_admit(actor=tenant.admin.actor, document=refund_document({"/description": "Something else."}))
    assert second.number == 2
    assert catalogue.active_contract(tenant.id, "refund_order").number == 2
    assert catalogue.contract_version(tenant.id, "refund_order", 1).contract.description != "Something else."
    assert not catalogue.still_admitted(first.id)
    assert catalogue.still_admitted(second.id)


def test_an_earlier_document_admitted_again_takes_its_own_number_back(tenant):
    contract_admit(actor=tenant.admin.actor, document=refund_document())
    contract_admit(actor=tenant.admin.actor, document=refund_document({"/description": "Something else."}))
    again = contract_admit(actor=tenant.admin.actor, document=refund_document())
    assert again.number == 1
    assert catalogue.active_contract(tenant.id, "refund_order").number == 1


def test_a_document_with_faults_is_refused_with_all_of_them_and_leaves_nothing(tenant):
    with pytest.raises(Invalid) as caught:
        contract_admit(
            actor=tenant.admin.actor, document=refund_document({"/adapter/look_up": GONE, "/approval": "never"})
        )
    assert {finding["code"] for finding in caught.value.detail["findings"]} >= {"LOOK_UP_MISSING", "APPROVAL_NEVER"}
    assert catalogue.active_contract(tenant.id, "refund_order") is None


@pytest.mark.parametrize("role", ["reviewer", "operator", "auditor"])
def test_only_an_admin_admits_and_an_attempt_is_recorded(tenant, role):
    person = factories.person(tenant, roles=[role])
    with pytest.raises(Forbidden, match="admin"):
        contract_admit(actor=person.actor, document=refund_document())
    with pytest.raises(Forbidden):
        contract_retire(actor=person.actor, tool="refund_order")
    refused = entries_page(tenant.id, EntryFilters(verdict="refused", actor_id=person.user_id))
    assert {entry.action for entry in refused} == {"contract.admitted", "contract.retired"}


def test_an_agent_admits_nothing_even_when_it_acts_for_an_admin(tenant):
    agent = factories.agent(tenant, acts_for=[tenant.admin])
    with pytest.raises(Forbidden):
        contract_admit(actor=agent.actor(on_behalf_of=tenant.admin.user_id), document=refund_document())


def test_a_retired_tool_is_out_of_the_catalogue_and_its_versions_stay(tenant):
    version = contract_admit(actor=tenant.admin.actor, document=refund_document())
    assert contract_retire(actor=tenant.admin.actor, tool="refund_order") is True
    assert contract_retire(actor=tenant.admin.actor, tool="refund_order") is False
    assert catalogue.active_contract(tenant.id, "refund_order") is None
    assert not catalogue.still_admitted(version.id)
    assert catalogue.contract_version(tenant.id, "refund_order", 1).tool_version_id == version.id


def test_another_tenants_tool_is_an_unknown_one(tenant):
    globex = factories.tenant()
    contract_admit(actor=tenant.admin.actor, document=refund_document())
    assert catalogue.active_contract(globex.id, "refund_order") is None
    assert catalogue.contract_version(globex.id, "refund_order", 1) is None
    with pytest.raises(NotFound):
        contract_retire(actor=globex.admin.actor, tool="refund_order")


def test_an_agent_is_shown_only_tools_whose_scopes_it_has(tenant):
    contract_admit(actor=tenant.admin.actor, document=refund_document())
    contract_admit(actor=tenant.admin.actor, document=read_document())
    reader = factories.agent(tenant, scopes=["orders:read"])
    both = factories.agent(tenant)
    assert [tool.name for tool in catalogue.tools_for(reader.actor())] == ["get_order"]
    assert [tool.name for tool in catalogue.tools_for(both.actor())] == ["get_order", "refund_order"]


def test_an_admission_is_in_the_audit_log_once(tenant):
    contract_admit(actor=tenant.admin.actor, document=refund_document())
    contract_admit(actor=tenant.admin.actor, document=refund_document())
    entries = entries_page(tenant.id, EntryFilters(action="contract.admitted"))
    assert [(entry.verdict, entry.detail["number"]) for entry in entries] == [("ok", 1)]


def test_a_contract_edited_in_the_database_is_refused_and_never_run(committed_db, owner_sql):
    tenant = factories.tenant()
    version = contract_admit(actor=tenant.admin.actor, document=refund_document())
    owner_sql(
        "ALTER TABLE approvals_toolversion DISABLE TRIGGER approvals_toolversion_append_only;"
        f"UPDATE approvals_toolversion SET document = jsonb_set(document, '{{adapter,base_url}}', '\"http://evil.example\"')"
        f" WHERE id = '{version.id}';"
        "ALTER TABLE approvals_toolversion ENABLE TRIGGER approvals_toolversion_append_only"
    )
    with pytest.raises(Conflict) as caught:
        catalogue.active_contract(tenant.id, "refund_order")
    assert caught.value.code == "CONTRACT_ALTERED"
