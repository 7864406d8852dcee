"""WHO is it? People, tenants, memberships, groups, agents, tokens and backend credentials."""
