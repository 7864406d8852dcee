"""The values that a judgement looked at, without those that the contract keeps back (E5)."""

from collections.abc import Sequence
from dataclasses import replace

from approvals.core.explained import Explained
from approvals.core.matched import Match
from audit.core.jsondoor import Json
from audit.core.redact import redact_for_audit

_SHOWN_BY = ("args", "state")


def looks_kept_back(explained: Explained, paths: Sequence[str]) -> Explained:
    """The same for people who see calls redacted only: a condition over what is kept back stands without its values.

    `paths` are the contract's redaction, pointers into the arguments; the state is read by the same ones.
    """
    looks = tuple(
        replace(look, matched=tuple(_match(match, paths) for match in look.matched)) for look in explained.looks
    )
    return Explained(explained.verdict, looks)


def _match(match: Match, paths: Sequence[str]) -> Match:
    if not any(_hidden(name, value, paths) for name, value in match.values):
        return match
    return Match(match.expression, f"{match.expression} (values kept back)", ())


def _hidden(name: str, value: Json, paths: Sequence[str]) -> bool:
    root, *parts = name.split(".")
    whole = value
    for part in reversed(parts):
        whole = {part: whole}
    return root in _SHOWN_BY and redact_for_audit(whole, paths) != whole
