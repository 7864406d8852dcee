from django.urls import path

from approvals.web import saved, views

urlpatterns = [
    path("", views.inbox, name="inbox"),
    path("inbox/views/", saved.view_save, name="view-save"),
    path("inbox/views/<uuid:view_id>/", saved.view_change, name="view-change"),
    path("proposals/<uuid:proposal_id>/", views.proposal, name="proposal"),
    path("proposals/<uuid:proposal_id>/decide/", views.decide, name="proposal-decide"),
    path("proposals/<uuid:proposal_id>/revoke/", views.revoke, name="proposal-revoke"),
]
