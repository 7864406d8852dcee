"""Asking a target whether our key took effect: every page, to the end, and no *nothing* without having seen it all."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from approvals.core.contract_types import LookUp
from audit.core.jsondoor import Json
from audit.core.pointers import follow
from runs.tools.http import HttpAnswer
from runs.tools.meaning import SUCCEEDED, meaning_of
from runs.tools.outcome import LookedUp, reference_at

MAX_PAGES: Final = 200
"""A target with more pages than this for one resource is asked by an operator, not by a loop."""


@dataclass(frozen=True, slots=True)
class _Page:
    items: list[Json]
    more: bool


class _Inconclusive(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(code)
        self.code = code
        self.message = message


def look_through(plan: LookUp, wanted: Json, ask: Callable[[str], HttpAnswer]) -> LookedUp:
    """Read the pages that `ask(cursor)` gives ("" for the first) and collect the items whose match pointer holds
    exactly `wanted`, type included. Matches found before a page failed still count."""
    matches: list[Json] = []
    pages = 0
    cursor = ""
    seen: set[str] = set()
    code = message = ""
    try:
        while True:
            if pages >= MAX_PAGES:
                raise _Inconclusive("TOO_MANY_PAGES", f"After {MAX_PAGES} pages there were still more.")
            page = _page(plan, ask(cursor))
            pages += 1
            matches += [item for item in page.items if _matches(item, plan.match_pointer, wanted)]
            if not page.more:
                break
            cursor = _next(plan, page, seen)
    except _Inconclusive as stopped:
        code, message = stopped.code, stopped.message
    references = tuple(reference_at(item, plan.reference) for item in matches)
    status = {0: "inconclusive" if code else "nothing", 1: "found"}.get(len(matches), "duplicate")
    return LookedUp(
        status=status,  # type: ignore[arg-type]
        count=len(matches),
        reference=references[0] if references else "",
        references=references,
        complete=not code,
        code=code,
        message=message,
        pages=pages,
        matches=tuple(matches),
    )


def _page(plan: LookUp, answer: HttpAnswer) -> _Page:
    meaning = meaning_of(answer)
    if meaning is not SUCCEEDED:
        raise _Inconclusive(meaning.code, meaning.message)
    try:
        items = follow(answer.body, plan.items)
        more = follow(answer.body, plan.more) if plan.more else False
    except KeyError as missing:
        raise _Inconclusive("BAD_ANSWER", f"The target's list has no {missing.args[0]}.") from None
    if not isinstance(items, list) or not isinstance(more, bool):
        raise _Inconclusive("BAD_ANSWER", "The target's answer is not a list with a word on whether there is more.")
    return _Page(items, more)


def _next(plan: LookUp, page: _Page, seen: set[str]) -> str:
    cursor = reference_at(page.items[-1], plan.cursor.from_pointer) if plan.cursor and page.items else ""
    if not cursor or cursor in seen:
        raise _Inconclusive("CURSOR_STUCK", "The target says there is more and gives no way to reach it.")
    seen.add(cursor)
    return cursor


def _matches(item: Json, place: str, wanted: Json) -> bool:
    try:
        found = follow(item, place)
    except KeyError:
        return False
    # In Python 1 == True and 1 == 1.0; a key that happens to look like a number is not the same key.
    return type(found) is type(wanted) and found == wanted
