"""Routes of agents' sessions, below /api/v1/."""

from django.urls import path

from access.api.views import RevokeView, TokenView

urlpatterns = [
    path("token", TokenView.as_view(), name="api-token"),
    path("token/revoke", RevokeView.as_view(), name="api-token-revoke"),
]
