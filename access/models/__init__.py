from access.models.agents import Agent, AgentPrincipal
from access.models.credentials import BackendCredential
from access.models.people import Group, GroupMember, Membership, Tenant, User
from access.models.tokens import RefreshToken, TokenSession

__all__ = [
    "Agent",
    "AgentPrincipal",
    "BackendCredential",
    "Group",
    "GroupMember",
    "Membership",
    "RefreshToken",
    "Tenant",
    "TokenSession",
    "User",
]
