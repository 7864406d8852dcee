"""Every address of the API, below /api/v1/. The apps know their routes; waiting is added here."""

from django.urls import include, path, re_path

from config.api.errors import unknown_address
from config.api.longpoll import long_poll
from config.api.schema import SchemaView
from config.health.views import HealthView
from runs.api.urls import routes

urlpatterns = [
    path("", include("access.api.urls")),
    path("", include("approvals.api.urls")),
    path("", include("audit.api.urls")),
    path("", include(routes(long_poll))),
    path("health", HealthView.as_view(), name="api-health"),
    path("schema/", SchemaView.as_view(), name="api-schema"),
    re_path(r"", unknown_address),
]
