from django.urls import path

from approvals.web import candidates, policies, policy_draft, policy_tests, replays, saved, shown_tools, tools, views

urlpatterns = [
    path("", views.inbox, name="inbox"),
    path("inbox/views/", saved.view_save, name="view-save"),
    path("inbox/views/<uuid:view_id>/", saved.view_change, name="view-change"),
    path("proposals/<uuid:proposal_id>/", views.proposal, name="proposal"),
    path("proposals/<uuid:proposal_id>/decide/", views.decide, name="proposal-decide"),
    path("proposals/<uuid:proposal_id>/revoke/", views.revoke, name="proposal-revoke"),
    path("tools/", tools.tools, name="tools"),
    path("tools/import-contract/", candidates.tool_import, name="tool-import"),
    path("tools/<slug:tool_name>/", tools.tool, name="tool"),
    path("tools/<slug:tool_name>/versions/<int:version>/", tools.tool_version, name="tool-version"),
    path("tools/<slug:tool_name>/compare/", tools.tool_compare, name="tool-compare"),
    path("tools/<slug:tool_name>/edit/", candidates.tool_edit, name="tool-edit"),
    path("tools/<slug:tool_name>/candidates/<uuid:candidate_id>/", candidates.candidate, name="tool-candidate"),
    path("tools/<slug:tool_name>/return/", tools.tool_return, name="tool-return"),
    path("tools/<slug:tool_name>/retire/", tools.tool_retire, name="tool-retire"),
    path("access/agents/<uuid:agent_id>/tools/", shown_tools.agent_tools, name="agent-tools"),
    path("policies/", policies.policies, name="policies"),
    path("policies/draft/", policies.draft_create, name="policy-draft-create"),
    path("policies/draft/<uuid:draft_id>/", policy_draft.draft, name="policy-draft"),
    path("policies/draft/<uuid:draft_id>/check/", policy_draft.check, name="policy-draft-check"),
    path("policies/draft/<uuid:draft_id>/tests/", policy_tests.tests, name="policy-tests"),
    path("policies/draft/<uuid:draft_id>/replay/", replays.ask, name="policy-replay-ask"),
    path("policies/replays/<uuid:replay_id>/", replays.replay, name="policy-replay"),
    path("policies/replays/<uuid:replay_id>/panel/", replays.panel, name="policy-replay-panel"),
    path("policies/replays/<uuid:replay_id>/cancel/", replays.cancel, name="policy-replay-cancel"),
    path("policies/test-of/<uuid:proposal_id>/", policy_tests.test_of, name="policy-test-of"),
    path("policies/versions/<int:number>/", policies.version, name="policy-version"),
    path("policies/compare/", policies.compare, name="policy-compare"),
]
