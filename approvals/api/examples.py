"""Examples of the API's description. Tests hold every one of them to its schema."""

from typing import Any

DIGEST = "a1f39c07" * 8
_ID = "9c2e4f60-1a3b-4d5c-8e7f-0a1b2c3d4e5f"
_AMOUNT = {"minor": 4500, "currency": "AUD", "text": "A$45.00"}

SUMMARY: dict[str, Any] = {
    "id": _ID,
    "url": f"http://localhost:8000/proposals/{_ID}/",
    "state": "pending",
    "round": 1,
    "version": 1,
    "readable": True,
    "sentence": "Refund A$45.00 of A$120.00 to Anna Berg for order ord_1029",
    "tool": "refund_order",
    "digest": DIGEST,
    "amount": _AMOUNT,
    "requested_at": "2026-11-29T15:02:08.000001Z",
    "expires_at": "2026-11-29T15:17:08.000001Z",
    "settled_at": "2026-11-29T15:17:08.000001Z",
    "rule": "refund",
    "why": "Refunds need one of finance.",
    "agent": "Helpdesk",
    "acting_for": "Anna Keller",
    "run": {"id": "5f3a1c9e-7b24-4c52-9b0e-6d1f0a2b3c4d", "title": "Refund for Anna Berg, ord_1029"},
    "call_id": "refund",
    "needs": "1 of finance",
    "progress": "0 of 1",
    "may_decide": True,
    "decided_by": "",
    "hidden_characters": False,
    "outcome": "",
    "same_as": "",
}
PAGE: dict[str, Any] = {"view": "mine", "proposals": [SUMMARY], "next": "", "now": "2026-11-29T15:02:30.000000Z"}

PROPOSAL: dict[str, Any] = {
    "id": _ID,
    "url": SUMMARY["url"],
    "state": "pending",
    "state_words": "Waits for 1 of finance.",
    "tampered": "",
    "digest": DIGEST,
    "round": 1,
    "version": 1,
    "tool": "refund_order",
    "run": SUMMARY["run"],
    "call_id": "refund",
    "agent": "Helpdesk",
    "acting_for": "Anna Keller",
    "requested_at": SUMMARY["requested_at"],
    "expires_at": SUMMARY["expires_at"],
    "decided_at": None,
    "now": PAGE["now"],
    "content": {
        "sentence": SUMMARY["sentence"],
        "title": "Refund an order",
        "contract_version": 1,
        "target": "payments/order/ord_1029",
        "arguments": [
            {
                "path": "/amount",
                "label": "Amount",
                "raw": "4500",
                "shown": "A$45.00 (raw 4500)",
                "type": "integer",
                "default": False,
                "warning": "",
                "hosts": [],
            }
        ],
        "size_bytes": 214,
        "warnings": [],
        "effect": {
            "rows": [{"label": "Refunded", "now": "A$0.00", "after": "A$45.00", "changed": True, "problem": ""}],
            "read_at": "2026-11-29T15:02:08.050000Z",
            "changed_since_asked": False,
            "note": "Money leaves within minutes and cannot be called back.",
            "reversible": "It cannot be undone.",
        },
        "held": {
            "rule": "refund",
            "policy": 3,
            "message": "Refunds need one of finance.",
            "matched": ["args.amount 4500 > 2000"],
            "notes": [],
        },
        "reason": "Customer keeps it at a discount.",
        "amount": _AMOUNT,
    },
    "people": {
        "needs": "1 of finance",
        "words": "needs 1 of finance",
        "may_decide": True,
        "reason": "You are in finance.",
        "votes": [],
    },
    "afterwards": {"outcome": "", "at": None, "detail": {}},
}
DECIDED: dict[str, Any] = {
    "proposal_id": _ID,
    "state": "granted",
    "round": 1,
    "verdict": "approve",
    "message": "Approved. It runs now, after everything was checked once more.",
    "repeated": False,
}
REVOKED: dict[str, Any] = {
    "proposal_id": _ID,
    "state": "pending",
    "round": 2,
    "message": "The approval was taken back; people are asked anew.",
}
TOOLS: dict[str, Any] = {
    "tools": [
        {
            "name": "get_order",
            "title": "Read an order",
            "description": "What was ordered, paid and refunded.",
            "side_effect": "read",
            "scopes": ["orders:read"],
            "version": 1,
            "input_schema": {
                "type": "object",
                "properties": {"order_id": {"type": "string"}},
                "required": ["order_id"],
                "additionalProperties": False,
            },
        }
    ]
}
