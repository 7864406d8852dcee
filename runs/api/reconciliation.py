"""Unknown outcomes over HTTP: read and settled by people in their own session. No token does either."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.urls import reverse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.api.answers import text_of
from audit.api.base import (
    AUTH_ERRORS,
    BODY_ERRORS,
    NOT_FOUND,
    AnyJson,
    ApiView,
    Shape,
    Text,
    actor_of,
    errors,
    read_body,
    read_query,
)
from audit.core.actor import Actor
from audit.core.refusal import Forbidden
from runs.selectors.unresolved import Unresolved, UnresolvedRow, unresolved_detail, unresolved_page
from runs.services.choices import ReconciledRow
from runs.services.reconciliation import CHOICES, reconciliation_ask, reconciliation_decide

_PERSON = (403, "PERSON_REQUIRED", "This needs a person in their own browser session; no token reconciles.")
_ROLE = (403, "ROLE_MISSING", "Settling an unknown outcome takes the role operator. Ask an admin for it.")
_CSRF = (403, "CSRF_FAILED", "A change by a browser session needs its CSRF token in the header X-CSRFToken.")


class UnresolvedQuery(Shape):
    """Which page."""

    after = Text(required=False, default="", allow_blank=True, max_length=200, help_text="`next` of the page before.")


class LookUpForm(Shape):
    """How asking the target stands. *conclusive* is true once a look-up that was sent at `conclusive_at` or later has
    found nothing, or, where the target cannot be asked, once that moment has passed."""

    can_be_asked = serializers.BooleanField()
    conclusive = serializers.BooleanField()
    conclusive_at = serializers.DateTimeField(help_text="From then on nothing of the old request can arrive any more.")
    asked_at = serializers.DateTimeField(allow_null=True)
    found = serializers.CharField(allow_blank=True, help_text="nothing or inconclusive, at the last look-up.")
    message = serializers.CharField(allow_blank=True)
    next_at = serializers.DateTimeField(allow_null=True, help_text="When it is asked next by itself.")


class UnresolvedForm(Shape):
    """A call whose outcome nobody knows."""

    id = serializers.UUIDField()
    url = serializers.URLField()
    run_id = serializers.UUIDField()
    call_id = serializers.CharField()
    tool = serializers.CharField()
    sentence = serializers.CharField(allow_blank=True)
    amount = serializers.CharField(allow_blank=True)
    proposal_id = serializers.UUIDField(allow_null=True)
    sent_at = serializers.DateTimeField(allow_null=True)
    since = serializers.DateTimeField()
    look_up = LookUpForm()


class UnresolvedList(Shape):
    """One page, oldest first."""

    calls = UnresolvedForm(many=True)
    total = serializers.IntegerField()
    next = serializers.CharField(allow_blank=True)
    now = serializers.DateTimeField()


class DecidedForm(Shape):
    """What was said about an attempt, by whom and when."""

    by = serializers.CharField()
    at = serializers.DateTimeField()
    outcome = serializers.CharField(help_text="happened, did_not_happen, retry or compensated.")
    reason = serializers.CharField(allow_blank=True)
    reference = serializers.CharField(allow_blank=True)
    compensated_by = serializers.CharField(allow_blank=True)


class UnresolvedAnswer(UnresolvedForm):
    """One call with what is known of it."""

    state = serializers.CharField(help_text="The call's, as its agent reads it.")
    attempt = serializers.IntegerField(help_text="Of the request in question; a choice names it.")
    idempotency_key = serializers.CharField()
    key_enforced = serializers.BooleanField(help_text="The target itself recognises the key.")
    digest = serializers.CharField()
    target = serializers.CharField()
    approval_ends = serializers.DateTimeField(allow_null=True)
    deadline = serializers.DateTimeField(allow_null=True)
    decided = DecidedForm(many=True)
    late_results = serializers.ListField(child=serializers.DictField())


class ChoiceRequest(Shape):
    """What is so, and why you say so."""

    choice = serializers.ChoiceField(CHOICES)
    attempt = serializers.IntegerField(min_value=1, max_value=99_999, help_text="The attempt that was shown.")
    reason = Text(max_length=2000)
    reference = Text(required=False, default="", allow_blank=True, max_length=200, help_text="The provider's own.")
    tool = Text(required=False, default="", allow_blank=True, max_length=64, help_text="Of the compensating call.")
    arguments = AnyJson(required=False, default=None)
    call_id = Text(required=False, default="", allow_blank=True, max_length=200, help_text="That made up for it.")


class ChoiceAnswer(Shape):
    """What the choice did."""

    id = serializers.UUIDField()
    run_id = serializers.UUIDField()
    call_id = serializers.CharField()
    choice = serializers.CharField()
    state = serializers.CharField(help_text="The call's, as its agent reads it.")
    message = serializers.CharField()
    repeated = serializers.BooleanField()


_ID = "0d1e2f3a-4b5c-4d6e-8f70-8192a3b4c5d6"
_ROW: dict[str, Any] = {
    "id": _ID,
    "url": f"http://localhost:8000/unresolved/{_ID}/",
    "run_id": "5f3a1c9e-7b24-4c52-9b0e-6d1f0a2b3c4d",
    "call_id": "refund",
    "tool": "refund_order",
    "sentence": "Refund A$45.00 of A$120.00 to Anna Berg for order ord_1029",
    "amount": "A$45.00",
    "proposal_id": "9c2e4f60-1a3b-4d5c-8e7f-0a1b2c3d4e5f",
    "sent_at": "2026-11-29T14:16:55.100000Z",
    "since": "2026-11-29T14:17:03.400000Z",
    "look_up": {
        "can_be_asked": True,
        "conclusive": True,
        "conclusive_at": "2026-11-29T14:17:05.000000Z",
        "asked_at": "2026-11-29T14:17:05.020000Z",
        "found": "nothing",
        "message": "",
        "next_at": None,
    },
}
_ONE: dict[str, Any] = {
    **_ROW,
    "state": "unknown",
    "attempt": 1,
    "idempotency_key": "clr_" + "0f" * 20,
    "key_enforced": False,
    "digest": "a1f39c07" * 8,
    "target": "payments/order/ord_1029",
    "approval_ends": "2026-11-29T14:30:00.000000Z",
    "deadline": None,
    "decided": [],
    "late_results": [],
}
_DONE: dict[str, Any] = {
    "id": _ID,
    "run_id": _ROW["run_id"],
    "call_id": "refund",
    "choice": "happened",
    "state": "succeeded",
    "message": "Recorded: it happened. The agent is told, with the reference.",
    "repeated": False,
}


def _shown(name: str, value: Any) -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True, status_codes=[200])


class UnresolvedListView(ApiView):
    """The list."""

    @extend_schema(
        operation_id="unresolved",
        summary="List calls whose outcome is unknown",
        description="Oldest first. For people.",
        tags=["reconciliation"],
        parameters=[UnresolvedQuery],
        responses={
            200: UnresolvedList,
            **errors(
                *AUTH_ERRORS,
                _PERSON,
                (422, "CURSOR_INVALID", "This page mark is not one of ours. Start from the first page."),
            ),
        },
        examples=[_shown("List", {"calls": [_ROW], "total": 1, "next": "", "now": "2026-11-29T14:20:00.000000Z"})],
    )
    def get(self, request: Request) -> Response:
        """One page."""
        page = unresolved_page(_person(request), **read_query(request, UnresolvedQuery))
        return Response(
            {"calls": [_row_form(row) for row in page.rows], "total": page.total, "next": page.next, "now": page.now}
        )


class UnresolvedView(ApiView):
    """One call."""

    @extend_schema(
        operation_id="unresolved_read",
        summary="Read a call whose outcome is or was unknown",
        description="Reads our own rows; the target is asked only by `ask`, through a worker. For people.",
        tags=["reconciliation"],
        responses={200: UnresolvedAnswer, **errors(*AUTH_ERRORS, _PERSON, NOT_FOUND)},
        examples=[_shown("Unknown", _ONE)],
    )
    def get(self, request: Request, unresolved_id: UUID) -> Response:
        """The call."""
        return Response(_one_form(unresolved_detail(_person(request), unresolved_id)))


class UnresolvedAskView(ApiView):
    """Asks the target."""

    @extend_schema(
        operation_id="unresolved_ask",
        summary="Have the target asked now",
        description="Records the wish; a worker asks. Again changes nothing. For operators.",
        tags=["reconciliation"],
        request=None,
        responses={
            200: ChoiceAnswer,
            **errors(
                *AUTH_ERRORS,
                _PERSON,
                _ROLE,
                _CSRF,
                NOT_FOUND,
                (409, "NOT_UNKNOWN", "The outcome of this call is not in question: it is succeeded."),
                (409, "CANNOT_BE_ASKED", "The contract of refund_order declares no look-up. Look there yourself."),
                *BODY_ERRORS,
            ),
        },
        examples=[
            _shown(
                "Asked",
                {
                    **_DONE,
                    "choice": "ask",
                    "state": "unknown",
                    "message": "The target is asked now; its answer appears.",
                },
            )
        ],
    )
    def post(self, request: Request, unresolved_id: UUID) -> Response:
        """What it did."""
        return Response(_done_form(reconciliation_ask(actor=actor_of(request), unresolved_id=unresolved_id)))


class UnresolvedDecideView(ApiView):
    """An operator's word."""

    @extend_schema(
        operation_id="unresolved_decide",
        summary="Say what became of a call",
        description="For operators in their own browser session. *did_not_happen* and *retry* need a conclusive "
        "look-up; *retry* sends the same call with the same key, after a new approval where the old one's is over. "
        "What is left as a risk: a whole machine frozen and thawed past the deadline, a clock set back, a target "
        "slower than it declared. The same choice again by the same person is a normal answer.",
        tags=["reconciliation"],
        request=ChoiceRequest,
        responses={
            200: ChoiceAnswer,
            **errors(
                *AUTH_ERRORS,
                _PERSON,
                _ROLE,
                _CSRF,
                NOT_FOUND,
                (409, "NOT_CONCLUSIVE", "Until 14:17:05 UTC the old request can still take effect. Decide after that."),
                (409, "ALREADY_DECIDED", "Ola decided at 14:18:00 UTC: it happened. Your click changed nothing."),
                (409, "NOT_UNKNOWN", "The outcome of this call is not in question: it is succeeded."),
                (409, "ATTEMPT_CHANGED", "The page showed attempt 1 and this is attempt 2. Load it again."),
                (409, "DEADLINE_PASSED", "The call's deadline was 14:17:00 UTC; it is not sent again."),
                (409, "RUN_STOPPED", "The run was stopped, and nothing new is started in it."),
                (409, "COMPENSATION_UNDER_WAY", "refund-made-good-1 makes up for it right now (started)."),
                *BODY_ERRORS,
                (422, "REASON_REQUIRED", "Say why: a reason is needed, and the agent is told it."),
                (422, "REFERENCE_REQUIRED", "Give the provider's own reference of the effect."),
            ),
        },
        examples=[
            OpenApiExample(
                "It happened",
                value={"choice": "happened", "attempt": 1, "reason": "Seen at the provider.", "reference": "re_881"},
                request_only=True,
            ),
            OpenApiExample(
                "Retry",
                value={"choice": "retry", "attempt": 1, "reason": "The provider shows nothing."},
                request_only=True,
            ),
            _shown("Recorded", _DONE),
        ],
    )
    def post(self, request: Request, unresolved_id: UUID) -> Response:
        """What it did."""
        given = read_body(request, ChoiceRequest)
        return Response(
            _done_form(reconciliation_decide(actor=actor_of(request), unresolved_id=unresolved_id, **given))
        )


def _person(request: Request) -> Actor:
    actor = actor_of(request)
    if actor.kind != "person" or actor.via != "session":
        raise Forbidden(_PERSON[2], code=_PERSON[1])
    return actor


def _row_form(row: UnresolvedRow) -> dict[str, Any]:
    last = row.look_ups.last
    return {
        "id": row.id,
        "url": settings.BASE_URL + reverse("unresolved-one", args=[row.id]),
        "run_id": row.run_id,
        "call_id": row.call_id,
        "tool": row.tool,
        "sentence": text_of(row.sentence),
        "amount": row.amount,
        "proposal_id": row.proposal_id,
        "sent_at": row.sent_at,
        "since": row.since,
        "look_up": {
            "can_be_asked": row.can_be_asked,
            "conclusive": row.proof.conclusive,
            "conclusive_at": row.proof.conclusive_at,
            "asked_at": last.asked_at if last else None,
            "found": last.status if last else "",
            "message": last.message if last else "",
            "next_at": row.look_ups.due,
        },
    }


def _one_form(call: Unresolved) -> dict[str, Any]:
    return {
        **_row_form(call.row),
        "state": call.state,
        "attempt": call.machine.attempt,
        "idempotency_key": call.key,
        "key_enforced": call.proving.key_enforced,
        "digest": call.digest,
        "target": call.target,
        "approval_ends": call.proving.approval_ends,
        "deadline": call.proving.deadline,
        "decided": [
            {
                "by": one.by,
                "at": one.at,
                "outcome": one.outcome,
                "reason": one.reason,
                "reference": one.reference,
                "compensated_by": one.compensated_by,
            }
            for one in call.decided
        ],
        "late_results": [{"at": late.at, "outcome": late.outcome, "reference": late.reference} for late in call.late],
    }


def _done_form(row: ReconciledRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "run_id": row.run_id,
        "call_id": row.call_id,
        "choice": row.choice,
        "state": row.state,
        "message": row.message,
        "repeated": row.repeated,
    }
