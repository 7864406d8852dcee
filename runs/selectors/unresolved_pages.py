"""Unknown outcomes as their pages and live pushes show them: words, what is offered and why not, and signatures.

Every part that can change carries a signature of what it says, so that a push leaves alone what a person is typing in.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from audit.core.actor import Actor
from audit.core.visible import as_line
from runs.core.kinds import CallState
from runs.core.meanings import CALL_MEANING
from runs.core.proof import RISKS
from runs.core.standing import CALL_WORD
from runs.core.words import CALL_TONE
from runs.selectors.unresolved import (
    Unresolved,
    UnresolvedPage,
    UnresolvedRow,
    unresolved_detail,
    unresolved_page,
    unresolved_visible,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How the look-up stands: a tag, and words around a moment (None: no moment)."""

    tone: str
    word: str
    before: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A row of the list."""

    row: UnresolvedRow
    look: Look


@dataclass(frozen=True, slots=True, kw_only=True)
class ListShown:
    """The list's page."""

    rows: list[Listed]
    page: UnresolvedPage
    problem: str
    sig: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One choice. `why_not` is "" where it is offered, else a sentence, which may end with a moment that is to come."""

    key: str
    why_not: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One call's page."""

    call: Unresolved
    title: str
    tone: str
    word: str
    meaning: str
    look: Look
    offers: Mapping[str, Offer]
    retry_until: datetime | None
    retry_until_words: str
    asks_anew: bool
    risks: tuple[str, ...]
    may_ask: bool
    contradicted: str
    state: str = ""
    sig: Mapping[str, str] = field(default_factory=dict)


def list_shown(actor: Actor, *, after: str = "", problem: str = "") -> ListShown:
    """The list as this actor sees it. Raises Invalid (CURSOR_INVALID)."""
    page = unresolved_page(actor, after=after)
    rows = [Listed(row=row, look=look_of(row)) for row in page.rows]
    said = [(one.row.id, one.row.version, one.look, one.row.proof) for one in rows]
    return ListShown(
        rows=rows,
        page=page,
        problem=problem,
        sig=_signature((said, page.total, page.next)),
    )


def list_changed(actor: Actor, *, seen: str | None) -> ListShown | None:
    """The list's first page unless it says what the page `seen` says."""
    if seen is None:
        return None
    shown = list_shown(actor)
    return None if shown.sig == seen else shown


def one_shown(actor: Actor, unresolved_id: UUID) -> Shown:
    """The page of one call. Raises NotFound, also for a foreign id."""
    call = unresolved_detail(actor, unresolved_id)
    state = CallState(call.state)
    line = "".join(piece.text for piece in call.row.sentence)
    until, words, anew = _retry_window(call)
    shown = Shown(
        call=call,
        title=f"{as_line(line)[:80] or call.row.tool} · {CALL_WORD[state]} · Clearance",
        tone=CALL_TONE[state],
        word=CALL_WORD[state],
        meaning=CALL_MEANING[state],
        look=look_of(call.row),
        offers={offer.key: offer for offer in _offers(call)},
        retry_until=until,
        retry_until_words=words,
        asks_anew=anew,
        risks=RISKS,
        may_ask=call.may and call.unknown and call.proving.can_be_asked,
        contradicted=_contradicted(call),
    )
    sig = _signatures(shown)
    return replace(shown, sig=sig, state=_signature(sig))


def one_changed(actor: Actor, unresolved_id: UUID, *, seen: str | None) -> Shown | None:
    """The page unless it is in the state `seen`; None asks only whether it may be seen. Raises NotFound."""
    if seen is None:
        unresolved_visible(actor, unresolved_id)
        return None
    shown = one_shown(actor, unresolved_id)
    return None if seen == shown.state else shown


def look_of(row: UnresolvedRow) -> Look:
    """Being looked up, conclusive, or not to be asked; with the moment that matters."""
    proof, asked = row.proof, row.look_ups
    if proof.standing == "nothing" and asked.nothing is not None:
        return Look(tone="wait", word="asked: it shows nothing", before="conclusive, asked", at=asked.nothing.asked_at)
    if not row.can_be_asked:
        if proof.conclusive:
            return Look(tone="bad", word="cannot be asked", before="people decide since", at=proof.conclusive_at)
        before = "people decide from" if proof.because == "time" else "its contract cannot be read"
        at = proof.conclusive_at if proof.because == "time" else None
        return Look(tone="bad", word="cannot be asked", before=before, at=at)
    if proof.standing == "blind":
        return Look(tone="bad", word="could not be asked", before="people decide since", at=proof.conclusive_at)
    if asked.busy:
        return Look(tone="work", word="being asked now")
    if proof.because == "time":
        return Look(tone="work", word="being looked up", before="conclusive from", at=proof.conclusive_at)
    if asked.due is not None:
        return Look(tone="work", word="being looked up", before="does not answer, asked again", at=asked.due)
    return Look(
        tone="unsure", word="not asked since it counts", before="ask it; it counts since", at=proof.conclusive_at
    )


def _offers(call: Unresolved) -> list[Offer]:
    proof = call.row.proof
    early, at = "", None
    if not proof.conclusive:
        at = proof.conclusive_at if proof.because == "time" else None
        early = {
            "time": "The old request can still take effect, and a look-up that finds nothing proves nothing, until",
            "answer": "The target has not answered a look-up since the old request's time was over. Ask it first.",
            "contract": "The call's contract cannot be read, so nothing about it is proven. Tell an admin.",
        }[proof.because]
    under_way = next((one for one in call.prepared if one.state in ("started", "unknown")), None)
    busy = f"{under_way.call_id} makes up for it right now; wait for its outcome." if under_way else ""
    live = next((one for one in call.prepared if one.state in ("new", "waiting", "ready", "started", "unknown")), None)
    stopped = "The run was stopped; nothing new is started in it." if call.run_stopped else ""
    deadline = call.proving.deadline
    late = "The call's own deadline has passed; it is not sent again." if deadline and deadline <= call.now else ""
    retry = stopped or late or (call.damaged and "Its stored bytes are not what was asked for.") or busy
    waits = f"{live.call_id} is to make up for it already; wait for its end." if live else ""
    return [
        Offer(key="happened"),
        Offer(key="did_not_happen", why_not=busy or early, at=None if busy else at),
        Offer(key="retry", why_not=retry or early, at=None if retry else at),
        Offer(key="compensate", why_not=stopped or waits),
        Offer(key="link", why_not="" if call.linkable else "No call of this run that changed something has succeeded."),
        Offer(key="leave"),
    ]


def _retry_window(call: Unresolved) -> tuple[datetime | None, str, bool]:
    """Until when a retry could start, in what words, and whether people have to be asked anew first."""
    ends, deadline = call.proving.approval_ends, call.proving.deadline
    if ends is not None and ends <= call.now:
        return deadline, "the call's own deadline" if deadline else "", True
    moments = [(ends, "its approval is over then"), (deadline, "the call's own deadline")]
    known = [(at, words) for at, words in moments if at is not None]
    at, words = min(known, default=(None, ""), key=lambda one: one[0])
    return at, words, False


def _contradicted(call: Unresolved) -> str:
    """A late result that says something else than what was decided."""
    happened = [late for late in call.late if late.outcome == "succeeded"]
    if not happened or call.unknown or call.state in (CallState.SUCCEEDED, CallState.COMPENSATED):
        return ""
    reference = f" (reference {happened[-1].reference})" if happened[-1].reference else ""
    return (
        f"A late answer of the target says that it happened{reference}. Look at the target before anything is repeated."
    )


def _signatures(shown: Shown) -> dict[str, str]:
    call = shown.call
    said: dict[str, object] = {
        "head": (call.state, call.row.since, shown.look),
        "notices": (shown.contradicted, call.damaged, call.why_not),
        "target": (shown.look, call.row.look_ups.last, call.row.proof, shown.may_ask),
        "choices": (
            call.unknown, call.may, call.machine.attempt, shown.offers, shown.retry_until, shown.asks_anew,
            [one.call_id for one in call.linkable], call.tools,
        ),
        "decided": (call.decided, call.noted, call.late, [(one.call_id, one.state) for one in call.prepared]),
        "known": (call.attempts, call.machine.attempt),
        "events": [event.seq for event in call.events],
    }  # fmt: skip
    return {part: _signature(value) for part, value in said.items()}


def _signature(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "backslashreplace")).hexdigest()[:16]
