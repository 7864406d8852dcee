"""A reviewer changes a call instead of rejecting it: another call takes its place, and is asked about anew (S15, A9).

The edited call is a revision: a proposal of its own, with its own bytes, digest and key, under a call id made from the
agent's (approvals/core/revisions.py). What was shown, hashed and executed is bound for it as for any other (A1). The
call that it replaces is *superseded*; the run learns of both from one resolution, and the agent is told what a person
changed. Editing is no vote: whoever edited never approves this revision, nor a later one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction

from approvals.core.exposure import customer_key, customer_of
from approvals.core.policy import Verdict
from approvals.core.present import Row, primary_money
from approvals.core.reasons import reason_of
from approvals.core.revisions import changes_between, revision_call_id
from approvals.core.rounds import reminder_at
from approvals.models import Proposal, Revision
from approvals.selectors.bound import HELD, Bound, parties_of
from approvals.selectors.revisions import editors_of
from approvals.services.edit_judged import Difference, Made, made_by_edit, opened_for_edit
from approvals.signals import announce
from approvals.store import rounds
from approvals.store.rows import change, resolve
from audit.core.actor import Actor
from audit.core.jsondoor import Json
from audit.core.redact import redact
from audit.core.refusal import Conflict
from audit.services.record import audit_record, audit_refusals

EDITED = "proposal.edited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What an edit would make, judged on the state that was read last. Nothing was written.

    `digest` is the new call's; saving says it again, so that what is saved is what was looked at. `verdict` is what the
    revision would stand under.
    """

    number: int
    digest: str
    differences: tuple[Difference, ...]
    verdict: Verdict
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRow:
    """What was made: the revision's proposal, and its number."""

    proposal_id: UUID
    number: int
    digest: str
    message: str


def proposal_edit_preview(
    *, actor: Actor, proposal_id: UUID, digest: str, round: int, arguments: Mapping[str, Json], tool: str = ""
) -> Preview:
    """What saving `arguments` would make of the call. Raises like `proposal_edit`, and writes nothing."""
    with transaction.atomic():
        proposal, bound, now = opened_for_edit(actor=actor, proposal_id=proposal_id, digest=digest, round=round)
        made = made_by_edit(proposal=proposal, bound=bound, now=now, arguments=arguments, tool=tool)
    return Preview(
        number=made.number,
        digest=made.digest,
        differences=made.differences,
        verdict=made.verdict,
        expires_at=made.expires_at,
    )


def proposal_edit(
    *,
    actor: Actor,
    proposal_id: UUID,
    digest: str,
    round: int,
    arguments: Mapping[str, Json],
    shown: str,
    reason: str = "",
    tool: str = "",
) -> EditRow:
    """Put an edited revision in the place of the call with this digest, which its page showed in this round.

    `arguments` are all of the new call's; `shown` is the digest of the new call as it was looked at. Schema, the
    contract's checks and the policy run again; earlier votes are void; the deadline stays.

    Raises Forbidden (as a decision does, and EDIT_NOT_ALLOWED), NotFound, Conflict (as a decision does, and
    EDIT_CHANGED: `shown` is not what would be saved; REJECTED_BEFORE; CONTRACT_CHANGED; REVISIONS_USED_UP), Invalid
    (ARGUMENTS_INVALID, TOOL_NOT_EDITABLE, TARGET_NOT_EDITABLE, NOTHING_CHANGED, EDIT_DENIED, REASON_TOO_LONG, …).
    """
    with audit_refusals(actor=actor, action=EDITED, object_type="proposal", object_id=proposal_id):
        proposal, bound, now = opened_for_edit(actor=actor, proposal_id=proposal_id, digest=digest, round=round)
        made = made_by_edit(proposal=proposal, bound=bound, now=now, arguments=arguments, tool=tool)
        if shown != made.digest:
            raise Conflict(
                "What you saved is not what you looked at: the call, the policy or the record has changed since. Look "
                "at the changes again.",
                code="EDIT_CHANGED",
            )
        said = reason_of(reason, required=False)
        return _write(actor, proposal, bound, made, said, now)


def _write(actor: Actor, old: Proposal, bound: Bound, made: Made, reason: str, now: datetime) -> EditRow:
    new = Proposal(
        id=uuid4(),
        tenant_id=old.tenant_id,
        run_id=old.run_id,
        run_title=old.run_title,
        call_id=revision_call_id(made.step_id, made.number),
        key=made.key,
        tool=old.tool,
        tool_version_id=old.tool_version_id,
        canonical=made.canonical,
        given=made.given,
        digest=made.digest,
        target=made.target,
        resource=made.resource,
        agent_id=old.agent_id,
        agent_name=old.agent_name,
        agent_version=old.agent_version,
        agent_owner_id=UUID(made.requester.owner_user_id) if made.requester.owner_user_id else None,
        acting_user_id=old.acting_user_id,
        acting_user_name=old.acting_user_name,
        token_session_id=old.token_session_id,
        scopes=sorted(made.requester.scopes),
        reason=old.reason,
        revision_number=made.number,
        created_at=now,
        expires_at=made.expires_at,
        remind_at=reminder_at(asked_at=now, expires_at=made.expires_at, percent=made.verdict.terms.remind_at_percent),
        stopped=made.stopped,
        why=rounds.why(made.verdict),
        **rounds.judged(bound.contract, made.facts, made.state, made.verdict, made.read_at),
    )
    new.amount_minor, new.currency = primary_money(bound.contract, made.facts.arguments)
    new.customer = customer_key(customer_of(bound.contract, made.facts.arguments, made.state)) or ""
    if Proposal.objects.filter(run_id=new.run_id, call_id=new.call_id).exists():
        # Ids like these are refused to agents; one of an older version of this program may be there.
        raise Conflict(
            f"The run has a call {new.call_id} of its own, so this one cannot be edited. Reject it instead.",
            code="EDIT_NOT_ALLOWED",
        )
    editors = editors_of(old) | {actor.id}
    new.save(force_insert=True)
    Revision.objects.create(
        proposal=new,
        previous=old,
        number=made.number,
        step_id=made.step_id,
        editor_id=UUID(actor.id),
        editor_name=actor.name,
        editor_ids=[UUID(editor) for editor in sorted(editors)],
        changes=_stored(made),
        reason=reason,
        at=now,
    )
    _supersede(actor, old, new, reason, now)
    _record(actor, old, new, bound, made, reason)
    rounds.warn_if_nobody_can_decide(new, actor=actor)
    announce(new)
    return EditRow(
        proposal_id=new.pk,
        number=made.number,
        digest=made.digest,
        message=f"Saved as revision {made.number}. Earlier votes are void, and somebody else decides on it.",
    )


def _stored(made: Made) -> list[dict[str, Any]]:
    shown = {one.path: one for one in made.differences}

    def text(row: Row | None) -> str:
        return "" if row is None else "".join(piece.raw for piece in row.shown)

    return [
        {
            **one.as_dict(),
            "label": shown[one.path].label,
            "was": text(shown[one.path].was),
            "becomes": text(shown[one.path].becomes),
        }
        for one in made.changes
    ]


def _supersede(actor: Actor, old: Proposal, new: Proposal, reason: str, now: datetime) -> None:
    message = f"{actor.name} edited it; revision {new.revision_number} took its place."
    told = {"code": "EDITED", "message": message, "by": actor.name}
    change(old, status="superseded", decided_at=now, refresh_asked_at=None, outcome_detail=told)
    by: dict[str, object] = {"name": actor.name, "id": actor.id, "reason": reason, "revision": str(new.pk)}
    resolve(old, "superseded", at=now, by=by)


def _record(actor: Actor, old: Proposal, new: Proposal, bound: Bound, made: Made, reason: str) -> None:
    paths = bound.contract.redaction
    was, becomes = redact(bound.facts.arguments, paths), redact(made.facts.arguments, paths)
    audit_record(
        actor=actor,
        action="proposal.superseded",
        detail={"round": old.round, "code": "EDITED", "by_revision": new.revision_number, "revision": new.pk},
        **rounds.audited(old),
    )
    audit_record(
        actor=actor,
        action=EDITED,
        detail={
            "of": old.pk, "of_call": old.call_id, "revision": new.revision_number, "reason": reason,
            "digest": {"before": old.digest, "now": new.digest},
            "changed": [one.path for one in made.changes],
            "changes": [one.as_dict() for one in changes_between(was, becomes)],
        },
        **rounds.audited(new),
    )  # fmt: skip
    audit_record(
        actor=actor,
        action=HELD,
        detail={
            "digest": new.digest, "expires_at": new.expires_at, "snapshot": new.snapshot_hash, "key": new.key,
            "rule": new.rule_id, "policy": new.policy_number, "requires": new.requires,
            "terms": made.verdict.terms.as_dict(), "parties": parties_of(new),
            "sentence": rounds.logged_sentence(bound.contract, made.facts, made.state),
            **({"stopped_s": int(new.stopped.total_seconds())} if new.stopped else {}),
        },
        **rounds.audited(new),
    )  # fmt: skip
