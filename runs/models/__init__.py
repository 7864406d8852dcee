from runs.models.dispatch import Dispatch, ResourceLease
from runs.models.run import Call, Checkpoint, Event, Run

__all__ = ["Call", "Checkpoint", "Dispatch", "Event", "ResourceLease", "Run"]
