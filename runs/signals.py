"""What the store and the sweep say to whoever listens. Sent after the commit and only a hint (architecture.md, Layout).

The store may not know of brokers and channel layers (they are floors above it), so it says it here; receivers.py hands
it on. A receiver answers whether it could hand it on: the sweep works itself where the broker does not answer.
"""

from django.dispatch import Signal

run_advanced = Signal()
"""run_id, tenant_id (UUID), seq (the run's new last one), calls: list of (call row id, version), work: bool (a worker
has something to do now)."""

stops_changed = Signal()
"""tenant_id (None: the whole installation): something was stopped or let go."""

work_waits = Signal()
"""run_id: rows of this run are ready and workers have to be told (again). Receivers answer whether they were."""
