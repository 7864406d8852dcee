"""Publishing a policy: an immutable version, in force from the next judgement on (A8, S8, S72)."""

from uuid import UUID, uuid4

from access.core.rights import require_admin
from approvals.core.contract_types import Finding
from approvals.core.policy_texts import difference
from approvals.core.policy_trial import CaseResult
from approvals.core.reasons import reason_of
from approvals.models import PolicyDraft, PolicyHead, PolicyVersion
from approvals.selectors.policies import PolicyRow, policy_version
from approvals.selectors.policy_drafts import is_admin_now
from approvals.selectors.policy_look import BLOCKING, findings_in, parse_source, placed, tests_in
from approvals.signals import announce_policy
from approvals.store.heads import head_locked
from approvals.store.reach import reach_begin
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Forbidden, Invalid
from audit.services.record import audit_record, audit_refusals
from audit.store import clock


def policy_publish(
    *,
    actor: Actor,
    source: str,
    based_on: int | None,
    reason: str = "",
    taken_from: int = 0,
    draft_id: UUID | None = None,
) -> PolicyRow:
    """Publish `source` (YAML or JSON) as the next version; an admin's right.

    `based_on` is the number of the version that it was made from, None where there was none. The same text as the
    active version with `based_on` None publishes nothing and gives that version. `draft_id` is the draft that becomes
    this version; `taken_from` the older version whose text it is.
    Raises Forbidden (ROLE_MISSING; SECOND_ADMIN_NEEDED where the tenant wants another admin to have asked for exactly
    this text); Invalid (POLICY_INVALID with `detail.findings`, among them groups that are not there or hold too few
    reviewers for the quorum, S8; TESTS_FAILED with `detail.tests`; what `reason_of` raises); Conflict
    (POLICY_CHANGED): another version is active than the one it was based on; `detail` has its `number`, `by`, `at` and
    a `diff` from the base to it.
    """
    with audit_refusals(actor=actor, action="policy.published", object_type="policy", object_id=actor.tenant_id):
        require_admin(actor)
        reason = reason_of(reason, required=False)
        policy = parse_source(source)
        head = head_locked(actor.tenant_id)
        active = policy_version(actor.tenant_id, head.active_number)
        if active is not None and based_on is None and active.source == source:
            return active
        if (based_on or 0) != head.active_number:
            raise _changed(actor, active, based_on)
        findings = placed(findings_in(actor.tenant_id, policy), source)
        blocking = [finding for finding in findings if finding.code in BLOCKING]
        if blocking:
            raise _invalid(blocking)
        tests = tests_in(actor.tenant_id, policy)
        failed = [result for result in tests if not result.passed]
        if failed:
            raise _tests_failed(failed, len(tests))
        asked = _asked(actor, head, source) if head.second_admin and active is not None else None
        number = _next_number(actor)
        version = PolicyVersion.objects.create(
            id=uuid4(),
            tenant_id=actor.tenant_id,
            number=number,
            source=source,
            document=policy.document,
            digest=policy.digest,
            published_by=actor.name,
            published_at=clock.now(),
            reason=reason,
            asked_by=asked.asked_by if asked else "",
            taken_from=taken_from,
        )
        head.active_number = number
        head.save(update_fields=["active_number"])
        # What waits is judged by it next, outside this transaction (services/published.py).
        reach_begin(actor.tenant_id, number)
        announce_policy(UUID(actor.tenant_id))
        became = [id_ for id_ in (draft_id, asked.pk if asked else None) if id_]
        # A draft that somebody has written on in the meantime stays open: its text is not this one.
        drafts = PolicyDraft.objects.filter(tenant_id=actor.tenant_id, pk__in=became, status="open", source=source)
        drafts.update(status="published", published_number=number)
        audit_record(
            actor=actor,
            action="policy.published",
            object_type="policy",
            object_id=version.id,
            detail={"number": number, "based_on": based_on, "digest": policy.digest, "rules": len(policy.rules),
                    "tests": len(tests), "reason": reason, "asked_by": version.asked_by, "taken_from": taken_from,
                    "findings": [finding.as_dict() for finding in findings]},
        )  # fmt: skip
    published = policy_version(actor.tenant_id, number)
    assert published is not None
    return published


def policy_check(*, actor: Actor, source: str) -> list[Finding]:
    """What stands against `source` in the actor's tenant, without publishing anything; for admins.

    Raises Forbidden (ROLE_MISSING) and Invalid (POLICY_INVALID) for a text that is no policy.
    """
    require_admin(actor)
    return placed(findings_in(actor.tenant_id, parse_source(source)), source)


def policy_test(*, actor: Actor, source: str) -> tuple[CaseResult, ...]:
    """How the tests in `source` go in the actor's tenant; for admins. Raises like `policy_check`."""
    require_admin(actor)
    return tests_in(actor.tenant_id, parse_source(source))


def _asked(actor: Actor, head: PolicyHead, source: str) -> PolicyDraft:
    """The draft by which another admin, who is one still, asks for exactly this text on today's version."""
    drafts = PolicyDraft.objects.select_for_update().filter(
        tenant_id=actor.tenant_id, status="open", based_on=head.active_number, source=source
    )
    for draft in drafts.exclude(asked_by_id__in=("", actor.id)).order_by("asked_at"):
        if is_admin_now(actor.tenant_id, draft.asked_by_id):
            return draft
    raise Forbidden(
        "In this organisation a second admin publishes what the first one asks for. Save the text as a draft and ask; "
        "then another admin publishes it.",
        code="SECOND_ADMIN_NEEDED",
        missing=["second admin"],
    )


def _next_number(actor: Actor) -> int:
    last = PolicyVersion.objects.filter(tenant_id=actor.tenant_id).order_by("-number").first()
    return (last.number if last else 0) + 1


def _changed(actor: Actor, active: PolicyRow | None, based_on: int | None) -> Conflict:
    if active is None:
        return Conflict(
            f"There is no version {based_on} of the policy: none was published yet. Publish without a base.",
            code="POLICY_CHANGED",
            detail={"number": 0},
        )
    base = policy_version(actor.tenant_id, based_on) if based_on else None
    at = active.published_at
    return Conflict(
        f"{active.published_by} published version {active.number} at {at:%Y-%m-%d %H:%M:%S} UTC; yours was made from "
        f"{f'version {based_on}' if based_on else 'none'}. Nothing was changed. Look at the difference and publish "
        f"again, based on {active.number}.",
        code="POLICY_CHANGED",
        detail={
            "number": active.number,
            "by": active.published_by,
            "at": at.isoformat(),
            "diff": difference(
                base.source if base else "", active.source, f"version {based_on or 0}", f"version {active.number}"
            ),
        },
    )


def _invalid(findings: list[Finding]) -> Invalid:
    return Invalid(
        f"The policy cannot be published: {findings[0].message} A rule must name groups that can decide.",
        code="POLICY_INVALID",
        detail={"findings": [finding.as_dict() for finding in findings]},
    )


def _tests_failed(failed: list[CaseResult], count: int) -> Invalid:
    first = failed[0]
    return Invalid(
        f"The policy cannot be published: {len(failed)} of its {count} tests fail, the first of them {first.name}: "
        f"{first.expected} was expected, {first.got} came. Mend the rules or the test.",
        code="TESTS_FAILED",
        detail={"tests": [result.as_dict() for result in failed]},
    )
