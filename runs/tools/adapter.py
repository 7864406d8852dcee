"""A tool behind HTTP: the declared operations *read state*, *execute* and *look up by key*, as its contract says.

Every operation is one contract section filled from names: `args` (the approved arguments), `state`, the reference
row under its alias, `key`, `principal`. Nothing is decided here: what may be sent is approvals' business, when it is
sent and what follows is the dispatcher's.
"""

import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from approvals.core.cel import Bindings, CelError, compile_bool, compile_value, evaluate, evaluate_bool
from approvals.core.contract_types import Contract, HttpAdapter, ReadState, Request
from approvals.core.template import render, render_path, render_text
from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import Json
from audit.core.pointers import follow
from audit.core.refusal import Invalid, Refusal, Unavailable
from runs.core.retry import ErrorClass
from runs.tools.http import HttpAnswer, OutboundRequest, Pairs, send
from runs.tools.lookup import look_through
from runs.tools.meaning import SUCCEEDED, Meaning, meaning_of, not_confirmed
from runs.tools.outcome import Labelled, LookedUp, Observation, Outcome, label, pick, reference_at
from runs.tools.reference import look_up_row

_JUDGED: Final = ("args", "state")
_SUCCESS: Final = ("result", "args", "state")
_AFTER: Final = ("before", "state", "args", "result")
_NO_PRINCIPAL: Final[Mapping[str, Json]] = {}


class HttpTool:
    """One admitted contract with what the server adds: the credential's source and the tenant's reference tables.

    `credential()` is called for each request and its value is not kept. Deadlines are `time.monotonic()` seconds and
    are shortened to the contract's timeout.
    """

    def __init__(
        self,
        contract: Contract,
        *,
        credential: Callable[[], str] | None,
        reference_dir: Path,
        tenant_slug: str,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.contract = contract
        self._adapter: HttpAdapter = contract.adapter
        self._credential = credential if self._adapter.credential else None
        self._reference_dir = reference_dir
        self._tenant_slug = tenant_slug
        self._tls = tls

    # --- the operations ---

    def read_state(
        self, arguments: Mapping[str, Json], *, deadline: float, principal: Mapping[str, Json] = _NO_PRINCIPAL
    ) -> Observation:
        """The target's state now. Empty for a tool that declares none.

        Raises NotFound (NOT_FOUND: no such row in the reference table), Unavailable (TARGET_UNREADABLE,
        REFERENCE_UNAVAILABLE), Refusal (TARGET_REFUSED: the target does not show it), or Invalid (STATE_INCOMPLETE,
        TEMPLATE_…). Nothing was started, whichever it is.
        """
        names = self._reference_names(arguments, principal)
        plan = self._adapter.read_state
        if plan is None:
            return Observation({}, names)
        request = self._request(plan.request, {"args": dict(arguments), "principal": dict(principal), **names})
        answer = self._send(request, deadline)
        meaning = meaning_of(answer)
        if meaning is not SUCCEEDED:
            raise _unreadable(self.contract.title, meaning, answer)
        state = self._state(plan, answer.body, arguments, names, principal)
        return Observation(state, names, answer.duration_ms, answer.received_bytes)

    def execute(
        self,
        arguments: Mapping[str, Json],
        *,
        observation: Observation,
        key: str,
        deadline: float,
        before_send: Callable[[], None] | None = None,
        principal: Mapping[str, Json] = _NO_PRINCIPAL,
    ) -> Outcome:
        """Do it once and say how it ended; never raises for anything the target does.

        `observation` is the state that the permit was redeemed on: the request is filled from it and from nothing
        newer. `before_send` is called with the connection standing and no byte written; if it raises, nothing is
        sent. Arm `guard_timer` before calling this.
        """
        plan = self._adapter.execute
        try:
            request = self._request(plan.request, self._names(arguments, observation, key, principal), key)
        except Refusal as refusal:
            return Outcome(
                "failed_before_effect", error_class=ErrorClass.NOT_SENT, code=refusal.code, message=refusal.message
            )
        answer = self._send(request, deadline, before_send)
        meaning = meaning_of(answer)
        if meaning is not SUCCEEDED:
            return self._outcome(meaning, answer, evidence=answer.body if answer.structured else None)
        result = pick(plan.result, answer.body)
        reference = reference_at(answer.body, plan.reference) if plan.reference else ""
        if self.contract.read_only:
            result = self._observed(answer.body, arguments, observation, principal) | result
        else:
            meaning = self._confirmed(arguments, observation.state, result, reference)
        if meaning is SUCCEEDED and not self.contract.output_validator.is_valid(result):
            meaning = not_confirmed("RESULT_INVALID", "The target's answer does not fit the tool's output schema.")
        return self._outcome(meaning, answer, evidence=result, reference=reference)

    def look_up(
        self,
        arguments: Mapping[str, Json],
        *,
        key: str,
        deadline: float,
        observation: Observation | None = None,
        principal: Mapping[str, Json] = _NO_PRINCIPAL,
    ) -> LookedUp:
        """Ask the target whether `key` took effect. Pass the observation stored with the dispatch, so that the
        question goes where the effect was sent; without it the reference table is read as it is now.

        Never raises for anything the target does. `deadline` bounds all pages together; each page also has the
        contract's timeout. When a *nothing* is conclusive is the caller's arithmetic (deadline + settle_after).
        """
        started = time.monotonic()
        plan = self._adapter.look_up
        if plan is None:
            return LookedUp("inconclusive", complete=False, code="NO_LOOK_UP", message="This tool declares no look-up.")
        try:
            seen = observation or Observation({}, self._reference_names(arguments, principal))
            names = self._names(arguments, seen, key, principal)
            request = self._request(plan.request, names)
            wanted = render(plan.match_equals, names)
        except Refusal as refusal:
            return LookedUp("inconclusive", complete=False, code=refusal.code, message=refusal.message)
        param = plan.cursor.param if plan.cursor else ""

        def ask(cursor: str) -> HttpAnswer:
            page = replace(request, query=(*request.query, (param, cursor))) if cursor else request
            return self._send(page, deadline)

        found = look_through(plan, wanted, ask)
        matches = found.matches
        found = replace(found, duration_ms=round((time.monotonic() - started) * 1000), matches=())
        if not matches:
            return found
        result = pick(plan.result, matches[0])
        if not self.contract.output_validator.is_valid(result):
            # The effect is there, that is proven by its key; only what is said about it is not fit to be shown.
            message = "The effect is there; what the target says about it does not fit the tool's output schema."
            return replace(found, code=found.code or "RESULT_INVALID", message=found.message or message)
        return replace(found, result=self._label(result))

    def postcondition_holds(
        self,
        arguments: Mapping[str, Json],
        *,
        before: Mapping[str, Json],
        after: Mapping[str, Json],
        result: Mapping[str, Json],
    ) -> bool | None:
        """Whether the state read after the effect shows it. True without a declared condition; None when it cannot be
        decided, which leaves the effect as open as False does."""
        condition = self._adapter.postcondition
        if not condition:
            return True
        bindings = Bindings({"before": before, "state": after, "args": arguments, "result": result})
        try:
            return evaluate_bool(compile_bool(condition, _AFTER), bindings)
        except CelError:
            return None

    # --- parts ---

    def _reference_names(self, arguments: Mapping[str, Json], principal: Mapping[str, Json]) -> dict[str, Json]:
        plan = self._adapter.reference
        if plan is None:
            return {}
        key = render_text(plan.key, {"args": dict(arguments), "principal": dict(principal)})
        return {plan.alias: look_up_row(self._reference_dir, self._tenant_slug, plan.table, key)}

    def _names(
        self, arguments: Mapping[str, Json], observation: Observation, key: str, principal: Mapping[str, Json]
    ) -> dict[str, Json]:
        own: dict[str, Json] = {
            "args": dict(arguments),
            "state": observation.state,
            "key": key,
            "principal": dict(principal),
        }
        return observation.names | own

    def _request(self, plan: Request, names: Mapping[str, Json], key: str = "") -> OutboundRequest:
        path = render_path(plan.path, names)
        if any(segment in (".", "..") for segment in path.split("/")):
            raise Invalid("The request's path would lead to another place.", code="TEMPLATE_VALUE")
        return OutboundRequest(
            method=plan.method,
            url=self._adapter.base_url.rstrip("/") + path,
            query=_pairs(plan.query, names),
            form=None if plan.form is None else _pairs(plan.form, names),
            json=None if plan.json is None else render(plan.json, names),
            has_json=plan.json is not None,
            idempotency_key=key if self.contract.enforced_by_target else "",
        )

    def _send(
        self, request: OutboundRequest, deadline: float, before_send: Callable[[], None] | None = None
    ) -> HttpAnswer:
        return send(
            request,
            allowed_hosts=self._adapter.allowed_hosts,
            deadline=min(deadline, time.monotonic() + self.contract.timeout_ms / 1000),
            credential=self._credential,
            before_send=before_send,
            tls=self._tls,
        )

    def _state(
        self,
        plan: ReadState,
        body: Json,
        arguments: Mapping[str, Json],
        names: Mapping[str, Json],
        principal: Mapping[str, Json],
    ) -> dict[str, Json]:
        """Raises Invalid (STATE_INCOMPLETE) when a declared value is not there: a check must never see half a state."""
        state: dict[str, Json] = {}
        part = ""
        try:
            for part, place in plan.state.items():
                state[part] = follow(body, place)  # type: ignore[assignment]
            for part, template in plan.also.items():
                # Filled as a member, so that an optional name which is absent leaves the member out.
                filled = render({part: template}, {"args": dict(arguments), "principal": dict(principal), **names})
                state |= filled if isinstance(filled, dict) else {}
            # Over what was read and nothing derived, so that the order they are written in means nothing.
            bindings = Bindings({"args": arguments, "state": dict(state)})
            for part, expression in plan.derived.items():
                state[part] = evaluate(compile_value(expression, _JUDGED), bindings)
        except (KeyError, CelError, Refusal):
            raise Invalid(
                f"What “{part}” of this call's state is cannot be told from the target's answer. Nothing was started.",
                code="STATE_INCOMPLETE",
                status=502,
                detail={"field": part},
            ) from None
        return state

    def _observed(
        self, body: Json, arguments: Mapping[str, Json], observation: Observation, principal: Mapping[str, Json]
    ) -> dict[str, Json]:
        """A read whose request is the one that reads the state answers with the state, `also` and derived values too,
        as far as its output schema names them."""
        plan = self._adapter.read_state
        if plan is None or plan.request != self._adapter.execute.request:
            return {}
        try:
            state = self._state(plan, body, arguments, observation.names, principal)
        except Refusal:
            return {}  # the output schema then says what is missing
        declared = self.contract.output_schema.get("properties")
        return {name: value for name, value in state.items() if isinstance(declared, dict) and name in declared}

    def _confirmed(
        self, arguments: Mapping[str, Json], state: Mapping[str, Json], result: dict[str, Json], reference: str
    ) -> Meaning:
        bindings = Bindings({"result": result, "args": arguments, "state": state})
        try:
            confirmed = evaluate_bool(compile_bool(self._adapter.execute.success, _SUCCESS), bindings)
        except CelError:
            return not_confirmed("SUCCESS_UNDECIDED", "The target's answer does not say whether it was done.")
        if not confirmed:
            return not_confirmed("NOT_CONFIRMED", "The target answered, and not that it was done.")
        if self._adapter.execute.reference and not reference:
            return not_confirmed("REFERENCE_MISSING", "The target says it was done and gives no receipt for it.")
        return SUCCEEDED

    def _label(self, value: Json) -> Labelled:
        source = f"{self.contract.name} at {self._adapter.base_url.split('://')[-1].rstrip('/')}"
        return label(value, source=source, cap_bytes=self.contract.output_cap_bytes)

    def _outcome(self, meaning: Meaning, answer: HttpAnswer, *, evidence: Json, reference: str = "") -> Outcome:
        result = None if evidence is None else self._label(evidence)
        return Outcome(
            status=meaning.status,
            reference=reference,
            result=result,
            error_class=meaning.error_class,
            code=meaning.code,
            message=meaning.message,
            http_status=answer.status,
            retry_after=answer.retry_after,
            duration_ms=answer.duration_ms,
            result_bytes=result.size_bytes if result else 0,
        )


def _pairs(template: Mapping[str, Json], names: Mapping[str, Json]) -> Pairs:
    """Filled query or form fields; a list repeats its field."""
    filled = render(dict(template), names)
    pairs: list[tuple[str, str]] = []
    for name, value in filled.items() if isinstance(filled, dict) else ():
        for item in value if isinstance(value, list) else (value,):
            if item is None or isinstance(item, list | dict):
                raise Invalid(
                    f"The field “{name}” takes a text, a number, true or false.",
                    code="TEMPLATE_VALUE",
                    detail={"name": name},
                )
            pairs.append((name, item if isinstance(item, str) else canonical_bytes(item).decode()))
    return tuple(pairs)


def _unreadable(title: str, meaning: Meaning, answer: HttpAnswer) -> Refusal:
    if meaning.status == "refused":
        return Refusal(
            f"{title}: {meaning.message}",
            code="TARGET_REFUSED",
            status=502,
            detail={"http_status": answer.status, "error_class": meaning.error_class},
        )
    return Unavailable(
        f"{title}: the target's state cannot be read ({meaning.message.rstrip('.')}). Nothing was started; try again.",
        code="TARGET_UNREADABLE",
        retry_after=answer.retry_after or 5,
        detail={"cause": meaning.code, "error_class": meaning.error_class},
    )
