"""approvals/services/judge.py: shape, then token and scopes; then today's rights, contract and policy (E2, S63)."""

import pytest
from django.db import transaction

from access.selectors.actors import requester_facts
from access.services import agents
from approvals.core.contract import ABSENT
from approvals.services.contract import contract_admit, contract_retire
from approvals.services.judge import call_judge, call_prepare
from approvals.services.policy import policy_publish
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from tests.core.approvals.documents import refund_document
from tests.support import factories
from tests.support.approvals import STATE, edit_as_owner, world


def prepare(acme, tool="refund_order", actor=None, **arguments):
    return call_prepare(
        actor=actor or acme.actor, tool=tool, arguments=arguments, acting_user=acme.customer_care.user_id
    )


def judge(acme, prepared, **changes):
    facts = {
        "tenant_id": acme.tenant.id,
        "tool_version_id": prepared.tool_version_id,
        "canonical": prepared.canonical,
        "state": STATE,
        "requester": acme.requester(),
    }
    with transaction.atomic():
        return call_judge(**(facts | changes))


# Preparing.


def test_a_good_call_is_prepared_with_defaults_target_and_resource(acme):
    prepared = prepare(acme, order_id="ord_1029", amount=4500)
    assert prepared.effective["currency"] == "AUD"
    assert prepared.given == b'{"amount":4500,"order_id":"ord_1029"}'
    assert (prepared.target, prepared.resource) == ("payments/order/ord_1029", "order:ord_1029")
    assert prepared.contract_version == 1


def test_an_unknown_tool_is_refused_with_those_that_this_agent_may_use(acme):
    reader = factories.agent(acme.tenant, scopes=["orders:read"])
    with pytest.raises(NotFound) as caught:
        call_prepare(actor=reader.actor(), tool="refund_all", arguments={}, acting_user="")
    assert (caught.value.code, caught.value.alternatives) == ("UNKNOWN_TOOL", ["get_order"])


def test_another_tenants_tool_is_an_unknown_one(acme):
    globex = world()
    contract_admit(actor=acme.tenant.admin.actor, document=refund_document({"/name": "only_ours"}))
    with pytest.raises(NotFound) as caught:
        prepare(globex, tool="only_ours", order_id="ord_1", amount=1)
    assert caught.value.code == "UNKNOWN_TOOL"


def test_absent_null_and_empty_arguments_are_three_things(acme):
    """S2."""
    codes = []
    for arguments in (ABSENT, None, {}):
        with pytest.raises(Invalid) as caught:
            call_prepare(actor=acme.actor, tool="refund_order", arguments=arguments, acting_user="")
        codes.append((caught.value.code, tuple(caught.value.missing)))
    assert len(set(codes)) == 3


def test_a_missing_scope_is_named_with_a_tool_that_may_be_used_instead(acme):
    reader = factories.agent(acme.tenant, scopes=["orders:read"])
    with pytest.raises(Forbidden) as caught:
        prepare(acme, actor=reader.actor(), order_id="ord_1029", amount=1)
    refusal = caught.value
    assert (refusal.code, refusal.missing, refusal.alternatives) == ("SCOPE_MISSING", ["refunds:write"], ["get_order"])


def test_the_shape_is_checked_before_the_scopes(acme):
    reader = factories.agent(acme.tenant, scopes=["orders:read"])
    with pytest.raises(Invalid) as caught:
        prepare(acme, actor=reader.actor(), order_id="ord_1029", amount="a lot")
    assert (caught.value.code, caught.value.alternatives) == ("ARGUMENTS_INVALID", ["get_order"])


# Judging.


@pytest.mark.parametrize(
    ("amount", "state", "effect", "code"),
    [
        (4500, STATE, "ask", "held"),
        (12001, STATE, "deny", "AMOUNT_EXCEEDS_LEFT"),
        (4500, STATE | {"currency": "EUR"}, "deny", "CURRENCY_DIFFERS"),
        (200000, STATE | {"left": 300000}, "deny", "denied"),
        (4500, {}, "deny", "policy_error"),
    ],
)
def test_the_contracts_checks_come_before_the_policy_and_what_errs_denies(acme, amount, state, effect, code):
    verdict = judge(acme, prepare(acme, order_id="ord_1029", amount=amount), state=state)
    assert (verdict.effect, verdict.code) == (effect, code)


def test_a_tenant_without_a_policy_allows_nothing(db):
    """S63."""
    tenant = factories.tenant()
    contract_admit(actor=tenant.admin.actor, document=refund_document())
    agent = factories.agent(tenant)
    prepared = call_prepare(
        actor=agent.actor(), tool="refund_order", arguments={"order_id": "ord_1", "amount": 1}, acting_user=""
    )
    verdict = call_judge(
        tenant_id=tenant.id,
        tool_version_id=prepared.tool_version_id,
        canonical=prepared.canonical,
        state=STATE,
        requester=requester_facts(tenant_id=tenant.id, agent_id=agent.id),
    )
    assert (verdict.effect, verdict.code, verdict.policy_number) == ("deny", "no_rule", 0)


def test_a_rule_may_ask_who_calls_and_for_whom(acme):
    rule = """version: 1
rules:
  - id: care
    tool: refund_order
    when: "principal.user.name == 'Jon Hale' && principal.agent.name == 'support-agent' && principal.kind == 'agent'"
    effect: allow
"""
    acme.publish(rule)
    assert judge(acme, prepare(acme, order_id="ord_1029", amount=1)).effect == "allow"


def test_todays_rights_count_and_not_those_of_the_request(acme):
    prepared = prepare(acme, order_id="ord_1029", amount=1)
    agents.agent_scopes_set(actor=acme.tenant.admin.actor, agent_id=acme.agent.id, scopes=["orders:read"])
    assert judge(acme, prepared).code == "scope_missing"
    agents.agent_deactivate(actor=acme.tenant.admin.actor, agent_id=acme.agent.id)
    verdict = judge(acme, prepared)
    assert (verdict.effect, verdict.code) == ("deny", "AGENT_INACTIVE")
    assert verdict.refusal().as_dict()["code"] == "AGENT_INACTIVE"


def test_a_call_for_another_person_than_the_requester_acts_for_is_denied(acme):
    prepared = call_prepare(
        actor=acme.actor, tool="refund_order", arguments={"order_id": "ord_1", "amount": 1}, acting_user=""
    )
    assert judge(acme, prepared).code == "principal_differs"


def test_a_retired_contract_denies(acme):
    prepared = prepare(acme, order_id="ord_1029", amount=1)
    contract_retire(actor=acme.tenant.admin.actor, tool="refund_order")
    assert judge(acme, prepared).code == "contract_changed"


def test_a_verdict_outside_the_transaction_that_acts_on_it_is_a_programming_error(acme_committed):
    prepared = acme_committed.prepare()
    with pytest.raises(RuntimeError, match="transaction"):
        call_judge(
            tenant_id=acme_committed.tenant.id,
            tool_version_id=prepared.tool_version_id,
            canonical=prepared.canonical,
            state=STATE,
            requester=acme_committed.requester(),
        )


def test_a_policy_edited_in_the_database_allows_nothing(acme_committed, owner_sql):
    """S84: rules that nobody published decide nothing."""
    acme = acme_committed
    acme.publish("version: 1\nrules:\n  - {id: stop, tool: refund_order, effect: deny}\n")
    edit_as_owner(
        owner_sql,
        "approvals_policyversion",
        "document = jsonb_set(document, '{rules,0,effect}', '\"allow\"')",
        "number = 2",
    )
    with pytest.raises(Conflict) as caught:
        judge(acme, acme.prepare())
    assert caught.value.code == "POLICY_ALTERED"


def test_a_head_that_points_at_no_version_allows_nothing(acme_committed, owner_sql):
    edit_as_owner(owner_sql, "approvals_policyhead", "active_number = 99", "true")
    with pytest.raises(Conflict) as caught:
        judge(acme_committed, acme_committed.prepare())
    assert caught.value.code == "POLICY_ALTERED"


def test_a_new_version_is_in_force_from_the_next_judgement_on(acme):
    """S72."""
    prepared = prepare(acme, order_id="ord_1029", amount=1)
    assert judge(acme, prepared).effect == "ask"
    row = policy_publish(
        actor=acme.tenant.admin.actor,
        source="version: 1\nrules:\n  - {id: stop, tool: refund_order, effect: deny}\n",
        based_on=1,
    )
    verdict = judge(acme, prepared)
    assert (verdict.effect, verdict.policy_number) == ("deny", row.number)
