"""The shapes of names that people type: e-mail addresses, slugs, scopes, roles."""

import re
import unicodedata
from collections.abc import Iterable

from audit.core.refusal import Invalid

ROLES = ("reviewer", "operator", "admin", "auditor")
"""What a membership may hold; each is a word of the glossary."""

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_SCOPE = re.compile(r"[a-z0-9][a-z0-9._-]{0,48}(?::[a-z0-9][a-z0-9._-]{0,48})?")
# What every mail system takes. The rest of RFC 5322 (quotes, comments, other alphabets) makes two people look alike.
_EMAIL = re.compile(r"[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-z0-9](?:[a-z0-9.-]{0,188}[a-z0-9])?")
_LONGEST_NAME = 200


def email_of(text: str) -> str:
    """The address in the one form it is kept and compared in: without spaces around it, lower case.

    Raises `Invalid` (EMAIL_INVALID). ASCII only, so that no two addresses differ by letters that look the same (S85).
    """
    email = text.strip().lower()
    if not _EMAIL.fullmatch(email) or ".." in email:
        raise Invalid(
            "This is not an e-mail address. Write it as name@example.org, in plain letters.", code="EMAIL_INVALID"
        )
    return email


def slug_of(text: str) -> str:
    """A slug as it is; raises `Invalid` (SLUG_INVALID)."""
    if not _SLUG.fullmatch(text):
        raise Invalid(
            "A short name has 1 to 63 lower-case letters, digits and dashes, and neither begins nor ends with a dash.",
            code="SLUG_INVALID",
        )
    return text


def name_of(text: str) -> str:
    """A display name without spaces around it; raises `Invalid` (NAME_INVALID) if empty, too long or with controls."""
    name = unicodedata.normalize("NFC", text).strip()
    # Cc, Cf, Co, Cs: control, reordering and invisible characters would let one person look like another (S12, S85).
    if not name or len(name) > _LONGEST_NAME or any(unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs") for c in name):
        raise Invalid(
            f"A name has 1 to {_LONGEST_NAME} visible characters. Remove control and invisible characters.",
            code="NAME_INVALID",
        )
    return name


def scopes_of(scopes: Iterable[str]) -> list[str]:
    """Scopes in order and without repetitions; raises `Invalid` (SCOPE_INVALID) naming the first that is none."""
    found = sorted(set(scopes))
    for scope in found:
        if not _SCOPE.fullmatch(scope):
            raise Invalid(
                f"{scope[:60]!r} is not a scope. Write it as resource:action, such as refunds:write.",
                code="SCOPE_INVALID",
            )
    return found


def roles_of(roles: Iterable[str]) -> list[str]:
    """Roles in their order and without repetitions; raises `Invalid` (ROLE_UNKNOWN)."""
    wanted = set(roles)
    unknown = sorted(wanted - set(ROLES))
    if unknown:
        raise Invalid(f"{unknown[0][:60]!r} is not a role. The roles are {', '.join(ROLES)}.", code="ROLE_UNKNOWN")
    return [role for role in ROLES if role in wanted]
