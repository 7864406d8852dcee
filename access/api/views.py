"""`/api/v1/token`: sessions of agents."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.api.shapes import RevokeAnswer, RevokeRequest, TokenAnswer, TokenRequest
from access.services.token import token_revoke
from access.services.token_door import token_exchange
from audit.api.base import AUTH_ERRORS, BODY_ERRORS, NOT_FOUND, ApiView, actor_of, errors, read_body
from audit.core.refusal import Invalid

_BY_GRANT = {
    "client_credentials": ({"client_id", "client_secret"}, {"scopes", "on_behalf_of"}),
    "refresh_token": ({"refresh_token"}, set[str]()),
}


class TokenView(ApiView):
    """Exchanges a secret, or a refresh token, for an access token."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(
        operation_id="token",
        summary="Get an access token",
        description="With `client_id` and `client_secret` a new session begins; with `refresh_token` the session goes "
        "on. A refresh token is for one use: a second use revokes the session, whoever came first.",
        tags=["token"],
        auth=[],
        request=TokenRequest,
        responses={
            200: TokenAnswer,
            **errors(
                (401, "CLIENT_REFUSED", "This client id and secret open nothing. Check both."),
                (401, "REFRESH_REUSED", "This refresh token was used before, so the session has been revoked."),
                (403, "SCOPE_MISSING", "This agent does not have refunds:write. Ask an admin for it."),
                (403, "ACTING_FOR_REFUSED", "This agent may not act for that person. Ask an admin to allow it."),
                (429, "TOKEN_THROTTLED", "This agent opens too many sessions. Wait 3 seconds and try again."),
                (503, "TOKEN_KEYS", "No key to sign and check access tokens is at hand."),
                *BODY_ERRORS,
            ),
        },
        examples=[
            OpenApiExample(
                "New session",
                value={
                    "client_id": "agt_5f2b0c7be4a1d9c3f6e8a7b2",
                    "client_secret": "clrs_…",
                    "scopes": ["orders:read", "refunds:write"],
                    "on_behalf_of": "anna@acme.example",
                },
                request_only=True,
            ),
            OpenApiExample(
                "Refresh", value={"grant_type": "refresh_token", "refresh_token": "clrt_…"}, request_only=True
            ),
            OpenApiExample(
                "Pair",
                value={
                    "access_token": "eyJ…",
                    "token_type": "Bearer",
                    "expires_in": 600,
                    "refresh_token": "clrt_…",
                    "scopes": ["orders:read", "refunds:write"],
                    "session_id": "0b8f1a52-3c0e-4f6e-9a3c-5d1b7a9e2f40",
                },
                response_only=True,
                status_codes=[200],
            ),
        ],
    )
    def post(self, request: Request) -> Response:
        """The pair."""
        given = read_body(request, TokenRequest)
        grant = given.pop("grant_type", "refresh_token" if "refresh_token" in given else "client_credentials")
        needed, optional = _BY_GRANT[grant]
        missing = sorted(needed - given.keys())
        too_much = sorted(given.keys() - needed - optional)
        if missing or too_much:
            parts = [f"it lacks {', '.join(missing)}"] if missing else []
            parts += [f"{', '.join(too_much)} do not belong to it"] if too_much else []
            raise Invalid(
                f"This is a request for {grant}, and {' and '.join(parts)}.",
                code="BODY_INVALID",
                missing=missing,
                detail={"unknown": [], "wrong": dict.fromkeys(too_much, f"does not belong to {grant}")},
            )
        pair = token_exchange(address=getattr(request._request, "address", ""), **given)
        return Response(
            {
                "access_token": pair.access_token,
                "token_type": "Bearer",
                "expires_in": pair.expires_in,
                "refresh_token": pair.refresh_token,
                "scopes": list(pair.scopes),
                "session_id": pair.session_id,
            },
            headers={"Cache-Control": "no-store"},
        )


class RevokeView(ApiView):
    """Ends a token session."""

    @extend_schema(
        operation_id="token_revoke",
        summary="End a token session",
        description="For the agent itself, its owner or an admin. In force at the next call of any token of the "
        "session. What was asked in it and not yet sent is refused at dispatch.",
        tags=["token"],
        request=RevokeRequest,
        responses={
            200: RevokeAnswer,
            **errors(
                *AUTH_ERRORS,
                (403, "ROLE_MISSING", "Only the agent's owner or an admin may end this session."),
                NOT_FOUND,
                *BODY_ERRORS,
            ),
        },
        examples=[
            OpenApiExample("Own session", value={}, request_only=True),
            OpenApiExample(
                "Any session",
                value={"session_id": "0b8f1a52-3c0e-4f6e-9a3c-5d1b7a9e2f40", "because": "laptop lost"},
                request_only=True,
            ),
            OpenApiExample(
                "Ended",
                value={"session_id": "0b8f1a52-3c0e-4f6e-9a3c-5d1b7a9e2f40", "revoked": True},
                response_only=True,
                status_codes=[200],
            ),
        ],
    )
    def post(self, request: Request) -> Response:
        """What was done."""
        actor = actor_of(request)
        given = read_body(request, RevokeRequest)
        named: Any = given.get("session_id") or (actor.session_id if actor.kind == "agent" else "")
        if not named:
            raise Invalid(
                "The body does not have the right form: it lacks session_id.",
                code="BODY_INVALID",
                missing=["session_id"],
            )
        revoked = token_revoke(actor=actor, session_id=named, because=given.get("because", ""))
        return Response({"session_id": named, "revoked": revoked})
