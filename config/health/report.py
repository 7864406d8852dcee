"""What operators are told: every part, what an impaired one means, and how much waits."""

from dataclasses import dataclass
from typing import Any

from approvals.selectors.waiting import pending_waiting, resolutions_waiting
from audit.core.actor import Actor
from audit.core.depth import Depth
from audit.core.refusal import Forbidden
from audit.selectors.waiting import owed_waiting
from config.health.looking import Seen, looking
from config.health.words import ESSENTIAL, MEANINGS, Meaning
from runs.selectors.waiting import work_waiting

WATCHING = ("operator", "admin")
BANNER_KEPT_S = 30.0
BANNER_LOOKS_S = 5.0

WORDS = {
    "ready": "calls ready for a worker",
    "claimed": "calls that a worker has",
    "started": "requests under way",
    "unknown": "calls with an unknown outcome",
    "pending": "proposals that wait for people",
    "resolutions": "decisions not taken up",
    "owed": "audit entries owed",
}
"""What is counted, in its order. Each is of the reader's own organisation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One part: how it was found, and what that means."""

    key: str
    meaning: Meaning
    words: str
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One queue."""

    key: str
    words: str
    depth: Depth


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The page. `lines` are the parts, impaired ones first; `waiting` the queues."""

    lines: list[Line]
    waiting: list[Waiting]

    @property
    def impaired(self) -> list[Line]:
        """The parts that are not as they should be."""
        return [line for line in self.lines if line.tone != "good"]

    def as_dict(self) -> dict[str, Any]:
        """The answer of /api/v1/health."""
        return {
            "status": "impaired" if self.impaired else "ok",
            "parts": [
                {
                    "part": line.key,
                    "status": "ok" if line.tone == "good" else "impaired",
                    "words": line.words,
                    "still_works": "" if line.tone == "good" else line.meaning.works,
                    "does_not": "" if line.tone == "good" else line.meaning.lost,
                }
                for line in self.lines
            ],
            "waiting": [
                {"queue": each.key, "count": each.depth.count, "oldest_s": each.depth.oldest_s} for each in self.waiting
            ],
        }


def report_for(actor: Actor) -> Report:
    """The report for an operator or an admin, in their own session. Raises Forbidden (PERSON_REQUIRED, ROLE_MISSING).

    Looks at the parts now: up to two seconds where one of them is frozen.
    """
    if actor.kind != "person":
        raise Forbidden("The state of the installation is shown to people, not to a token.", code="PERSON_REQUIRED")
    if not actor.has_role(*WATCHING):
        raise Forbidden(
            "The state of the installation is shown to operators and admins. Ask an admin for the role operator.",
            code="ROLE_MISSING",
            missing=["operator"],
        )
    return Report(lines=_lines(looking.now()), waiting=_waiting(actor.tenant_id))


def impaired_for(actor: Actor) -> list[Line]:
    """What operators' pages say above everything else. Never waits: it tells what was found last, and looks again in
    the background."""
    if not actor.has_role(*WATCHING):
        return []
    if looking.last(BANNER_LOOKS_S) is None:
        looking.refresh()
    seen = looking.last(BANNER_KEPT_S)
    return [line for line in _lines(seen) if line.tone != "good"] if seen is not None else []


def _lines(seen: Seen) -> list[Line]:
    lines = [
        Line(key=name, meaning=meaning, words=seen.parts[name].words, tone=_tone(seen, name))
        for name, meaning in MEANINGS.items()
        if name in seen.parts
    ]
    return sorted(lines, key=lambda line: line.tone == "good")


def _tone(seen: Seen, name: str) -> str:
    if seen.parts[name].status == "ok":
        return "good"
    return "bad" if name in ESSENTIAL else "unsure"


def _waiting(tenant_id: str) -> list[Waiting]:
    depths = work_waiting(tenant_id) | {
        "pending": pending_waiting(tenant_id),
        "resolutions": resolutions_waiting(tenant_id),
        "owed": owed_waiting(tenant_id),
    }
    return [Waiting(key=key, words=words, depth=depths[key]) for key, words in WORDS.items()]
