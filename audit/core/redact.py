"""Taking secrets and private fields out of what is stored for people to read (E5, S71).

Redaction makes a copy for events, pages and audit entries. The digest is always computed from the unredacted bytes.
"""

import re
from collections.abc import Sequence
from typing import Any

from audit.core.jsondoor import Json
from audit.core.pointers import split_pointer

HIDDEN = "[redacted]"

ANY = "*"
"""One level: any index or member name."""
DEEP = "**"
"""Any number of levels, none included."""

# Member names that mark a secret wherever they stand in the name, after camelCase, dashes and underscores are gone.
_IN_NAME = (
    "password", "passwd", "passphrase", "passcode", "secret", "apikey", "accesskey", "privatekey", "signingkey",
    "encryptionkey", "authorization", "credential", "cookie", "bearer", "token", "securitycode", "connectionstring",
)  # fmt: skip
# Short ones would stand inside innocent words (pin in shipping), so they must be a whole word of the name.
_AS_WORD = frozenset({"pin", "otp", "cvv", "cvc", "cvc2", "cvv2", "jwt", "auth", "pwd", "csrf", "totp"})
# `max_tokens: 800` counts; `token: "…"` opens. A name that only counts is left when its value is a number.
_COUNTED = "token"
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

# Known shapes of secrets in free text. Each pattern is linear: one run of a character class after a fixed beginning.
_IN_TEXT: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (
            r"-----BEGIN ([A-Z0-9 ]{0,40})-----[^-]*(?:-----END [A-Z0-9 ]{0,40}-----)?",
            f"{HIDDEN[:-1]}: PEM block]",
        ),
        (r"\beyJ[A-Za-z0-9_-]{5,}\.eyJ[A-Za-z0-9_-]{2,}(?:\.[A-Za-z0-9_-]*)?", f"{HIDDEN[:-1]}: JWT]"),
        (r"\bclr[st]_[A-Za-z0-9_-]{16,}", f"{HIDDEN[:-1]}: Clearance secret]"),
        (r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{8,}", f"{HIDDEN[:-1]}: payment key]"),
        (r"\bwhsec_[A-Za-z0-9+/=]{8,}", f"{HIDDEN[:-1]}: webhook secret]"),
        (r"\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,})", f"{HIDDEN[:-1]}: GitHub token]"),
        (r"\bglpat-[A-Za-z0-9_-]{16,}", f"{HIDDEN[:-1]}: GitLab token]"),
        (r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b", f"{HIDDEN[:-1]}: AWS key]"),
        (r"\bAIza[A-Za-z0-9_-]{20,}", f"{HIDDEN[:-1]}: Google key]"),
        (r"\bxox[abeoprs]-[A-Za-z0-9-]{8,}", f"{HIDDEN[:-1]}: Slack token]"),
        (r"\bsk-[A-Za-z0-9_-]{16,}", f"{HIDDEN[:-1]}: API key]"),
        (r"\bnpm_[A-Za-z0-9]{16,}", f"{HIDDEN[:-1]}: npm token]"),
        (r"\bSG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}", f"{HIDDEN[:-1]}: mail key]"),
        # A digit tells a token from a word ("basic information").
        (r"(?i)\b(bearer|basic) +(?=[a-z._~+/=-]*[0-9])[a-z0-9._~+/=-]{8,}", rf"\1 {HIDDEN}"),
        (r"(?<=://)[^/\s:@]{0,200}:[^/\s@]{1,200}(?=@)", HIDDEN),
        (
            r"(?i)\b((?:api[_-]?key|client[_-]?secret|access[_-]?token|password|passwd|secret)[\"']?\s{0,4}[=:]\s{0,4})"
            r"[\"']?[^\s\"',;&]{4,}[\"']?",
            rf"\1{HIDDEN}",
        ),
    )
)


def redact(value: Any, paths: Sequence[str]) -> Any:
    """A copy of `value` in which everything that `paths` name is `[redacted]`.

    A path is a JSON pointer whose parts may be `*` (any index or member) and `**` (any number of levels). A path that
    names nothing changes nothing. Raises ValueError for a path that is no pointer.
    """
    return _redact(value, [split_pointer(path) for path in paths])


def _redact(value: Json, paths: list[list[str]]) -> Json:
    if not paths:
        return value
    if any(all(part == DEEP for part in path) for path in paths):
        return HIDDEN
    if isinstance(value, dict):
        return {key: _redact(item, _below(paths, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_redact(item, _below(paths, str(index))) for index, item in enumerate(value)]
    return value


def _below(paths: list[list[str]], part: str) -> list[list[str]]:
    """What is left of each path after going into `part`; paths that lead elsewhere are dropped."""
    below: list[list[str]] = []
    for path in paths:
        while path[0] == DEEP:
            # The stars may take this level as well (keep the path) or none (go on with what follows them).
            below.append(path)
            path = path[1:]
        if path[0] in (ANY, part):
            below.append(path[1:])
    return below


def redact_secrets(value: Any) -> Any:
    """A copy without what looks like a secret: by member name at any depth, and by known token shapes in any text."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, list):
        return [redact_secrets(item) for item in value]
    if isinstance(value, dict):
        cleaned: dict[str, Json] = {}
        for key, item in value.items():
            name = redact_text(key)
            while name in cleaned:  # two secrets used as names must not swallow each other's values
                name += "'"
            cleaned[name] = HIDDEN if _hides(key, item) else redact_secrets(item)
        return cleaned
    return value


def redact_text(text: str) -> str:
    """`text` with every known token shape replaced by a word that says what stood there."""
    for pattern, replacement in _IN_TEXT:
        text = pattern.sub(replacement, text)
    return text


def redact_for_audit(value: Any, paths: Sequence[str]) -> Any:
    """What an audit entry may keep of `value`: the tool's own redaction paths, then secrets by name and shape."""
    return redact_secrets(redact(value, paths))


def is_secret_name(name: str) -> bool:
    """True if a member of this name holds a secret: `apiKey`, `client_secret`, `X-Authorization`, `PIN`."""
    words = [word.lower() for word in _WORDS.findall(name)]
    squashed = "".join(words)
    return any(mark in squashed for mark in _IN_NAME) or not _AS_WORD.isdisjoint(words)


def _hides(name: str, value: Json) -> bool:
    if value is None or isinstance(value, bool) or not is_secret_name(name):
        return False
    return not (isinstance(value, int | float) and _COUNTED in name.lower())
