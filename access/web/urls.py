from django.urls import path

from access.web import account, agents, delegations, groups, mailing, passwords, people, views, webhook

urlpatterns = [
    path("sign-in/", views.sign_in, name="sign-in"),
    path("sign-out/", views.sign_out, name="sign-out"),
    path("switch-tenant/", views.switch_tenant, name="switch-tenant"),
    path("password/forgotten/", passwords.forgotten, name="password-forgotten"),
    path("password/new/", passwords.new_password, name="password-new"),
    path("account/", account.account, name="account"),
    path("account/password/", account.password, name="account-password"),
    path("account/sessions/", account.sessions, name="account-sessions"),
    path("account/sessions/end/", account.sessions_end, name="account-sessions-end"),
    path("account/delegations/", delegations.mine, name="account-delegations"),
    path("access/people/", people.people, name="people"),
    path("access/people/add/", people.person_add, name="person-add"),
    path("access/people/<uuid:membership_id>/", people.person, name="person"),
    path("access/groups/", groups.groups, name="groups"),
    path("access/groups/<slug:slug>/", groups.group, name="group"),
    path("access/delegations/", delegations.everybodys, name="delegations"),
    path("access/agents/", agents.agents, name="agents"),
    path("access/agents/add/", agents.agent_add, name="agent-add"),
    path("access/agents/<uuid:agent_id>/", agents.agent, name="agent"),
    path("access/tokens/", agents.tokens, name="tokens"),
    path("access/tokens/<uuid:session_id>/revoke/", agents.token_end, name="token-end"),
    path("access/credentials/", agents.credentials, name="credentials"),
    path("access/mail/", mailing.mail, name="mail"),
    path("access/webhook/", webhook.webhook, name="webhook"),
]
