"""Every address of the application."""

from django.urls import URLPattern, URLResolver, include, path

from config.health.views import health
from config.styleguide import styleguide

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("access.web.urls")),
    path("", include("approvals.web.urls")),
    path("", include("runs.web.urls")),
    path("", include("audit.web.urls")),
    path("api/v1/", include("config.api.urls")),
    path("health/", health, name="health"),
    path("styleguide/", styleguide, name="styleguide"),
]

handler400 = "config.errors.bad_request"
handler403 = "config.errors.permission_denied"
handler404 = "config.errors.page_not_found"
handler500 = "config.errors.server_error"
