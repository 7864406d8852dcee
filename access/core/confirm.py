"""How long a confirmation is good, what recovery codes look like, how a session is named. Pure."""

import hashlib
from datetime import datetime, timedelta

FRESH = timedelta(minutes=5)
"""How long "it is they" holds after somebody showed it anew (issue: fresh re-authentication)."""
CHALLENGE_LIVES = timedelta(minutes=3)
"""How long a passkey has for its answer: people look for a key and touch it."""
PENDING_LIVES = timedelta(minutes=15)
"""How long the secret of an app that was shown waits for its first code."""
SECOND_STEP_LIVES = timedelta(minutes=5)
"""How long a right password waits for the second step."""
MAX_PASSKEYS = 20
RECOVERY_CODES = 10
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # nothing that is read as something else
_LENGTH = 16


def session_name(key: str) -> str:
    """A digest that names a browser session and opens none; what `Actor.session_id` carries. "" for no session."""
    return hashlib.sha256(key.encode()).hexdigest()[:16] if key else ""


def fresh_until(at: datetime | None, now: datetime) -> datetime | None:
    """When a confirmation of `at` ends; None where there is none or it has ended."""
    return at + FRESH if at is not None and now < at + FRESH else None


def recovery_code(random: bytes) -> str:
    """`abcd-efgh-jkmn-pqrs`: 79 of the bits of 16 random bytes."""
    letters = "".join(_LETTERS[byte % len(_LETTERS)] for byte in random[:_LENGTH])
    return "-".join(letters[at : at + 4] for at in range(0, _LENGTH, 4))


def typed_code(text: str) -> str:
    """What was typed, without what people put between: digits of an app, or letters of a recovery code."""
    return "".join(letter for letter in text[:64].lower() if letter.isalnum() and letter.isascii())


def code_hash(text: str) -> str:
    """What is kept of a recovery code. Unsalted: nobody guesses 79 bits."""
    return hashlib.sha256(f"clearance/recovery/1\0{typed_code(text)}".encode()).hexdigest()
