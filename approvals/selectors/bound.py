"""Is a proposal still the one that was made? Asked before its bytes are shown, decided or dispatched (A1, S84).

The digest is recomputed from the stored bytes, and what the row says beside them must be what the bytes say. An owner
who edits bytes *and* digest is caught by what was written elsewhere: the audit entries of the proposal's making and of
its round, the decisions of the round (append-only), the permit, and at dispatch the call's own row in runs.
What this cannot see: an owner who edits all of those in step. The seals of the audit log are for that.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from approvals.core.contract_types import Contract
from approvals.core.digest import CallFacts, check_call_bytes, parse_snapshot, snapshot_hash
from approvals.core.policy import Verdict, verdict_from
from approvals.core.rounds import most_stopped
from approvals.core.terms import terms_from
from approvals.models import Decision, Permit, Proposal
from approvals.selectors.catalogue import contract_of, number_of
from approvals.selectors.deciders import prepared_by_of, requires_of, terms_of
from approvals.selectors.revisions import editors_of
from audit.core.entry import Entry, utc_text
from audit.core.jsondoor import Json, open_json
from audit.core.refusal import Conflict, Refusal
from audit.selectors.entries import EntryFilters, details_owed, entries_page

HELD = "proposal.held"
"""The audit action that a proposal's making is recorded under."""
ASKED_AGAIN = "proposal.asked_again"
"""The one of every later round."""
QUESTION_ASKED = "proposal.question_asked"
"""The one of a question to the agent; `clock_stops` in its detail where the time to decide stood still."""
QUESTION_ANSWERED = "proposal.question_answered"
"""The one of its answer; `stopped_s` in its detail is how much of the time to decide is stopped time by then."""

_STORED_LIMIT = 8 * 1_048_576
_STORED_MEMBERS = 200_000


class Altered(Conflict):
    """409. A proposal's row is not the one that was written; `detail.what` names the part that differs."""

    default_code = "PROPOSAL_ALTERED"
    default_message = (
        "The stored proposal is not the one that was made, so it is neither shown nor decided nor executed. "
        "Nothing was executed. The agent has to ask again; tell an operator."
    )

    def __init__(self, what: str) -> None:
        super().__init__(detail={"what": what})


@dataclass(frozen=True, slots=True)
class Bound:
    """What a proposal is bound to, read from its verified bytes. `state` is None where the tool reads none;
    `requirement` is the verdict that the current round stands under."""

    facts: CallFacts
    given: Json
    contract: Contract
    state: dict[str, Json] | None
    requirement: Verdict


def read_bound(proposal: Proposal, *, decisions: Iterable[Decision], permit: Permit | None) -> Bound:
    """Verify the row and read it. `decisions` are those of the current round.

    Raises `Altered`, or `Conflict` (CONTRACT_ALTERED) if the contract it was made for is not the one admitted.
    """
    contract = contract_of(proposal.tool_version_id)
    facts = _facts(proposal)
    if facts.tool != contract.name:
        raise Altered("tool_version")
    if facts.contract_version != number_of(proposal.tool_version_id):
        raise Altered("contract_version")
    if snapshot_hash(bytes(proposal.snapshot)) != proposal.snapshot_hash:
        raise Altered("snapshot")
    for decision in decisions:
        if decision.digest != proposal.digest or decision.snapshot_hash != proposal.snapshot_hash:
            raise Altered("decision")
    if permit is not None and permit.digest != proposal.digest:
        raise Altered("permit")
    _compare_with_log(proposal)
    try:
        state = parse_snapshot(bytes(proposal.snapshot))
        given = open_json(bytes(proposal.given), limit=_STORED_LIMIT, members=_STORED_MEMBERS)
    except Refusal as refusal:
        raise Altered("snapshot or arguments") from refusal
    return Bound(facts=facts, given=given, contract=contract, state=state, requirement=_requirement(proposal))


def _requirement(proposal: Proposal) -> Verdict:
    try:
        verdict = verdict_from(proposal.why["verdict"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Altered("why") from error
    if requires_of(proposal) != verdict.approvers:
        raise Altered("requires")
    return verdict


def _facts(proposal: Proposal) -> CallFacts:
    try:
        facts = check_call_bytes(bytes(proposal.canonical), proposal.digest)
    except Refusal as refusal:
        raise Altered("canonical") from refusal
    beside = {
        "tool": proposal.tool,
        "target": proposal.target,
        "acting_user": str(proposal.acting_user_id or ""),
    }
    for name, value in beside.items():
        if getattr(facts, name) != value:
            raise Altered(name)
    return facts


def _compare_with_log(proposal: Proposal) -> None:
    """What the entries of its making and of its current round say, each written in the same transaction as the row."""
    made = _logged(proposal, HELD, round_=None)
    if made is None:
        raise Altered("audit")
    if made.get("digest") != proposal.digest:
        raise Altered("digest")
    # Entries of before there was such a member say nothing about it.
    if made.get("parties", parties_of(proposal)) != parties_of(proposal):
        raise Altered("parties")
    asked, seen, latest = made, made.get("snapshot"), str(made.get("expires_at", ""))
    if proposal.round > 1:
        again = _logged(proposal, ASKED_AGAIN, round_=proposal.round)
        if again is None:
            raise Altered("round")
        asked, seen = again, (again.get("snapshot") or {}).get("now")
        # A next round may shorten the time. Only one that was asked after an unknown outcome lengthens it.
        later = _logged(proposal, ASKED_AGAIN, round_=None, where="later_deadline")
        latest = str(later.get("expires_at", "")) if later is not None else latest
    # What questions stopped comes on top, as far as the log tells of it.
    if proposal.stopped > timedelta(0) and proposal.stopped > most_stopped(made, _questions(proposal)):
        raise Altered("stopped")
    # The texts sort as the times do.
    if latest < utc_text(proposal.expires_at - proposal.stopped):
        raise Altered("expires_at")
    if seen != proposal.snapshot_hash:
        raise Altered("snapshot")
    if asked.get("requires") != proposal.requires:
        raise Altered("requires")
    # A round that was opened before there were terms has the defaults, in the entry and in the row.
    if terms_from(asked.get("terms")) != terms_of(proposal):
        raise Altered("terms")


def parties_of(proposal: Proposal) -> dict[str, str]:
    """Whose call it is, and under which contract: what self-approval is judged by and what is sent (A9, R10)."""
    prepared_by = prepared_by_of(proposal).get("id")
    return {
        "agent": str(proposal.agent_id),
        "owner": str(proposal.agent_owner_id or ""),
        "session": str(proposal.token_session_id or ""),
        "contract": str(proposal.tool_version_id),
        **({"prepared_by": prepared_by} if prepared_by else {}),
        **({"editors": " ".join(sorted(editors_of(proposal)))} if proposal.revision_number > 1 else {}),
    }


def _logged(proposal: Proposal, action: str, *, round_: int | None, where: str = "") -> Mapping[str, Any] | None:
    """The detail of the proposal's entry with that action (and round), or None. With `where` the newest whose detail
    has that member."""
    tenant_id, object_id = str(proposal.tenant_id), str(proposal.pk)
    details = [entry.detail for entry in _entries(proposal, action)]
    if where:
        return next((detail for detail in details if detail.get(where)), None)
    if round_ is not None:
        # Taking an approval back works while no entry can be written (S69); until it is paid it stands among the owed.
        details = [detail for detail in details if detail.get("round") == round_] or [
            detail for detail in details_owed(tenant_id, object_id, action) if detail.get("round") == round_
        ]
    return details[-1] if details else None


def _questions(proposal: Proposal) -> list[Mapping[str, Any]]:
    """The details of its questions and their answers, newest first."""
    entries = [*_entries(proposal, QUESTION_ASKED), *_entries(proposal, QUESTION_ANSWERED)]
    return [entry.detail for entry in sorted(entries, key=lambda entry: (entry.at, entry.id), reverse=True)]


def _entries(proposal: Proposal, action: str) -> list[Entry]:
    """The proposal's entries with that action that were done, newest first."""
    filters = EntryFilters(
        action=action,
        verdict="ok",
        run_id=str(proposal.run_id),
        call_id=proposal.call_id,
        # Narrows the search to the months it can stand in.
        since=proposal.created_at - timedelta(hours=1),
    )
    object_id = str(proposal.pk)
    return [entry for entry in entries_page(str(proposal.tenant_id), filters) if entry.object_id == object_id]
