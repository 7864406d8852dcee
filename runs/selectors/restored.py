"""The time that a restored backup does not know of, for whoever judges what an old request may still do."""

from datetime import datetime
from uuid import UUID

from django.db import connection

from approvals.core.contract import CONTRACT_SCHEMA
from approvals.core.contract_types import Contract
from approvals.selectors.catalogue import active_contracts
from audit.core.refusal import Refusal
from runs.core import leases

LONGEST: tuple[int, int] = (
    CONTRACT_SCHEMA["properties"]["timeout_ms"]["maximum"], CONTRACT_SCHEMA["properties"]["settle_after_ms"]["maximum"]
)  # fmt: skip
"""The time limit and the settling time that a contract may declare at most, in ms."""


def lost_requests_until(timeout_ms: int) -> datetime | None:
    """Until when a request of the lost time may still be under way, by the contract's time limit; None where no backup
    was ever restored.

    A call may have been sent once more in that time, later than its restored history says, and what a look-up of before
    found says nothing about it. While a restore has not been taken note of, this lies always ahead of now.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT CASE WHEN clearance_epoch() IS NULL THEN clearance_now() ELSE clearance_restored_at() END"
        )
        [restored_at] = cursor.fetchone() or [None]
    return None if restored_at is None else leases.request_deadline(restored_at, timeout_ms)


def last_deadline(request_deadline: datetime, timeout_ms: int) -> datetime:
    """When the last request that there may have been had to be answered or ended."""
    return max(request_deadline, lost_requests_until(timeout_ms) or request_deadline)


def last_arrival(restored_at: datetime, timeout_ms: int, settle_after_ms: int) -> datetime:
    """When no request of the lost time with these limits can take effect any more.

    It was sent before the restore was noticed, or by a process that nobody has stopped.
    """
    return leases.conclusive_at(leases.request_deadline(restored_at, timeout_ms), settle_after_ms)


def quiet_at(*, tenant_id: UUID | str, contract: Contract, resource: str, restored_at: datetime) -> datetime:
    """When no request of the lost time can arrive on this record any more: neither the call's own nor another one.

    Which tools share a record is not written anywhere: each whose contract begins the name of a record as this one
    begins may. Where a stored contract is not the one that was admitted, the most patient one that ever is.
    """
    try:
        admitted = [one.contract for one in active_contracts(tenant_id)]
    except Refusal:
        return last_arrival(restored_at, *LONGEST)
    sharing = (one for one in admitted if not one.read_only and resource.startswith(one.resource.partition("$")[0]))
    return max(last_arrival(restored_at, one.timeout_ms, one.settle_after_ms) for one in (contract, *sharing))
