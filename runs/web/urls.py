from django.urls import path

from runs.web import contract_preview, policy_case, reconciliation, simulation, stops, timeline, views

urlpatterns = [
    path("guards/", stops.guards, name="guards"),
    path("guards/stop/", stops.stop, name="guards-stop"),
    path("guards/<uuid:stop_id>/lift/", stops.lift, name="guards-lift"),
    path("guards/banner/", stops.banner, name="guards-banner"),
    path("runs/", views.runs, name="runs"),
    path("runs/<uuid:run_id>/", views.run, name="run"),
    path("runs/<uuid:run_id>/calls/", views.calls, name="run-calls"),
    path("runs/<uuid:run_id>/events/", timeline.events, name="run-events"),
    path("runs/<uuid:run_id>/events/raw/", timeline.raw, name="run-event-raw"),
    path("runs/<uuid:run_id>/cancel/", views.cancel, name="run-cancel"),
    path("unresolved/", reconciliation.unresolved, name="unresolved"),
    path("unresolved/<uuid:unresolved_id>/", reconciliation.unresolved_one, name="unresolved-one"),
    path("unresolved/<uuid:unresolved_id>/ask/", reconciliation.ask, name="unresolved-ask"),
    path("unresolved/<uuid:unresolved_id>/decide/", reconciliation.decide, name="unresolved-decide"),
    path("tools/import-contract/preview/", contract_preview.tool_preview, name="tool-preview"),
    path("tools/<slug:tool_name>/simulate/", simulation.tool_simulate, name="tool-simulate"),
    path("runs/<uuid:run_id>/calls/<str:call_id>/why/", simulation.call_why, name="call-why"),
    path("runs/<uuid:run_id>/calls/<str:call_id>/test/", policy_case.test_of_call, name="policy-test-of-call"),
    path("tools/<slug:tool_name>/preview/", contract_preview.tool_previewed, name="tool-previewed"),
]
