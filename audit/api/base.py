"""What every view of the API stands on: one request, one way to name the actor, one way to refuse a shape.

Serializers give shapes and documentation; meaning lives in services. Errors leave as E3's form by the exception handler
in config/api.
"""

import io
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, NotAuthenticated
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from audit.core.actor import Actor
from audit.core.jsondoor import BODY_LIMIT
from audit.core.refusal import Invalid

_SHOWN = 64  # characters of an unknown member's name, and
_LISTED = 20  # how many of them a refusal repeats: it names places and echoes no body


def actor_of(request: Request) -> Actor:
    """Who calls: an agent by its token or a person by their session. Raises NotAuthenticated (401) for nobody."""
    if not isinstance(request.auth, Actor):
        raise NotAuthenticated
    return request.auth


class DoorRequest(Request):
    """Reads the body itself, by its bytes: `Content-Length` may be absent (chunked) or lie."""

    def _load_stream(self) -> None:
        # One byte more than the door takes, so that the door sees that there is more.
        raw = self._request.body if self._request._read_started else self._request.read(BODY_LIMIT + 1)  # type: ignore[attr-defined]
        self._stream = io.BytesIO(raw) if raw else None  # type: ignore[assignment]


class JsonAlways(BaseContentNegotiation):
    """One answer whatever `Accept` says: an agent that sends `text/html` still gets JSON that it can read."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        """The parser of the body's content type, or None (415)."""
        declared = request.content_type.partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == declared), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """The first one."""
        first = next(iter(renderers))
        return first, str(first.media_type)


class ApiView(APIView):
    """The base of every view of the API."""

    content_negotiation_class = JsonAlways
    http_method_names = ["get", "head", "post"]

    def initialize_request(self, request: Any, *args: Any, **kwargs: Any) -> Request:
        """DRF's, with our request."""
        return DoorRequest(
            request,
            parsers=self.get_parsers(),
            authenticators=self.get_authenticators(),
            negotiator=self.get_content_negotiator(),
            parser_context=self.get_parser_context(request),
        )


class Shape(serializers.Serializer[Any]):
    """The shape of a body or a query. Unknown members are refused by name, values are never converted (E1)."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """DRF's, which would overlook members that it does not know."""
        known: dict[str, Any] = {}
        problems: dict[str, Any] = {}
        try:
            known = super().to_internal_value(data)
        except serializers.ValidationError as error:
            problems = dict(error.detail) if isinstance(error.detail, dict) else {"non_field_errors": error.detail}
        if isinstance(data, Mapping):
            for name in sorted(set(data) - set(self.fields)):
                problems[name[:_SHOWN]] = [ErrorDetail("is not known here", code="unknown")]
        if problems:
            raise serializers.ValidationError(problems)
        return known


class Text(serializers.CharField):
    """Text as it was sent: a number is not text, and spaces are kept."""

    default_error_messages = {"invalid": "must be text"}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class Moment(serializers.DateTimeField):
    """A point in time with its zone (RFC 3339); without one nobody could know which point it is."""

    default_error_messages = {"invalid": "must be a time with a zone, such as 2026-11-29T15:30:00Z"}

    def to_internal_value(self, value: Any) -> datetime:
        try:
            at = datetime.fromisoformat(value)
            if at.tzinfo is None:
                self.fail("invalid")
            # PostgreSQL reads no zone of 16 hours or more and none with a fraction of a second.
            at = at.astimezone(UTC)
        except (TypeError, ValueError, OverflowError):
            self.fail("invalid")
        # Years at the edges have no form in every zone.
        if not 1970 <= at.year < 9999:
            self.fail("invalid")
        return at


class Seconds(serializers.FloatField):
    """A number of seconds; infinity and NaN are none."""

    def to_internal_value(self, data: Any) -> float:
        value = super().to_internal_value(data)
        if not math.isfinite(value):
            self.fail("invalid")
        return float(value)


@extend_schema_field({})
class AnyJson(serializers.JSONField):
    """Any JSON value, `null` included; absent, `null` and `{}` are three different things (S2)."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_null=True, **kwargs)


def read_body(request: Request, shape: type[Shape]) -> dict[str, Any]:
    """The body in its shape. Raises Invalid (BODY_INVALID) naming all that is missing, unknown or wrong at once."""
    return _read(shape, request.data, "body")


def read_query(request: Request, shape: type[Shape]) -> dict[str, Any]:
    """The query in its shape; a parameter given twice is wrong. Raises Invalid (QUERY_INVALID)."""
    twice = [name for name in request.query_params if len(request.query_params.getlist(name)) > 1]
    given = {name: request.query_params[name] for name in request.query_params}
    return _read(shape, given, "query", dict.fromkeys(twice, "is given more than once"))


def _read(shape: type[Shape], data: Any, place: str, wrong: Mapping[str, str] | None = None) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise Invalid(f"The {place} must be a JSON object, written {{ … }}.", code=f"{place.upper()}_INVALID")
    reader = shape(data=data)
    missing: list[str] = []
    unknown: list[str] = []
    problems = dict(wrong or {})
    if not reader.is_valid():
        for path, code, words in _problems(reader.errors):
            if code == "required":
                missing.append(path)
            elif code == "unknown":
                unknown.append(path)
            else:
                problems.setdefault(path, words)
    if unknown or missing or problems:
        parts = [f"it lacks {', '.join(missing)}"] if missing else []
        parts += [f"it has the unknown {', '.join(unknown[:_LISTED])}"] if unknown else []
        parts += [f"{path} {words}" for path, words in problems.items()]
        raise Invalid(
            f"The {place} does not have the right form: {'; '.join(parts)}. Correct it and send it again.",
            code=f"{place.upper()}_INVALID",
            missing=missing,
            detail={"unknown": unknown[:_LISTED], "wrong": problems},
        )
    return dict(reader.validated_data)


def _problems(errors: Any, path: str = "") -> list[tuple[str, str, str]]:
    """(place, DRF's code, its words in the middle of a sentence) of everything that is wrong."""
    if isinstance(errors, Mapping):
        return [
            found
            for key, inner in errors.items()
            for found in _problems(inner, path if key == "non_field_errors" else f"{path}.{key}".strip("."))
        ]
    if isinstance(errors, list):
        return [found for inner in errors for found in _problems(inner, path)]
    words = str(errors).rstrip(".")
    return [(path, str(errors.code), words[:1].lower() + words[1:])]


class ErrorForm(Shape):
    """E3's form of every refusal, failure and timeout."""

    code = serializers.CharField(help_text="Stable, UPPER_SNAKE.")
    message = serializers.CharField(help_text="A plain sentence with the remedy.")
    missing = serializers.ListField(
        child=serializers.CharField(), help_text="Scopes, fields or groups that the caller lacks."
    )
    retry_after = serializers.IntegerField(allow_null=True, help_text="Whole seconds, or null.")
    alternatives = serializers.ListField(
        child=serializers.CharField(), help_text="Tools of this session that do the nearest thing."
    )
    outcome = serializers.ChoiceField(
        ["none", "committed", "unknown"], help_text="What is known about the effect in the outside world."
    )
    retry_safe = serializers.BooleanField(
        help_text="True only if sending the same again cannot cause a second effect and may succeed."
    )
    detail = serializers.DictField(help_text="Further values: paths, findings, who decided.")


class ErrorBody(Shape):
    """The body of every answer that is an error."""

    error = ErrorForm()


def errors(*named: tuple[int, str, str], body: type[Shape] = ErrorBody) -> dict[int, OpenApiResponse]:
    """OpenAPI's error responses: (status, code, message) of each, gathered by status, each with its example."""
    gathered: dict[int, list[OpenApiExample]] = {}
    for status, code, message in named:
        gathered.setdefault(status, []).append(
            OpenApiExample(code, value={"error": error_form(code, message)}, response_only=True, status_codes=[status])
        )
    return {
        status: OpenApiResponse(body, description=", ".join(example.name for example in examples), examples=examples)
        for status, examples in sorted(gathered.items())
    }


def error_form(code: str, message: str, **fields: Any) -> dict[str, Any]:
    """An error as it stands in a body."""
    return {
        "code": code,
        "message": message,
        "missing": [],
        "retry_after": None,
        "alternatives": [],
        "outcome": "none",
        "retry_safe": False,
        "detail": {},
        **fields,
    }


# What any call may get; a view adds its own.
AUTH_ERRORS = (
    (401, "UNAUTHENTICATED", "Sign in, or send a valid access token, and try again."),
    (401, "TOKEN_EXPIRED", "This access token has expired. Exchange the refresh token at /api/v1/token."),
    (401, "SESSION_REVOKED", "This session was revoked. Show the client secret at /api/v1/token for a new one."),
    (
        503,
        "RIGHTS_UNREADABLE",
        "Whether this token was revoked cannot be checked now, so it is not accepted. Try again.",
    ),
)
BODY_ERRORS = (
    (413, "BODY_TOO_LARGE", "The body has 2,000,000 bytes; this door takes at most 1,048,576. Send less."),
    (415, "CONTENT_TYPE_UNKNOWN", "Send the body as application/json."),
    (422, "BODY_INVALID", "The body does not have the right form: it lacks title. Correct it and send it again."),
    (422, "JSON_DUPLICATE_KEY", "The member amount is there twice. Place: /arguments/amount."),
)
NOT_FOUND = (404, "NOT_FOUND", "There is nothing with this id here. Check the id and the account you are signed in to.")
