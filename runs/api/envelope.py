"""What an envelope says beside its call: it may repeat what the token says, and must not contradict it (E1)."""

from collections.abc import Mapping
from typing import Any

from access.selectors.actors import tenant_slug
from audit.core.actor import Actor
from audit.core.canonical import canonical_bytes, sha256_hex
from audit.core.refusal import Invalid


def check_envelope(actor: Actor, given: Mapping[str, Any]) -> None:
    """Raises Invalid (ENVELOPE_CONTRADICTS) naming every field that says something else than is so."""
    claimed: Mapping[str, str] = given.get("scope") or {}
    wrong = []
    if "tenant" in claimed and claimed["tenant"] not in (actor.tenant_id, tenant_slug(actor.tenant_id)):
        wrong.append("scope.tenant")
    if "agent" in claimed and claimed["agent"] != actor.id:
        wrong.append("scope.agent")
    if "on_behalf_of" in claimed and claimed["on_behalf_of"] != actor.on_behalf_of:
        wrong.append("scope.on_behalf_of")
    if "arguments_hash" in given and given["arguments_hash"] != sha256_hex(canonical_bytes(given["arguments"])):
        wrong.append("arguments_hash")
    if wrong:
        raise Invalid(
            f"{', '.join(wrong)} contradict the token or the arguments. Leave them out: they are derived here.",
            code="ENVELOPE_CONTRADICTS",
            detail={"fields": wrong},
        )
