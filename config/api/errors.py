"""Every error of the API in E3's one form: refusals, DRF's and Django's own, and what nobody expected."""

import logging
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, JsonResponse
from django.http.request import UnreadablePostError
from rest_framework import exceptions as drf
from rest_framework.response import Response
from rest_framework.views import set_rollback

from audit.core.refusal import Forbidden, Invalid, NotFound, Refusal, TooLarge, Unauthenticated, Unavailable

logger = logging.getLogger(__name__)


def to_response(exc: Exception, context: Mapping[str, Any]) -> Response:
    """DRF's exception handler. Never raises and never shows internals."""
    set_rollback()
    refusal = as_refusal(exc)
    if refusal is None:
        reference = uuid4().hex[:12]
        request = context.get("request")
        # With the traceback, which may name arguments: the log is for operators; the caller gets the reference.
        logger.error(
            "Fault %s at %s %s", reference, getattr(request, "method", "?"), getattr(request, "path", "?"), exc_info=exc
        )
        refusal = fault(reference)
    return Response({"error": error_of(refusal)}, status=refusal.status, headers=headers_of(refusal, exc))


def error_of(refusal: Refusal) -> dict[str, object]:
    """The error object; every member is always there."""
    return {"detail": {}, **refusal.as_dict()}


def headers_of(refusal: Refusal, exc: Exception | None = None) -> dict[str, str]:
    """What belongs beside the body: Retry-After, WWW-Authenticate, Allow."""
    headers = {"Cache-Control": "no-store"}
    if refusal.retry_after is not None:
        headers["Retry-After"] = str(refusal.retry_after)
    if refusal.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="clearance"'
        if refusal.code != "UNAUTHENTICATED":
            headers["WWW-Authenticate"] += ', error="invalid_token"'
    if isinstance(exc, drf.MethodNotAllowed):
        headers["Allow"] = "GET, HEAD, POST"
    return headers


def as_refusal(exc: Exception) -> Refusal | None:
    """The refusal that an exception means; None for a fault of ours."""
    match exc:
        case Refusal():
            return exc
        case drf.NotAuthenticated() | drf.AuthenticationFailed():
            return Unauthenticated()
        case drf.PermissionDenied() | PermissionDenied():
            return Forbidden()
        case drf.NotFound() | Http404():
            return NotFound()
        case drf.MethodNotAllowed():
            return Refusal(
                "This address does not take this method. /api/v1/schema/ lists what each address takes.",
                code="METHOD_NOT_ALLOWED",
                status=405,
            )
        case drf.UnsupportedMediaType():
            return Refusal(
                "Send the body as JSON, with the header Content-Type: application/json.",
                code="CONTENT_TYPE_UNKNOWN",
                status=415,
            )
        case RequestDataTooBig():
            return TooLarge()
        case drf.ValidationError():
            return Invalid("What was sent does not have the right form.", detail={"wrong": exc.get_full_details()})
        case drf.ParseError() | SuspiciousOperation() | UnreadablePostError():
            return Invalid("The request could not be read. Send it again.", code="REQUEST_UNREADABLE", status=400)
        case OperationalError() | InterfaceError():
            # What was begun may or may not have been committed; repeating with the same ids is how to find out.
            logger.warning("The database did not answer: %s", exc)
            return database_silent()
        case drf.APIException():
            return Refusal("The request was refused.", code=str(exc.default_code).upper(), status=exc.status_code)
    return None


def database_silent() -> Refusal:
    """503: the database did not answer somewhere on the way."""
    return Unavailable(
        "The database does not answer. Send the same request again; equal ids are recognised.", outcome="unknown"
    )


def fault(reference: str) -> Refusal:
    """500: something broke on our side. The reference leads an operator to the log."""
    return Refusal(
        "Something broke on our side. Read the call or run again to see how far it got before you send anything twice. "
        f"Tell an operator this reference: {reference}.",
        code="INTERNAL",
        status=500,
        outcome="unknown",
        detail={"reference": reference},
    )


def unknown_address(_request: HttpRequest) -> JsonResponse:
    """404 for every address under /api/ that no route takes; a malformed id reads like an unknown one (S62)."""
    refusal = NotFound()
    return JsonResponse({"error": error_of(refusal)}, status=refusal.status, headers=headers_of(refusal))
