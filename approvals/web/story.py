"""How a proposal stands and what became of it, in words: the tag, the steps, the sentence where nothing can be decided.

Times stay moments: the page tells them in the reader's zone. What people and targets wrote stays apart from our words.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from approvals.selectors.detail import Detail
from approvals.selectors.people import VoteRow
from approvals.selectors.standing import taken_back_by
from audit.core.visible import Piece, visible

OWNED = "An operator of this organisation owns the question. Nobody sends it again before the target was asked."


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that happened, or is to come (`at` None). `code` is a reference of the target; `said` what somebody
    else wrote about it; `call` the call's id where its outcome was unknown, for the page that tells how it is settled.
    """

    tone: str
    word: str
    at: datetime | None = None
    text: str = ""
    code: str = ""
    said: tuple[Piece, ...] = ()
    call: str = ""


_CLOSED = {
    "rejected": ("bad", "Rejected"),
    "expired": ("bad", "Expired"),
    "withdrawn": ("still", "Taken back by the agent"),
    "cancelled": ("still", "Cancelled, never ran"),
    "superseded": ("still", "Replaced by a revision"),
    "refused": ("bad", "Refused when judged again"),
}
_HAPPENED = ("good", "Had happened already")
_FOUND_BY = {"look-up": " (found at the target)", "operator": " (recorded by {by} after the outcome was unknown)"}
_GRANTED = {
    "": ("work", "Approved, about to run"),
    "started": ("work", "Approved, under way"),
    "succeeded": ("good", "Succeeded"),
    "failed": ("bad", "Failed"),
    "compensated": ("still", "Made up for by another call"),
    "unknown": ("unsure", "Outcome unknown"),
    "refused": ("bad", "Refused when checked again"),
}


def state_words(detail: Detail) -> tuple[str, str, str]:
    """Tone, the tag's words, and one short word for the title."""
    if detail.tampered:
        return "bad", "Cannot be trusted", "damaged"
    if detail.status == "pending":
        return "wait", f"Waiting for {detail.people.needs}", "waiting"
    if detail.status == "granted":
        tone, word = _GRANTED.get(detail.afterwards.outcome, ("still", detail.afterwards.outcome))
        return tone, word, "approved" if detail.afterwards.outcome in ("", "started") else word.lower()
    tone, word = _HAPPENED if _had_happened(detail) else _closed(detail)
    return tone, word, detail.status


def _closed(detail: Detail) -> tuple[str, str]:
    """Tone and words of a proposal that was closed without running."""
    tone, word = _CLOSED.get(detail.status, ("still", detail.status))
    person = _person(detail)
    return tone, f"Taken back by {person}" if person else word


def _person(detail: Detail) -> str:
    """Who took it back, if that was not the agent."""
    told = detail.afterwards.detail
    return taken_back_by(told.get("by"), detail.agent_name) if detail.status == "withdrawn" else ""


def steps(detail: Detail) -> list[Step]:
    """What happened, in order; empty while people decide."""
    if detail.status == "pending" or detail.tampered:
        return []
    told = [_vote(vote) for vote in detail.people.votes if vote.round == detail.round]
    after = detail.afterwards
    if detail.status == "granted":
        told += _carried_out(detail)
    elif _had_happened(detail):
        text = "A backup was restored since; the target shows it, its reference is"
        code = str(after.detail.get("reference") or "")
        told.append(Step(tone="good", word="Had happened already.", text=text, code=code, at=after.at))
    elif detail.status == "expired":
        told.append(Step(tone="bad", word="Expired.", text="Nothing ran.", at=detail.expires_at))
    elif detail.status != "rejected":
        tone, word = _closed(detail)
        told.append(
            Step(tone=tone, word=f"{word}.", text="Nothing ran.", at=detail.decided_at, said=_message(after.detail))
        )
    return told


def closed_words(detail: Detail) -> tuple[str, datetime | None, str]:
    """Why there is nothing to decide for this reader: words, a moment or None, and the rest of the words."""
    if detail.tampered:
        return detail.tampered, None, ""
    if detail.status == "pending":
        return detail.people.reason, None, ""
    votes = [vote for vote in detail.people.votes if vote.round == detail.round]
    last = votes[-1] if votes else None
    if detail.status == "granted":
        return _by("Approved", last), last.at if last else None, _now_what(detail)
    if detail.status == "rejected":
        return _by("Rejected", last), last.at if last else None, ". Nothing ran, and the agent was told why."
    if _had_happened(detail):
        return "The target shows that it had happened before a backup was restored, found at", detail.afterwards.at, "."
    if detail.status == "expired":
        late = ", approved but not carried out in time" if votes else " and nobody had decided"
        return (
            "The time ended at",
            detail.expires_at,
            f"{late}; it is refused and nothing ran. The agent may ask again.",
        )
    words = {
        "withdrawn": f"{_person(detail) or 'The agent'} took it back; nothing ran",
        "cancelled": "It was cancelled with its run and never ran",
        "superseded": "An edited revision took its place; this one never ran",
        "refused": "It was refused when it was judged again; nothing ran",
    }
    start = words.get(detail.status, detail.status)
    return (f"{start}, at", detail.decided_at, ".") if detail.decided_at else (f"{start}.", None, "")


def _had_happened(detail: Detail) -> bool:
    """Closed, and found at the target after a restore: "nothing ran" would be untrue."""
    return detail.status not in ("pending", "granted") and detail.afterwards.outcome == "succeeded"


def _by(verb: str, vote: VoteRow | None) -> str:
    return f"{verb} by {vote.name} at" if vote else f"{verb}."


def _vote(vote: VoteRow) -> Step:
    approved = vote.verdict == "approve"
    return Step(
        tone="good" if approved else "bad",
        word="Approved" if approved else "Rejected",
        text=f"by {vote.name}",
        at=vote.at,
        said=vote.reason,
    )


def _carried_out(detail: Detail) -> list[Step]:
    after = detail.afterwards
    if after.permit == "void" and not after.outcome:
        text = "A backup was restored since. The target is asked whether it happened; if not, people are asked anew."
        return [Step(tone="unsure", word="Approval void.", text=text)]
    if after.outcome == "" and after.redeemed_at is None:
        return [Step(tone="work", word="Next:", text="everything is checked once more, then it runs.")]
    told = []
    if after.redeemed_at is not None:
        told.append(
            Step(tone="good", word="Started,", text="after everything was checked once more", at=after.redeemed_at)
        )
    code = str(after.detail.get("reference") or "")
    call = _id(after.detail.get("call"))
    if after.outcome == "succeeded":
        found = _FOUND_BY.get(str(after.detail.get("found_by") or ""), "").format(
            by=after.detail.get("by") or "somebody"
        )
        text = f"the provider's reference is{found}" if code else "the provider gave no reference"
        told.append(Step(tone="good", word="Succeeded,", text=text, code=code, at=after.at, call=call))
    elif after.outcome == "failed":
        told.append(
            Step(
                tone="bad",
                word="Failed.",
                text="It did not happen.",
                at=after.at,
                said=_message(after.detail),
                call=call,
            )
        )
    elif after.outcome == "compensated":
        text = "Whether it happened was never known; another call made up for it."
        told.append(
            Step(tone="still", word="Made up for.", text=text, at=after.at, said=_message(after.detail), call=call)
        )
    elif after.outcome == "refused":
        told.append(Step(tone="bad", word="Refused.", text="Nothing ran.", at=after.at, said=_message(after.detail)))
    elif after.outcome == "unknown":
        told.append(
            Step(
                tone="unsure",
                word="Outcome unknown.",
                text=OWNED,
                at=after.at,
                said=_message(after.detail),
                call=call,
            )
        )
    else:
        told.append(Step(tone="work", word="Under way:", text="the target's answer is awaited"))
    return told


def _id(value: object) -> str:
    try:
        return str(UUID(str(value)))
    except ValueError:
        return ""


def _message(told: dict[str, object]) -> tuple[Piece, ...]:
    return tuple(visible(str(told.get("message") or "")))


def _now_what(detail: Detail) -> str:
    after = detail.afterwards
    if after.permit == "void":
        return ". The approval was taken back; nothing runs on it."
    return {
        "": ". It runs now, after everything is checked once more.",
        "started": ". It is under way; this page tells how it ends.",
        "succeeded": ". It ran once.",
        "failed": ". It failed and did not happen; the agent was told.",
        "compensated": ". Whether it happened was never known; another call made up for it.",
        "unknown": f". Whether it happened is not known. {OWNED}",
        "refused": ". When it was checked again it was refused; nothing ran.",
    }.get(after.outcome, ".")
