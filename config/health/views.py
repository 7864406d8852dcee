"""The Health page and its API: for operators and admins. /livez and /readyz are config.health.probes."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access.web.requests import PersonRequest, signed_in
from audit.api.base import AUTH_ERRORS, ApiView, actor_of, errors
from config.health.report import WORDS, report_for
from config.health.words import MEANINGS


@require_safe
@signed_in
def health(request: PersonRequest) -> HttpResponse:
    """The page; for htmx its body, which asks for itself every few seconds."""
    part = "#body" if request.htmx else ""
    return render(request, f"config/health.html{part}", {"place": "health", "report": report_for(request.actor)})


class PartShape(serializers.Serializer[Any]):
    """One part of the installation."""

    part = serializers.ChoiceField(choices=list(MEANINGS))
    status = serializers.ChoiceField(choices=["ok", "impaired"])
    words = serializers.CharField()
    still_works = serializers.CharField(allow_blank=True)
    does_not = serializers.CharField(allow_blank=True)


class QueueShape(serializers.Serializer[Any]):
    """One queue of the caller's organisation."""

    queue = serializers.ChoiceField(choices=list(WORDS))
    count = serializers.IntegerField()
    oldest_s = serializers.FloatField(allow_null=True)


class HealthAnswer(serializers.Serializer[Any]):
    """What is impaired, and how much waits."""

    status = serializers.ChoiceField(choices=["ok", "impaired"])
    parts = PartShape(many=True)
    waiting = QueueShape(many=True)


EXAMPLE = {
    "status": "impaired",
    "parts": [
        {
            "part": "broker",
            "status": "impaired",
            "words": "It does not answer (ConnectionError). Slower, nothing is lost: the sweep finds the work.",
            "still_works": MEANINGS["broker"].works,
            "does_not": MEANINGS["broker"].lost,
        }
    ],
    "waiting": [{"queue": "ready", "count": 3, "oldest_s": 0.8}],
}


class HealthView(ApiView):
    """Tells operators what is impaired."""

    @extend_schema(
        operation_id="health",
        summary="What is impaired, and how much waits",
        description="Each part of the installation with what still works without it, and the depth and the oldest age "
        "of each queue of your organisation. For probes there are /livez and /readyz, which need no session.",
        tags=["health"],
        responses={
            200: HealthAnswer,
            **errors(
                *AUTH_ERRORS,
                (403, "PERSON_REQUIRED", "The state of the installation is shown to people, not to a token."),
                (403, "ROLE_MISSING", "The state of the installation is shown to operators and admins."),
            ),
        },
        examples=[OpenApiExample("Without a broker", value=EXAMPLE, response_only=True, status_codes=["200"])],
    )
    def get(self, request: Request) -> Response:
        """The report."""
        return Response(report_for(actor_of(request)).as_dict())
