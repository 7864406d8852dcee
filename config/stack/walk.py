"""Finds the pages that there are: signs in as each role and follows every link, one page of a kind.

A kind is an address without its query, with ids and numbers left out: /runs/<id>/ is visited once, whichever run.
"""

import html
import re
from dataclasses import dataclass

import httpx

from config.stack.process import StackError
from config.stack.reviewer import Reviewer

LINK = re.compile(r'<a\b[^>]*?\bhref="(/[^"#]*)')
NAVIGATION = re.compile(r'<nav class="nav".*?</nav>', re.DOTALL)
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|(?<=/)\d+(?=/|$)")
LEFT_OUT = ("/static/", "/api/", "/ws/", "/sign-")
MOST = 120


@dataclass(frozen=True, slots=True)
class Found:
    """A page: a name for files, who sees it, its address; `in_navigation` when the navigation leads there."""

    name: str
    role: str
    path: str
    in_navigation: bool


def walk(address: str, people: dict[str, tuple[str, str]]) -> tuple[list[Found], list[str]]:
    """Every kind of page that a link leads to, each by the first role that meets it; navigation entries by each role.
    And a sentence for each link that leads to an error. `people` are e-mail and password by role.
    """
    found: list[Found] = []
    dead: list[str] = []
    kinds: set[str] = set()
    for role, (email, password) in people.items():
        person = Reviewer(address, email, password)
        waiting, seen = ["/"], set[str]()
        entries = set(_links(_navigation(_page(person, "/") or "")))
        waiting += sorted(entries)
        while waiting and len(found) < MOST:
            path = waiting.pop(0)
            kind = kind_of(path)
            entry = path in entries
            if kind in seen or (kind in kinds and not entry):
                continue
            seen.add(kind)
            try:
                text = _page(person, path)
            except StackError as error:
                dead.append(f"{error} ({role})")
                continue
            if text is None:
                continue
            kinds.add(kind)
            name = re.sub(r"[^a-z0-9]+", "-", kind.lower()).strip("-") or "inbox"
            found.append(Found(f"walk-{role}-{name}", role, path, entry))
            waiting += [link for link in _links(text) if not link.startswith(LEFT_OUT)]
        person.http.close()
    return found, dead


def kind_of(path: str) -> str:
    """The address without query, ids and numbers."""
    return ID.sub("id", path.partition("?")[0])


def _links(text: str) -> list[str]:
    return [html.unescape(link) for link in LINK.findall(text)]


def _navigation(text: str) -> str:
    return "".join(NAVIGATION.findall(text))


def _page(person: Reviewer, path: str) -> str | None:
    """The HTML of a page; None where the answer is a download, which is not read. Raises StackError."""
    try:
        with person.http.stream("GET", path) as answer:
            if answer.status_code >= 400:
                raise StackError(f"A link leads to {path}, which answers HTTP {answer.status_code}.")
            if not answer.headers.get("Content-Type", "").startswith("text/html"):
                return None
            answer.read()
            return answer.text
    except httpx.HTTPError as error:
        raise StackError(f"{path} did not answer: {error!r}") from None
