"""The places of the navigation: which there are, for whom, in which order, and what is counted beside them.

A new page is one line in PLACES; its view passes `place=<key>` to the template, which marks it as the current one.
Counts are read only when the navigation is rendered: each is one query, so only what calls for somebody is counted.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from django.urls import reverse

from approvals.selectors.proposals import inbox_counts
from audit.core.actor import Actor
from runs.selectors.listed import open_count
from runs.selectors.stops import stopped_count
from runs.selectors.unresolved import unresolved_count


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One entry. `name` is the name of its URL; `roles` empty is everybody; `group` is the heading it stands under: ""
    for the entries that stay in view on a small screen, one of GROUPS, or OWN for the box of the account.
    `count_words` say what is counted ("waiting for you"); `calls` marks a count that calls for somebody while it is
    not zero; `live` is the name by which live pages find the count (data-count) and keep it up to date."""

    key: str
    name: str
    word: str
    group: str
    roles: frozenset[str] = frozenset()
    count: Callable[[Actor], int] | None = None
    count_words: str = ""
    calls: bool = False
    live: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A place as it is shown to one reader."""

    key: str
    href: str
    word: str
    count: int | None
    count_words: str
    calls: bool
    live: str


OWN = "own"
OPERATIONS, RECORD, RULES, ACCESS = "Operations", "Record", "Rules", "Access"
GROUPS = (OPERATIONS, RECORD, RULES, ACCESS)
WATCHING = frozenset({"operator", "admin"})
RULING = frozenset({"admin"})
READING = frozenset({"auditor", "admin"})

PLACES: tuple[Place, ...] = (
    Place(
        key="inbox",
        name="inbox",
        word="Inbox",
        group="",
        count=lambda actor: inbox_counts(actor).mine,
        count_words="waiting for you",
        live="mine",
    ),
    Place(key="runs", name="runs", word="Runs", group="", count=open_count, count_words="open"),
    Place(
        key="unresolved",
        name="unresolved",
        word="Needs reconciliation",
        group=OPERATIONS,
        roles=WATCHING,
        count=unresolved_count,
        count_words="unknown outcomes",
        calls=True,
        live="unresolved",
    ),
    Place(key="audit", name="audit", word="Audit", group=RECORD, roles=READING),
    Place(
        key="guards",
        name="guards",
        word="Guards",
        group=OPERATIONS,
        count=stopped_count,
        count_words="stopped",
        calls=True,
    ),
    Place(key="tools", name="tools", word="Tools", group=RULES, roles=WATCHING | READING),
    Place(key="health", name="health", word="Health", group=OPERATIONS, roles=WATCHING),
    Place(key="policies", name="policies", word="Policy", group=RULES, roles=READING),
    Place(key="people", name="people", word="People", group=ACCESS, roles=RULING),
    Place(key="groups", name="groups", word="Groups", group=ACCESS, roles=RULING),
    Place(key="agents", name="agents", word="Agents", group=ACCESS, roles=RULING),
    Place(key="tokens", name="tokens", word="Tokens", group=ACCESS, roles=RULING),
    Place(key="delegations", name="delegations", word="Delegations", group=ACCESS, roles=RULING),
    Place(key="credentials", name="credentials", word="Credentials", group=ACCESS, roles=RULING),
    Place(key="provider", name="provider", word="Sign-in", group=ACCESS, roles=RULING),
    Place(key="mail", name="mail", word="Mail", group=ACCESS, roles=RULING),
    Place(key="webhook", name="webhook", word="Webhook", group=ACCESS, roles=RULING),
    Place(key="account", name="account", word="Settings", group=OWN),
)


class Navigation:
    """The navigation of one reader, for nav.html. `counted`: what the page has counted already, by `Place.live`."""

    def __init__(self, actor: Actor, counted: Mapping[str, int]) -> None:
        self._actor = actor
        self._counted = counted

    def first(self) -> list[Entry]:
        """The entries that stay in view on a small screen."""
        return [self._entry(place) for place in self._mine() if not place.group]

    @cached_property
    def groups(self) -> list[tuple[str, list[Entry]]]:
        """The other entries under their headings, in the order of GROUPS; a heading without an entry is left out."""
        mine = list(self._mine())
        found = ((group, [self._entry(place) for place in mine if place.group == group]) for group in GROUPS)
        return [(group, entries) for group, entries in found if entries]

    def calling(self) -> int:
        """How much behind the menu of a small screen calls for somebody."""
        return sum(entry.count or 0 for _, entries in self.groups for entry in entries if entry.calls)

    def words(self) -> dict[str, str]:
        """The word of each place that stands behind the menu of a small screen, by its key."""
        return {place.key: place.word for place in self._mine() if place.group in GROUPS}

    def own(self) -> list[Entry]:
        """The entries in the box of the account: what belongs to the reader alone."""
        return [self._entry(place) for place in self._mine() if place.group == OWN]

    def _mine(self) -> Iterator[Place]:
        return (place for place in PLACES if not place.roles or place.roles & self._actor.roles)

    def _entry(self, place: Place) -> Entry:
        return Entry(
            key=place.key,
            href=reverse(place.name),
            word=place.word,
            count=self._count(place),
            count_words=place.count_words,
            calls=place.calls,
            live=place.live,
        )

    def _count(self, place: Place) -> int | None:
        if place.count is None:
            return None
        return self._counted[place.live] if place.live in self._counted else place.count(self._actor)
