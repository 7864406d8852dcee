"""Kinds of events in groups that people filter a history by. Every kind stands in exactly one."""

from collections.abc import Mapping
from dataclasses import dataclass

from runs.core.kinds import EventKind as K

OTHER = "other"
"""The group of kinds that this code does not know: another version wrote them, and they are shown all the same."""


@dataclass(frozen=True, slots=True)
class Group:
    """`key` stands in addresses, `word` on pages."""

    key: str
    word: str
    kinds: tuple[K, ...]


GROUPS: tuple[Group, ...] = (
    Group(
        "asked",
        "Asked and judged",
        (K.CALL_PROPOSED, K.CALL_REFUSED, K.CALL_ALLOWED, K.CALL_WITHDRAWN, K.STATE_OBSERVED),
    ),
    Group(
        "people",
        "People",
        (K.CALL_HELD, K.RESOLUTION_CONSUMED, K.QUESTION_ASKED, K.QUESTION_ANSWERED, K.USER_STEERED),
    ),
    Group("sent", "Sent and answered", (K.DISPATCH_STARTED, K.DISPATCH_SUCCEEDED, K.DISPATCH_FAILED, K.TIMER_DUE)),
    Group("unknown", "Unknown outcomes", (K.OUTCOME_UNKNOWN, K.OUTCOME_RECONCILED, K.LATE_RESULT_KEPT)),
    Group("model", "Turns of the model", (K.TURN_OPENED, K.MODEL_ASKED, K.MODEL_ANSWERED)),
    Group("budget", "Budgets", (K.BUDGET_RESERVED, K.BUDGET_SETTLED, K.BUDGET_TOPPED_UP)),
    Group(
        "run",
        "The run itself",
        (
            K.RUN_CREATED,
            K.RUN_ADMITTED,
            K.PAUSE_ASKED,
            K.PAUSE_DRAINED,
            K.RESUME_ASKED,
            K.CANCEL_ASKED,
            K.CANCEL_ACKNOWLEDGED,
            K.RUN_QUIESCENT,
            K.KILL_ASKED,
            K.KILL_DONE,
            K.RUN_FORKED,
            K.DEFINITION_MIGRATED,
            K.RUN_COMPLETED,
            K.RUN_FAILED,
        ),
    ),
    Group(OTHER, "Other", ()),
)
BY_KEY: Mapping[str, Group] = {group.key: group for group in GROUPS}
_OF_KIND: Mapping[str, str] = {kind.value: group.key for group in GROUPS for kind in group.kinds}


def group_of(kind: str) -> str:
    """The key of the group that a kind stands in."""
    return _OF_KIND.get(kind, OTHER)
