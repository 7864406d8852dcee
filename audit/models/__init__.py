from audit.models.entry import Entry, Owed
from audit.models.heartbeat import Heartbeat

__all__ = ["Entry", "Heartbeat", "Owed"]
