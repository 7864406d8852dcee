"""What the application's own role may not write to a run or a call, whatever a fault or an injected statement tries."""

import pytest
from django.db import Error, connection, transaction

OTHER = "gen_random_uuid()"


def refused(statement: str, *parameters: object) -> None:
    """The database refuses it in the trigger's words."""
    with pytest.raises(Error, match="never changes"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, parameters)


@pytest.mark.parametrize(
    "change",
    [
        f"tenant_id = {OTHER}",
        f"agent_id = {OTHER}",
        "acting_user_id = NULL",
        "token_session_id = NULL",
        "client_ref = 'another'",
        "deadline = clearance_now()",
        "created_at = clearance_now()",
        "seq = seq - 1",
    ],
)
def test_whose_run_it_is_never_changes_and_its_history_only_grows(world, change):
    run = world.run()
    refused(f"UPDATE runs_run SET {change} WHERE id = %s", run.id)


@pytest.mark.parametrize(
    "change",
    [
        "target = 'payments/order/ord_1'",
        "resource = 'order:ord_1'",
        "token_session_id = NULL",
        "scopes = '{}'",
        "reason = 'The customer insists.'",
        "deadline = clearance_now()",
        "created_at = clearance_now()",
    ],
)
def test_what_a_call_is_measured_by_never_changes(world, change):
    call = world.held()
    refused(f"UPDATE runs_call SET {change} WHERE run_id = %s", call.run_id)
