from approvals.models.catalogue import AgentTools, Tool, ToolCandidate, ToolVersion
from approvals.models.epoch import Epoch
from approvals.models.policies import PolicyDraft, PolicyHead, PolicyVersion
from approvals.models.proposals import Decision, Permit, Proposal, Resolution
from approvals.models.saved import SavedView

__all__ = [
    "AgentTools",
    "Decision",
    "Epoch",
    "Permit",
    "PolicyDraft",
    "PolicyHead",
    "PolicyVersion",
    "Proposal",
    "Resolution",
    "SavedView",
    "Tool",
    "ToolCandidate",
    "ToolVersion",
]
