"""Routes of the audit log, below /api/v1/."""

from django.urls import path

from audit.api.views import EntriesView, ExportView

urlpatterns = [
    path("audit/entries", EntriesView.as_view(), name="api-audit-entries"),
    path("audit/export", ExportView.as_view(), name="api-audit-export"),
]
