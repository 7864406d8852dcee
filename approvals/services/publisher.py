"""Publishers' keys, and whether only signed contracts are admitted. What admits more needs a fresh confirmation; what
admits less does not: whoever is unsure must be able to stop."""

from collections.abc import Collection
from uuid import UUID, uuid4

from access.core.rights import require_admin
from access.selectors.confirmation import check_fresh
from access.services.webhook import webhook_tell
from approvals.core.contract_signing import key_words, publisher_of
from approvals.core.reasons import words_of
from approvals.models import PublisherKey, PublisherKeyEnd
from approvals.selectors.contract_signatures import InForce, KeyRow, in_force_signed, key_row, keys_of
from approvals.selectors.ed25519 import fingerprint, read_public_key
from approvals.store.contract_rules import rule_locked
from audit.core.actor import Actor
from audit.core.refusal import Conflict, NotFound
from audit.services.record import audit_record, audit_record_or_owe, audit_refusals
from audit.store import clock

MOST_KEYS = 200
REMEDY = (
    "Have each signed by a key that is good and put that signature beside its version, admit another version, or "
    "retire the tool. Until then it goes on as it was admitted, and is marked."
)


def publisher_key_add(*, actor: Actor, publisher: str, public_key: str, at_console: bool = False) -> KeyRow:
    """Take a publisher's key: what it signs counts as theirs from now on. An admin's right, freshly confirmed.

    `at_console`: from the command line, where nobody has a browser session to confirm in.
    Raises Forbidden (ROLE_MISSING, FRESH_REQUIRED), Invalid (PUBLISHER_INVALID, KEY_INVALID), Conflict (KEY_KNOWN,
    KEY_REVOKED: the same key was revoked, KEY_TOO_MANY).
    """
    with audit_refusals(actor=actor, action="contract.key_added", object_type="publisher", object_id="new"):
        require_admin(actor)
        if not at_console:
            check_fresh(actor, "Adding a publisher's key")
        data = read_public_key(public_key)
        rule_locked(actor.tenant_id)
        known = keys_of(actor.tenant_id)
        name = publisher_of(publisher, {row.publisher for row in known.values()})
        same = known.get(fingerprint(data))
        if same is not None:
            raise _known(same)
        if sum(not row.revoked for row in known.values()) >= MOST_KEYS:
            raise Conflict(f"There are {MOST_KEYS} keys. Revoke one that is not used first.", code="KEY_TOO_MANY")
        row = PublisherKey.objects.create(
            id=uuid4(),
            tenant_id=actor.tenant_id,
            publisher=name,
            public_key=data,
            fingerprint=fingerprint(data),
            added_by=actor.name,
            added_by_id=actor.id,
            added_at=clock.now(),
        )
        audit_record(
            actor=actor, action="contract.key_added", object_type="publisher", object_id=row.id,
            detail={"publisher": name, "fingerprint": row.fingerprint},
        )  # fmt: skip
    return key_row(row)


def publisher_key_revoke(*, actor: Actor, key_id: UUID, because: str) -> list[InForce]:
    """A key is good no more, for good. The tools in force that it alone signed: they go on, marked, and admins are told
    by the page, the log and the webhook. An admin's right; works while the audit log does not (S69).

    Raises Forbidden (ROLE_MISSING), NotFound, Invalid (REASON_…), Conflict (KEY_REVOKED).
    """
    with audit_refusals(actor=actor, action="contract.key_revoked", object_type="publisher", object_id=key_id):
        require_admin(actor)
        why = words_of(because, what="reason")
        rule_locked(actor.tenant_id)
        row = PublisherKey.objects.filter(tenant_id=actor.tenant_id, pk=key_id).select_related("end").first()
        if row is None:
            raise NotFound
        if key_row(row).revoked:
            raise _known(key_row(row))
        PublisherKeyEnd.objects.create(
            key=row, because=why, ended_by=actor.name, ended_by_id=actor.id, ended_at=clock.now()
        )
        hit = [
            one
            for one in in_force_signed(actor.tenant_id)
            if one.signed.state == "revoked" and one.signed.fingerprint == row.fingerprint
        ]
        told = {
            "publisher": row.publisher,
            "fingerprint": row.fingerprint,
            "reason": why,
            "in_force": [{"tool": one.tool, "version": one.number} for one in hit],
            "remedy": REMEDY if hit else "",
        }
        audit_record_or_owe(
            actor=actor, action="contract.key_revoked", object_type="publisher", object_id=row.id, detail=told
        )
        webhook_tell(tenant_id=actor.tenant_id, kind="contract.key_revoked", data=told | {"by": actor.name})
    return hit


def signed_only_set(*, actor: Actor, wanted: bool, seen: Collection[str], at_console: bool = False) -> bool:
    """Whether only signed contracts are admitted; False if that was so already. `seen` are the tools in force that the
    page named as not validly signed: they go on. An admin's right; ending the rule is freshly confirmed.

    Raises Forbidden (ROLE_MISSING, FRESH_REQUIRED), Conflict (UNSIGNED_UNSEEN: others are unsigned than was shown).
    """
    with audit_refusals(actor=actor, action="contract.signed_only_set", object_type="tool", object_id=actor.tenant_id):
        require_admin(actor)
        rule = rule_locked(actor.tenant_id)
        if rule.signed_only == wanted:
            return False
        unsigned = [one.tool for one in in_force_signed(actor.tenant_id) if one.signed.state != "valid"]
        if wanted and set(unsigned) - set(seen):
            names = ", ".join(sorted(set(unsigned) - set(seen))[:10])
            raise Conflict(
                f"Your page did not say that {names} would go on without a valid signature, and nothing was changed. "
                "Read the list as it is now, then press again.",
                code="UNSIGNED_UNSEEN",
                detail={"unsigned": unsigned},
            )
        if not wanted and not at_console:
            check_fresh(actor, "Admitting contracts without a signature again")
        rule.signed_only, rule.changed_by, rule.changed_at = wanted, actor.name, clock.now()
        rule.save(update_fields=["signed_only", "changed_by", "changed_at"])
        audit_record(
            actor=actor, action="contract.signed_only_set", object_type="tool", object_id=actor.tenant_id,
            detail={"signed_only": wanted, "go_on_unsigned": unsigned},
        )  # fmt: skip
    return True


def _known(row: KeyRow) -> Conflict:
    key = f"The key {key_words(row.fingerprint)} of {row.publisher}"
    if row.revoked_at is not None:
        return Conflict(
            f"{key} was revoked by {row.revoked_by} at {row.revoked_at:%Y-%m-%d %H:%M} UTC and is never good again. "
            "Ask the publisher for a new key.",
            code="KEY_REVOKED",
        )
    return Conflict(f"{key} is registered already, by {row.added_by}. Nothing was changed.", code="KEY_KNOWN")
