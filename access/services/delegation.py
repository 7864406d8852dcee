"""Giving somebody one's own place in decisions for a time, and calling that back (A9, S7, S17)."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID, uuid4

from access.core.delegation import groups_of, span_of, why_of
from access.core.rights import is_admin, require_admin
from access.models import Delegation
from access.selectors.actors import DeciderFacts, decider_facts
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.services.record import audit_record, audit_record_or_owe, audit_refusals
from audit.store import clock

GIVEN = "delegation.given"
REVOKED = "delegation.revoked"
REVIEWER = "reviewer"


def delegation_give(
    *,
    actor: Actor,
    to_user_id: str,
    ends_at: datetime | None,
    starts_at: datetime | None = None,
    from_user_id: str = "",
    groups: Iterable[str] = (),
    reason: str = "",
) -> UUID:
    """Let one person decide in another's place until `ends_at`; the delegation's id.

    One's own place, or with `from_user_id` anybody's for an admin. `groups` are those of the giver it is for, none
    named means all; a start in the past is now. It gives the giver's one vote, with every ban of the giver, and what is
    held by delegation cannot be given on.

    Raises Forbidden (PERSON_REQUIRED, ROLE_MISSING), NotFound (somebody of another organisation), Invalid
    (DELEGATION_TIME, DELEGATE_UNFIT, GROUP_UNKNOWN, REASON_TOO_LONG, REASON_INVALID).
    """
    giver_id = from_user_id or actor.id
    told: dict[str, object] = {"from": giver_id, "to": to_user_id}
    with audit_refusals(actor=actor, action=GIVEN, object_type="delegation", object_id="", detail=told):
        _require_person(actor)
        if giver_id != actor.id:
            require_admin(actor)
        giver, delegate = _member(actor, giver_id), _member(actor, to_user_id)
        if giver.user_id == delegate.user_id:
            raise Invalid("Nobody stands in for themselves. Choose somebody else.", code="DELEGATE_UNFIT")
        for who, what in ((giver, "has nothing to give"), (delegate, "could not decide")):
            if not who.active or REVIEWER not in who.roles:
                raise Invalid(
                    f"{who.name} is no active reviewer and so {what}. Ask an admin for the role first.",
                    code="DELEGATE_UNFIT",
                )
        now = clock.now()
        start, end = span_of(starts_at, ends_at, now)
        named, said = groups_of(groups, giver.groups), why_of(reason)
        row = Delegation.objects.create(
            id=uuid4(),
            tenant_id=UUID(actor.tenant_id),
            from_user_id=UUID(giver.user_id),
            to_user_id=UUID(delegate.user_id),
            groups=named,
            starts_at=start,
            ends_at=end,
            reason=said,
            created_at=now,
            created_by_id=UUID(actor.id),
        )
        audit_record(
            actor=actor,
            action=GIVEN,
            object_type="delegation",
            object_id=row.pk,
            detail={
                "from": giver.user_id, "from_name": giver.name, "to": delegate.user_id, "to_name": delegate.name,
                "groups": named or "all", "starts_at": start, "ends_at": end, "reason": said,
            },
        )  # fmt: skip
    return row.pk


def delegation_revoke(*, actor: Actor, delegation_id: UUID) -> None:
    """End a delegation now; the giver, the delegate or an admin. What was decided by it and not executed yet does not
    count any more. Takes a right away, so it works while the audit log does not (S69).

    Raises NotFound (also for somebody else's, S62), Conflict (DELEGATION_OVER): it had ended or was called back.
    """
    with audit_refusals(actor=actor, action=REVOKED, object_type="delegation", object_id=delegation_id):
        _require_person(actor)
        row = Delegation.objects.select_for_update().filter(pk=delegation_id, tenant_id=actor.tenant_id).first()
        if row is None or not (actor.id in (str(row.from_user_id), str(row.to_user_id)) or is_admin(actor)):
            raise NotFound
        now = clock.now()
        if row.revoked_at is not None or row.ends_at <= now:
            raise Conflict("This delegation has ended already; nothing was changed.", code="DELEGATION_OVER")
        Delegation.objects.filter(pk=row.pk).update(revoked_at=now, revoked_by_id=UUID(actor.id))
        audit_record_or_owe(
            actor=actor,
            action=REVOKED,
            object_type="delegation",
            object_id=row.pk,
            detail={"from": row.from_user_id, "to": row.to_user_id},
        )


def _require_person(actor: Actor) -> None:
    if actor.kind != "person" or actor.via != "session":
        raise Forbidden("A person gives their place away in their own session; no token does.", code="PERSON_REQUIRED")


def _member(actor: Actor, user_id: str) -> DeciderFacts:
    found = decider_facts(tenant_id=actor.tenant_id, user_id=user_id)
    if found is None:
        raise NotFound
    return found
