"""One proposal in full, as plain values for the page and the API (screens.md, Proposal 1 to 5, 8 and 10).

The content is made from the verified bytes alone. Text from outside comes as pieces whose hidden characters are visible
escapes (S12); nothing of it may be rendered as markup.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.core.digest import parse_snapshot
from approvals.core.policy import Match, Note
from approvals.core.present import CompareRow, Piece, Row, argument_rows, compare_rows, sentence, visible
from approvals.models import Decision, Permit, Proposal
from approvals.selectors.bound import Bound, read_bound
from approvals.selectors.deciders import (
    Capacity,
    capacities_of,
    judged_votes,
    needs_words,
    prepared_by_of,
    requires_of,
)
from approvals.selectors.handling import Handling, handling_of
from approvals.selectors.people import Judged, People, Stance, people_of, stance_of
from approvals.selectors.standing import Same, same_as, taken_back_by
from audit.core.actor import Actor
from audit.core.canonical import short_digest
from audit.core.jsondoor import Json
from audit.core.refusal import Refusal
from audit.core.visible import as_line

STATE_CHANGED = "STATE_CHANGED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The exact call (3). `rows` are all effective arguments, whole; `size_bytes` counts the canonical bytes."""

    tool: str
    title: str
    contract_version: int
    target: str
    rows: tuple[Row, ...]
    size_bytes: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Before → after at the target (4), read by the server at `read_at`.

    `rows` start from the state that this round is judged on. `changed`: the target says something else than when the
    call was asked; then `asked_rows` start from that earlier state (empty if it is not known). `seen_rows` start from
    a still newer state, which a proposal that is no longer pending may have. `reversible` is a sentence.
    """

    rows: tuple[CompareRow, ...]
    asked_rows: tuple[CompareRow, ...]
    seen_rows: tuple[CompareRow, ...]
    read_at: datetime
    asked_at: datetime
    changed: bool
    note: str
    side_effect: str
    reversible: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Why it is held (5): the rule with the values that matched, what advisory rules noted, and what opened this round
    if it is not the first."""

    rule_id: str
    policy_number: int
    message: str
    matches: tuple[Match, ...]
    notes: tuple[Note, ...]
    opened_code: str
    opened_because: str
    opened_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a proposal asks for. Only there while its bytes are the ones that were made."""

    sentence: tuple[Piece, ...]
    call: Call
    effect: Effect
    held: Held
    reason: tuple[Piece, ...]
    amount_minor: int | None
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Afterwards:
    """What became of it (10): the permit's status ("" if none, ready, redeemed, void) and what runs told of the call.

    `outcome` is "", started, succeeded, failed or unknown; `detail` the receipt or the failure, redacted. Of a proposal
    that was closed without running, `detail` has the `code`, the `message` and whom it was closed `by`.
    """

    permit: str
    granted_at: datetime | None
    redeemed_at: datetime | None
    outcome: str
    at: datetime | None
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """A proposal as it stands at `now`, the database's clock. `status` is the standing of this instant (A3, S89).

    `tampered` is "" or a sentence: the stored row is not the one that was made (S84), and `content` is None.
    `status_words` says in one sentence what the status means, who decided and when. `chain` names the agents, outermost
    first (A7), `prepared_by` the person who asked in the agent's place, if one did. `may_revoke`: it is approved, not
    started, and this actor may take the approval back. `restored_at`: a backup was restored after it was asked.
    """

    id: UUID
    version: int
    round: int
    now: datetime
    status: str
    status_words: str
    tampered: str
    digest: str
    digest_short: str
    title: str
    tool: str
    run_id: UUID
    run_title: str
    call_id: str
    agent_id: UUID
    agent_name: str
    agent_version: str
    prepared_by: str
    chain: tuple[str, ...]
    acting_for: str
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    hidden_characters: bool
    same: Same | None
    content: Content | None
    people: People
    afterwards: Afterwards
    may_revoke: bool
    restored_at: datetime | None
    handling: Handling


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A proposal read for whoever may see it: `detail` as it is for nobody in particular, and what else it takes to say
    how somebody stands to it."""

    detail: Detail
    proposal: Any
    judged: Judged
    permit: Permit | None


def detail_of(actor: Actor, proposal: Any) -> Detail:
    """The detail of a row that carries `standing`, `same` and `read_at` (see selectors/proposals.py)."""
    whole = whole_of(proposal)
    return detail_for(whole, stance_in(whole, actor, capacities_of(actor, proposal)))


def detail_for(whole: Whole, stance: Stance) -> Detail:
    """The detail for everybody who stands to it like that."""
    people = replace(whole.detail.people, may_decide=stance.may_decide, reason=stance.reason, places=stance.places)
    handling = replace(whole.detail.handling, claimed=stance.claimed)
    return replace(whole.detail, people=people, may_revoke=stance.may_revoke, handling=handling)


def stance_in(whole: Whole, actor: Actor, capacities: Sequence[Capacity]) -> Stance:
    """How the actor stands to it, who may decide in these `capacities` or not."""
    stance = stance_of(
        actor, whole.proposal, whole.judged, whole.permit, tampered=bool(whole.detail.tampered), capacities=capacities
    )
    claim = whole.detail.handling.claim
    return replace(stance, claimed=claim is not None and str(claim.person_id) == actor.id)


def whole_of(proposal: Any) -> Whole:
    """The same row, read for all who may see it."""
    decisions = list(Decision.objects.filter(proposal=proposal).order_by("at", "id"))
    current = [decision for decision in decisions if decision.round == proposal.round]
    permit = Permit.objects.filter(proposal=proposal, round=proposal.round).first()
    content: Content | None = None
    tampered = ""
    try:
        content = _content(proposal, read_bound(proposal, decisions=current, permit=permit))
    except Refusal as refusal:
        tampered = refusal.message
    judged = judged_votes(proposal, current)
    detail = Detail(
        id=proposal.pk,
        version=proposal.version,
        round=proposal.round,
        now=proposal.read_at,
        status=proposal.standing,
        status_words=_status_words(proposal, current, permit),
        tampered=tampered,
        digest=proposal.digest,
        digest_short=short_digest(proposal.digest),
        title="" if content is None else "".join(piece.text for piece in content.sentence),
        tool=proposal.tool,
        run_id=proposal.run_id,
        run_title=as_line(proposal.run_title),
        call_id=as_line(proposal.call_id),
        agent_id=proposal.agent_id,
        agent_name=as_line(proposal.agent_name),
        agent_version=as_line(proposal.agent_version),
        prepared_by=as_line(prepared_by_of(proposal).get("name", "")),
        chain=(as_line(proposal.agent_name),),
        acting_for=as_line(proposal.acting_user_name),
        created_at=proposal.created_at,
        expires_at=proposal.expires_at,
        decided_at=proposal.decided_at,
        hidden_characters=proposal.hidden_characters,
        same=same_as(proposal.same, proposal.read_at),
        content=content,
        people=people_of(proposal, decisions, judged),
        afterwards=Afterwards(
            permit=permit.status if permit else "",
            granted_at=permit.granted_at if permit else None,
            redeemed_at=permit.redeemed_at if permit else None,
            outcome=proposal.outcome,
            at=proposal.outcome_at,
            detail=proposal.outcome_detail,
        ),
        may_revoke=False,
        restored_at=_if_older(proposal),
        handling=handling_of(proposal),
    )
    return Whole(detail=detail, proposal=proposal, judged=judged, permit=permit)


def _if_older(proposal: Any) -> datetime | None:
    restored: datetime | None = proposal.restored_at
    return restored if restored is not None and proposal.created_at < restored else None


def _content(proposal: Proposal, bound: Bound) -> Content:
    contract, arguments = bound.contract, bound.facts.arguments
    rows = tuple(argument_rows(contract, bound.given, arguments))
    return Content(
        sentence=tuple(sentence(contract, arguments, bound.state)),
        call=Call(
            tool=contract.name,
            title=contract.title,
            contract_version=bound.facts.contract_version,
            target=as_line(bound.facts.target),
            rows=rows,
            size_bytes=len(proposal.canonical),
            warnings=tuple(f"{row.label}: {row.warning}" for row in rows if row.warning),
        ),
        effect=_effect(proposal, bound),
        held=_held(proposal, bound),
        reason=tuple(visible(proposal.reason)),
        amount_minor=proposal.amount_minor,
        currency=proposal.currency,
    )


_REVERSIBLE = {
    "read": "It only reads; nothing changes.",
    "idempotent": "Doing it again changes nothing more.",
    "reversible": "It can be undone.",
    "irreversible": "It cannot be undone.",
}


def _effect(proposal: Proposal, bound: Bound) -> Effect:
    def rows(state: dict[str, Json] | None) -> tuple[CompareRow, ...]:
        return tuple(compare_rows(bound.contract, bound.facts.arguments, state))

    opened = _opened(proposal)
    asked: Any = opened.get("was") if opened.get("code") == STATE_CHANGED else None
    moved = proposal.observed is not None and bytes(proposal.observed) != bytes(proposal.snapshot)
    seen = _state(proposal.observed) if moved else None
    side_effect = bound.contract.side_effect
    return Effect(
        rows=rows(bound.state),
        asked_rows=rows(asked) if isinstance(asked, dict) else (),
        seen_rows=rows(seen) if seen is not None else (),
        read_at=proposal.snapshot_at if moved else proposal.observed_at or proposal.snapshot_at,
        asked_at=proposal.created_at,
        changed=moved or opened.get("code") == STATE_CHANGED,
        note=bound.contract.presentation.effect_note,
        side_effect=side_effect,
        reversible=_REVERSIBLE[side_effect],
    )


def _state(observed: Any) -> dict[str, Json] | None:
    try:
        return parse_snapshot(bytes(observed))
    except Refusal:
        return None


def _opened(proposal: Proposal) -> dict[str, Any]:
    opened = proposal.why.get("opened_because") if isinstance(proposal.why, dict) else None
    return opened if isinstance(opened, dict) else {}


def _held(proposal: Proposal, bound: Bound) -> Held:
    opened = _opened(proposal)
    at = opened.get("at")
    return Held(
        rule_id=bound.requirement.rule_id,
        policy_number=bound.requirement.policy_number,
        message=bound.requirement.message,
        matches=bound.requirement.matched,
        notes=bound.requirement.notes,
        opened_code=str(opened.get("code", "")),
        opened_because=str(opened.get("message", "")),
        opened_at=datetime.fromisoformat(at) if isinstance(at, str) else None,
    )


def _status_words(proposal: Any, current: Sequence[Decision], permit: Permit | None) -> str:
    standing = proposal.standing
    if standing not in ("pending", "granted") and proposal.outcome == "succeeded":
        return "It had happened before a backup of the database was restored; it was not executed again."
    last = current[-1] if current else None
    by = f" by {last.by} at {_clock(last.at)}" if last is not None else ""
    if standing == "pending":
        return f"Waiting for {needs_words(requires_of(proposal))}; without a decision it is refused."
    if standing == "granted":
        return f"Approved{by}."
    if standing == "rejected":
        return f"Rejected{by}; nothing ran."
    if standing == "expired":
        late = "nobody decided" if not current else "too few people approved it in time"
        if permit is not None:
            late = "it was approved, but not executed in time"
        return f"Expired at {_clock(proposal.expires_at)}: {late}; nothing ran."
    words = {
        "withdrawn": f"Taken back by {_taken_back_by(proposal) or 'the agent'}; nothing ran.",
        "cancelled": "Cancelled with its run; it never ran.",
        "superseded": "Replaced by an edited revision; this one never ran.",
        "refused": "Refused when it was judged again; nothing ran.",
    }
    return words.get(standing, standing)


def _taken_back_by(proposal: Proposal) -> str:
    return taken_back_by(proposal.outcome_detail.get("by"), proposal.agent_name)


def _clock(at: datetime) -> str:
    return f"{at:%H:%M:%S} UTC"
