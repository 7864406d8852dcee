"""How many attempts, and how fast: a bucket that is full at first and refills by one every so many seconds.

The bucket is one instant, `full_at`: when it will be full again (the generic cell rate algorithm). Pure arithmetic; who
keeps the instant, and under which lock, is access/store/throttle.py.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from audit.core.refusal import TooMany


@dataclass(frozen=True, slots=True)
class Limit:
    """`burst` attempts at once, then one more every `every_s` seconds. `kind` names the counter in the database."""

    kind: str
    burst: int
    every_s: int


SIGN_IN_ACCOUNT = Limit("sign-in-account", 10, 300)
"""Wrong passwords for one e-mail address, whether it has an account or not: 10, then 288 a day."""
SIGN_IN_ADDRESS = Limit("sign-in-address", 50, 10)
"""Wrong passwords from one network address: an office behind one address is not locked out by its typing errors."""
CODE_ACCOUNT = Limit("code-account", 5, 300)
"""Wrong codes of an app for one account, at the sign-in and when it is confirmed: of a million, 5, then 288 a day."""
RESET_ACCOUNT = Limit("reset-account", 3, 1200)
"""Reset mails to one address, so that nobody's mailbox is filled by somebody else."""
RESET_ADDRESS = Limit("reset-address", 10, 60)
"""Reset mails asked for from one network address."""
TOKEN_ADDRESS = Limit("token-address", 30, 2)
"""Refused exchanges at the token door from one network address. Not per client id: a client id is no secret, so anybody
could lock an agent out, and its secret of 256 random bits cannot be guessed at any speed."""
TOKEN_AGENT = Limit("token-agent", 120, 1)
"""Sessions that one agent opens: each is a row; an agent in a loop would fill the table."""
MAIL_TEST = Limit("mail-test", 5, 60)
"""Test mails that one admin sends."""
PROVIDER_ADDRESS = Limit("provider-address", 60, 5)
"""Ways to an identity provider that are begun from one network address: each is a row, and at most three requests."""
PROVIDER_TEST = Limit("provider-test", 10, 30)
"""Tries of an identity provider by one admin: each sends requests to an address that they chose."""
TARGET_READ = Limit("target-read", 6, 10)
"""Questions to targets that one admin asks from a simulation: 6, then one every 10 seconds."""


def take(limit: Limit, full_at: datetime | None, now: datetime) -> tuple[datetime, int]:
    """(the new `full_at`, 0) if an attempt is left, else (the old one, whole seconds until one is; at least 1)."""
    behind = max(full_at or now, now)
    wait = (behind - now).total_seconds() - (limit.burst - 1) * limit.every_s
    if wait > 0:
        return behind, max(1, math.ceil(wait))
    return behind + timedelta(seconds=limit.every_s), 0


def give_back(limit: Limit, full_at: datetime) -> datetime:
    """`full_at` as if one attempt had not been made."""
    return full_at - timedelta(seconds=limit.every_s)


def wait_words(seconds: int) -> str:
    """`40 seconds`, `5 minutes`, `2 hours`: rounded up, for a sentence."""
    if seconds < 120:
        return f"{seconds} second{'s' if seconds != 1 else ''}"
    if seconds < 7200:
        return f"{math.ceil(seconds / 60)} minutes"
    return f"{math.ceil(seconds / 3600)} hours"


def too_many(limit: Limit, wait: int) -> TooMany:
    """The refusal of a full counter, with what helps."""
    where = "from your network" if limit is SIGN_IN_ADDRESS else "for this account"
    return TooMany(
        f"Too many attempts {where}. Wait {wait_words(wait)} and try again"
        + (", or set a new password by mail." if limit is SIGN_IN_ACCOUNT else "."),
        code="SIGN_IN_THROTTLED",
        retry_after=wait,
    )
