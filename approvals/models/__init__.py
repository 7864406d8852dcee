from approvals.models.catalogue import AgentTools, Tool, ToolCandidate, ToolVersion
from approvals.models.epoch import Epoch
from approvals.models.exposure import ExposureBucket, ExposureEntry
from approvals.models.handling import Claim, Question, Revision
from approvals.models.notices import Alarm, Notice, Reminder
from approvals.models.policies import PolicyDraft, PolicyHead, PolicyVersion
from approvals.models.proposals import Decision, Permit, Proposal, Resolution
from approvals.models.publishers import ContractRule, PublisherKey, PublisherKeyEnd, VersionSignature
from approvals.models.replays import Judgement, PolicyReach, PolicyReplay
from approvals.models.saved import SavedView
from approvals.models.signing import Signature, SigningNonce

__all__ = [
    "AgentTools",
    "Alarm",
    "Claim",
    "ContractRule",
    "Decision",
    "Epoch",
    "ExposureBucket",
    "ExposureEntry",
    "Judgement",
    "Notice",
    "Permit",
    "PolicyDraft",
    "PolicyHead",
    "PolicyReach",
    "PolicyReplay",
    "PolicyVersion",
    "Proposal",
    "PublisherKey",
    "PublisherKeyEnd",
    "Question",
    "Reminder",
    "Resolution",
    "Revision",
    "SavedView",
    "Signature",
    "SigningNonce",
    "Tool",
    "ToolCandidate",
    "ToolVersion",
    "VersionSignature",
]
