"""Examples of the API's description. Tests hold every one of them to its schema."""

from typing import Any

from approvals.api.examples import TOOLS
from audit.api.base import error_form
from runs.core.kinds import CallState, RunStatus
from runs.core.meanings import CALL_MEANING, RUN_MEANING

RUN_ID = "5f3a1c9e-7b24-4c52-9b0e-6d1f0a2b3c4d"
PROPOSAL_ID = "9c2e4f60-1a3b-4d5c-8e7f-0a1b2c3d4e5f"
DIGEST = "a1f39c07" * 8

RUN: dict[str, Any] = {
    "id": RUN_ID,
    "title": "Refund for Anna Berg, ord_1029",
    "state": "ready",
    "detail": "",
    "meaning": RUN_MEANING[RunStatus.READY],
    "seq": 2,
    "agent": {"id": "2b7d5e90-3c4f-4a1b-9d8e-7f6a5b4c3d2e", "name": "Helpdesk"},
    "on_behalf_of": {"id": "7e8f9a0b-1c2d-4e3f-8a5b-6c7d8e9f0a1b", "name": "Anna Keller"},
    "client_ref": "ticket-4711",
    "deadline": None,
    "opened_at": "2026-11-29T15:02:07.123456Z",
    "updated_at": "2026-11-29T15:02:07.123456Z",
    "finished_at": None,
    "url": f"http://localhost:8000/runs/{RUN_ID}/",
    "repeated": False,
}

SUBMIT: dict[str, Any] = {
    "call_id": "refund",
    "tool": "refund_order",
    "arguments": {"order_id": "ord_1029", "amount": 4500, "currency": "AUD", "note": "Arrived with a scratch"},
    "message_id": "msg_1",
    "reason": "Customer keeps it at a discount.",
}

TURN: dict[str, Any] = {"turn_id": "msg-1", "tools": ["get_order"]}
TURN_OPEN: dict[str, Any] = {
    "run_id": RUN_ID,
    "turn_id": "msg-1",
    "number": 1,
    "narrowed": True,
    "opened_at": "2026-11-29T15:02:08.000001Z",
    "tools": TOOLS["tools"],
    "repeated": False,
}
TURN_READ: dict[str, Any] = {
    "turn": {**TURN_OPEN, "repeated": True},
    "shown": [tool["name"] for tool in TOOLS["tools"]],
    "until": "2026-11-29T16:00:00Z",
}
WAITING: dict[str, Any] = {
    "id": "0d1e2f3a-4b5c-4d6e-8f70-8192a3b4c5d6",
    "run_id": RUN_ID,
    "call_id": "refund",
    "tool": "refund_order",
    "contract_version": 1,
    "state": "waiting",
    "meaning": CALL_MEANING[CallState.WAITING],
    "final": False,
    "digest": DIGEST,
    "idempotency_key": "clr_" + "0f" * 20,
    "target": "payments/order/ord_1029",
    "accepted_at": "2026-11-29T15:02:08.000001Z",
    "settled_at": None,
    "deadline": None,
    "version": 3,
    "repeated": False,
    "outcome": "none",
    "retry_safe": False,
    "proposal": {
        "id": PROPOSAL_ID,
        "url": f"http://localhost:8000/proposals/{PROPOSAL_ID}/",
        "state": "pending",
        "round": 1,
        "expires_at": "2026-11-29T15:17:08.000001Z",
        "digest": DIGEST,
    },
    "question": None,
    "edited": None,
    "stopped": None,
    "frozen": None,
    "result": None,
    "result_label": None,
    "receipt": None,
    "problems": [],
    "error": None,
}
STOPPED: dict[str, Any] = {
    **WAITING,
    "state": "ready",
    "meaning": CALL_MEANING[CallState.READY],
    "version": 4,
    "proposal": {**WAITING["proposal"], "state": "granted"},
    "stopped": {
        "kind": "tool",
        "by": "Olga Operator",
        "since": "2026-11-29T15:03:00.000000Z",
        "reason": "Refunds go to the wrong accounts.",
        "message": "The tool refund_order is stopped by Olga Operator since 2026-11-29T15:03:00.000000Z: Refunds go to "
        "the wrong accounts. The call is not refused: it goes on when the stop is lifted, if its time has not run out "
        "by then.",
    },
}
RECEIVED: dict[str, Any] = {
    **WAITING,
    "state": "new",
    "meaning": CALL_MEANING[CallState.NEW],
    "version": 1,
    "proposal": None,
}
SUCCEEDED: dict[str, Any] = {
    **WAITING,
    "state": "succeeded",
    "meaning": CALL_MEANING[CallState.SUCCEEDED],
    "final": True,
    "settled_at": "2026-11-29T15:05:40.500000Z",
    "version": 6,
    "outcome": "committed",
    "proposal": {**WAITING["proposal"], "state": "granted"},
    "result": {"refund_id": "re_1Q2w3E", "amount": 4500, "currency": "AUD"},
    "result_label": {
        "source": "refund_order v1 at payments/order/ord_1029",
        "untrusted": True,
        "cut": False,
        "size_bytes": 61,
        "observed_at": "2026-11-29T15:05:40.480000+00:00",
    },
    "receipt": {"reference": "re_1Q2w3E", "key": "clr_" + "0f" * 20},
}
POLICY_REFUSAL = error_form(
    "DENIED",
    "Refunds over A$1,000 are made by hand.",
    alternatives=["get_order"],
    detail={"rule": "refund-large", "policy": 3, "why": ["180000 > 100000"]},
)
REFUSED: dict[str, Any] = {
    **RECEIVED,
    "state": "refused",
    "meaning": CALL_MEANING[CallState.REFUSED],
    "final": True,
    "settled_at": "2026-11-29T15:02:08.090000Z",
    "version": 2,
    "error": POLICY_REFUSAL,
}
REJECTED: dict[str, Any] = {
    **WAITING,
    "state": "rejected",
    "meaning": CALL_MEANING[CallState.REJECTED],
    "final": True,
    "settled_at": "2026-11-29T15:05:40.500000Z",
    "version": 4,
    "proposal": {**WAITING["proposal"], "state": "rejected"},
    "error": error_form("REJECTED", "It was rejected by Ida: wrong order. Nothing was executed."),
}
WITHDRAWN: dict[str, Any] = {
    **REJECTED,
    "state": "withdrawn",
    "meaning": CALL_MEANING[CallState.WITHDRAWN],
    "proposal": {**WAITING["proposal"], "state": "withdrawn"},
    "error": error_form("WITHDRAWN", "The agent took this call back."),
}
ASKED: dict[str, Any] = {
    **WAITING,
    "version": 3,
    "question": {
        "id": "5c1f7a20-8d3e-4b6a-9f00-1e2d3c4b5a69",
        "text": "The customer was refunded last week. Is this the second lamp?",
        "by": "Ida",
        "at": "2026-11-29T15:04:10.000001Z",
    },
}
ANSWER: dict[str, Any] = {"text": "Yes: the replacement broke as well, see the photo in the ticket."}
SUPERSEDED: dict[str, Any] = {
    **REJECTED,
    "state": "superseded",
    "meaning": CALL_MEANING[CallState.SUPERSEDED],
    "proposal": {**WAITING["proposal"], "state": "superseded"},
    "edited": {
        "call_id": "refund~r2",
        "of": "refund",
        "revision": 2,
        "by": "Ida",
        "at": "2026-11-29T15:05:40.500000Z",
        "reason": "The cable was not broken.",
        "digest": "9c07" * 16,
        "changes": [{"path": "/amount", "from": 4500, "to": 3900}],
    },
    "error": error_form(
        "SUPERSEDED",
        "Ida edited it (/amount 4500 → 3900): The cable was not broken. Nothing of this call was executed; call "
        "refund~r2 goes on in its place, and people decide about that one.",
        detail={"call_id": "refund~r2", "revision": 2},
    ),
}
EVENTS: dict[str, Any] = {
    "events": [
        {
            "seq": 3,
            "kind": "call_proposed",
            "at": "2026-11-29T15:02:08.000001Z",
            "actor": {"kind": "agent", "id": "2b7d5e90-3c4f-4a1b-9d8e-7f6a5b4c3d2e", "name": "Helpdesk"},
            "body": {"call_id": "refund", "tool": "refund_order", "digest": DIGEST},
        }
    ],
    "last": 3,
    "more": False,
}
