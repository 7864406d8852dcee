"""What a proposal requires after it was judged again: what was required when it was asked, and what is today (A5, S19).

Both must hold, so requirements only ever grow: stricter rules apply at once, looser ones never to what already waits.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from approvals.core.policy import Verdict
from approvals.core.terms import all_of, both_terms

MOST_STOPPED = timedelta(hours=24)
"""How much of the time to decide questions to the agent stop in all (S20)."""


def both_hold(asked: Verdict, today: Verdict) -> Verdict:
    """The verdict that a next round stands under. `asked` is what the round before stood under.

    Of every group the larger number; the shorter time; of the terms the stricter; the rule, its words and its values
    as they are today, unless nobody need be asked today. Raises ValueError for a verdict of today that denies: then
    there is no next round.
    """
    if today.effect == "deny" or asked.effect != "ask":
        raise ValueError("a next round is for a call that was held and is not denied")
    if today.effect == "allow":
        return asked
    return Verdict(
        effect="ask",
        code=today.code,
        message=today.message,
        rule_id=today.rule_id,
        policy_number=today.policy_number,
        matched=today.matched,
        approvers=all_of(asked.approvers, today.approvers),
        expires_in_s=min(asked.expires_in_s, today.expires_in_s),
        terms=both_terms(asked.terms, today.terms),
        notes=today.notes,
    )


def reminder_at(*, asked_at: datetime, expires_at: datetime, percent: int) -> datetime:
    """When so much of the time to decide has passed; with 80 of 15 minutes: after 12."""
    return asked_at + (expires_at - asked_at) * percent / 100


def expiry_after(*, created_at: datetime, expires_at: datetime, requirement: Verdict) -> datetime:
    """When a next round is void: the first deadline stays (A3), or an earlier one that today's rule gives."""
    return min(expires_at, created_at + timedelta(seconds=requirement.expires_in_s))


def most_stopped(made: Mapping[str, Any], questions: Iterable[Mapping[str, Any]]) -> timedelta:
    """How much of a proposal's time may be stopped time, by what the audit log tells of it (S84).

    `made` is the detail of its making, which for a revision names what was stopped before; `questions` are those of
    its questions and answers, newest first. An answer names what is stopped then, in whole seconds; while a question
    that stops the clock is open it is all that may ever be.
    """
    for told in questions:
        if told.get("clock_stops"):
            return MOST_STOPPED
        if "stopped_s" in told:
            return _up_to(told)
    return _up_to(made)


def _up_to(told: Mapping[str, Any]) -> timedelta:
    """Less than a second more than the whole ones that an entry tells."""
    return min(timedelta(seconds=told["stopped_s"] + 1), MOST_STOPPED) if "stopped_s" in told else timedelta(0)
