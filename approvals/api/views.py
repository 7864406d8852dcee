"""Proposals over HTTP: read by people and by the agent that asked, decided by people alone. And the tools."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.api import examples
from approvals.api.answers import detail_form, summary_form
from approvals.api.shapes import (
    ApprovalRevokeAnswer,
    ApprovalRevokeRequest,
    DecideAnswer,
    DecideRequest,
    ListQuery,
    ProposalAnswer,
    ProposalPage,
)
from approvals.api.signed import EXAMPLE, CatalogueAnswer, catalogue_form
from approvals.selectors.proposals import inbox, proposal_detail
from approvals.services.decision import decision_record
from approvals.services.revoking import permit_revoke
from audit.api.base import AUTH_ERRORS, BODY_ERRORS, NOT_FOUND, ApiView, actor_of, errors, read_body, read_query


def _shown(name: str, value: Any) -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True, status_codes=[200])


class ProposalsView(ApiView):
    """Lists proposals."""

    @extend_schema(
        operation_id="proposals",
        summary="List proposals",
        description="Summaries only. People see their organisation's, an agent what it asked itself.",
        tags=["proposals"],
        parameters=[ListQuery],
        responses={
            200: ProposalPage,
            **errors(
                *AUTH_ERRORS,
                (422, "QUERY_INVALID", "The query does not have the right form: view is not a valid choice."),
                (422, "CURSOR_INVALID", "This page mark is not one of ours. Start from the first page."),
            ),
        },
        examples=[_shown("Page", examples.PAGE)],
    )
    def get(self, request: Request) -> Response:
        """One page."""
        page = inbox(actor_of(request), **read_query(request, ListQuery))
        return Response(
            {
                "view": page.view,
                "proposals": [summary_form(row) for row in page.rows],
                "next": page.next,
                "now": page.now,
            }
        )


class ProposalView(ApiView):
    """One proposal."""

    @extend_schema(
        operation_id="proposal_read",
        summary="Read a proposal",
        description="The exact call from its verified bytes, why it is held, who decides, and what became of it.",
        tags=["proposals"],
        responses={200: ProposalAnswer, **errors(*AUTH_ERRORS, NOT_FOUND)},
        examples=[_shown("Pending", examples.PROPOSAL)],
    )
    def get(self, request: Request, proposal_id: UUID) -> Response:
        """The proposal."""
        return Response(detail_form(proposal_detail(actor_of(request), proposal_id)))


class DecideView(ApiView):
    """A person's verdict."""

    @extend_schema(
        operation_id="proposal_decide",
        summary="Approve or reject",
        description="For a person in their own browser session; a token never decides. `digest` is the one that was "
        "shown: another one is a conflict. The same verdict again is a normal answer.",
        tags=["proposals"],
        request=DecideRequest,
        responses={
            200: DecideAnswer,
            **errors(
                *AUTH_ERRORS,
                (403, "PERSON_REQUIRED", "Deciding needs a person in their own browser session; no token decides."),
                (403, "CSRF_FAILED", "A change by a browser session needs its CSRF token in the header X-CSRFToken."),
                (403, "SELF_APPROVAL", "The agent asked on your behalf, so somebody else has to decide."),
                (403, "GROUP_MISSING", "Only members of finance decide this. Ask one of them."),
                (403, "FRESH_REQUIRED", "Approving this needs that you confirm it is you. Do it on its page."),
                (403, "SIGNATURE_REQUIRED", "Approving this needs the signature of your passkey. Do it on its page."),
                NOT_FOUND,
                (409, "ALREADY_DECIDED", "Ida rejected this at 15:04:11 UTC; nothing is left to do."),
                (409, "DIGEST_CHANGED", "You decided on another call than this one. Load the page again."),
                (409, "ROUND_CHANGED", "This is asked anew since you opened the page. Load the page again."),
                (409, "EXPIRED", "The time to decide was over at 15:17:08 UTC; it was refused and nothing ran."),
                (409, "CLOSED", "The agent took this back before anybody decided; nothing ran."),
                (409, "PROPOSAL_ALTERED", "The stored proposal is not the one that was made. Tell an operator."),
                *BODY_ERRORS,
                (422, "REASON_REQUIRED", "A rejection needs a reason; the agent is told it. Write one sentence."),
            ),
        },
        examples=[
            OpenApiExample("Approve", value={"verdict": "approve", "digest": examples.DIGEST}, request_only=True),
            OpenApiExample(
                "Reject",
                value={"verdict": "reject", "digest": examples.DIGEST, "round": 1, "reason": "Wrong order."},
                request_only=True,
            ),
            _shown("Approved", examples.DECIDED),
        ],
    )
    def post(self, request: Request, proposal_id: UUID) -> Response:
        """What it did."""
        actor = actor_of(request)
        row = decision_record(actor=actor, proposal_id=proposal_id, **read_body(request, DecideRequest))
        return Response(
            {
                "proposal_id": row.proposal_id,
                "state": row.status,
                "round": row.round,
                "verdict": row.verdict,
                "message": row.message,
                "repeated": row.repeated,
            }
        )


class RevokeView(ApiView):
    """A person takes an approval back."""

    @extend_schema(
        operation_id="proposal_revoke",
        summary="Take an approval back",
        description="Until the call is started. The permit is void and people are asked anew, until the same deadline. "
        "For admins, operators and whoever approved it, in their own browser session.",
        tags=["proposals"],
        request=ApprovalRevokeRequest,
        responses={
            200: ApprovalRevokeAnswer,
            **errors(
                *AUTH_ERRORS,
                (403, "PERSON_REQUIRED", "Only a person, in their own session, takes an approval back."),
                (403, "CSRF_FAILED", "A change by a browser session needs its CSRF token in the header X-CSRFToken."),
                (403, "ROLE_MISSING", "Only an admin, an operator or whoever approved it may take the approval back."),
                NOT_FOUND,
                (409, "ALREADY_STARTED", "It was started already; an effect cannot be called back."),
                (409, "NOT_GRANTED", "There is no approval to take back: it is pending."),
                (409, "EXPIRED", "The approval has expired already; it will not be executed."),
                *BODY_ERRORS,
                (422, "REASON_REQUIRED", "Say why: a reason is needed, and the agent is told it."),
            ),
        },
        examples=[
            OpenApiExample("Take back", value={"reason": "The customer kept the lamp."}, request_only=True),
            _shown("Asked anew", examples.REVOKED),
        ],
    )
    def post(self, request: Request, proposal_id: UUID) -> Response:
        """Where it stands."""
        given = read_body(request, ApprovalRevokeRequest)
        row = permit_revoke(actor=actor_of(request), proposal_id=proposal_id, **given)
        again = "people are asked anew" if row.status == "pending" else "nothing runs"
        return Response(
            {
                "proposal_id": row.id,
                "state": row.status,
                "round": row.round,
                "message": f"The approval was taken back; {again}.",
            }
        )


class ToolsView(ApiView):
    """The catalogue as one token sees it."""

    @extend_schema(
        operation_id="tools",
        summary="List the tools of this token",
        description="Only tools whose scopes the token has. Listing grants nothing: every call is checked anew. "
        "`signature` says who signed the contract, judged now from its bytes.",
        tags=["tools"],
        responses={200: CatalogueAnswer, **errors(*AUTH_ERRORS)},
        examples=[_shown("Tools", EXAMPLE)],
    )
    def get(self, request: Request) -> Response:
        """The tools."""
        return Response(catalogue_form(actor_of(request)))
