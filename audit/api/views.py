"""The audit log over HTTP, read-only: for auditors and admins in their own browser session, never for a token."""

from collections.abc import Mapping
from datetime import UTC
from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from audit.api import examples
from audit.api.base import AUTH_ERRORS, ApiView, actor_of, errors, read_query
from audit.api.shapes import EntriesAnswer, EntriesQuery, ExportQuery
from audit.core.refusal import Invalid
from audit.exports.files import content, headers_of
from audit.services.reading import audit_export_begin, audit_log_read

READ_ERRORS = (
    *AUTH_ERRORS,
    (403, "PERSON_REQUIRED", "The audit log is read by people in their own browser session; no token opens it."),
    (403, "ROLE_MISSING", "The audit log is open to auditors and admins. Ask an admin for the role auditor."),
    (422, "QUERY_INVALID", "The query does not have the right form: it has the unknown page. Correct it."),
    (422, "FILTER_INVALID", "From is not a time. Write it as 2026-11-29 14:02, or with its offset."),
)


class EntriesView(ApiView):
    """Lists entries."""

    @extend_schema(
        operation_id="audit_entries",
        summary="Read the audit log",
        description="Newest first, 50 a page. Reading is recorded: once a minute for the same person and filters.",
        tags=["audit"],
        parameters=[EntriesQuery],
        responses={200: EntriesAnswer, **errors(*READ_ERRORS)},
        examples=[OpenApiExample("Page", value=examples.PAGE, response_only=True, status_codes=[200])],
    )
    def get(self, request: Request) -> Response:
        """One page."""
        query = read_query(request, EntriesQuery)
        cursor, limit = query.pop("cursor"), query.pop("limit")
        page = audit_log_read(actor=actor_of(request), given=_given(query), zone=UTC, cursor=cursor, limit=limit)
        if page.asked.problems:
            wrong = dict(page.asked.problems)
            raise Invalid(" ".join(wrong.values()), code="FILTER_INVALID", detail={"wrong": wrong})
        return Response(
            {
                "entries": [row.as_record() for row in page.rows],
                "names": dict(page.names),
                "next": page.next,
                "now": page.now,
            }
        )


class ExportView(ApiView):
    """Streams entries as a file."""

    http_method_names = ["get"]

    @extend_schema(
        operation_id="audit_export",
        summary="Export the audit log",
        description="Every entry that the filters find, oldest first, of any number. The last line is the manifest: "
        "filters, count, first and last entry, the SHA-256 of every byte before it. A file without it is not whole. "
        "In CSV a cell that a spreadsheet would compute begins with an apostrophe; JSON Lines are unchanged.",
        tags=["audit"],
        parameters=[ExportQuery],
        responses={
            (200, "application/x-ndjson"): OpenApiResponse(OpenApiTypes.STR, description="JSON Lines or CSV"),
            (200, "text/csv"): OpenApiTypes.STR,
            **errors(*READ_ERRORS),
        },
        examples=[
            OpenApiExample(
                "JSON Lines", value=examples.JSON_LINES, response_only=True, media_type="application/x-ndjson"
            ),
            OpenApiExample("CSV", value=examples.CSV, response_only=True, media_type="text/csv"),
        ],
    )
    def get(self, request: Request) -> HttpResponseBase:
        """The file."""
        query = read_query(request, ExportQuery)
        form = query.pop("format")
        begun = audit_export_begin(actor=actor_of(request), given=_given(query), zone=UTC, form=form)
        return StreamingHttpResponse(content(begun), headers=headers_of(begun))


def _given(query: Mapping[str, Any]) -> dict[str, str]:
    return {name: value for name, value in query.items() if value}
