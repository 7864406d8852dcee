"""approvals/selectors/policy_cases.py: what a test that is made of a past call may hold."""

import json
from uuid import UUID

from approvals.selectors.policy_cases import case_of_proposal
from tests.support.approvals import STATE


def test_what_the_tool_redacts_and_what_is_a_secret_stands_in_no_test(acme):
    """A policy's text is kept for ever and handed out as a file (E5, S71)."""
    state = STATE | {"customer": "Anna sk_live_" + "Zq7" * 8}
    held = acme.hold(4500, note="Her mother is ill.", state=state)
    case = case_of_proposal(acme.tenant.admin.actor, UUID(str(held.id)))
    text = json.dumps(case)
    assert "mother" not in text
    assert "Zq7Zq7" not in text
    assert (case["arguments"]["note"], case["arguments"]["amount"]) == ("[redacted]", 4500)
    assert case["expect"] == {"effect": "ask", "rule": "refund", "approvers": ["finance"]}
