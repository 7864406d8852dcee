"""What the application's own role may not write, whatever a fault or an injected statement tries (A1, A4, A9)."""

import pytest
from django.db import Error, connection, transaction

OTHER = "gen_random_uuid()"


WORDS = "never changes|does not become another|stays as it was"


def write(statement: str, *parameters: object) -> None:
    """One statement as the application's role, undone when it is refused."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def refused(statement: str, *parameters: object) -> None:
    """The database refuses it in one of these triggers' words."""
    with pytest.raises(Error, match=WORDS):
        write(statement, *parameters)


@pytest.mark.parametrize(
    "change",
    [
        "tool = 'get_order'",
        f"tool_version_id = {OTHER}",
        "target = 'payments/order/ord_1'",
        "resource = 'order:ord_1'",
        f"agent_id = {OTHER}",
        "agent_owner_id = NULL",
        "acting_user_id = NULL",
        "token_session_id = NULL",
        "scopes = '{}'",
        "reason = 'The customer insists.'",
        "created_at = clearance_now()",
        "expires_at = expires_at + interval '1 ms'",
    ],
)
def test_who_asked_for_what_never_changes(acme, change):
    held = acme.hold()
    refused(f"UPDATE approvals_proposal SET {change} WHERE id = %s", held.id)


@pytest.mark.parametrize("change", ["digest = repeat('0', 64)", "round = 2", "granted_at = clearance_now()"])
def test_a_permit_is_for_one_call_and_one_round(acme, change):
    held = acme.hold()
    acme.decide(held)
    refused(f"UPDATE approvals_permit SET {change} WHERE proposal_id = %s", held.id)


def test_a_void_permit_stays_void_and_a_used_one_is_not_made_void(acme):
    void, used = acme.hold(), acme.hold(700)
    acme.decide(void)
    assert acme.redeem(void, state={"refunded": 1}).kind != "taken"
    acme.decide(used)
    acme.redeem(used)
    refused("UPDATE approvals_permit SET status = 'ready' WHERE proposal_id = %s", void.id)
    refused("UPDATE approvals_permit SET status = 'void' WHERE proposal_id = %s", used.id)


def test_a_resolution_that_was_taken_up_is_not_delivered_again(acme):
    held = acme.hold()
    acme.decide(held)
    consume = "UPDATE approvals_resolution SET consumed_at = clearance_now() WHERE proposal_id = %s"
    refused("UPDATE approvals_resolution SET round = 2 WHERE proposal_id = %s", held.id)
    write(consume, held.id)
    refused(consume, held.id)
    refused("UPDATE approvals_resolution SET kind = 'rejected' WHERE proposal_id = %s", held.id)
