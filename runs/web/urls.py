from django.urls import path

from runs.web import stops, views

urlpatterns = [
    path("guards/", stops.guards, name="guards"),
    path("guards/stop/", stops.stop, name="guards-stop"),
    path("guards/<uuid:stop_id>/lift/", stops.lift, name="guards-lift"),
    path("guards/banner/", stops.banner, name="guards-banner"),
    path("runs/", views.runs, name="runs"),
    path("runs/<uuid:run_id>/", views.run, name="run"),
    path("runs/<uuid:run_id>/cancel/", views.cancel, name="run-cancel"),
]
