"""Routes of proposals and tools, below /api/v1/."""

from django.urls import path

from approvals.api.views import DecideView, ProposalsView, ProposalView, RevokeView, ToolsView

urlpatterns = [
    path("proposals", ProposalsView.as_view(), name="api-proposals"),
    path("proposals/<uuid:proposal_id>", ProposalView.as_view(), name="api-proposal"),
    path("proposals/<uuid:proposal_id>/decide", DecideView.as_view(), name="api-proposal-decide"),
    path("proposals/<uuid:proposal_id>/revoke", RevokeView.as_view(), name="api-proposal-revoke"),
    path("tools", ToolsView.as_view(), name="api-tools"),
]
