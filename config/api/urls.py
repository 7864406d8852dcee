"""Every address of the API, below /api/v1/. The apps know their routes; waiting is added here."""

from django.urls import include, path, re_path

from config.api.errors import unknown_address
from config.api.schema import SchemaView

urlpatterns = [
    path("", include("access.api.urls")),
    path("schema/", SchemaView.as_view(), name="api-schema"),
    re_path(r"", unknown_address),
]
