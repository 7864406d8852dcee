"""The WebSockets of unknown outcomes: /ws/unresolved/ and /ws/unresolved/<id>/ (routing.py)."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.template.loader import render_to_string
from django.utils import timezone

from access.web.sessions import Person
from runs.live import hub
from runs.live.page import LivePage, Push
from runs.selectors.unresolved import unresolved_token
from runs.selectors.unresolved_pages import list_changed, one_changed


class _Seen(LivePage):
    """A page that says which state it shows."""

    def read_hello(self, hello: Mapping[str, Any]) -> str:
        seen = hello["seen"]
        if not isinstance(seen, str) or len(seen) > 200:
            raise ValueError("seen is the state that the page shows")
        return seen


class UnresolvedList(_Seen):
    """The list, exchanged as a whole: it is short, and every row of it matters."""

    rest_seconds = 0.5

    def keys(self) -> list[hub.Key]:
        return [("run*", self.tenant_id)]

    def token(self, person: Person, has: str | None) -> Any:
        return has and unresolved_token(person.actor)

    def look(self, person: Person, has: str | None) -> Push | None:
        shown = list_changed(person.actor, seen=has)
        return None if shown is None else Push(_rendered("runs/unresolved.html#news", person, shown=shown), shown.sig)


class UnresolvedOne(_Seen):
    """One call. Read whole at every look: the passing of time alone changes what is offered."""

    def keys(self) -> list[hub.Key]:
        return [("call", str(self.unresolved_id)), ("run*", self.tenant_id)]

    @property
    def unresolved_id(self) -> UUID:
        return self.scope["url_route"]["kwargs"]["unresolved_id"]

    def look(self, person: Person, has: str | None) -> Push | None:
        shown = one_changed(person.actor, self.unresolved_id, seen=has)
        return (
            None
            if shown is None
            else Push(_rendered("runs/unresolved_one.html#news", person, shown=shown), shown.state)
        )


def _rendered(template: str, person: Person, **context: Any) -> str:
    with timezone.override(person.zone):
        return render_to_string(template, {"actor": person.actor, **context}).strip()
