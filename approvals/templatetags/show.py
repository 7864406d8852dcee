"""How pages show text from outside and times. `{% load show %}`.

Text from outside (agents, targets, people) is never HTML or Markdown: it is escaped, its hidden characters become
visible escapes that no plain text can imitate, and its writing direction cannot reach the words around it (S12).
"""

import math
from collections.abc import Iterable
from datetime import UTC, datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from audit.core import canonical
from audit.core.visible import Piece, visible
from audit.selectors.counted import count_words

register = template.Library()


@register.filter
def outside(text: object) -> SafeString:
    """Text from outside for a place of one line."""
    return pieces(visible(str(text), multiline=False))


@register.filter
def outside_lines(text: object) -> SafeString:
    """Text from outside with its line ends kept; the element's CSS keeps white space."""
    return pieces(visible(str(text)))


@register.filter
def pieces(parts: Iterable[Piece]) -> SafeString:
    """Pieces of `audit.core.visible` as HTML, isolated from the direction of the text around them."""
    return format_html("<bdi>{}</bdi>", format_html_join("", "{}", ((_piece(part),) for part in parts)))


def _piece(part: Piece) -> SafeString:
    if part.kind == "escape":
        # A line end that is shown as an escape still ends its line, where the place keeps lines.
        return format_html('<span class="escape" title="{}">{}</span>', part.note, part.text)
    if part.kind == "lookalike":
        return format_html(
            '<span class="likeness" title="{}">{}</span><span class="escape" title="{}">look-alike</span>',
            part.note,
            part.text,
            part.note,
        )
    if part.kind == "unresolved":
        return format_html('<span class="unresolved">{}</span>', part.text)
    return format_html("{}", part.text)


@register.filter
def clock(at: datetime | str | None) -> SafeString:
    """A time of day, `14:02:00`, for dense places; the whole moment in its title."""
    return _time(at, "%H:%M:%S")


@register.filter
def moment(at: datetime | str | None) -> SafeString:
    """A moment in the reader's zone with its name, and in UTC: `29 Nov 2026, 14:02:00 AEDT (03:02:00 UTC)`."""
    if (known := _moment(at)) is None:
        return SafeString("")
    local = timezone.localtime(known)
    if local.utcoffset() == UTC.utcoffset(None):
        return _time(at, "%-d %b %Y, %H:%M:%S UTC")
    return format_html('{} <span class="quiet">({})</span>', _time(at, "%-d %b %Y, %H:%M:%S %Z"), _utc(known, local))


@register.filter
def clock_zone(at: datetime | str | None) -> SafeString:
    """A time of day with its zone, `14:17:00 AEDT`, and its day if that is not `today` in the page's own words."""
    return _time(at, "%H:%M:%S %Z")


@register.filter
def day(at: datetime | str | None) -> SafeString:
    """A day and minute, `29 Nov, 14:02`, for lists."""
    return _time(at, "%-d %b, %H:%M")


@register.filter
def ago(at: datetime | str | None, now: datetime) -> str:
    """How long before `now` (`server_now` of the page) that was: `just now`, `5 minutes ago`, `3 days ago`."""
    known = _moment(at)
    if known is None:
        return ""
    seconds = int(now.timestamp() - known.timestamp())
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size:
            number = seconds // size
            return f"{number} {unit}{'s' if number != 1 else ''} ago"
    return "just now"


@register.filter
def left(deadline: datetime, now: datetime) -> str:
    """What is left until a deadline, in the words of static/js/clock.js, which goes on counting: `12:49 left`."""
    seconds = math.ceil((deadline - now).total_seconds())
    if seconds <= 0:
        return "time is up"
    if seconds < 3600:
        return f"{seconds // 60}:{seconds % 60:02} left"
    if seconds < 172_800:
        return f"{seconds // 3600} h {seconds % 3600 // 60:02} min left"
    return f"{seconds // 86_400} days left"


@register.filter
def iso(at: datetime | str | None) -> str:
    """The moment as ISO 8601 in UTC, for data attributes that scripts read."""
    known = _moment(at)
    return "" if known is None else known.astimezone(UTC).isoformat()


@register.filter
def counted(count: int) -> str:
    """A count that ends somewhere: `17`, or `1,000+`."""
    return count_words(count)


@register.filter
def thousands(count: int) -> str:
    """A count to its end: `41,208`."""
    return f"{count:,}"


@register.filter
def tone(effect: str) -> str:
    """How an effect of the policy is coloured; the word always stands beside it."""
    return {"allow": "good", "ask": "wait", "deny": "bad"}.get(effect, "still")


@register.filter
def covered(outcome: str) -> str:
    """The same for what becomes of calls: `allowed`, `depends`."""
    return {"allowed": "good", "asked": "wait", "denied": "bad", "depends": "unsure"}.get(outcome, "still")


@register.filter
def digest_words(digest: str) -> str:
    """`a1f39c07…` as people compare it: `a1f3 9c07 52be 77d0`."""
    return " ".join(digest[start : start + 4] for start in range(0, 16, 4))


@register.filter
def short_digest(digest: str) -> str:
    """The first eight digits, `a1f3 9c07`."""
    return canonical.short_digest(digest)


def _moment(at: datetime | str | None) -> datetime | None:
    if isinstance(at, str):
        try:
            at = datetime.fromisoformat(at)
        except ValueError:
            return None
    return at if at is not None and at.tzinfo is not None else None


def _time(at: datetime | str | None, form: str) -> SafeString:
    known = _moment(at)
    if known is None:
        return SafeString("")
    local = timezone.localtime(known)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        known.astimezone(UTC).isoformat(),
        f"{local:%-d %b %Y, %H:%M:%S %Z} · {known.astimezone(UTC):%H:%M:%S} UTC",
        f"{local:{form}}",
    )


def _utc(known: datetime, local: datetime) -> str:
    utc = known.astimezone(UTC)
    return f"{utc:%H:%M:%S} UTC" if utc.date() == local.date() else f"{utc:%-d %b, %H:%M:%S} UTC"
