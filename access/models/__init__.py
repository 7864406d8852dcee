from access.models.agents import Agent, AgentPrincipal
from access.models.confirming import (
    Confirmation,
    Passkey,
    PasskeyChallenge,
    RecoveryCode,
    SecondFactor,
    SecondStepDemand,
)
from access.models.credentials import BackendCredential
from access.models.delegations import Delegation, WebhookDelivery, WebhookEndpoint
from access.models.people import Group, GroupMember, Membership, Tenant, User
from access.models.providers import IdentityLink, IdentityProvider, ProviderRound
from access.models.signing import AccountLink, BrowserSession, Throttle
from access.models.tokens import RefreshToken, TokenSession

__all__ = [
    "AccountLink",
    "Agent",
    "AgentPrincipal",
    "BackendCredential",
    "BrowserSession",
    "Confirmation",
    "Delegation",
    "Group",
    "GroupMember",
    "IdentityLink",
    "IdentityProvider",
    "Membership",
    "Passkey",
    "PasskeyChallenge",
    "ProviderRound",
    "RecoveryCode",
    "RefreshToken",
    "SecondFactor",
    "SecondStepDemand",
    "Tenant",
    "Throttle",
    "TokenSession",
    "User",
    "WebhookDelivery",
    "WebhookEndpoint",
]
