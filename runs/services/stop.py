"""Setting and lifting stops: per tool, per agent, for a whole organisation, for the whole installation.

A stop is in force at the next claim and, exactly, at the next start (runs/store/stops.py). It fails nothing: calls are
still judged and held and decided, an approved one waits while its time runs out, and what was sent is finished.
"""

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from django.db import DatabaseError, IntegrityError, connection, transaction

from access.selectors.actors import tenant_ids
from access.selectors.names import agent_names
from approvals.core.reasons import reason_of
from approvals.selectors.catalogue import tool_names
from audit.core.actor import Actor
from audit.core.refusal import Forbidden, Invalid, NotFound, Unavailable
from audit.services.record import audit_record, audit_record_or_owe, audit_refusals
from audit.store import clock
from runs.models import Stop
from runs.selectors.stops import StopRow, stop_row
from runs.signals import stops_changed, work_waits
from runs.store import stops

log = logging.getLogger(__name__)

RUNS_TOLD = 500
"""Runs that lifting tells workers of at once; the sweep finds the others within a second."""
AUDIT_WAIT_MS = 3000
"""How long a stop waits for a log that somebody has locked, before its entry is owed."""
LOCKED_WAIT_MS = 50
"""The same for the entries behind one that is owed already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopSet:
    """What setting or lifting did. `repeated`: somebody had done it before, and `stop` says who.

    `settled` false: a worker that was frozen in the middle of a start may still record that one intent.
    """

    stop: StopRow
    repeated: bool = False
    settled: bool = True


def stop_set(*, actor: Actor, kind: str, subject: str = "", reason: str) -> StopSet:
    """Dispatch nothing more that this covers, until it is lifted. Setting it twice tells who did it first.

    `kind` is tool (`subject`: its name), agent (its id), tenant, or installation, which only the command line sets.
    When it returns, every start that it covers has either ended before the stop's time or will not happen. Works while
    no audit entry can be written (owed then, S69), and needs no broker.

    Raises Forbidden (PERSON_REQUIRED, ROLE_MISSING, INSTALLATION), Invalid (KIND_INVALID, REASON_REQUIRED, …), NotFound
    (no such tool or agent here).
    """
    with audit_refusals(actor=actor, action="stop.set", object_type="stop", object_id=f"{kind} {subject}".strip()):
        _check_may(actor, installation=kind == "installation")
        said = reason_of(reason, required=True)
        name = _subject_name(actor, kind, subject)
        tenant_id = None if kind == "installation" else UUID(actor.tenant_id)
        settled = stops.wait_for_starts(tenant_id)
        found = Stop.objects.filter(tenant_id=tenant_id, kind=kind, subject=subject, lifted_at=None).first()
        if found is not None:
            return StopSet(stop=stop_row(found), repeated=True)
        row = Stop(
            id=uuid4(),
            tenant_id=tenant_id,
            kind=kind,
            subject=subject,
            subject_name=name,
            reason=said,
            set_by=actor.id,
            set_by_name=actor.name,
            set_at=clock.now(),
        )
        try:
            with transaction.atomic():
                row.save(force_insert=True)
        except IntegrityError:
            # Only where the locks were not to be had: two set the same one, and the other one was first.
            first = Stop.objects.get(tenant_id=tenant_id, kind=kind, subject=subject, lifted_at=None)
            return StopSet(stop=stop_row(first), repeated=True)
        wait_ms = AUDIT_WAIT_MS
        for reader in _logged_for(actor, row):
            _wait_for_locks(wait_ms)
            written = audit_record_or_owe(
                actor=reader, action="stop.set", **_audited(row), detail=_told(row, said) | {"settled": settled}
            )
            # Once is enough to learn that the log is locked: a stop does not wait as often as there are organisations.
            wait_ms = AUDIT_WAIT_MS if written else LOCKED_WAIT_MS
        transaction.on_commit(partial(stops_changed.send_robust, sender=Stop, tenant_id=tenant_id), robust=True)
    if not settled:
        log.error("A start was frozen while stop %s was set; the server ends it within seconds.", row.id)
    return StopSet(stop=stop_row(row), settled=settled)


def stop_lift(*, actor: Actor, stop_id: UUID, reason: str) -> StopSet:
    """Let dispatch go on at once, except for what another stop covers. A loosening: without its audit entry it does not
    happen. Lifting twice tells who did it first.

    Raises NotFound (unknown, or another organisation's), Forbidden (PERSON_REQUIRED, ROLE_MISSING, INSTALLATION),
    Invalid (REASON_REQUIRED, …), Unavailable (AUDIT_UNAVAILABLE: it stays stopped).
    """
    with audit_refusals(actor=actor, action="stop.lifted", object_type="stop", object_id=stop_id):
        found = Stop.objects.filter(pk=stop_id).first()
        if found is None or (found.tenant_id is not None and str(found.tenant_id) != actor.tenant_id):
            raise NotFound
        _check_may(actor, installation=found.tenant_id is None)
        said = reason_of(reason, required=True)
        at = clock.now()
        lifted = Stop.objects.filter(pk=stop_id, lifted_at=None).update(
            lifted_at=at, lifted_by=actor.id, lifted_by_name=actor.name, lifted_reason=said
        )
        found.refresh_from_db()
        if lifted != 1:
            return StopSet(stop=stop_row(found), repeated=True)
        try:
            _wait_for_locks(AUDIT_WAIT_MS)
            for reader in _logged_for(actor, found):
                audit_record(actor=reader, action="stop.lifted", **_audited(found), detail=_told(found, said))
        except DatabaseError as error:
            log.exception("Stop %s was not lifted: its audit entry cannot be written.", stop_id)
            raise Unavailable(
                "It stays stopped: nothing is let go while the audit log cannot take the entry of it. Nothing was "
                "changed. Try again; if it stays like this, tell whoever runs this installation.",
                code="AUDIT_UNAVAILABLE",
            ) from error
        transaction.on_commit(partial(_tell, found), robust=True)
    return StopSet(stop=stop_row(found))


def _logged_for(actor: Actor, stop: Stop) -> list[Actor]:
    """The actor, once for each log that the entry belongs into: auditors read their own organisation's log alone, so a
    stop of the whole installation stands in every one's and in the installation's own."""
    if stop.tenant_id is not None:
        return [actor]
    return [actor, *(replace(actor, tenant_id=str(tenant_id)) for tenant_id in tenant_ids())]


def _audited(stop: Stop) -> dict[str, Any]:
    """The fields by which every entry names a stop."""
    return {"object_type": "stop", "object_id": stop.id, "tool": stop.subject if stop.kind == "tool" else ""}


def _told(stop: Stop, reason: str) -> dict[str, object]:
    return {"kind": stop.kind, "subject": stop.subject, "name": stop.subject_name, "reason": reason}


def _wait_for_locks(ms: int) -> None:
    """How long a statement of this transaction waits for a lock from here on."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{ms}ms"])


def _tell(lifted: Stop) -> None:
    """Hints for pages, and for the runs that waited; only hints."""
    stops_changed.send_robust(sender=Stop, tenant_id=lifted.tenant_id)
    for run_id in stops.runs_held_by(lifted.id, limit=RUNS_TOLD):
        work_waits.send_robust(sender=Stop, run_id=run_id)


def _check_may(actor: Actor, *, installation: bool) -> None:
    if installation:
        if actor.kind != "system":
            raise Forbidden(
                "The whole installation is stopped and let go at its command line: manage.py stop --all.",
                code="INSTALLATION",
            )
        return
    if actor.kind != "person" or actor.via != "session":
        raise Forbidden(
            "Stops are set and lifted by a person, in their own session; no token does it.", code="PERSON_REQUIRED"
        )
    if not actor.has_role("operator", "admin"):
        raise Forbidden(
            "Setting and lifting stops takes the role operator. Ask an admin for it.",
            code="ROLE_MISSING",
            missing=["operator"],
        )


def _subject_name(actor: Actor, kind: str, subject: str) -> str:
    """The name by which people know it. Raises NotFound, Invalid (KIND_INVALID)."""
    if kind in ("tenant", "installation") and not subject:
        return ""
    if kind == "tool":
        known = {name: name for name, _ in tool_names(actor.tenant_id)}
    elif kind == "agent":
        known = {id_: name for id_, name, _ in agent_names(actor.tenant_id)}
    else:
        raise Invalid("A stop is of the kind tool or agent, with which one, or tenant, without.", code="KIND_INVALID")
    if subject not in known:
        raise NotFound
    return known[subject]
