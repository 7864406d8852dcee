from django.urls import path

from approvals.web import policies, policy_draft, policy_tests, saved, views

urlpatterns = [
    path("", views.inbox, name="inbox"),
    path("inbox/views/", saved.view_save, name="view-save"),
    path("inbox/views/<uuid:view_id>/", saved.view_change, name="view-change"),
    path("proposals/<uuid:proposal_id>/", views.proposal, name="proposal"),
    path("proposals/<uuid:proposal_id>/decide/", views.decide, name="proposal-decide"),
    path("proposals/<uuid:proposal_id>/revoke/", views.revoke, name="proposal-revoke"),
    path("policies/", policies.policies, name="policies"),
    path("policies/draft/", policies.draft_create, name="policy-draft-create"),
    path("policies/draft/<uuid:draft_id>/", policy_draft.draft, name="policy-draft"),
    path("policies/draft/<uuid:draft_id>/check/", policy_draft.check, name="policy-draft-check"),
    path("policies/draft/<uuid:draft_id>/tests/", policy_tests.tests, name="policy-tests"),
    path("policies/test-of/<uuid:proposal_id>/", policy_tests.test_of, name="policy-test-of"),
    path("policies/versions/<int:number>/", policies.version, name="policy-version"),
    path("policies/compare/", policies.compare, name="policy-compare"),
]
