"""Calls over HTTP: asked for, waited for, taken back. Whatever touches a target runs in a worker."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from audit.api.base import AUTH_ERRORS, BODY_ERRORS, NOT_FOUND, ApiView, actor_of, errors, read_body, read_query
from audit.core.actor import Actor
from runs.api import examples
from runs.api.answers import call_asked, call_read
from runs.api.envelope import check_envelope
from runs.api.shapes import (
    LONGEST_WAIT,
    AnswerRequest,
    CallAnswer,
    CallErrorBody,
    ReasonRequest,
    SubmitRequest,
    WaitQuery,
    known_id,
)
from runs.api.views import AGENT_REQUIRED, NOT_IN_THIS_STATE, QUERY_INVALID
from runs.api.waiting import Wait
from runs.selectors.rows import CallRow
from runs.selectors.runs import call_row
from runs.services.asking import call_answer
from runs.services.call import call_submit, call_withdraw


def _shown(name: str, value: Any, *statuses: int) -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True, status_codes=list(statuses))


class CallsView(ApiView):
    """Asks for tool calls."""

    @extend_schema(
        operation_id="call_submit",
        summary="Ask for a tool call",
        description="Shape, token and scopes are checked at once; a worker judges the rest. The request waits up to "
        "two seconds for its verdict: 200 with the result, 202 `waiting` with the proposal that people decide about, a "
        "refusal with its own status (`call` beside `error` means: recorded and refused), else 202 `new`: received. "
        "The same `call_id` with the same tool and arguments is the same call and gets its state; with others: 409.",
        tags=["calls"],
        request=SubmitRequest,
        responses={
            200: CallAnswer,
            202: CallAnswer,
            **errors(
                *AUTH_ERRORS,
                AGENT_REQUIRED,
                (403, "SCOPE_MISSING", "The token lacks refunds:write for refund_order. Ask for a token with it."),
                (403, "NOT_EXPOSED", "refund_order is not among the tools that turn msg-1 shows."),
                (403, "DENIED", "Refunds over A$1,000 are made by hand."),
                (403, "NO_RULE", "No rule of the policy allows refund_order."),
                (403, "POLICY_ERROR", "The rule refund-large could not be evaluated, so the call is denied."),
                NOT_FOUND,
                (404, "UNKNOWN_TOOL", "There is no tool called refund here. Use one of the alternatives."),
                (409, "CALL_ID_REUSED", "Call id refund was used in this run for another call."),
                (409, "TURN_NOT_OPEN", "Turn msg-1 is over since turn msg-2 was opened."),
                (409, "REJECTED", "It was rejected by Ida: wrong order. Nothing was executed."),
                NOT_IN_THIS_STATE,
                *BODY_ERRORS,
                (422, "ARGUMENTS_INVALID", "The arguments do not fit the tool: /amount must be at least 1."),
                (422, "ENVELOPE_CONTRADICTS", "scope.tenant contradict the token or the arguments. Leave them out."),
                (422, "AMOUNT_EXCEEDS_LEFT", "Only A$20.00 of this order are left to refund."),
                (502, "TARGET_REFUSED", "The payment server refused: charge already refunded."),
                (503, "TARGET_UNAVAILABLE", "The payment server does not answer. Nothing was done; ask again later."),
                body=CallErrorBody,
            ),
        },
        examples=[
            OpenApiExample("Refund", value=examples.SUBMIT, request_only=True),
            _shown("Result", examples.SUCCEEDED, 200),
            _shown("Waiting for people", examples.WAITING, 202),
            _shown("Received", examples.RECEIVED, 202),
        ],
    )
    def post(self, request: Request, run_id: UUID) -> Response:
        """The call as it stands, with what to wait for when there is no verdict yet."""
        actor = actor_of(request)
        given = read_body(request, SubmitRequest)
        check_envelope(actor, given)
        call = call_submit(
            actor=actor,
            run_id=run_id,
            **{name: value for name, value in given.items() if name not in ("scope", "arguments_hash")},
        )
        response = call_asked(actor, call)
        if not call.told:
            response.wait = _wait(  # type: ignore[attr-defined]
                actor, call, settings.VERDICT_WAIT_SECONDS, told, AskedView.as_view(repeated=call.repeated)
            )
        return response


class CallView(ApiView):
    """One call."""

    @extend_schema(
        operation_id="call_read",
        summary="Read a call, or wait for news of it",
        description="200 when the call is final, whatever its end: `error` then says why it did not happen. 202 while "
        "it is not. With `wait` the answer comes at the next change, or after so many seconds as the call then stands.",
        tags=["calls"],
        parameters=[WaitQuery],
        responses={200: CallAnswer, 202: CallAnswer, **errors(*AUTH_ERRORS, NOT_FOUND, QUERY_INVALID)},
        examples=[
            _shown("Result", examples.SUCCEEDED, 200),
            _shown("Rejected", examples.REJECTED, 200),
            _shown("Refused", examples.REFUSED, 200),
            _shown("Waiting for people", examples.WAITING, 202),
            _shown("Asked something", examples.ASKED, 202),
            _shown("Edited by a person", examples.SUPERSEDED, 200),
            _shown("Approved and stopped", examples.STOPPED, 202),
        ],
    )
    def get(self, request: Request, run_id: UUID, call_id: str) -> Response:
        """The call, with what to wait for while it is not final."""
        seconds = min(read_query(request, WaitQuery)["wait"], LONGEST_WAIT)
        actor = actor_of(request)
        call = call_row(actor, run_id, known_id(call_id))
        response = call_read(actor, call)
        if not call.final and seconds > 0:
            seen = call.version
            response.wait = _wait(actor, call, seconds, lambda row: row.version > seen, ReadView.as_view())  # type: ignore[attr-defined]
        return response


class WithdrawView(ApiView):
    """Takes a call back."""

    @extend_schema(
        operation_id="call_withdraw",
        summary="Take a call back",
        description="Only while nothing was sent. Its proposal leaves the queue. Saying it again changes nothing.",
        tags=["calls"],
        request=ReasonRequest,
        responses={
            200: CallAnswer,
            **errors(*AUTH_ERRORS, AGENT_REQUIRED, NOT_FOUND, NOT_IN_THIS_STATE, *BODY_ERRORS),
        },
        examples=[
            OpenApiExample("Withdraw", value={"reason": "Found another way."}, request_only=True),
            _shown("Withdrawn", examples.WITHDRAWN, 200),
        ],
    )
    def post(self, request: Request, run_id: UUID, call_id: str) -> Response:
        """The call."""
        actor = actor_of(request)
        given = read_body(request, ReasonRequest)
        return call_read(actor, call_withdraw(actor=actor, run_id=run_id, call_id=known_id(call_id), **given))


class AnswerView(ApiView):
    """Answers what a person asks."""

    @extend_schema(
        operation_id="call_answer",
        summary="Answer a question about a call",
        description="While a call waits, `question` may hold what a person wants to know before deciding. Your answer "
        "is quoted to people as yours, unchecked. Saying the same again changes nothing.",
        tags=["calls"],
        request=AnswerRequest,
        responses={
            200: CallAnswer,
            202: CallAnswer,
            **errors(
                *AUTH_ERRORS,
                AGENT_REQUIRED,
                NOT_FOUND,
                (409, "NO_QUESTION", "The question was answered already, and no other one is open."),
                (409, "CLOSED", "Nobody waits for the answer any more: the call was decided, or its time is over."),
                *BODY_ERRORS,
                (422, "ANSWER_REQUIRED", "Write the answer first."),
            ),
        },
        examples=[
            OpenApiExample("Answer", value=examples.ANSWER, request_only=True),
            _shown("The same again, later", examples.SUCCEEDED, 200),
            _shown("Waiting for people", examples.WAITING, 202),
        ],
    )
    def post(self, request: Request, run_id: UUID, call_id: str) -> Response:
        """The call."""
        actor = actor_of(request)
        given = read_body(request, AnswerRequest)
        return call_read(actor, call_answer(actor=actor, run_id=run_id, call_id=known_id(call_id), **given))


class ReadView(ApiView):
    """The call again, after news of it."""

    def get(self, request: Request, run_id: UUID, call_id: str) -> Response:
        """The call."""
        actor = actor_of(request)
        return call_read(actor, call_row(actor, run_id, call_id))


class AskedView(ApiView):
    """The call that was just asked for, after its verdict."""

    repeated = False

    def get(self, request: Request, run_id: UUID, call_id: str) -> Response:
        """The call."""
        actor = actor_of(request)
        return call_asked(actor, replace(call_row(actor, run_id, call_id), repeated=self.repeated))


def told(call: CallRow) -> bool:
    """Whether there is a verdict."""
    return call.told


def _wait(
    actor: Actor, call: CallRow, seconds: float, is_news: Callable[[CallRow], bool], answer: Callable[..., Any]
) -> Wait:
    def news() -> CallRow | None:
        row = call_row(actor, call.run_id, call.call_id)
        return row if is_news(row) else None

    return Wait(
        keys=[("call", str(call.id))], news=news, seconds=seconds, answer=answer, more={"call_id": call.call_id}
    )
