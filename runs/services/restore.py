"""A backup was restored: a new epoch, in which nothing that was under way before goes on by itself (docs/backup.md).

One transaction: the epoch, every unused permit void, every started row unknown, every claimed row given up, an audit
entry for each organisation. Until it has committed nothing is claimed or started: the database is not where its epoch
was raised, and every statement that begins something looks at that.
"""

import logging
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Max

from access.selectors.actors import tenant_ids
from approvals.services.epoch import epoch_last, epoch_raise
from audit.core.actor import SYSTEM
from audit.services.record import audit_record
from runs.models import Call, Run
from runs.services.lost import dispatch_lost_in
from runs.store import claims, look_ups
from runs.store.append import lock_run

log = logging.getLogger(__name__)

NOTICED = "The database was found in another place than the one that it was last used in: a backup was restored."


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a restore made of the work that was under way: counts."""

    epoch: int
    raised_at: datetime
    permits_void: int
    unknown: int
    given_up: int

    @property
    def sentence(self) -> str:
        """For the log and the command's reader."""
        return (
            f"Epoch {self.epoch} begins. Approvals that were not executed and are void: {self.permits_void}. Calls "
            f"whose outcome is unknown now: {self.unknown}. Rows taken from workers of before: {self.given_up}."
        )


def database_restored_if_elsewhere() -> Restored | None:
    """Take note of a restore that the database itself shows; one cheap statement where there was none."""
    return None if epoch_last().here else database_restored()


def database_restored(*, because: str = NOTICED, always: bool = False) -> Restored | None:
    """Begin a new epoch; None where there is nothing to take note of.

    `always`: also where this database is where its epoch was raised. A copy of the server's files cannot be told from
    the original by anything in it, so after such a restore a person says so.
    """
    with transaction.atomic():
        [newest] = Run.objects.aggregate(newest=Max("updated_at")).values()
        raised = epoch_raise(because=because, always=always, not_before=newest)
        if raised is None:
            return None
        given_up = claims.give_up_all()
        unknown: dict[UUID, int] = {}
        for row in claims.all_started():
            tenant_id = _lost(row)
            unknown[tenant_id] = unknown.get(tenant_id, 0) + 1
        # What a look-up proved before the backup says nothing about the lost time: each unknown call is looked up anew.
        again = raised.raised_at + look_ups.AGAIN_AFTER
        for call_pk, run_id in Call.objects.filter(state="unknown").values_list("id", "run_id"):
            look_ups.ask_now(call_pk=call_pk, run_id=run_id, now=again)
        for tenant_id in tenant_ids():
            audit_record(
                actor=SYSTEM("restore", str(tenant_id)),
                action="database.restored",
                object_type="database",
                object_id=str(raised.number),
                detail={
                    "because": because,
                    "permits_void": raised.void.get(tenant_id, 0),
                    "unknown": unknown.get(tenant_id, 0),
                },
            )
    made = Restored(
        epoch=raised.number,
        raised_at=raised.raised_at,
        permits_void=sum(raised.void.values()),
        unknown=sum(unknown.values()),
        given_up=given_up,
    )
    log.warning("A backup was restored. %s", made.sentence)
    return made


def _lost(row: claims.Expired) -> UUID:
    loaded = lock_run(row.run_id)
    try:
        with transaction.atomic():
            dispatch_lost_in(
                loaded=loaded, row=row, code="RESTORED", message="A backup was restored that was made while it was sent"
            )
    except Exception:
        # A damaged row must not keep the whole database from its epoch. Its lease ends now, so the sweep finds it.
        log.exception("Row %s could not be made unknown with the restore.", row.id)
        with connection.cursor() as cursor:
            cursor.execute("UPDATE runs_dispatch SET lease_until = clearance_now() WHERE id = %s", [row.id])
    return loaded.run.tenant_id
