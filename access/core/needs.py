"""What depends on a group, and what is said when it loses people. Whoever knows of it answers `access.signals`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupNeed:
    """`waiting` things wait for the group now; `rules` of what is in force, its limits among them, name it
    and need at most `most` of it."""

    waiting: int = 0
    rules: int = 0
    most: int = 0


def merged(answers: Iterable[Mapping[str, GroupNeed]]) -> dict[str, GroupNeed]:
    """The needs of all who answered, by group."""
    found: dict[str, GroupNeed] = {}
    for answer in answers:
        for slug, need in answer.items():
            known = found.get(slug, GroupNeed())
            found[slug] = GroupNeed(
                waiting=known.waiting + need.waiting, rules=known.rules + need.rules, most=max(known.most, need.most)
            )
    return found


def need_words(need: GroupNeed) -> str:
    """`3 proposals wait for it, and 2 rules or limits of the policy ask it`; "" if nothing needs the group."""
    parts = []
    if need.waiting:
        parts.append(f"{need.waiting} {'proposal waits' if need.waiting == 1 else 'proposals wait'} for it")
    if need.rules:
        asks = "rule or limit of the policy asks" if need.rules == 1 else "rules or limits of the policy ask"
        parts.append(f"{need.rules} {asks} it")
    return ", and ".join(parts)


def loss_words(slug: str, left: int, need: GroupNeed) -> str:
    """What it means that `left` people remain who may decide for the group; "" if it means nothing.

    Says so when nobody is left, or fewer than some rule asks for: what waits then can only expire.
    """
    because = need_words(need)
    if not because or left >= max(1, need.most):
        return ""
    who = "nobody" if left == 0 else f"only {left} {'person' if left == 1 else 'people'}"
    asked = f", who must be {need.most}" if left else ""
    return f"The group {slug} would have {who} left who may decide{asked}: {because}."
