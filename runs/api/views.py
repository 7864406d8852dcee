"""Runs over HTTP: open, read, complete, cancel, and their history."""

from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.api import examples as tool_examples
from approvals.api.answers import tool_form
from approvals.api.shapes import ToolsAnswer
from audit.api.base import AUTH_ERRORS, BODY_ERRORS, NOT_FOUND, ApiView, actor_of, errors, read_body, read_query
from runs.api import examples
from runs.api.answers import event_form, open_turn_form, run_form, turn_form
from runs.api.shapes import (
    CompleteRequest,
    EventsAnswer,
    EventsQuery,
    OpenRequest,
    OpenTurnAnswer,
    ReasonRequest,
    RunAnswer,
    TurnAnswer,
    TurnRequest,
)
from runs.selectors.run_tools import tools_in_run, turn_in_run
from runs.selectors.runs import run_get, timeline
from runs.services.run import run_cancel, run_complete, run_open
from runs.services.turn import turn_open

AGENT_REQUIRED = (403, "AGENT_REQUIRED", "Runs are opened by agents, with an access token.")
NOT_IN_THIS_STATE = (409, "NOT_IN_THIS_STATE", "The run has ended; it takes no more calls. Open another run.")
QUERY_INVALID = (422, "QUERY_INVALID", "The query does not have the right form: after is not a number.")


def _run_example(name: str, **changes: object) -> OpenApiExample:
    return OpenApiExample(name, value={**examples.RUN, **changes}, response_only=True, status_codes=[200, 201])


class RunsView(ApiView):
    """Opens runs."""

    @extend_schema(
        operation_id="run_open",
        summary="Open a run",
        description="201 for a new run; 200 with `repeated` if one with this `client_ref` is there.",
        tags=["runs"],
        request=OpenRequest,
        responses={
            200: RunAnswer,
            201: RunAnswer,
            **errors(
                *AUTH_ERRORS,
                AGENT_REQUIRED,
                (409, "CLIENT_REF_REUSED", "Your run with client_ref ticket-4711 acts for somebody else."),
                *BODY_ERRORS,
                (422, "DEADLINE_PASSED", "The run's deadline has passed. Give a later one or none."),
                (422, "TOOLS_INVALID", "erase_customer is not among the tools that you are shown. Leave it out."),
            ),
        },
        examples=[
            OpenApiExample(
                "New run",
                value={"title": "Refund for Anna Berg, ord_1029", "client_ref": "ticket-4711"},
                request_only=True,
            ),
            _run_example("Run"),
        ],
    )
    def post(self, request: Request) -> Response:
        """The run."""
        given = read_body(request, OpenRequest)
        run = run_open(actor=actor_of(request), **given)
        return Response(run_form(run), status=200 if run.repeated else 201)


class RunView(ApiView):
    """One run."""

    @extend_schema(
        operation_id="run_read",
        summary="Read a run",
        tags=["runs"],
        responses={200: RunAnswer, **errors(*AUTH_ERRORS, NOT_FOUND)},
        examples=[_run_example("Run")],
    )
    def get(self, request: Request, run_id: UUID) -> Response:
        """The run."""
        return Response(run_form(run_get(actor_of(request), run_id)))


class RunToolsView(ApiView):
    """The catalogue as one run sees it."""

    @extend_schema(
        operation_id="run_tools",
        summary="List the tools of a run",
        description="Those that the agent is shown, cut to the `tools` that the run was opened with. A turn "
        "can show these and no others. Grants nothing.",
        tags=["runs"],
        responses={200: ToolsAnswer, **errors(*AUTH_ERRORS, NOT_FOUND)},
        examples=[OpenApiExample("Tools", value=tool_examples.TOOLS, response_only=True)],
    )
    def get(self, request: Request, run_id: UUID) -> Response:
        """The tools."""
        return Response({"tools": [tool_form(tool) for tool in tools_in_run(actor_of(request), run_id)]})


class TurnsView(ApiView):
    """The steps of the agent's loop."""

    @extend_schema(
        operation_id="turn_open",
        summary="Open the next turn of a run",
        description="A turn is one step of your loop: the model is shown a list of tools and answers with calls. Give "
        "the model the `tools` of the answer; until the next turn a new call of any other is refused (`NOT_EXPOSED`), "
        "and so is one that names an earlier turn (`TURN_NOT_OPEN`). What was asked in a turn goes on when it is over. "
        "201 for a new turn; 200 with `repeated` if it is open. An agent that opens none has all tools of its run.",
        tags=["runs"],
        request=TurnRequest,
        responses={
            200: TurnAnswer,
            201: TurnAnswer,
            **errors(
                *AUTH_ERRORS,
                AGENT_REQUIRED,
                NOT_FOUND,
                NOT_IN_THIS_STATE,
                (409, "TURN_ID_REUSED", "Turn msg-1 is over since turn msg-2 was opened. A new turn needs a new id."),
                *BODY_ERRORS,
                (422, "DEADLINE_PASSED", "The run's deadline has passed; nothing was started."),
                (422, "TOOLS_INVALID", "erase_customer is not among the tools of this run. Leave it out."),
            ),
        },
        examples=[
            OpenApiExample("Only reading", value=examples.TURN, request_only=True),
            OpenApiExample("Everything", value={"turn_id": "msg-2"}, request_only=True),
            OpenApiExample("Turn", value=examples.TURN_OPEN, response_only=True, status_codes=[200, 201]),
        ],
    )
    def post(self, request: Request, run_id: UUID) -> Response:
        """The turn."""
        given = read_body(request, TurnRequest)
        turn = turn_open(actor=actor_of(request), run_id=run_id, **given)
        return Response(turn_form(turn), status=200 if turn.repeated else 201)

    @extend_schema(
        operation_id="turn_read",
        summary="Read which turn of a run is open",
        description="After a restart, or beside the agent's loop: the open turn, what its model may call, and until "
        "when at the latest. Reading opens nothing. For whoever may read the run.",
        tags=["runs"],
        responses={200: OpenTurnAnswer, **errors(*AUTH_ERRORS, NOT_FOUND)},
        examples=[
            OpenApiExample("Open", value=examples.TURN_READ, response_only=True, status_codes=[200]),
            OpenApiExample(
                "None", value={"turn": None, "shown": [], "until": None}, response_only=True, status_codes=[200]
            ),
        ],
    )
    def get(self, request: Request, run_id: UUID) -> Response:
        """The open turn, or none."""
        return Response(open_turn_form(turn_in_run(actor_of(request), run_id)))


class CompleteView(ApiView):
    """The agent is done."""

    @extend_schema(
        operation_id="run_complete",
        summary="Complete a run",
        description="Refused while a call is open. Saying it again changes nothing.",
        tags=["runs"],
        request=CompleteRequest,
        responses={
            200: RunAnswer,
            **errors(*AUTH_ERRORS, AGENT_REQUIRED, NOT_FOUND, NOT_IN_THIS_STATE, *BODY_ERRORS),
        },
        examples=[
            OpenApiExample("Done", value={"summary": "Refunded A$45.00."}, request_only=True),
            _run_example("Completed", state="completed", finished_at="2026-11-29T15:06:00.000000Z"),
        ],
    )
    def post(self, request: Request, run_id: UUID) -> Response:
        """The run."""
        given = read_body(request, CompleteRequest)
        return Response(run_form(run_complete(actor=actor_of(request), run_id=run_id, **given)))


class CancelView(ApiView):
    """Nothing new is started."""

    @extend_schema(
        operation_id="run_cancel",
        summary="Cancel a run",
        description="What was not sent is cancelled; what was sent is listed until its outcome is known. For the run's "
        "agent, an operator or an admin. Saying it again changes nothing.",
        tags=["runs"],
        request=ReasonRequest,
        responses={
            200: RunAnswer,
            **errors(
                *AUTH_ERRORS,
                (403, "FORBIDDEN", "Cancelling a run takes the role operator. Ask an admin for it."),
                NOT_FOUND,
                NOT_IN_THIS_STATE,
                *BODY_ERRORS,
            ),
        },
        examples=[
            OpenApiExample("Cancel", value={"reason": "The customer called it off."}, request_only=True),
            _run_example("Cancelled", state="cancelled", finished_at="2026-11-29T15:06:00.000000Z"),
        ],
    )
    def post(self, request: Request, run_id: UUID) -> Response:
        """The run."""
        given = read_body(request, ReasonRequest)
        return Response(run_form(run_cancel(actor=actor_of(request), run_id=run_id, **given)))


class EventsView(ApiView):
    """A run's history."""

    @extend_schema(
        operation_id="run_events",
        summary="Read a run's history",
        description="Events behind sequence `after`, in order, at most `limit`. Resume from `last`.",
        tags=["runs"],
        parameters=[EventsQuery],
        responses={200: EventsAnswer, **errors(*AUTH_ERRORS, NOT_FOUND, QUERY_INVALID)},
        examples=[OpenApiExample("History", value=examples.EVENTS, response_only=True, status_codes=[200])],
    )
    def get(self, request: Request, run_id: UUID) -> Response:
        """A stretch of it."""
        given = read_query(request, EventsQuery)
        # One more than asked for tells whether there are more, without a second look that could see another history.
        found = timeline(actor_of(request), run_id, after=given["after"], limit=given["limit"] + 1)
        events = found[: given["limit"]]
        return Response(
            {
                "events": [event_form(event) for event in events],
                "last": events[-1].seq if events else given["after"],
                "more": len(found) > len(events),
            }
        )
