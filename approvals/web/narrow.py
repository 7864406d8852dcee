"""A narrowed view of the list as its address says it, and the words that tell what it is narrowed to."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl, urlencode

from django.urls import reverse

from approvals.core.narrowing import FIELDS, WITHIN, Narrowing, read_narrowing
from approvals.selectors.narrowing import Choices
from approvals.selectors.proposals import VIEWS

_PARTS = {"q": "q", "tool": "tool", "agent": "agent", "group": "group", "within": "within", "from": "low", "to": "high"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an address asks for. `problems` tell what of it was not understood, `typed` what stood in the fields."""

    view: str
    narrowing: Narrowing
    problems: list[str] = field(default_factory=list)
    typed: Mapping[str, str] = field(default_factory=dict)

    @property
    def query(self) -> str:
        """The address's query, "" for the list of every day."""
        view = {"view": self.view} if self.view != "mine" else {}
        return urlencode({**view, **self.narrowing.fields()})

    @property
    def filters(self) -> int:
        """How many filters are set beside the search."""
        return len(set(self.narrowing.fields()) - {"q"})

    def address(self, name: str = "inbox", *args: object, **more: str) -> str:
        """The address of a page with this query, and more."""
        query = "&".join(part for part in (self.query, urlencode(more)) if part)
        return reverse(name, args=args) + (f"?{query}" if query else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """One filter in words, and the address of the list without it."""

    word: str
    without: str


def asked_for(given: Mapping[str, str]) -> Asked:
    """Reads an address's query."""
    view = given.get("view", "")
    narrowing, problems = read_narrowing(given)
    typed = {name: given.get(name, "").replace("\0", "")[:200] for name in FIELDS}
    return Asked(view=view if view in VIEWS else "mine", narrowing=narrowing, problems=problems, typed=typed)


def asked_for_text(query: str) -> Asked:
    """Reads a query that a form or a live page carries."""
    return asked_for(dict(parse_qsl(query[:2_000].replace("\0", ""))))


def chips(asked: Asked, choices: Choices | None) -> list[Chip]:
    """Each part of the narrowing in words. An agent has its name from the choices."""
    narrowing = asked.narrowing
    agents = dict(choices.agents) if choices else {}
    groups = dict(choices.groups) if choices else {}
    words = {
        "q": f"“{narrowing.q}”",
        "tool": f"tool {narrowing.tool}",
        "agent": f"agent {agents[narrowing.agent]}" if narrowing.agent in agents else "one agent",
        "group": f"{groups.get(narrowing.group, narrowing.group)} must decide",
        "within": f"expires within {WITHIN.get(narrowing.within, '')}",
        "from": f"from {narrowing.low} {narrowing.currency}",
        "to": f"up to {narrowing.high} {narrowing.currency}",
    }
    found = []
    for name, word in words.items():
        if name in narrowing.fields():
            rest = replace(asked, narrowing=replace(narrowing, **{_PARTS[name]: ""}))
            found.append(Chip(word=word, without=rest.address()))
    if narrowing.currency and not (narrowing.low or narrowing.high):
        rest = replace(asked, narrowing=replace(narrowing, currency=""))
        found.append(Chip(word=f"in {narrowing.currency}", without=rest.address()))
    return found
