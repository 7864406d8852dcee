"""What differs between two versions of a contract, field by field in words; what got looser stands out (R10).

Looser means: more is accepted, less is asked, shown, checked or kept back, or the tool claims less risk than before.
What cannot be ordered (another address, another condition) is a change to be read; nobody is told that it is harmless.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from approvals.core.contract_schema_diff import schema_changes
from approvals.core.contract_types import Money
from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import Json

type Direction = Literal["looser", "stricter", "other"]

LONGEST_DIFF = 2_000
"""Lines of a raw difference that are shown."""
_MOST_LINES = 8_000  # together; difflib's time grows with the square where everything differs
_SHOWN = 300  # characters of a value that stand in a sentence; the raw difference has all of it


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. `path` is a JSON pointer, `field` what people call the place, `text` a sentence of ours in which
    nothing of the contract stands; `old` and `new` are the contract's own values, quoted by whoever shows them (""
    where there was or is none)."""

    path: str
    field: str
    text: str
    direction: Direction
    old: str = ""
    new: str = ""


_RISK = ("read", "idempotent", "reversible", "irreversible")
_APPROVAL = ("never", "policy", "always")
_RETRY = ("never", "before_effect", "safe")
_ORIGIN = ("builtin", "reviewed", "mcp")


def contract_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """Every difference between two documents, looser ones first; the order in each part is the document's own."""
    found: list[Change] = []
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name), new.get(name)
        if _same(before, after):
            continue
        found.extend(_FIELDS.get(name, _plain(name.replace("_", " ")))(f"/{name}", before, after))
    order = {"looser": 0, "other": 1, "stricter": 2}
    return sorted(found, key=lambda change: order[change.direction])


def loosened(changes: Sequence[Change]) -> int:
    """How many of them make something looser."""
    return sum(change.direction == "looser" for change in changes)


def diff_lines(old: str, new: str, *, names: tuple[str, str]) -> list[tuple[str, str]]:
    """(kind, line) of the raw difference of two texts: *add*, *del*, *note* for a place, "" for what is around it."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > _MOST_LINES:
        return [
            ("note", f"The texts have {len(before):,} and {len(after):,} lines: too many to be laid beside each other.")
        ]
    kinds = {"+": "add", "-": "del", "@": "note"}
    lines = list(difflib.unified_diff(before, after, *names, lineterm=""))[2:]
    shown = [(kinds.get(line[:1], ""), line[1:] if line[:1] in "+- " else line) for line in lines[:LONGEST_DIFF]]
    if len(lines) > LONGEST_DIFF:
        shown.append(("note", f"{len(lines) - LONGEST_DIFF:,} further lines are left out."))
    return shown


def _same(old: Json, new: Json) -> bool:
    return canonical_bytes(old) == canonical_bytes(new)


def word(value: Json) -> str:
    """A value as one line for a person; long ones are cut, with what is left out counted."""
    text = "" if value is None else value if isinstance(value, str) else canonical_bytes(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text) - _SHOWN:,} more characters)"


type _Rule = Callable[[str, Any, Any], Iterator[Change]]


def _plain(field: str, text: str = "") -> _Rule:
    def rule(path: str, old: Any, new: Any) -> Iterator[Change]:
        yield Change(path, field, text or _was(old, new), "other", word(old), word(new))

    return rule


def _was(old: Json, new: Json) -> str:
    return "added" if old is None else "removed" if new is None else "changed"


def _ordered(field: str, order: Sequence[str], *, looser: Literal["up", "down"], why: str) -> _Rule:
    """A word out of an order; `looser` says which way loosens, `why` what that means."""

    def rule(path: str, old: Any, new: Any) -> Iterator[Change]:
        if old not in order or new not in order:
            yield Change(path, field, _was(old, new), "other", word(old), word(new))
            return
        risen = order.index(new) > order.index(old)
        loose = risen == (looser == "up")
        yield Change(path, field, why if loose else "stricter than before", "looser" if loose else "stricter", old, new)

    return rule


def _number(field: str, *, looser: Literal["up", "down"], why: str, default: int | None = None) -> _Rule:
    """A number of which more (up) or less (down) is looser."""

    def rule(path: str, old: Any, new: Any) -> Iterator[Change]:
        was, now = (default if old is None else old), (default if new is None else new)
        if type(was) is not int or type(now) is not int or was == now:
            yield Change(path, field, _was(old, new), "other", word(old), word(new))
            return
        loose = (now > was) == (looser == "up")
        text = why if loose else "stricter than before"
        yield Change(path, field, text, "looser" if loose else "stricter", f"{was:,}", f"{now:,}")

    return rule


def _listed(field: str, *, looser: Literal["more", "fewer", ""], more: str, fewer: str) -> _Rule:
    """A list whose order means nothing: each item that came or went is a change."""

    def rule(path: str, old: Any, new: Any) -> Iterator[Change]:
        before, after = _items(old), _items(new)
        for item in (item for item in before if item not in after):
            yield Change(path, field, fewer, _either(looser, "fewer"), old=word(item))
        for item in (item for item in after if item not in before):
            yield Change(path, field, more, _either(looser, "more"), new=word(item))
        if sorted(map(word, before)) == sorted(map(word, after)):
            yield Change(path, field, "in another order", "other", word(before), word(after))

    return rule


def _either(looser: str, way: str) -> Direction:
    return "other" if not looser else "looser" if looser == way else "stricter"


def _items(value: Any) -> list[Json]:
    return list(value) if isinstance(value, list) else []


def _object(fields: Mapping[str, _Rule], prefix: str) -> _Rule:
    """An object, member by member. One that came or went whole is told by its members too."""

    def rule(path: str, old: Any, new: Any) -> Iterator[Change]:
        before, after = (value if isinstance(value, dict) else {} for value in (old, new))
        for name in dict.fromkeys((*before, *after)):
            if not _same(before.get(name), after.get(name)):
                known = fields.get(name, _plain(f"{prefix} {name.replace('_', ' ')}".strip()))
                yield from known(f"{path}/{name}", before.get(name), after.get(name))

    return rule


def _kept(field: str, removed: str, *, inside: _Rule | None = None) -> _Rule:
    """Something that protects: gone is looser, new is stricter, another one is to be read."""

    def rule(path: str, old: Any, new: Any) -> Iterator[Change]:
        if not new:
            yield Change(path, field, removed, "looser", old=word(old))
        elif not old:
            yield Change(path, field, "added", "stricter", new=word(new))
        elif inside is not None:
            yield from inside(path, old, new)
        else:
            yield Change(path, field, "reads differently now: compare both", "other", word(old), word(new))

    return rule


def _checks(path: str, old: Any, new: Any) -> Iterator[Change]:
    before, after = ({item["id"]: item for item in _items(value) if isinstance(item, dict)} for value in (old, new))  # type: ignore[index, call-overload]
    for name, check in before.items():
        if name not in after:
            yield Change(path, f"check {name}", "no longer checked", "looser", old=word(check.get("when")))
        elif not _same(check, after[name]):
            told = "the condition reads differently" if check.get("when") != after[name].get("when") else "worded anew"
            yield Change(path, f"check {name}", told, "other", word(check), word(after[name]))
    for name in after:
        if name not in before:
            yield Change(path, f"check {name}", "checked from now on", "stricter", new=word(after[name].get("when")))
    if list(before) != list(after) and set(before) == set(after):
        yield Change(path, "checks", "in another order: the first that fails is told", "other")


def _schema(field: str) -> _Rule:
    def rule(path: str, old: Any, new: Any) -> Iterator[Change]:
        for place, text, direction, before, after in schema_changes(old or {}, new or {}):
            yield Change(path + place, f"{field} {place or '(the whole)'}", text, direction, word(before), word(after))

    return rule


def _same_target(path: str, old: Any, new: Any) -> Iterator[Change]:
    claims = new is True
    text = (
        "the target is now said to recognise a repeated key: a retry is trusted more" if claims else "no longer claimed"
    )
    yield Change(
        path, "repeats recognised by the target", text, "looser" if claims else "stricter", word(old), word(new)
    )


def _sandbox(path: str, old: Any, new: Any) -> Iterator[Change]:
    yield from _kept("sandbox profile", "no longer runs isolated")(path, old, new)


# What names its money or its customer is counted in the sums of other tools too, so losing that loosens their limits,
# though limits on the tool itself then refuse its calls (approvals/core/limits.py). Gaining it lets those calls pass.
_NO_MONEY = "no longer told as money: sums leave it out, and limits by amount refuse calls that name no other"
_MONEY = "told as money from now on: counted in sums, and limits by amount judge it where they refused"
_NO_CUSTOMER = "sums per customer no longer count these calls; a limit per customer over time refuses them"
_CUSTOMER = "counted per customer from now on, and limits per customer judge where they refused"


def _customer(path: str, old: Any, new: Any) -> Iterator[Change]:
    if not new:
        yield Change(path, "customer", _NO_CUSTOMER, "looser", old=word(old))
    elif not old:
        yield Change(path, "customer", _CUSTOMER, "other", new=word(new))
    else:
        yield Change(path, "customer", "calls are counted for somebody else", "other", word(old), word(new))


def _money(path: str, old: Any, new: Any) -> Iterator[Change]:
    pairs = [[Money(item["amount"], item["currency"]) for item in _items(value)] for value in (old, new)]  # type: ignore[index, call-overload, arg-type]
    before, after = pairs
    for money in (item for item in before if item not in after):
        yield Change(path, "money", _NO_MONEY, "looser", old=money.amount)
    for money in (item for item in after if item not in before):
        yield Change(path, "money", _MONEY, "other", new=money.amount)


_COMPARE = _listed("before → after", looser="fewer", more="shown from now on", fewer="no longer shown to reviewers")
_PRESENTATION = {
    "sentence": _plain("sentence", "people decide by this sentence: read both"),
    "compare": _COMPARE,
    "effect_note": _kept("note on the effect", "no longer told to reviewers"),
    "labels": _plain("labels", "fields are named differently"),
    "money": _plain("money of the state", "amounts of the state are written differently"),
}
_EXECUTE = {
    "request": _plain("request that has the effect", "another request is sent: read both"),
    "success": _kept("what counts as success", "nothing says any more what success looks like"),
    "reference": _kept("receipt", "no receipt is taken from the answer"),
    "result": _plain("result", "other values are taken from the answer"),
}
_ADAPTER = {
    "base_url": _plain("address", "calls go to another address"),
    "allowed_hosts": _listed(
        "allowed hosts", looser="more", more="may be reached from now on", fewer="may no longer be reached"
    ),
    "credential": _plain("credential", "another credential is sent"),
    "reference": _plain("reference table", "another table, or another row of it, is read"),
    "read_state": _kept(
        "reading the target's state",
        "the state is no longer read: checks, conditions and reviewers see none",
        inside=_object({}, "reading the state:"),
    ),
    "execute": _object(_EXECUTE, "execution"),
    "look_up": _kept("look-up", "a lost answer can no longer be looked up", inside=_object({}, "look-up:")),
    "postcondition": _kept("postcondition", "the target is no longer asked whether it shows"),
}
_FIELDS: Mapping[str, _Rule] = {
    "name": _plain("name", "this is another tool"),
    "title": _plain("title", "people and models read another title"),
    "description": _plain("description", "models are told something else: text from outside, read it"),
    "side_effect": _ordered("side effect", _RISK, looser="down", why="claims less risk than before"),
    "scopes": _listed("scopes", looser="fewer", more="needed from now on", fewer="no longer needed"),
    "approval": _ordered("approval", _APPROVAL, looser="down", why="people are asked less"),
    "input_schema": _schema("argument"),
    "output_schema": _schema("result"),
    "money": _money,
    "timeout_ms": _number("time for one request (ms)", looser="up", why="a request may take longer"),
    "settle_after_ms": _number(
        "settling time (ms)", looser="down", why="a look-up that finds nothing is believed sooner", default=0
    ),
    "output_cap_bytes": _number("largest answer (bytes)", looser="up", why="more of an answer is read"),
    "retry": _object(
        {
            "class": _ordered("sent again by a machine", _RETRY, looser="up", why="sent again in more cases"),
            "attempts": _number("attempts", looser="up", why="sent more often", default=3),
        },
        "retry",
    ),
    "idempotency": _object({"enforced_by_target": _same_target}, "idempotency"),
    "sandbox_profile": _sandbox,
    "alternatives": _listed("alternatives", looser="", more="offered instead from now on", fewer="no longer offered"),
    "breaker": _object(
        {
            "failure_percent": _number("breaker: failures (%)", looser="up", why="opens later", default=50),
            "min_requests": _number("breaker: requests before it judges", looser="up", why="opens later", default=20),
            "open_s": _number("breaker: seconds open", looser="down", why="closes sooner", default=15),
            "probes": _number("breaker: probes", looser="up", why="lets more through while it tries", default=5),
        },
        "breaker",
    ),
    "redaction": _listed(
        "redaction", looser="fewer", more="kept out of the log", fewer="no longer kept out of the log"
    ),
    "resource": _plain("resource", "calls are kept apart by another key: two effects on one thing could overlap"),
    "target": _plain("target", "what a call is bound to is named differently"),
    "customer": _customer,
    "expires_in_s": _number("time to decide (s)", looser="up", why="an approval holds longer", default=900),
    "checks": _checks,
    "presentation": _object(_PRESENTATION, "presentation"),
    "adapter": _object(_ADAPTER, "adapter"),
    "origin": _object(
        {
            "kind": _ordered("origin", _ORIGIN, looser="down", why="claims a more trusted origin"),
            "publisher": _plain("publisher", "somebody else is named as publisher"),
            "reviewed_by": _plain("reviewed by", "somebody else is named as reviewer"),
        },
        "origin",
    ),
}
