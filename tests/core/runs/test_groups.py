"""runs/core/groups.py: every kind of event stands in exactly one group that people filter by."""

from collections import Counter

from runs.core.groups import BY_KEY, GROUPS, OTHER, group_of
from runs.core.kinds import EventKind


def test_every_kind_stands_in_exactly_one_group():
    assert Counter(kind for group in GROUPS for kind in group.kinds) == dict.fromkeys(EventKind, 1)
    for kind in EventKind:
        assert kind in BY_KEY[group_of(kind.value)].kinds


def test_a_kind_that_nobody_knows_stands_among_the_others():
    assert group_of("written_by_a_later_version") == OTHER
    assert BY_KEY[OTHER].kinds == ()


def test_keys_are_unique_and_words_for_people():
    assert len({group.key for group in GROUPS}) == len({group.word for group in GROUPS}) == len(GROUPS)
