"""Wanting a second step of an organisation's members: an admin's right, who has one themselves (issue 6, point 3)."""

from access.core.demand import WHOM, begins_at
from access.core.rights import require_admin
from access.models import SecondFactor, SecondStepDemand
from access.selectors.confirmation import check_fresh
from access.selectors.step_demand import due_earlier, has_second_step, step_wanted
from access.store import step_days
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Invalid
from audit.services.record import audit_record, audit_refusals
from audit.store import clock

DEMANDED = "second_step.demanded"


def step_demand_set(*, actor: Actor, of: str, days: int = 0) -> None:
    """Want a second step of nobody, admins, deciders (reviewers and admins) or everybody, after `days` to set one up.

    Whoever has none by then can do nothing but set one up. The days are for those of whom it was never wanted: whoever
    was told an earlier day keeps it, wanted or not in between. Agents' tokens have nothing to do with it.
    Raises Forbidden (ROLE_MISSING, FRESH_REQUIRED), Invalid (DEMAND_UNKNOWN, GRACE_INVALID), Conflict (NO_SECOND) where
    the actor has none themselves: they would be the first to stand outside.
    """
    with audit_refusals(actor=actor, action=DEMANDED, object_type="tenant", object_id=actor.tenant_id):
        require_admin(actor)
        if of not in WHOM:
            raise Invalid("Say of whom: nobody, admins, deciders or everybody.", code="DEMAND_UNKNOWN", missing=["of"])
        check_fresh(actor, "Wanting a second step of others")
        if of != "nobody" and not has_second_step(actor.id):
            raise Conflict(
                "Set up your own second step first, and let your sign-in ask for it (Account, Passkeys and codes). "
                "Nothing was changed.",
                code="NO_SECOND",
            )
        now = clock.now()
        begin = begins_at(now, days)
        step_days.lock_admins(actor.tenant_id)
        step_days.keep(actor.tenant_id)  # what was wanted until now, of those who came while a change was on its way
        before = SecondStepDemand.objects.select_for_update().filter(tenant_id=actor.tenant_id).first()
        SecondStepDemand.objects.update_or_create(
            tenant_id=actor.tenant_id,
            defaults={"of": of, "begins_at": begin, "set_at": now, "set_by": actor.name},
        )
        step_days.keep(actor.tenant_id)
        audit_record(
            actor=actor, action=DEMANDED, object_type="tenant", object_id=actor.tenant_id,
            detail={"of": of, "before": before.of if before else "nobody", "begins_at": begin,
                    "earlier": due_earlier(actor.tenant_id, begin)},
        )  # fmt: skip


def step_ask_if_wanted(*, actor: Actor) -> None:
    """Let the actor's sign-in ask for the second step that they have just set up, where an organisation of theirs wants
    one: else they would have it and still owe it. In the caller's transaction."""
    if not step_wanted(actor.tenant_id, actor.id):
        return
    row, _ = SecondFactor.objects.get_or_create(user_id=actor.id)
    if row.at_sign_in:
        return
    row.at_sign_in = True
    row.save(update_fields=["at_sign_in"])
    audit_record(
        actor=actor, action="factor.step_set", object_type="account", object_id=actor.id,
        detail={"on": True, "by": "what the organisation wants"},
    )  # fmt: skip


def check_not_wanted(*, actor: Actor) -> None:
    """Raises Conflict (SECOND_STEP_WANTED) where the actor's organisation wants a second step of them."""
    if step_wanted(actor.tenant_id, actor.id):
        raise Conflict(
            "Your organisation wants you to have a second step, so it stays on. An admin can change that.",
            code="SECOND_STEP_WANTED",
        )
