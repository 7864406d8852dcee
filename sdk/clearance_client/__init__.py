"""Lets a Python agent ask Clearance for permission and wait for the answer. Speaks HTTP, knows nothing of the server.

with Client("http://localhost:8000", client_id="…", client_secret="…") as clearance:
    run = clearance.open_run("Refund a chipped cup")
    call = clearance.call(run["id"], "step-1", "refund_order", {"order_id": "ord_1029", "amount": 1250})
    call = clearance.wait_for_call(run["id"], "step-1", seconds=900)
"""

from .client import Client
from .errors import ClearanceError, Refused, Unreachable

__all__ = ["ClearanceError", "Client", "Refused", "Unreachable"]
