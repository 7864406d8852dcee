"""Routes of runs and calls, below /api/v1/."""

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path
from rest_framework.views import APIView

from runs.api.calls import AnswerView, CallsView, CallView, WithdrawView
from runs.api.reconciliation import UnresolvedAskView, UnresolvedDecideView, UnresolvedListView, UnresolvedView
from runs.api.stops import LiftView, StopsView
from runs.api.views import CancelView, CompleteView, EventsView, RunsView, RunToolsView, RunView, TurnsView


def routes(long_poll: Callable[[type[APIView]], Callable[..., Any]]) -> list[URLPattern]:
    """The routes; `long_poll`, of the composition root, turns a view that may leave a `Wait` into one that waits."""
    run = "runs/<uuid:run_id>"
    return [
        path("runs", RunsView.as_view(), name="api-runs"),
        path(run, RunView.as_view(), name="api-run"),
        path(f"{run}/tools", RunToolsView.as_view(), name="api-run-tools"),
        path(f"{run}/turns", TurnsView.as_view(), name="api-run-turns"),
        path(f"{run}/complete", CompleteView.as_view(), name="api-run-complete"),
        path(f"{run}/cancel", CancelView.as_view(), name="api-run-cancel"),
        path(f"{run}/events", EventsView.as_view(), name="api-run-events"),
        path(f"{run}/calls", long_poll(CallsView), name="api-calls"),
        path(f"{run}/calls/<str:call_id>", long_poll(CallView), name="api-call"),
        path(f"{run}/calls/<str:call_id>/withdraw", WithdrawView.as_view(), name="api-call-withdraw"),
        path(f"{run}/calls/<str:call_id>/answer", AnswerView.as_view(), name="api-call-answer"),
        path("unresolved", UnresolvedListView.as_view(), name="api-unresolved"),
        path("unresolved/<uuid:unresolved_id>", UnresolvedView.as_view(), name="api-unresolved-one"),
        path("unresolved/<uuid:unresolved_id>/ask", UnresolvedAskView.as_view(), name="api-unresolved-ask"),
        path("unresolved/<uuid:unresolved_id>/decide", UnresolvedDecideView.as_view(), name="api-unresolved-decide"),
        path("stops", StopsView.as_view(), name="api-stops"),
        path("stops/<uuid:stop_id>/lift", LiftView.as_view(), name="api-stop-lift"),
    ]
