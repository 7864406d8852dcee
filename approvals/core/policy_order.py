"""In which order the members of a rule, freeze, limit or test are usually written: where a new one goes."""

ORDER = (
    "id", "name", "tool", "per", "window", "amount", "calls", "over", "from", "to", "tools", "when", "effect", "level",
    "message", "up_to", "approvers", "tiers", "expires_in_s", "rejections", "authentication", "reasons",
    "question_clock", "remind_at_percent", "escalate_to", "editable", "arguments", "state", "principal", "run",
    "exposure", "now", "expect",
)  # fmt: skip


def order_of(name: str) -> int:
    """The place of a name; one that is not known comes behind all others."""
    return ORDER.index(name) if name in ORDER else len(ORDER)
