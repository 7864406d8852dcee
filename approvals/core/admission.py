"""What admission checks beyond a contract's shape (R10): that its parts fit one another and promise nothing unsafe."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from approvals.core.cel import CelError, compile_bool, compile_value
from approvals.core.cel_text import CelTextError, references, tokens
from approvals.core.contract_types import Contract, Finding, HttpAdapter, Request
from approvals.core.schema_rules import always_there, schema_at
from approvals.core.sentence import SentenceError, parse_sentence
from approvals.core.template import Placeholder, placeholders
from audit.core.jsondoor import Json
from audit.core.pointers import pointer
from audit.core.visible import visible

CHECK_NAMES = ("args", "state", "principal")
COMPARE_NAMES = ("args", "state")
SUCCESS_NAMES = ("result", "args", "state")
POSTCONDITION_NAMES = ("before", "state", "args", "result")
_RESERVED = frozenset({"args", "state", "principal", "key", "result", "before"})
_BASE_URL = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?(/[^?#\s\\]*)?")


def text_findings(document: dict[str, Json]) -> Iterator[Finding]:
    """Hidden or reordering characters anywhere in the document, and look-alike words in what people read (S12)."""
    for path, text in _texts(document, []):
        pieces = visible(text)
        hidden = next((piece for piece in pieces if piece.kind == "escape"), None)
        if hidden is not None:
            yield Finding(
                pointer(path),
                "HIDDEN_CHARACTER",
                f"This text holds {hidden.text} {hidden.note}".strip() + ", which people cannot see. Remove it.",
            )
        like = next((piece for piece in pieces if piece.kind == "lookalike"), None)
        if like is not None and path and path[0] in ("name", "title", "presentation"):
            yield Finding(pointer(path), "LOOKALIKE", f"A word here may be misread: {like.note}. Write it plainly.")


def _texts(value: Json, path: list[str | int]) -> Iterator[tuple[list[str | int], str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, [*path, index])
    elif isinstance(value, dict):
        for name, item in value.items():
            yield [*path, name], name
            yield from _texts(item, [*path, name])


def contract_findings(contract: Contract) -> list[Finding]:
    """Everything against a contract whose document has the right shape and whose schemas were found good."""
    return [
        *_promise_findings(contract),
        *_money_findings(contract),
        *_adapter_findings(contract),
        *_template_findings(contract),
        *_expression_findings(contract),
        *_presentation_findings(contract),
    ]


def _promise_findings(contract: Contract) -> Iterator[Finding]:
    """What the contract says of its own risk."""
    if contract.sandbox_profile is not None:
        yield Finding(
            "/sandbox_profile",
            "SANDBOX_UNAVAILABLE",
            "There is no sandbox profile on this installation yet, and nothing runs without the one it names. "
            "Set it to null only if the tool needs no sandbox.",
        )
    if contract.approval == "never" and not contract.read_only:
        yield Finding("/approval", "APPROVAL_NEVER", "Only a read-only tool may never be held. Say policy or always.")
    if contract.origin.kind == "mcp" and not contract.origin.reviewed_by and contract.approval != "always":
        yield Finding(
            "/approval",
            "MCP_STARTS_AT_ASK",
            "A tool of an MCP server is always held until somebody has reviewed it, whatever its hints say. "
            "Say always, or name the reviewer in origin.reviewed_by.",
        )
    if contract.retry.retry_class == "safe" and contract.side_effect not in ("read", "idempotent"):
        yield Finding(
            "/retry/class",
            "RETRY_UNSAFE",
            "A tool that is neither read-only nor idempotent is never sent again blindly. Say before_effect or never.",
        )
    if contract.side_effect == "irreversible" and contract.adapter.look_up is None:
        yield Finding(
            "/adapter/look_up",
            "LOOK_UP_MISSING",
            "An irreversible tool needs a look-up by key: without one nobody can tell what a lost answer did.",
        )
    ids = [check.id for check in contract.checks]
    for index, name in enumerate(ids):
        if name in ids[:index]:
            yield Finding(f"/checks/{index}/id", "DUPLICATE_ID", f"There are two checks called {name}.")
    if contract.name in contract.alternatives:
        yield Finding("/alternatives", "ALTERNATIVE_SELF", "A tool is no alternative to itself.")


def _money_findings(contract: Contract) -> Iterator[Finding]:
    for index, money in enumerate(contract.money):
        amount = schema_at(contract.input_schema, money.amount)
        kind = (amount or {}).get("type")
        if amount is None:
            yield Finding(f"/money/{index}/amount", "MONEY_UNKNOWN", f"There is no argument {money.amount}.")
        elif kind not in ("integer", "string"):
            yield Finding(
                f"/money/{index}/amount",
                "MONEY_TYPE",
                f"{money.amount} is money and must be an integer in minor units, or decimal text; never a number with "
                "a fraction.",
            )
        elif kind == "string" and "pattern" not in amount:
            yield Finding(
                f"/money/{index}/amount", "MONEY_TYPE", f"{money.amount} is decimal text and needs a pattern for it."
            )
        currency = schema_at(contract.input_schema, money.currency)
        if currency is None or currency.get("type", "string") != "string":
            yield Finding(f"/money/{index}/currency", "MONEY_UNKNOWN", f"There is no text argument {money.currency}.")
        elif "*" not in money.currency and not always_there(contract.input_schema, money.currency):
            yield Finding(
                f"/money/{index}/currency",
                "MONEY_CURRENCY",
                f"{money.currency} may be absent, and an amount without a currency says nothing. Require it, or give "
                "it a default.",
            )


def _adapter_findings(contract: Contract) -> Iterator[Finding]:
    adapter = contract.adapter
    url = _BASE_URL.fullmatch(adapter.base_url)
    if url is None:
        yield Finding(
            "/adapter/base_url",
            "BASE_URL",
            "The base address is http:// or https://, a lower-case host, a port, a path; no user, query or fragment.",
        )
    elif url.group(1) + (url.group(2) or "") not in adapter.allowed_hosts:
        yield Finding(
            "/adapter/base_url", "HOST_NOT_ALLOWED", "The host of base_url is not among allowed_hosts. Add it there."
        )
    if adapter.reference is not None and adapter.reference.alias in _RESERVED:
        yield Finding("/adapter/reference/as", "NAME_RESERVED", f"{adapter.reference.alias} has a meaning already.")
    for place, request in _requests(adapter):
        if request.form is not None and request.json is not None:
            yield Finding(place, "REQUEST_BODY", "A request has a form or a JSON body, not both.")
        if request.method == "GET" and (request.form is not None or request.json is not None):
            yield Finding(place, "REQUEST_BODY", "A GET request has no body. Use query.")
        reads = contract.read_only or place != "/adapter/execute/request"
        if reads and request.method != "GET":
            yield Finding(f"{place}/method", "REQUEST_METHOD", "What only reads uses GET.")
    if contract.read_only:
        return
    if not adapter.execute.success:
        yield Finding(
            "/adapter/execute/success",
            "SUCCESS_MISSING",
            "A tool with an effect says what success looks like in the answer; a 2xx alone is none.",
        )
    if not adapter.execute.reference:
        yield Finding(
            "/adapter/execute/reference",
            "REFERENCE_MISSING",
            "A tool with an effect says where the receipt's id stands.",
        )
    look_up = adapter.look_up
    if look_up is not None:
        if not _uses_key(adapter.execute.request):
            yield Finding(
                "/adapter/execute/request",
                "KEY_UNUSED",
                "The request does not carry ${key}, so no look-up can find it.",
            )
        if "key" not in (place.name for place in _safe_placeholders(look_up.match_equals)):
            yield Finding("/adapter/look_up/match/equals", "KEY_UNUSED", "The look-up must match on ${key}.")
        if (look_up.more == "") != (look_up.cursor is None):
            yield Finding(
                "/adapter/look_up",
                "LOOK_UP_PAGES",
                "A look-up over pages needs both more and cursor; otherwise neither.",
            )


def _requests(adapter: HttpAdapter) -> Iterator[tuple[str, Request]]:
    yield "/adapter/execute/request", adapter.execute.request
    if adapter.read_state is not None:
        yield "/adapter/read_state/request", adapter.read_state.request
    if adapter.look_up is not None:
        yield "/adapter/look_up/request", adapter.look_up.request


def _uses_key(request: Request) -> bool:
    parts: list[Json] = [request.path, request.query, request.form, request.json]
    return any(place.name == "key" for place in _safe_placeholders(parts))


def _safe_placeholders(template: Json) -> list[Placeholder]:
    try:
        return placeholders(template)
    except ValueError:
        return []  # told by _template_findings


def _template_findings(contract: Contract) -> Iterator[Finding]:
    adapter = contract.adapter
    names = Names(contract)
    alias = {adapter.reference.alias} if adapter.reference is not None else set()
    reading = {"args", "principal"} | alias
    sending = reading | {"state", "key"}
    yield from names.template(contract.resource, "/resource", {"args"})
    yield from names.template(contract.target, "/target", {"args"})
    if contract.customer:
        yield from names.template(contract.customer, "/customer", {"args", "state"})
    if adapter.reference is not None:
        yield from names.template(adapter.reference.key, "/adapter/reference/key", {"args", "principal"})
    if adapter.read_state is not None:
        yield from _request_findings(names, adapter.read_state.request, "/adapter/read_state/request", reading)
        yield from names.template(adapter.read_state.also, "/adapter/read_state/also", reading)
    yield from _request_findings(names, adapter.execute.request, "/adapter/execute/request", sending)
    if adapter.look_up is not None:
        yield from _request_findings(names, adapter.look_up.request, "/adapter/look_up/request", sending)
        yield from names.template(adapter.look_up.match_equals, "/adapter/look_up/match/equals", sending)


def _request_findings(names: "Names", request: Request, place: str, allowed: set[str]) -> Iterator[Finding]:
    yield from names.template(request.path, f"{place}/path", allowed)
    yield from names.template(request.query, f"{place}/query", allowed)
    yield from names.template(request.form, f"{place}/form", allowed)
    yield from names.template(request.json, f"{place}/json", allowed)


def _expression_findings(contract: Contract) -> Iterator[Finding]:
    adapter = contract.adapter
    names = Names(contract)
    for index, check in enumerate(contract.checks):
        yield from names.condition(check.when, f"/checks/{index}/when", CHECK_NAMES)
    for name, expression in (adapter.read_state.derived if adapter.read_state else {}).items():
        place = "/adapter/read_state/derived" + pointer([name])
        yield from names.value(expression, place, COMPARE_NAMES, derived=False)
    if adapter.execute.success:
        yield from names.condition(adapter.execute.success, "/adapter/execute/success", SUCCESS_NAMES)
    if adapter.postcondition:
        yield from names.condition(adapter.postcondition, "/adapter/postcondition", POSTCONDITION_NAMES)


def _presentation_findings(contract: Contract) -> Iterator[Finding]:
    shown = contract.presentation
    names = Names(contract)
    for index, row in enumerate(shown.compare):
        for part, expression in (("now", row.now), ("after", row.after), ("money", row.money)):
            if expression:
                yield from names.value(expression, f"/presentation/compare/{index}/{part}", COMPARE_NAMES)
    for name, expression in shown.money.items():
        yield from names.value(expression, "/presentation/money" + pointer([name]), COMPARE_NAMES)
        yield from names.known(tuple(name.split(".")), "/presentation/money" + pointer([name]))
    for label in shown.labels:
        if schema_at(contract.input_schema, label) is None:
            yield Finding("/presentation/labels" + pointer([label]), "NAME_UNKNOWN", f"There is no argument {label}.")
    try:
        parts = parse_sentence(shown.sentence)
    except SentenceError as error:
        yield Finding("/presentation/sentence", "SENTENCE", f"{error}.")
        return
    for piece in parts:
        if piece.path:
            yield from names.known(piece.path, "/presentation/sentence")


class Names:
    """What `args.…`, `state.…` and `result.…` can mean in one contract."""

    def __init__(self, contract: Contract) -> None:
        reading = contract.adapter.read_state
        self.schema = contract.input_schema
        self.read = frozenset((*reading.state, *reading.also)) if reading else frozenset()
        self.derived = frozenset(reading.derived) if reading else frozenset()
        self.result = frozenset(contract.adapter.execute.result)

    def template(self, template: Json, place: str, allowed: set[str]) -> Iterator[Finding]:
        """Findings for the placeholders of a template that may use the names `allowed`."""
        try:
            found = placeholders(template)
        except ValueError as error:
            yield Finding(place, "TEMPLATE", f"A placeholder is malformed: {error}.")
            return
        for item in found:
            if item.path[0] not in allowed:
                known = ", ".join(sorted(allowed))
                yield Finding(place, "NAME_UNKNOWN", f"${{{item.name}}} is not known here; known are {known}.")
                continue
            yield from self.known(item.path, place)
            where = pointer(item.path[1:])
            needed = item.path[0] == "args" and not item.optional and schema_at(self.schema, where) is not None
            if needed and not always_there(self.schema, where):
                yield Finding(
                    place,
                    "NAME_OPTIONAL",
                    f"${{{item.name}}} may be absent. Require the argument, give it a default, or write "
                    f"${{{item.name}?}} to leave it out then.",
                )

    def condition(self, expression: str, place: str, variables: Sequence[str]) -> Iterator[Finding]:
        """Findings for an expression that must be true or false."""
        try:
            compile_bool(expression, variables)
        except CelError as error:
            yield Finding(place, "EXPRESSION", f"The expression cannot be used: {error.problem}.", error.line)
            return
        yield from self._expression(expression, place, variables)

    def value(
        self, expression: str, place: str, variables: Sequence[str], *, derived: bool = True
    ) -> Iterator[Finding]:
        """Findings for an expression that gives a value; `derived`: whether derived values of the state are there."""
        try:
            compile_value(expression, variables)
        except CelError as error:
            yield Finding(place, "EXPRESSION", f"The expression cannot be used: {error.problem}.", error.line)
            return
        yield from self._expression(expression, place, variables, derived=derived)

    def _expression(
        self, expression: str, place: str, variables: Sequence[str], *, derived: bool = True
    ) -> Iterator[Finding]:
        try:
            named = references(tokens(expression), frozenset(variables))
        except CelTextError:
            return  # compiled before, so this does not happen; a finding for it would be noise
        for reference in named:
            for found in self.known(reference.path, place, derived=derived):
                yield replace(found, inside=(expression, reference.start))

    def known(self, path: Sequence[str], place: str, *, derived: bool = True) -> Iterator[Finding]:
        """A finding if the first step below args, state, before or result is not declared: a typing error that would
        otherwise deny every call later."""
        if len(path) < 2:
            return
        root, name = path[0], path[1]
        shown = ".".join(path)
        if root == "args":
            if schema_at(self.schema, pointer(path[1:])) is None:
                yield Finding(place, "NAME_UNKNOWN", f"There is no argument {shown}.")
        elif root in ("state", "before"):
            if name not in self.read and not (derived and name in self.derived):
                yield Finding(place, "NAME_UNKNOWN", f"The state has no {shown}; read_state does not give it here.")
        elif root == "result" and name not in self.result:
            yield Finding(place, "NAME_UNKNOWN", f"The result has no {shown}; execute.result does not give it.")
