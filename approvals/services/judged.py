"""Keeping what a call was judged by, so that another policy can be tried on it (A8)."""

import json
from collections.abc import Mapping
from uuid import UUID

from django.db import connection

from access.selectors.actors import RequesterFacts
from approvals.core.digest import snapshot_bytes
from approvals.core.policy import Verdict
from approvals.selectors.judging import principal_of_requester
from audit.core.jsondoor import Json

_KEEP = """
INSERT INTO approvals_judgement (tenant_id, run_id, call_id, at, state, principal, effect, code, rule_id, policy_number)
VALUES (%(tenant)s, %(run)s, %(call)s, clearance_now(), %(state)s, %(principal)s::jsonb, %(effect)s, %(code)s,
  %(rule)s, %(number)s)
ON CONFLICT (run_id, call_id) DO NOTHING
"""


def judgement_keep(
    *,
    tenant_id: UUID | str,
    run_id: UUID,
    call_id: str,
    state: Mapping[str, Json] | None,
    requester: RequesterFacts,
    verdict: Verdict,
) -> None:
    """Keep the target's state and the requester's rights that the first verdict on a call was given by. In the
    transaction that acts on it; of a call that is judged again the first ones stay."""
    with connection.cursor() as cursor:
        cursor.execute(
            _KEEP,
            {
                "tenant": str(tenant_id), "run": run_id, "call": call_id,
                "state": None if state is None else snapshot_bytes(state),
                "principal": json.dumps(principal_of_requester(requester, str(tenant_id))),
                "effect": verdict.effect, "code": verdict.code, "rule": verdict.rule_id,
                "number": verdict.policy_number,
            },
        )  # fmt: skip
