"""The path of one call, told from the entries of the log alone: asked, held, shown, decided, checked again, started,
outcome. What the log does not say is told as missing, never guessed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from audit.core.actions import TONES, words_of
from audit.core.canonical import short_digest
from audit.core.entry import Entry

type Stage = Literal["asked", "judged", "shown", "decided", "checked", "started", "outcome", "other"]

STAGES: dict[Stage, str] = {
    "asked": "Asked",
    "judged": "Judged",
    "shown": "Shown",
    "decided": "Decided",
    "checked": "Checked again",
    "started": "Started",
    "outcome": "Outcome",
}
"""What a call passes on its way, in order; a call that no person is asked about passes three of them not."""
FOR_PEOPLE: frozenset[Stage] = frozenset({"shown", "decided"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One entry as a step. `title` is a word or two of ours; `text` goes on with them and may quote words from outside,
    as may `said` (a reason or a message) and `notes`. `gap` is the time since the step before, None for the first."""

    entry: Entry
    stage: Stage
    tone: str
    title: str
    text: str
    said: str
    notes: tuple[str, ...]
    gap: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """One stage of the way. `state` is done, missing (later ones were reached without it), not_needed or ahead."""

    stage: Stage
    word: str
    state: Literal["done", "missing", "not_needed", "ahead"]
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """The whole path. `waited` is the time from being held to the deciding click, `worked` from there to the outcome;
    `missing` are sentences about what the log ought to say and does not."""

    steps: tuple[Step, ...]
    stages: tuple[Passed, ...]
    tool: str
    run_id: str
    call_id: str
    proposal_id: str
    digest: str
    on_behalf_of: str
    took: timedelta
    waited: timedelta | None
    worked: timedelta | None
    missing: tuple[str, ...]


type _Told = tuple[Stage, str, str, str, str, list[str]]  # stage, tone, title, text, said, notes


def path_of(entries: Sequence[Entry], names: Mapping[str, str]) -> Path:
    """The path that `entries` (of one call, oldest first, at least one) tell; `names` of people by id."""
    steps: list[Step] = []
    for entry in entries:
        stage, tone, title, text, said, notes = _told(entry, names)
        gap = entry.at - entries[len(steps) - 1].at if steps else None
        steps.append(
            Step(entry=entry, stage=stage, tone=tone, title=title, text=text, said=said, notes=tuple(notes), gap=gap)
        )
    held = _first(steps, lambda step: step.entry.action == "proposal.held")
    granted = _first(steps, lambda step: step.stage == "decided" and step.entry.detail.get("status") != "pending")
    ended = _last(steps, lambda step: step.stage == "outcome")
    waited = granted.entry.at - held.entry.at if held and granted else None
    return Path(
        steps=tuple(steps),
        stages=tuple(_stages(steps)),
        tool=next((entry.tool for entry in entries if entry.tool), ""),
        run_id=next((entry.run_id for entry in entries if entry.run_id), ""),
        call_id=next((entry.call_id for entry in entries if entry.call_id), ""),
        proposal_id=next((entry.object_id for entry in entries if entry.object_type == "proposal"), ""),
        digest=next((text for entry in entries if (text := _text(entry, "digest"))), ""),
        on_behalf_of=next((entry.on_behalf_of for entry in entries if entry.on_behalf_of), ""),
        took=entries[-1].at - entries[0].at,
        waited=waited,
        worked=ended.entry.at - granted.entry.at if ended and granted and ended.entry.at > granted.entry.at else None,
        missing=tuple(_missing(steps)),
    )


def _stages(steps: Sequence[Step]) -> list[Passed]:
    order = list(STAGES)
    at: dict[str, datetime] = {}
    for step in steps:
        # Who looks at it afterwards was not shown what was decided.
        late = step.stage == "shown" and "decided" in at
        if step.stage in STAGES and step.entry.verdict != "duplicate" and not late:
            at[step.stage] = step.entry.at
    reached = max((order.index(stage) for stage in at if stage != "other"), default=-1)  # type: ignore[arg-type]
    started = "started" in at
    rejected = any(step.stage == "decided" and step.entry.detail.get("status") == "rejected" for step in steps)
    ended = "outcome" in at or rejected
    asked_people = any(step.entry.action == "proposal.held" for step in steps)
    found = []
    for number, stage in enumerate(order):
        state: Literal["done", "missing", "not_needed", "ahead"] = "done"
        if stage not in at:
            # What was refused, rejected or taken back went straight to its end: it misses nothing on the way.
            skipped = (stage in FOR_PEOPLE or stage == "checked") and not asked_people
            over = number < reached
            due = started or (stage == "shown" and "decided" in at)
            if over and due and not skipped:
                state = "missing"
            elif skipped or over or ended:
                state = "not_needed"
            else:
                state = "ahead"
        found.append(Passed(stage=stage, word=STAGES[stage], state=state, at=at.get(stage)))
    return found


def _missing(steps: Sequence[Step]) -> list[str]:
    found = []
    shown: set[tuple[str, Any]] = set()
    for step in steps:
        detail = step.entry.detail
        if step.entry.action == "proposal.shown":
            shown.add((step.entry.actor_id, detail.get("round")))
        if (
            step.entry.action == "proposal.decided"
            and step.entry.verdict == "ok"
            and (step.entry.actor_id, detail.get("round")) not in shown
        ):
            found.append(
                f"No entry says that {step.entry.actor_name} was shown this before deciding: it was decided by the "
                "API, or before showing was recorded."
            )
    actions = {step.entry.action for step in steps}
    if not actions & {"call.submitted", "proposal.edited"}:
        found.append("No entry says who asked for this call.")
    if "call.started" in actions and not actions & {"permit.redeemed", "call.allowed"}:
        found.append("It was started, and no entry says what allowed it.")
    if "permit.redeemed" in actions and "proposal.decided" not in actions:
        found.append("A permit was redeemed, and no entry says who approved.")
    return found


def _first(steps: Sequence[Step], fits: Callable[[Step], bool]) -> Step | None:
    return next((step for step in steps if fits(step)), None)


def _last(steps: Sequence[Step], fits: Callable[[Step], bool]) -> Step | None:
    return next((step for step in reversed(steps) if fits(step)), None)


def _told(entry: Entry, names: Mapping[str, str]) -> _Told:
    if entry.action == "call.submitted" and entry.verdict != "refused":
        return _asked(entry, names.get(entry.on_behalf_of, entry.on_behalf_of))
    teller = _TELLERS.get(entry.action)
    if teller is None or (entry.verdict == "refused" and entry.action not in _REFUSALS):
        if entry.verdict == "refused":
            return "other", "bad", words_of(entry.action, entry.verdict), _by(entry), "", _code(entry)
        return "other", TONES.get(entry.verdict, "still"), words_of(entry.action, entry.verdict), _by(entry), "", []
    return teller(entry)


_REFUSALS = frozenset({"call.refused", "call.held_again", "proposal.refused"})


def _asked(entry: Entry, acting_for: str) -> _Told:
    version = f" v{entry.detail['contract_version']}" if entry.detail.get("contract_version") else ""
    acting = f", for {acting_for}" if acting_for else ""
    title = "Asked again" if entry.verdict == "duplicate" else "Asked"
    notes = [] if entry.verdict == "duplicate" else [_digest(entry), _labelled(entry, "key")]
    text = f"{entry.tool}{version} by {entry.actor_name}{acting}"
    said = "The same request; it was recognised and nothing new was made." if entry.verdict == "duplicate" else ""
    return "asked", "still" if said else "work", title, text, said, _some(notes)


def _edited(entry: Entry) -> _Told:
    """What began a revision: a person changed another call, and this one took its place."""
    changed = entry.detail.get("changed")
    paths = ", ".join(str(path) for path in changed) if isinstance(changed, list) else ""
    text = f"{entry.tool} by {entry.actor_name}, in the place of call {_text(entry, 'of_call')}"
    notes = _some([f"revision {entry.detail.get('revision')}", f"changed {paths}" if paths else ""])
    return "asked", "work", "Edited", text, _text(entry, "reason"), notes


def _spoken(tone: str, title: str) -> Callable[[Entry], _Told]:
    return lambda entry: ("other", tone, title, _by(entry), _text(entry, "text"), [])


def _allowed(entry: Entry) -> _Told:
    return "judged", "good", "Allowed", _rule(entry), "", []


def _held(entry: Entry) -> _Told:
    notes = [_quorum(entry), _hash(entry, "snapshot", "state"), _until(entry)]
    return "judged", "wait", "Held", _rule(entry), _text(entry, "sentence"), _some(notes)


def _again(entry: Entry) -> _Told:
    notes = [f"round {entry.detail.get('round')}, earlier votes are void", _quorum(entry), _until(entry)]
    return "judged", "wait", "Asked anew", _rule(entry), _text(entry, "because"), _some(notes)


def _held_again(entry: Entry) -> _Told:
    return "checked", "wait", "Checked again: not as it was", "", _text(entry, "message"), _code(entry)


def _shown(entry: Entry) -> _Told:
    notes = [f"round {entry.detail.get('round')}", _digest(entry), _hash(entry, "snapshot", "state")]
    if entry.detail.get("long_texts"):
        notes.append(f"{entry.detail['long_texts']} long text(s) to be read to the end")
    if entry.detail.get("readable") is False:
        notes.append("its stored bytes were not the ones that were made, so the call itself was not shown")
    return "shown", "still", "Shown", f"to {entry.actor_name}", "", _some(notes)


def _decided(entry: Entry) -> _Told:
    approved = entry.detail.get("verdict") == "approve"
    notes = [_digest(entry), _hash(entry, "snapshot", "state"), _text(entry, "quorum")]
    if entry.detail.get("read_to_end") is not None:
        notes.append("said: read to the end" if entry.detail["read_to_end"] else "did not say: read to the end")
    word = "Approved" if approved else "Rejected"
    giver = entry.detail.get("for")
    by = _by(entry) + (f" for {giver.get('name')}" if isinstance(giver, dict) else "")
    return "decided", "good" if approved else "bad", word, by, _text(entry, "reason"), _some(notes)


def _redeemed(entry: Entry) -> _Told:
    text = "bytes, time, policy, rights and state: all as approved"
    return "checked", "good", "Checked again", text, "", _some([_digest(entry), _rule(entry)])


def _started(entry: Entry) -> _Told:
    text = f"attempt {entry.detail.get('attempt')}, fence {entry.detail.get('fence')}"
    return "started", "work", "Started", text, "", _some([_labelled(entry, "key")])


def _succeeded(entry: Entry) -> _Told:
    reference = _text(entry, "reference")
    text = f"the provider's reference is {reference}" if reference else ""
    return "outcome", "good", "Succeeded", text, "", _some([_cost(entry), _labelled(entry, "key")])


def _ended(tone: str, title: str) -> Callable[[Entry], _Told]:
    def tell(entry: Entry) -> _Told:
        said = _text(entry, "message") or _text(entry, "because") or _text(entry, "reason")
        by = _by(entry) if entry.actor_kind != "system" else ""
        return "outcome", tone, title, by, said, _some([*_code(entry), _cost(entry), _labelled(entry, "reference")])

    return tell


def _beside(tone: str, title: str) -> Callable[[Entry], _Told]:
    def tell(entry: Entry) -> _Told:
        said = _text(entry, "message") or _text(entry, "because") or _text(entry, "reason")
        return "other", tone, title, _by(entry), said, _some([*_code(entry), _cost(entry)])

    return tell


_TELLERS: dict[str, Callable[[Entry], _Told]] = {
    "call.allowed": _allowed,
    "call.held_again": _held_again,
    "call.started": _started,
    "call.succeeded": _succeeded,
    "call.failed": _ended("bad", "Failed, nothing happened"),
    "call.unknown": _ended("unsure", "Outcome unknown"),
    "call.reconciled": _ended("good", "Settled"),
    "call.refused": _ended("bad", "Refused"),
    "call.withdrawn": _ended("still", "Taken back"),
    "proposal.edited": _edited,
    "proposal.question_asked": _spoken("wait", "The agent was asked"),
    "proposal.question_answered": _spoken("still", "The agent answered"),
    "call.revised": _beside("still", "The run goes on with this revision"),
    "proposal.held": _held,
    "proposal.asked_again": _again,
    "proposal.shown": _shown,
    "proposal.decided": _decided,
    "proposal.expired": _ended("still", "Expired"),
    "proposal.withdrawn": _ended("still", "Taken back"),
    "proposal.cancelled": _ended("still", "Cancelled with its run"),
    "proposal.superseded": _ended("still", "Superseded by an edited revision"),
    "proposal.refused": _ended("bad", "Refused when it was judged again"),
    "permit.redeemed": _redeemed,
    "run.cancelled": _beside("still", "Its run was cancelled"),
    "call.attempt_failed": _beside("bad", "An attempt failed; tried again"),
    "call.looked_up": _beside("unsure", "The target was asked"),
    "call.late_result": _beside("unsure", "A late answer was kept as evidence"),
}


def _by(entry: Entry) -> str:
    return f"by {entry.actor_name}"


def _text(entry: Entry, name: str) -> str:
    value = entry.detail.get(name)
    return value if isinstance(value, str) else ""


def _labelled(entry: Entry, name: str) -> str:
    value = _text(entry, name)
    return f"{name} {value}" if value else ""


def _digest(entry: Entry) -> str:
    return _hash(entry, "digest", "digest")


def _hash(entry: Entry, name: str, label: str) -> str:
    value = _text(entry, name)
    return f"{label} {short_digest(value)}" if value else ""


def _code(entry: Entry) -> list[str]:
    return _some([_text(entry, "code")])


def _rule(entry: Entry) -> str:
    rule, policy = _text(entry, "rule"), entry.detail.get("policy")
    return f"by rule {rule}, policy v{policy}" if rule and policy else ""


def _quorum(entry: Entry) -> str:
    requires = entry.detail.get("requires")
    if not isinstance(requires, list):
        return ""
    groups = [f"{item.get('count')} of {item.get('group')}" for item in requires if isinstance(item, dict)]
    return f"needs {' and '.join(groups)}" if groups else ""


def _until(entry: Entry) -> str:
    value = _text(entry, "expires_at")
    return f"void at {value[:19].replace('T', ' ')} UTC" if value else ""


def _cost(entry: Entry) -> str:
    parts = [f"{entry.duration_ms:,} ms"] if entry.duration_ms is not None else []
    parts += [f"{entry.result_bytes:,} bytes"] if entry.result_bytes is not None else []
    return ", ".join(parts)


def _some(parts: Sequence[str]) -> list[str]:
    return [part for part in parts if part]
