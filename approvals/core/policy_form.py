"""The form of rules, freezes and limits: fields as people type them, and what they say in the document (W3).

People are typed as `1 of finance and 2 of leads`, times as `15 min`, money as `AUD 250.00`: as the page tells them. How
each text is read stands in `approvals.core.policy_fields`. What no field stands for stays in the document as it is.
"""

import re
from collections.abc import Mapping
from typing import Any

from approvals.core.policy_fields import Fields, read, shown
from approvals.core.policy_types import moment

TERMS = (
    "rejections", "authentication", "reasons", "question_clock", "remind_at_percent", "escalate_to", "editable",
)  # fmt: skip
TIER_FIELDS = ("up_to", "approvers", "expires_in_s")
MAX_TIERS = 20
_NAMES: dict[str, tuple[str, ...]] = {
    "rules": ("id", "tool", "when", "effect", "level", "message", "approvers", "expires_in_s", *TERMS),
    "freeze": ("id", "from", "to", "tools", "message"),
    "limits": ("id", "tool", "per", "window", "amount", "calls", "over", "approvers", "message"),
}
_NEEDED = {"rules": ("id", "tool"), "freeze": ("id", "from", "to", "tools"), "limits": ("id", "tool")}
# What a list of choices says where the document says nothing. A tier that says nothing has its rule's terms.
_DEFAULTS = {"level": "absolute", "authentication": "session", "question_clock": "runs", "editable": "yes"}


def fields_of(part: str, item: Mapping[str, Any]) -> Fields:
    """An item of the document as the form shows it; of tiers `tier-<n>-up_to`, `-approvers` and so on."""
    fields = {name: _shown(name, item) for name in _NAMES[part]}
    for at, tier in enumerate(item.get("tiers", ())):
        for name in (*TIER_FIELDS, *TERMS):
            fields[f"tier-{at}-{name}"] = shown(name, tier.get(name))
    return fields


def tier_count(fields: Mapping[str, str]) -> int:
    """How many rows of tiers the fields have."""
    numbers = [int(found.group(1)) for name in fields if (found := re.fullmatch(r"tier-([0-9]{1,2})-[a-z_]+", name))]
    return min(MAX_TIERS, max(numbers, default=-1) + 1)


def item_of(part: str, fields: Mapping[str, str], old: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """What the fields say, over the members of `old` that no field stands for, and what is wrong by field.

    A member whose field was left empty, or says what holds anyway, is None: it is to be taken out. One whose field was
    not sent stays."""
    item: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for name in _NAMES[part]:
        if name not in fields:
            item[name] = old.get(name)
        else:
            _take(item, wrong, name, name, fields[name], _shown(name, old), old.get(name))
            if item.get(name) is not None and item[name] != old.get(name) and fields[name] == _DEFAULTS.get(name):
                item[name] = None
    if part == "rules":
        item["tiers"] = (
            _tiers(fields, old.get("tiers", ()), wrong) if tier_count(fields) else old.get("tiers")
        ) or None
        _only_what_the_effect_has(item, old)
    elif part == "limits" and item.get("over") == "deny":
        item["approvers"] = None
    elif part == "freeze" and not wrong and item["from"] and item["to"] and moment(item["from"]) >= moment(item["to"]):
        wrong["to"] = "It would end before it begins."
    for name in _NEEDED[part]:
        if not item.get(name):
            wrong.setdefault(name, "This is needed.")
    return item, wrong


def changes_of(item: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """The members that differ from what the document says, None for one to take out."""
    return {name: value for name, value in item.items() if value != old.get(name)}


def _only_what_the_effect_has(item: dict[str, Any], old: Mapping[str, Any]) -> None:
    """A rule that asks nobody has no approvers; only one that denies has a level. Terms that stood beside a denial
    stay, those of an ask that becomes one go."""
    if item.get("effect") != "deny":
        item["level"] = None
        return
    item["tiers"] = None
    if item.get("level") == "overridable":
        return
    item["approvers"] = None
    if old and (old.get("effect") != "deny" or old.get("level") == "overridable"):
        item.update(dict.fromkeys(("expires_in_s", *TERMS)))


def _shown(name: str, item: Mapping[str, Any]) -> str:
    return shown(name, item.get(name)) or _DEFAULTS.get(name, "")


def _take(
    item: dict[str, Any], wrong: dict[str, str], name: str, field: str, text: str, before: str, value: Any
) -> None:
    """Read one field into the item; `before` is how the form showed the `value` of the document."""
    text = text.replace("\r\n", "\n")
    if text == before:
        item[name] = value  # what nobody typed in says what it said, space at its end and all
        return
    text = text.strip()
    if not text:
        item[name] = None
        return
    try:
        item[name] = read(name, text)
    except ValueError as error:
        wrong[field] = str(error)


def _tiers(fields: Mapping[str, str], old: Any, wrong: dict[str, str]) -> list[dict[str, Any]]:
    tiers = []
    for at in range(tier_count(fields)):
        kept = dict(old[at]) if at < len(old) else {}
        given = {name: fields[f"tier-{at}-{name}"] for name in (*TIER_FIELDS, *TERMS) if f"tier-{at}-{name}" in fields}
        main = (given.get(name, "") for name in (TIER_FIELDS if kept else given))
        if not any(text.strip() for text in main):
            continue  # an empty row is none: that is how a tier is taken out
        said: dict[str, Any] = {}
        for name, text in given.items():
            _take(said, wrong, name, f"tier-{at}-{name}", text, shown(name, kept.get(name)), kept.get(name))
        tier = {name: value for name, value in (kept | said).items() if value is not None}
        if not tier.get("approvers"):
            wrong.setdefault(f"tier-{at}-approvers", "Say who approves: 1 of finance.")
        tiers.append(tier)
    return tiers
