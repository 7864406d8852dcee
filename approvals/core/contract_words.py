"""A contract told in words, for whoever decides whether it is admitted. The contract's own texts are quoted, never
mixed into our sentences: names, descriptions and schemas come from outside (R10)."""

from collections.abc import Iterator
from dataclasses import dataclass

from approvals.core.boundary import boundary_for
from approvals.core.contract_types import Contract, Origin, Request
from audit.core.canonical import canonical_bytes

SIDE_EFFECTS = {
    "read": "only reads",
    "idempotent": "has an effect, the same however often it is sent",
    "reversible": "has an effect that can be undone",
    "irreversible": "has an effect that cannot be undone",
}
_APPROVAL = {
    "policy": "As the policy says.",
    "always": "Always held for people: an allow of the policy is raised to an ask.",
    "never": "Never held by the policy's asks; it only reads.",
}
_RETRY = {
    "never": "Never sent again by a machine.",
    "before_effect": "Sent again only while it is certain that nothing was done",
    "safe": "Sent again after any error",
}


@dataclass(frozen=True, slots=True)
class Told:
    """One fact: `label`, a sentence of ours, and texts of the contract's own that are quoted behind it. `prose`: they
    are sentences for people or models, not names or expressions."""

    label: str
    text: str
    quoted: tuple[str, ...] = ()
    prose: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """Some facts under a heading."""

    title: str
    facts: tuple[Told, ...]


def contract_words(contract: Contract) -> list[Part]:
    """Everything that a contract declares, in words."""
    return [
        Part("What it is", tuple(_what(contract))),
        Part("Who may call it, and what holds it", tuple(_who(contract))),
        Part("What a call may hold", tuple(_arguments(contract))),
        Part("How people see it", tuple(_shown(contract))),
        Part("How it is carried out", tuple(_execution(contract))),
        Part("When it goes wrong", tuple(_trouble(contract))),
    ]


def boundary_words(contract: Contract) -> tuple[str, str]:
    """(boundary, why in a sentence) for the strictest way that the contract itself demands; the policy may add people.

    What an allowed call passes; of a tool that is always held, the approval queue first (B4, B5).
    """
    allowed = boundary_for(contract, "allow")
    if contract.approval != "always":
        return allowed.kind, f"{_reason(allowed.reason, contract)} The policy may hold it for people first."
    return "approval", f"Always held until people decide. Then: {_reason(allowed.reason, contract)}"


def _reason(reason: str, contract: Contract) -> str:
    """The boundary's sentence without the title in front of it, which is text from outside."""
    text = reason.removeprefix(f"{contract.title}: ")
    return text[:1].upper() + text[1:]


def origin_words(origin: Origin) -> str:
    """Where it comes from and who looked at it, as far as the contract says; nothing of it is proven by a signature."""
    kind = {
        "builtin": "Written for this installation.",
        "reviewed": "From outside, reviewed.",
        "mcp": "From an MCP server: its hints are not believed.",
    }[origin.kind]
    return kind + ("" if origin.reviewed_by else " Nobody is named as reviewer.")


def origin_names(origin: Origin) -> tuple[tuple[str, str], ...]:
    """(what as, who) of those whom a contract names; "" is nobody."""
    named = (("publisher", origin.publisher), ("reviewer", origin.reviewed_by))
    return tuple((label, name) for label, name in named if name)


def _what(contract: Contract) -> Iterator[Told]:
    yield Told("title", "", (contract.title,), prose=True)
    yield Told("description", "As models read it:", (contract.description,), prose=True)
    yield Told("side effect", f"{SIDE_EFFECTS[contract.side_effect].capitalize()}.")
    kind, reason = boundary_words(contract)
    yield Told("boundary", f"{kind.capitalize()}: {reason}")
    yield Told("origin", origin_words(contract.origin))
    # Apart, because one name in both places, or two beside each other, would read as one.
    for label, name in origin_names(contract.origin):
        yield Told(label, "Says the contract itself:", (name,))
    if contract.alternatives:
        yield Told("alternatives", "Offered where a call of it is refused:", contract.alternatives)


def _who(contract: Contract) -> Iterator[Told]:
    yield Told("scopes", "A token needs all of:" if contract.scopes else "No scope is needed.", contract.scopes)
    yield Told("approval", _APPROVAL[contract.approval])
    yield Told("time to decide", f"{_seconds(contract.expires_in_s)}, unless the policy says otherwise.")
    for check in contract.checks:
        yield Told(
            f"check {check.id}", "Refused unless this is true, with the message behind it:", (check.when, check.message)
        )
    if not contract.checks:
        yield Told("checks", "The contract itself checks nothing of a call's meaning.")


def _arguments(contract: Contract) -> Iterator[Told]:
    properties = contract.input_schema.get("properties")
    names = tuple(properties) if isinstance(properties, dict) else ()
    required = contract.input_schema.get("required")
    needed = tuple(str(name) for name in required) if isinstance(required, list) else ()
    yield Told("arguments", "Unknown ones are refused. There are:" if names else "None.", names)
    if needed:
        yield Told("required", "", needed)
    for money in contract.money:
        yield Told("money", "An amount and its currency:", (money.amount, money.currency))
    if not contract.money:
        yield Told("money", "Nothing is told as money: a limit by amount refuses its calls, and sums leave them out.")
    if contract.customer:
        yield Told("customer", "Limits and sums per customer go by:", (contract.customer,))
    else:
        yield Told("customer", "None is named: a limit per customer over time refuses its calls.")
    text = "Kept out of the audit log:" if contract.redaction else "Nothing beside what looks like a secret."
    yield Told("redaction", text, contract.redaction)


def _shown(contract: Contract) -> Iterator[Told]:
    shown = contract.presentation
    yield Told("sentence", "", (shown.sentence,), prose=True)
    for row in shown.compare:
        yield Told("before → after", "", (row.label, row.now, row.after))
    if shown.effect_note:
        yield Told("note on the effect", "", (shown.effect_note,), prose=True)


def _execution(contract: Contract) -> Iterator[Told]:
    adapter = contract.adapter
    yield Told("address", "", (adapter.base_url,))
    yield Told("may reach", "These hosts and no others:", adapter.allowed_hosts)
    text = "Sent by the server, never shown to the agent:" if adapter.credential else "None is sent."
    yield Told("credential", text, (adapter.credential,) if adapter.credential else ())
    if adapter.reference is not None:
        yield Told(
            "reference table",
            "A row of this table of the server's, by this key:",
            (adapter.reference.table, adapter.reference.key),
        )
    if adapter.read_state is None:
        yield Told("state", "Not read: conditions and reviewers see nothing of the target.")
    else:
        yield Told("state", "Read before judging and again before sending:", (_request(adapter.read_state.request),))
    yield Told("request", "The effect itself:" if not contract.read_only else "", (_request(adapter.execute.request),))
    if adapter.execute.success:
        yield Told("success", "Only if the answer shows that", (adapter.execute.success,))
    if adapter.postcondition:
        yield Told("postcondition", "and the target, read afterwards, that", (adapter.postcondition,))
    isolated = contract.sandbox_profile
    yield Told("sandbox", "Runs isolated in the profile" if isolated else "None.", (isolated,) if isolated else ())
    yield Told(
        "limits", f"{contract.timeout_ms / 1000:g} s for a request; {contract.output_cap_bytes:,} bytes of an answer."
    )


def _trouble(contract: Contract) -> Iterator[Told]:
    retry = contract.retry
    text = _RETRY[retry.retry_class]
    if retry.retry_class != "never":
        text += (
            f": at most {retry.attempts} attempts, {retry.base_ms / 1000:g} s apart, each time {retry.factor} times "
        )
        text += "longer."
    yield Told("retry", text)
    if not contract.read_only:
        known = (
            "The target recognises it."
            if contract.enforced_by_target
            else "The target does not check it; we ask by it."
        )
        yield Told("key of a call", known)
    if contract.adapter.look_up is None:
        yield Told(
            "look-up",
            "None: nobody can ask the target what a lost answer did." if not contract.read_only else "Not needed.",
        )
    else:
        settled = f"A look-up that finds nothing is believed {contract.settle_after_ms / 1000:g} s after the deadline:"
        yield Told("look-up", settled, (_request(contract.adapter.look_up.request),))
    breaker = contract.breaker
    yield Told(
        "breaker",
        f"Opens for {breaker.open_s} s when {breaker.failure_percent}% of at least {breaker.min_requests} requests in "
        f"{breaker.window_s} s fail.",
    )


def _request(request: Request) -> str:
    parts = [f"{request.method} {request.path}"]
    for name, value in (("query", request.query), ("form", request.form), ("json", request.json)):
        if value:
            parts.append(f"{name} {canonical_bytes(value).decode()}")
    return " ".join(parts)


def _seconds(seconds: int) -> str:
    if seconds % 3600 == 0:
        return f"{seconds // 3600} h"
    return f"{seconds // 60} min" if seconds % 60 == 0 else f"{seconds} s"
