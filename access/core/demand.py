"""What an organisation may want of its members' sign-in: of whom, from when on, in words."""

from datetime import datetime, timedelta

from audit.core.refusal import Invalid

WHOM = {
    "nobody": "Nobody has to have a second step.",
    "admins": "Admins have to have a second step.",
    "deciders": "Whoever may decide has to have a second step: reviewers and admins.",
    "everybody": "Everybody has to have a second step.",
}
"""By what is kept, the sentence that is read."""
LONGEST_GRACE = 90  # days


def begins_at(now: datetime, days: int) -> datetime:
    """From when on it is asked for, after so many days to set one up. Raises Invalid (GRACE_INVALID)."""
    if not 0 <= days <= LONGEST_GRACE:
        raise Invalid(
            f"Give people 0 to {LONGEST_GRACE} days to set one up; 0 is at once.",
            code="GRACE_INVALID",
            missing=["days"],
        )
    return now + timedelta(days=days)
