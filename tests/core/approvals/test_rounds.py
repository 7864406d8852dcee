"""approvals/core/rounds.py: requirements only grow."""

from datetime import UTC, datetime, timedelta

import pytest

from approvals.core.policy import Approver, Verdict, same_or_looser
from approvals.core.rounds import MOST_STOPPED, both_hold, expiry_after, most_stopped

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def ask(*approvers: tuple[str, int], expires: int = 900, rule: str = "refund", number: int = 1) -> Verdict:
    groups = tuple(Approver(group, count) for group, count in approvers)
    return Verdict("ask", "held", "Held.", rule, number, (), groups, expires)


ALLOW = Verdict("allow", "allowed", "", "free", 2)
DENY = Verdict("deny", "denied", "No.", "never", 2)


def test_of_each_group_the_larger_number_and_of_the_times_the_shorter_one():
    merged = both_hold(ask(("finance", 2), expires=300), ask(("finance", 1), ("leads", 1), rule="new", number=2))
    assert merged.approvers == (Approver("finance", 2), Approver("leads", 1))
    assert (merged.expires_in_s, merged.rule_id, merged.policy_number) == (300, "new", 2)


def test_a_loosening_to_allow_changes_nothing():
    asked = ask(("finance", 2))
    assert both_hold(asked, ALLOW) == asked


@pytest.mark.parametrize("today", [ask(("finance", 3)), ask(("leads", 1)), ask(("finance", 2), expires=60), ALLOW])
def test_the_merged_requirement_satisfies_both_sides(today):
    asked = ask(("finance", 2))
    merged = both_hold(asked, today)
    assert same_or_looser(merged, asked)
    assert same_or_looser(merged, today)


@pytest.mark.parametrize(("asked", "today"), [(ask(("finance", 1)), DENY), (ALLOW, ask(("finance", 1)))])
def test_there_is_no_next_round_of_what_is_denied_or_was_never_held(asked, today):
    with pytest.raises(ValueError, match="next round"):
        both_hold(asked, today)


def test_a_deadline_is_kept_or_shortened_and_never_moved_out():
    kept = {"created_at": NOON, "expires_at": NOON + timedelta(seconds=900)}
    assert expiry_after(**kept, requirement=ask(("finance", 1), expires=3600)) == NOON + timedelta(seconds=900)
    assert expiry_after(**kept, requirement=ask(("finance", 1), expires=60)) == NOON + timedelta(seconds=60)


HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("made", "newest_first", "most"),
    [
        ({}, [], timedelta(0)),
        ({"stopped_s": 3600}, [], HOUR + SECOND),
        # The policy lets the clock run: neither entry says anything of it.
        ({"stopped_s": 3600}, [{"text": "Yes."}, {"text": "Which?"}], HOUR + SECOND),
        ({}, [{"clock_stops": True}], MOST_STOPPED),
        ({"stopped_s": 3600}, [{"clock_stops": True}], MOST_STOPPED),
        ({}, [{"stopped_s": 0}, {"clock_stops": True}], SECOND),
        (
            {},
            [{"stopped_s": 7200}, {"clock_stops": True}, {"stopped_s": 3600}, {"clock_stops": True}],
            2 * HOUR + SECOND,
        ),
        ({}, [{"clock_stops": True}, {"stopped_s": 3600}, {"clock_stops": True}], MOST_STOPPED),
        # An answer that does not tell it: the question before says what there may be.
        ({}, [{"text": "Yes."}, {"clock_stops": True}], MOST_STOPPED),
        ({}, [{"stopped_s": 86_400}, {"clock_stops": True}], MOST_STOPPED),
    ],
)
def test_stopped_time_is_what_the_newest_entry_tells_of_it(made, newest_first, most):
    assert most_stopped(made, newest_first) == most
