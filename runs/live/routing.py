from django.urls import path, re_path

from runs.live.consumers import InboxPage, Nowhere, ProposalPage, RunPage, RunsPage

websocket_urlpatterns = [
    path("ws/inbox/", InboxPage.as_asgi()),
    path("ws/proposals/<uuid:proposal_id>/", ProposalPage.as_asgi()),
    path("ws/runs/", RunsPage.as_asgi()),
    path("ws/runs/<uuid:run_id>/", RunPage.as_asgi()),
    re_path("", Nowhere.as_asgi()),
]
