"""One request to a misbehaving target, as most tests of `send` make it."""

import time

from runs.tools.http import HttpAnswer, OutboundRequest, send
from tests.support.target import Behaviour, Target

SECRET = "sk_test_5up3r-S3cret"


def ask(target: Target | str, /, **fields: object) -> HttpAnswer:
    """One POST of a small form to the target, with a credential and five seconds."""
    host = target if isinstance(target, str) else target.host
    base = f"http://{target}" if isinstance(target, str) else target.url
    seconds = fields.pop("seconds", 5.0)
    request_fields: dict[str, object] = {"method": "POST", "url": f"{base}/v1/refunds", "form": (("amount", "100"),)}
    for name in ("method", "url", "form", "json", "has_json", "query", "idempotency_key", "cap_bytes", "timeouts"):
        if name in fields:
            request_fields[name] = fields.pop(name)
    settings: dict[str, object] = {"allowed_hosts": (host,), "credential": lambda: SECRET, **fields}
    return send(
        OutboundRequest(**request_fields),  # type: ignore[arg-type]
        deadline=time.monotonic() + seconds,  # type: ignore[operator]
        **settings,  # type: ignore[arg-type]
    )


def answer_of(behaviour: Behaviour, **fields: object) -> HttpAnswer:
    with Target(behaviour) as target:
        return ask(target, **fields)
