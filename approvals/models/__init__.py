from approvals.models.catalogue import Tool, ToolVersion
from approvals.models.epoch import Epoch
from approvals.models.policies import PolicyDraft, PolicyHead, PolicyVersion
from approvals.models.proposals import Decision, Permit, Proposal, Resolution
from approvals.models.saved import SavedView

__all__ = [
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
    "ToolVersion",
]
