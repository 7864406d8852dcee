"""Stops over HTTP: read by people, set and lifted by operators in their own session. No token does either."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from audit.api.base import AUTH_ERRORS, BODY_ERRORS, NOT_FOUND, ApiView, Shape, Text, actor_of, errors, read_body
from runs.selectors.stops import StopRow, StopShown, stops_listed
from runs.services.stop import StopSet, stop_lift, stop_set

_PERSON = (403, "PERSON_REQUIRED", "Stops are set and lifted by a person, in their own session; no token does it.")
_ROLE = (403, "ROLE_MISSING", "Setting and lifting stops takes the role operator. Ask an admin for it.")
_CSRF = (403, "CSRF_FAILED", "A change by a browser session needs its CSRF token in the header X-CSRFToken.")
_INSTALLATION = (
    403,
    "INSTALLATION",
    "The whole installation is stopped and let go at its command line: manage.py stop --all.",
)
_REASON = (422, "REASON_REQUIRED", "Say why: a reason is needed, and the agent is told it.")


class StopRequest(Shape):
    """What to stop."""

    kind = serializers.ChoiceField(
        ["tool", "agent", "tenant"], help_text="tenant: all dispatch of the organisation; it takes no subject."
    )
    subject = Text(
        required=False, default="", allow_blank=True, max_length=200, help_text="The tool's name or the agent's id."
    )
    reason = Text(max_length=2000, help_text="Told to agents and shown to people.")


class LiftRequest(Shape):
    """Why it may go on."""

    reason = Text(max_length=2000)


class StopForm(Shape):
    """A stop. `held` and `in_flight` are counted now, and null for one that was lifted."""

    id = serializers.UUIDField()
    kind = serializers.CharField(help_text="installation, tenant, agent or tool.")
    subject = serializers.CharField(allow_blank=True)
    what = serializers.CharField(help_text="What is stopped, in words.")
    reason = serializers.CharField()
    set_by = serializers.CharField()
    set_at = serializers.DateTimeField()
    lifted_by = serializers.CharField(allow_blank=True)
    lifted_at = serializers.DateTimeField(allow_null=True)
    lifted_reason = serializers.CharField(allow_blank=True)
    held = serializers.IntegerField(allow_null=True, help_text="Approved calls that it holds back.")
    in_flight = serializers.IntegerField(allow_null=True, help_text="Calls that were sent before; they are finished.")


class StopsAnswer(Shape):
    """What is stopped, the widest first, and what was lifted last. `held` and `in_flight` count each call once."""

    in_force = StopForm(many=True)
    lifted = StopForm(many=True)
    held = serializers.IntegerField()
    in_flight = serializers.IntegerField()


class StopAnswer(Shape):
    """What was done."""

    stop = StopForm()
    repeated = serializers.BooleanField(help_text="True if it had been done before; `stop` says by whom.")
    settled = serializers.BooleanField(
        help_text="False if a frozen worker may still begin one call that it had looked at before."
    )


_STOP: dict[str, Any] = {
    "id": "3c4d5e6f-7a8b-4c9d-8e0f-1a2b3c4d5e6f",
    "kind": "tool",
    "subject": "refund_order",
    "what": "The tool refund_order",
    "reason": "Refunds go to the wrong accounts.",
    "set_by": "Olga Operator",
    "set_at": "2026-11-29T15:03:00.000000Z",
    "lifted_by": "",
    "lifted_at": None,
    "lifted_reason": "",
    "held": 3,
    "in_flight": 2,
}
_SET = {**_STOP, "held": None, "in_flight": None}
_LIFTED = {
    **_STOP,
    "lifted_by": "Olga Operator",
    "lifted_at": "2026-11-29T15:20:00.000000Z",
    "lifted_reason": "The payment server is mended.",
    "held": None,
    "in_flight": None,
}


def _shown(name: str, value: Any, *statuses: int) -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True, status_codes=list(statuses))


class StopsView(ApiView):
    """All stops."""

    @extend_schema(
        operation_id="stops",
        summary="List what is stopped",
        description="For people. An agent reads on its own call that it is stopped, by whom, since when and why.",
        tags=["stops"],
        responses={
            200: StopsAnswer,
            **errors(*AUTH_ERRORS, (403, "PERSON_REQUIRED", "Stops are listed for people, in their own session.")),
        },
        examples=[
            _shown("Stopped", {"in_force": [_STOP], "lifted": [_LIFTED], "held": 3, "in_flight": 2}, 200),
        ],
    )
    def get(self, request: Request) -> Response:
        """What is in force and what was lifted last."""
        listing = stops_listed(actor_of(request))
        return Response(
            {
                "in_force": [stop_form(row.stop, row) for row in listing.in_force],
                "lifted": [stop_form(row) for row in listing.lifted],
                "held": listing.held,
                "in_flight": listing.in_flight,
            }
        )

    @extend_schema(
        operation_id="stop_set",
        summary="Stop a tool, an agent, or all dispatch",
        description="In force at the next claim and the next start; it returns when nothing that it covers can begin "
        "any more. What was sent is finished. Calls are still judged, held and decided; an approved one waits, and its "
        "time runs out meanwhile. 201, or 200 with `repeated` if it was stopped before.",
        tags=["stops"],
        request=StopRequest,
        responses={
            200: StopAnswer,
            201: StopAnswer,
            **errors(
                *AUTH_ERRORS,
                _PERSON,
                _ROLE,
                _CSRF,
                NOT_FOUND,
                *BODY_ERRORS,
                _REASON,
                (422, "KIND_INVALID", "A stop is of the kind tool or agent, with which one, or tenant, without."),
            ),
        },
        examples=[
            OpenApiExample(
                "A tool",
                value={"kind": "tool", "subject": "refund_order", "reason": _STOP["reason"]},
                request_only=True,
            ),
            OpenApiExample("All dispatch", value={"kind": "tenant", "reason": "Incident 4711."}, request_only=True),
            _shown("Stopped", {"stop": _SET, "repeated": False, "settled": True}, 201),
            _shown("Stopped before", {"stop": _SET, "repeated": True, "settled": True}, 200),
        ],
    )
    def post(self, request: Request) -> Response:
        """The stop."""
        done = stop_set(actor=actor_of(request), **read_body(request, StopRequest))
        return Response(_done(done), status=200 if done.repeated else 201)


class LiftView(ApiView):
    """One stop's end."""

    @extend_schema(
        operation_id="stop_lift",
        summary="Lift a stop",
        description="Calls that it held back go on at once, unless another stop covers them. Saying it again changes "
        "nothing.",
        tags=["stops"],
        request=LiftRequest,
        responses={
            200: StopAnswer,
            **errors(*AUTH_ERRORS, _PERSON, _ROLE, _CSRF, _INSTALLATION, NOT_FOUND, *BODY_ERRORS, _REASON),
        },
        examples=[
            OpenApiExample("Mended", value={"reason": _LIFTED["lifted_reason"]}, request_only=True),
            _shown("Lifted", {"stop": _LIFTED, "repeated": False, "settled": True}, 200),
        ],
    )
    def post(self, request: Request, stop_id: UUID) -> Response:
        """The stop."""
        return Response(_done(stop_lift(actor=actor_of(request), stop_id=stop_id, **read_body(request, LiftRequest))))


def stop_form(row: StopRow, counted: StopShown | None = None) -> dict[str, Any]:
    """A stop as JSON."""
    return {
        "id": row.id,
        "kind": row.kind,
        "subject": row.subject,
        "what": row.what,
        "reason": row.reason,
        "set_by": row.set_by_name,
        "set_at": row.set_at,
        "lifted_by": row.lifted_by_name,
        "lifted_at": row.lifted_at,
        "lifted_reason": row.lifted_reason,
        "held": counted.held if counted else None,
        "in_flight": counted.in_flight if counted else None,
    }


def _done(done: StopSet) -> dict[str, Any]:
    return {"stop": stop_form(done.stop), "repeated": done.repeated, "settled": done.settled}
