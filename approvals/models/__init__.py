from approvals.models.catalogue import AgentTools, Tool, ToolCandidate, ToolVersion
from approvals.models.epoch import Epoch
from approvals.models.policies import PolicyDraft, PolicyHead, PolicyVersion
from approvals.models.proposals import Decision, Permit, Proposal, Resolution
from approvals.models.replays import Judgement, PolicyReach, PolicyReplay
from approvals.models.saved import SavedView

__all__ = [
    "AgentTools",
    "Decision",
    "Epoch",
    "Judgement",
    "Permit",
    "PolicyDraft",
    "PolicyHead",
    "PolicyReach",
    "PolicyReplay",
    "PolicyVersion",
    "Proposal",
    "Resolution",
    "SavedView",
    "Tool",
    "ToolCandidate",
    "ToolVersion",
]
