"""An edited call goes on in the run: the call that it replaces is superseded, and the revision is proposed and waits.

Both happen in one transaction with the resolution that tells of the edit. The revision's row is made from the bytes of
its proposal, so that the run's history, the row and the proposal name one digest and one key (A1, E6); whoever redeems
the permit compares them again.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

from approvals.services.proposal import proposal_withdraw
from approvals.services.revision import RevisionFacts, revision_facts
from audit.core.actor import Actor
from audit.core.canonical import canonical_bytes
from audit.core.refusal import Refusal
from audit.services.record import audit_record
from runs.core.kinds import CallState
from runs.core.kinds import EventKind as K
from runs.core.state import CallMachine
from runs.models import Call
from runs.store.append import Loaded, append

_LONGEST = 60
_MOST = 5


def revision_of(*, by: Mapping[str, Any]) -> RevisionFacts | None:
    """The edit that a resolution tells of; None for any other resolution."""
    named = by.get("revision")
    return revision_facts(proposal_id=UUID(str(named))) if named else None


def revision_goes_on(*, loaded: Loaded, before: CallMachine | None, proposal_id: UUID) -> bool:
    """Whether the call that was edited still waits for this proposal, in a run that takes new calls."""
    return (
        before is not None
        and before.state in (CallState.WAITING, CallState.READY)
        and before.proposal_id == str(proposal_id)
        and not loaded.state.stop_asked
        and not loaded.state.finished
    )


def revision_begin(*, loaded: Loaded, of_call_id: str, revision: RevisionFacts, actor: Actor) -> Loaded:
    """Propose the revision and let it wait for its proposal. In the caller's transaction, under the run's head."""
    old = Call.objects.get(run=loaded.run, call_id=of_call_id)
    was = loaded.state.calls[of_call_id]
    new = Call.objects.create(
        id=uuid4(),
        run=loaded.run,
        tenant_id=old.tenant_id,
        call_id=revision.call_id,
        message_id=old.message_id,
        trace_id=old.trace_id,
        tool=revision.tool,
        contract_version=revision.contract_version,
        canonical=revision.canonical,
        given=revision.given,
        digest=revision.digest,
        key=revision.key,
        target=revision.target,
        resource=revision.resource,
        reason=old.reason,
        scopes=old.scopes,
        token_session_id=old.token_session_id,
        deadline=old.deadline,
        created_at=loaded.at,
        version=0,
    )
    proposed = {
        "call_id": revision.call_id,
        "tool": revision.tool,
        "contract_version": revision.contract_version,
        "digest": revision.digest,
        "key": revision.key,
        "side_effect": was.side_effect,
        "retry_class": was.retry_class,
        "read_only": was.read_only,
        "message_id": was.message_id,
        "deadline": was.deadline,
        # Further words of the history, which the reducer does not read.
        "revises": of_call_id,
        "revision": revision.number,
        "edited_by": revision.editor_name,
    }
    held = {
        "call_id": revision.call_id,
        "proposal_id": str(revision.proposal_id),
        "round": revision.round,
        "expires_at": revision.expires_at.isoformat(),
        "rule_id": revision.rule_id,
        "policy_number": revision.policy_number,
    }
    # In two steps: it was judged when it was edited, and the second ends the order to judge it that the first gives.
    proposing = append(loaded, [(K.CALL_PROPOSED, proposed)], actor=actor)
    holding = append(proposing.loaded, [(K.CALL_HELD, held)], actor=actor)
    audit_record(
        actor=actor,
        action="call.revised",
        object_type="call",
        object_id=new.id,
        run_id=loaded.run.id,
        call_id=new.call_id,
        tool=new.tool,
        detail={"of": of_call_id, "revision": revision.number, "digest": new.digest, "key": new.key},
    )
    return holding.loaded


def revision_drop(*, loaded: Loaded, revision: RevisionFacts, actor: Actor) -> None:
    """The call had ended before its edit was taken up, so nothing goes on: the revision leaves the queue."""
    proposal_withdraw(
        actor=actor,
        run_id=loaded.run.id,
        call_id=revision.call_id,
        reason="The call had ended before the edit reached its run.",
    )


def revision_words(*, revision: RevisionFacts) -> Refusal:
    """What the agent is told of the call that was edited."""
    because = f": {revision.reason}" if revision.reason else ""
    stop = "" if because.endswith((".", "!", "?", "…")) else "."
    told = [f"{change['path']} {_side(change, 'from')} → {_side(change, 'to')}" for change in revision.changes[:_MOST]]
    more = len(revision.changes) - len(told)
    changes = ", ".join(told) + (f" and {more} more" if more > 0 else "")
    return Refusal(
        f"{revision.editor_name} edited it ({changes}){because}{stop} Nothing of this call was executed; call "
        f"{revision.call_id} goes on in its place, and people decide about that one.",
        code="SUPERSEDED",
        status=409,
        detail={"call_id": revision.call_id, "revision": revision.number},
    )


def _side(change: Mapping[str, Any], side: str) -> str:
    if side not in change:
        return "nothing"
    text = canonical_bytes(change[side]).decode()
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
