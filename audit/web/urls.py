from django.urls import path

from audit.web import views

urlpatterns = [
    path("audit/", views.log, name="audit"),
    path("audit/export/", views.export, name="audit-export"),
    # A call's id may be any text, so it stands in the query.
    path("audit/path/", views.call_path, name="audit-path"),
    path("audit/<int:entry_id>/", views.entry, name="audit-entry"),
]
