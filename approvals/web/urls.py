from django.urls import path

from approvals.web import views

urlpatterns = [
    path("", views.inbox, name="inbox"),
    path("proposals/<uuid:proposal_id>/", views.proposal, name="proposal"),
    path("proposals/<uuid:proposal_id>/decide/", views.decide, name="proposal-decide"),
    path("proposals/<uuid:proposal_id>/revoke/", views.revoke, name="proposal-revoke"),
]
