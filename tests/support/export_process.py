"""An export in a process of its own, so that what it held in memory at once is its own: prints one line of JSON.

python -m tests.support.export_process TENANT_ID USER_ID csv|jsonl
"""

import asyncio
import json
import resource
import sys
from datetime import UTC


def main(tenant_id: str, user_id: str, form: str) -> None:
    """Streams the whole log of the tenant and throws it away."""
    import django

    django.setup()
    from access.selectors.actors import actor_for_session
    from audit.exports.files import content
    from audit.services.reading import audit_export_begin

    actor = actor_for_session(user_id, tenant_id)
    assert actor is not None
    begun = audit_export_begin(actor=actor, given={}, zone=UTC, form=form)  # type: ignore[arg-type]

    async def drain() -> dict[str, object]:
        size, lines, last = 0, 0, b""
        async for chunk in content(begun):
            size, lines, last = size + len(chunk), lines + chunk.count(b"\n"), chunk
        return {"size": size, "lines": lines, "last": last.decode()}

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = asyncio.run(drain())
    told["grown_kb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
