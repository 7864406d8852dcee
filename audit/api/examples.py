"""Examples of the audit log for the API's description."""

from typing import Any

ENTRY: dict[str, Any] = {
    "id": 18402,
    "at": "2026-11-29T03:16:44.120031Z",
    "format": 1,
    "tenant_id": "0d1f6a52-6f0f-4a7e-9d1c-51f1f7b1b3aa",
    "action": "proposal.decided",
    "verdict": "ok",
    "actor_kind": "person",
    "actor_id": "5b1f6d0e-4f7d-4f2c-8a46-0a7b5d4c1e22",
    "actor_name": "Mara Lind",
    "on_behalf_of": "",
    "via": "session",
    "object_type": "proposal",
    "object_id": "3f0a9c55-1b0e-4a0e-8a30-1df2b0e1a7c4",
    "run_id": "6a2f41a3-c54c-4ad7-8d09-6f5d5a7ff2d1",
    "call_id": "call_7f3a",
    "tool": "refund_order",
    "detail": {"verdict": "approve", "reason": "", "round": 1, "status": "granted", "rule": "refund", "policy": 8},
    "result_bytes": None,
    "duration_ms": None,
}
PAGE: dict[str, Any] = {
    "entries": [ENTRY],
    "names": {},
    "next": "2026-11-29T03:16:44.120031Z~18402",
    "now": "2026-11-29T03:20:00.000000Z",
}
JSON_LINES = (
    '{"action":"proposal.decided","actor_id":"5b1f6d0e-…","at":"2026-11-29T03:16:44.120031Z","id":18402,"…":"…"}\n'
    '{"manifest":{"complete":true,"count":1,"filters":{"action":"proposal.*"},"first":{"at":"…","id":18402},'
    '"last":{"at":"…","id":18402},"manifest":1,"sha256":"…"}}\n'
)
CSV = (
    '"id","at_utc","at_local","words","tenant_id","action","…"\r\n'
    '"18402","2026-11-29T03:16:44.120031Z","2026-11-29 14:16:44 AEDT","A proposal was decided","0d1f…","…","…"\r\n'
    '"#manifest","{""complete"":true,""count"":1,""…"":""…""}","","","","",""\r\n'
)
