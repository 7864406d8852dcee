"""Proposals and tools as JSON."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from approvals.core.money import money_text
from approvals.core.present import CompareRow, Piece
from approvals.selectors.catalogue import ToolSummary
from approvals.selectors.detail import Content, Detail
from approvals.selectors.proposals import SummaryRow


def proposal_url(proposal_id: UUID) -> str:
    """The page for people."""
    return settings.BASE_URL + reverse("proposal", args=[proposal_id])


def text_of(pieces: Iterable[Piece]) -> str:
    """Pieces as one text; what a reader could not see is written out: [U+202E]."""
    return "".join(f"[{piece.text}]" if piece.kind in ("escape", "unresolved") else piece.text for piece in pieces)


def summary_form(row: SummaryRow) -> dict[str, Any]:
    """A row of a list (`ProposalSummary`)."""
    return {
        "id": row.id,
        "url": proposal_url(row.id),
        "state": row.status,
        "round": row.round,
        "version": row.version,
        "readable": row.readable,
        "sentence": row.sentence,
        "tool": row.tool,
        "digest": row.digest,
        "amount": _amount(row.amount_minor, row.currency),
        "requested_at": row.created_at,
        "expires_at": row.expires_at,
        "settled_at": row.settled_at,
        "rule": row.rule_id,
        "why": row.why,
        "agent": row.agent_name,
        "acting_for": row.acting_for,
        "run": {"id": row.run_id, "title": row.run_title},
        "call_id": row.call_id,
        "needs": row.needs,
        "progress": row.progress,
        "may_decide": row.may_decide,
        "decided_by": row.decided_by,
        "hidden_characters": row.hidden_characters,
        "outcome": row.outcome,
        "same_as": row.same_as,
    }


def detail_form(detail: Detail) -> dict[str, Any]:
    """A proposal in full (`ProposalAnswer`)."""
    people, afterwards = detail.people, detail.afterwards
    return {
        "id": detail.id,
        "url": proposal_url(detail.id),
        "state": detail.status,
        "state_words": detail.status_words,
        "tampered": detail.tampered,
        "digest": detail.digest,
        "round": detail.round,
        "version": detail.version,
        "tool": detail.tool,
        "run": {"id": detail.run_id, "title": detail.run_title},
        "call_id": detail.call_id,
        "agent": detail.agent_name,
        "acting_for": detail.acting_for,
        "requested_at": detail.created_at,
        "expires_at": detail.expires_at,
        "decided_at": detail.decided_at,
        "now": detail.now,
        "content": _content(detail.content) if detail.content else None,
        "people": {
            "needs": people.needs,
            "words": people.words,
            "may_decide": people.may_decide,
            "reason": people.reason,
            "votes": [
                {
                    "round": vote.round,
                    "by": vote.name,
                    "verdict": vote.verdict,
                    "reason": text_of(vote.reason),
                    "at": vote.at,
                    "counts": vote.counts,
                }
                for vote in people.votes
            ],
        },
        "afterwards": {"outcome": afterwards.outcome, "at": afterwards.at, "detail": afterwards.detail},
    }


def tool_form(tool: ToolSummary) -> dict[str, Any]:
    """A tool (`ToolAnswer`)."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "side_effect": tool.side_effect,
        "scopes": list(tool.scopes),
        "version": tool.number,
        "input_schema": dict(tool.input_schema),
    }


def _content(content: Content) -> dict[str, Any]:
    call, effect, held = content.call, content.effect, content.held
    return {
        "sentence": text_of(content.sentence),
        "title": call.title,
        "contract_version": call.contract_version,
        "target": call.target,
        "arguments": [
            {
                "path": row.path,
                "label": row.label,
                "raw": row.raw,
                "shown": text_of(row.shown),
                "type": row.type,
                "default": row.default,
                "warning": row.warning,
                "hosts": list(row.hosts),
            }
            for row in call.rows
        ],
        "size_bytes": call.size_bytes,
        "warnings": list(call.warnings),
        "effect": {
            "rows": [_change(row) for row in effect.rows],
            "read_at": effect.read_at,
            "changed_since_asked": effect.changed,
            "note": effect.note,
            "reversible": effect.reversible,
        },
        "held": {
            "rule": held.rule_id,
            "policy": held.policy_number,
            "message": held.message,
            "matched": [match.text for match in held.matches],
            "notes": [
                {"rule": note.rule_id, "message": note.message, "matched": [match.text for match in note.matched]}
                for note in held.notes
            ],
        },
        "reason": text_of(content.reason),
        "amount": _amount(content.amount_minor, content.currency),
    }


def _change(row: CompareRow) -> dict[str, Any]:
    return {
        "label": row.label,
        "now": text_of(row.now),
        "after": text_of(row.after),
        "changed": row.changed,
        "problem": row.problem,
    }


def _amount(minor: int | None, currency: str) -> dict[str, Any] | None:
    if minor is None:
        return None
    return {"minor": minor, "currency": currency, "text": money_text(minor, currency)}
