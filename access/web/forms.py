"""What the pages of access share: fields as text, pages of lists, and warnings that must have been read."""

import hashlib
from collections.abc import Iterable

from django.http import HttpRequest

from audit.core.refusal import Conflict


def field(request: HttpRequest, name: str, limit: int = 500) -> str:
    """A posted text, cut at a length that no honest form sends."""
    return str(request.POST.get(name, ""))[:limit]


def page_of(request: HttpRequest) -> int:
    """The page that a list was asked for; 1 for anything that is none."""
    asked = request.GET.get("page", "1")
    return int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 6 and int(asked) else 1


def mark_of(warnings: Iterable[str]) -> str:
    """Stands for these warnings in a form; "" for none."""
    found = [words for words in warnings if words]
    return hashlib.sha256("\n".join(found).encode()).hexdigest()[:16] if found else ""


def require_warned(request: HttpRequest, warnings: Iterable[str]) -> None:
    """Raises Conflict (NOT_WARNED) unless the form was shown with what the change would mean now."""
    found = [words for words in warnings if words]
    if field(request, "warned") != mark_of(found):
        raise Conflict(
            "What this would mean is not what the page said, so nothing was changed. Read it, then press again: "
            + " ".join(found or ["nothing is lost by it any more."]),
            code="NOT_WARNED",
        )
