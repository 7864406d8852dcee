from django.urls import path, re_path

from runs.live.consumers import InboxPage, Nowhere, ProposalPage, RunPage, RunsPage
from runs.live.unresolved import UnresolvedList, UnresolvedOne

websocket_urlpatterns = [
    path("ws/inbox/", InboxPage.as_asgi()),
    path("ws/proposals/<uuid:proposal_id>/", ProposalPage.as_asgi()),
    path("ws/runs/", RunsPage.as_asgi()),
    path("ws/runs/<uuid:run_id>/", RunPage.as_asgi()),
    path("ws/unresolved/", UnresolvedList.as_asgi()),
    path("ws/unresolved/<uuid:unresolved_id>/", UnresolvedOne.as_asgi()),
    re_path("", Nowhere.as_asgi()),
]
