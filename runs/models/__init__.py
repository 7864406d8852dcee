from runs.models.dispatch import Dispatch, ResourceLease
from runs.models.run import Call, Checkpoint, Event, Run
from runs.models.stops import Stop

__all__ = ["Call", "Checkpoint", "Dispatch", "Event", "ResourceLease", "Run", "Stop"]
