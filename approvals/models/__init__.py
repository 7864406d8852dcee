from approvals.models.catalogue import Tool, ToolVersion
from approvals.models.policies import PolicyHead, PolicyVersion
from approvals.models.proposals import Decision, Permit, Proposal, Resolution

__all__ = ["Decision", "Permit", "PolicyHead", "PolicyVersion", "Proposal", "Resolution", "Tool", "ToolVersion"]
