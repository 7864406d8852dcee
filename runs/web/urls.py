from django.urls import path

from runs.web import views

urlpatterns = [
    path("runs/", views.runs, name="runs"),
    path("runs/<uuid:run_id>/", views.run, name="run"),
    path("runs/<uuid:run_id>/cancel/", views.cancel, name="run-cancel"),
]
