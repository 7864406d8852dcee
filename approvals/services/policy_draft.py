"""Drafts of a policy: kept as they are typed, asked for, published, discarded, never lost (S72, W3).

A draft holds no authority, so a text with findings is kept too. Two people who save the same draft are told apart by
its revision; the second gets a conflict with the difference and keeps what they typed.
"""

import unicodedata
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from access.core.rights import require_admin
from approvals.core.policy_edit import EditError, item_add, item_remove
from approvals.core.policy_texts import difference, draft_text
from approvals.core.reasons import reason_of
from approvals.models import PolicyDraft
from approvals.selectors.policies import PolicyRow, policy_head, policy_in_force, policy_version
from approvals.selectors.policy_drafts import LIMIT, DraftRow, draft_of, draft_row, is_admin_now
from approvals.services.policy import policy_publish
from approvals.store.heads import head_locked
from audit.core.actor import Actor
from audit.core.canonical import sha256_hex
from audit.core.refusal import Conflict, Invalid, NotFound
from audit.services.record import audit_record, audit_refusals
from audit.store import clock

LONGEST_NAME = 60
FIRST_TEXT = """\
version: 1
rules:
  # The first rule that matches decides. What no rule speaks of is refused.
  - id: everything
    tool: "*"
    effect: deny
    message: Nothing is allowed yet.
"""
"""What the first draft of an organisation begins with."""


def policy_draft_create(
    *, actor: Actor, name: str, source: str | None = None, based_on: int | None = None, taken_from: int = 0
) -> DraftRow:
    """A new draft: of `source`, or of the text that is in force. `based_on` None is the version in force.

    Raises Forbidden, Invalid (NAME_INVALID, TOO_MANY_DRAFTS, TEXT_INVALID) and TooLarge.
    """
    with audit_refusals(actor=actor, action="policy.draft_saved", object_type="policy", object_id=actor.tenant_id):
        require_admin(actor)
        name = _name(name)
        active = policy_in_force(actor.tenant_id)
        if source is None:
            source = active.source if active else FIRST_TEXT
        source = draft_text(source)
        if PolicyDraft.objects.filter(tenant_id=actor.tenant_id, status="open").count() >= LIMIT:
            raise Invalid(f"{LIMIT} drafts are open, which is the most. Discard one first.", code="TOO_MANY_DRAFTS")
        row = PolicyDraft.objects.create(
            tenant_id=actor.tenant_id,
            name=name,
            source=source,
            based_on=(active.number if active else 0) if based_on is None else based_on,
            saved_by=actor.name,
            saved_by_id=actor.id,
            saved_at=clock.now(),
            taken_from=taken_from,
        )
        _record(actor, "policy.draft_saved", row)
    return draft_row(row)


def policy_draft_save(*, actor: Actor, draft_id: UUID, revision: int, source: str, name: str | None = None) -> DraftRow:
    """Keep a text in a draft, whatever stands against it. The same text again changes nothing.

    A change takes back the question to a second admin: what they would publish is not what was asked for.
    Raises Forbidden, NotFound, Invalid (NAME_INVALID, TEXT_INVALID), TooLarge and Conflict (DRAFT_CHANGED: somebody
    else has saved since `revision`; `detail` has the `revision`, `by`, `at` and a `diff` from theirs to yours;
    DRAFT_CLOSED).
    """
    with audit_refusals(actor=actor, action="policy.draft_saved", object_type="policy_draft", object_id=draft_id):
        require_admin(actor)
        source = draft_text(source)
        row = _locked(actor, draft_id)
        _check_revision(row, revision, source)
        new_name = row.name if name is None else _name(name)
        if (row.source, row.name) == (source, new_name):
            return draft_row(row)
        if row.source != source:
            row.taken_from = 0
            _not_asked(row)
        row.source, row.name = source, new_name
        _saved(actor, row)
        _record(actor, "policy.draft_saved", row)
    return draft_row(row)


def policy_draft_test_add(*, actor: Actor, draft_id: UUID, case: Mapping[str, Any]) -> DraftRow:
    """Write one more test behind the others of a draft.

    Raises like `policy_draft_save`, and Invalid (FORM_CANNOT) where the text is none that a test can be written into.
    """
    require_admin(actor)
    row = draft_of(actor.tenant_id, draft_id)
    try:
        source = item_add(row.source, "tests", case)
    except EditError as error:
        raise Invalid(str(error), code="FORM_CANNOT") from None
    return policy_draft_save(actor=actor, draft_id=draft_id, revision=row.revision, source=source)


def policy_draft_test_remove(*, actor: Actor, draft_id: UUID, revision: int, index: int) -> DraftRow:
    """Take a test out of a draft's text. Raises like `policy_draft_test_add`."""
    require_admin(actor)
    row = draft_of(actor.tenant_id, draft_id)
    try:
        source = item_remove(row.source, "tests", index)
    except EditError as error:
        raise Invalid(str(error), code="FORM_CANNOT") from None
    return policy_draft_save(actor=actor, draft_id=draft_id, revision=revision, source=source)


def policy_draft_rebase(*, actor: Actor, draft_id: UUID, revision: int) -> DraftRow:
    """Say that the text is meant on top of the version in force, after having seen what changed in it (S72).

    The text stays as it is. Raises like `policy_draft_save`.
    """
    with audit_refusals(actor=actor, action="policy.draft_saved", object_type="policy_draft", object_id=draft_id):
        require_admin(actor)
        row = _locked(actor, draft_id)
        _check_revision(row, revision, row.source)
        active = policy_head(actor.tenant_id).active_number
        if row.based_on != active:
            row.based_on = active
            _not_asked(row)
            _saved(actor, row)
            _record(actor, "policy.draft_saved", row)
    return draft_row(row)


def policy_draft_discard(*, actor: Actor, draft_id: UUID, revision: int) -> DraftRow:
    """Close a draft without publishing it; its text can still be read. Raises like `policy_draft_save`."""
    with audit_refusals(actor=actor, action="policy.draft_discarded", object_type="policy_draft", object_id=draft_id):
        require_admin(actor)
        row = _locked(actor, draft_id)
        _check_revision(row, revision, row.source)
        _not_asked(row)
        row.status = "discarded"
        _saved(actor, row)
        _record(actor, "policy.draft_discarded", row)
    return draft_row(row)


def policy_draft_ask(*, actor: Actor, draft_id: UUID, revision: int, reason: str) -> DraftRow:
    """Ask another admin to publish this very text. Raises like `policy_draft_save`, and Invalid (REASON_REQUIRED)."""
    with audit_refusals(actor=actor, action="policy.draft_asked", object_type="policy_draft", object_id=draft_id):
        require_admin(actor)
        reason = _required(reason)
        row = _locked(actor, draft_id)
        _check_revision(row, revision, row.source)
        row.asked_by, row.asked_by_id, row.asked_at, row.asked_reason = actor.name, actor.id, clock.now(), reason
        row.save(update_fields=["asked_by", "asked_by_id", "asked_at", "asked_reason"])
        _record(actor, "policy.draft_asked", row, reason=reason)
    return draft_row(row)


def policy_draft_publish(*, actor: Actor, draft_id: UUID, revision: int, reason: str) -> PolicyRow:
    """Publish what a draft says, as it was at `revision`.

    Raises like `policy_publish` and `policy_draft_save`, and Invalid (REASON_REQUIRED).
    """
    require_admin(actor)
    reason = _required(reason)
    draft = draft_of(actor.tenant_id, draft_id)
    with transaction.atomic():  # the row is read again under its lock; nothing is held while publishing checks the text
        _check_revision(_locked(actor, draft_id), revision, draft.source)
    return policy_publish(
        actor=actor,
        source=draft.source,
        based_on=draft.based_on or None,
        reason=reason,
        taken_from=draft.taken_from,
        draft_id=draft.id,
    )


def policy_roll_back(*, actor: Actor, number: int, based_on: int, reason: str) -> PolicyRow | DraftRow:
    """Publish the text of an older version again, as a new version. Where a second admin is needed, the draft by which
    they are asked instead.

    Raises NotFound for a version that is not there, Invalid (REASON_REQUIRED, ALREADY_IN_FORCE), and like
    `policy_publish`.
    """
    require_admin(actor)
    reason = _required(reason)
    old = policy_version(actor.tenant_id, number)
    if old is None:
        raise NotFound
    head = policy_head(actor.tenant_id)
    if number == head.active_number:
        raise Invalid(f"Version {number} is in force already.", code="ALREADY_IN_FORCE")
    if not head.second_admin:
        return policy_publish(actor=actor, source=old.source, based_on=based_on, reason=reason, taken_from=number)
    draft = policy_draft_create(
        actor=actor,
        name=f"Back to version {number}",
        source=old.source,
        based_on=based_on,
        taken_from=number,
    )
    return policy_draft_ask(actor=actor, draft_id=draft.id, revision=draft.revision, reason=reason)


def policy_second_admin_set(*, actor: Actor, needed: bool) -> bool:
    """Whether publishing needs a second admin; gives what holds now.

    One admin switches it on. To switch it off two must want it: the first asks, another one confirms, else one admin
    alone could get around it. Asking for it to stay (`needed` while it is on) takes the first one's wish back.
    Raises Forbidden.
    """
    with audit_refusals(actor=actor, action="policy.second_admin_set", object_type="policy", object_id=actor.tenant_id):
        require_admin(actor)
        head = head_locked(actor.tenant_id)
        ends = False
        if needed:
            head.second_admin, head.second_admin_end_by, head.second_admin_end_by_id = True, "", ""
        elif head.second_admin:
            other = head.second_admin_end_by_id
            ends = other not in ("", actor.id) and is_admin_now(actor.tenant_id, other)
            head.second_admin = not ends
            head.second_admin_end_by = "" if ends else actor.name
            head.second_admin_end_by_id = "" if ends else actor.id
        head.save(update_fields=["second_admin", "second_admin_end_by", "second_admin_end_by_id"])
        audit_record(
            actor=actor,
            action="policy.second_admin_set",
            object_type="policy",
            object_id=actor.tenant_id,
            detail={"wanted": needed, "needed": head.second_admin, "asked_by": head.second_admin_end_by},
        )
    return head.second_admin


def _locked(actor: Actor, draft_id: UUID) -> PolicyDraft:
    row = PolicyDraft.objects.select_for_update().filter(tenant_id=actor.tenant_id, pk=draft_id).first()
    if row is None:
        raise NotFound
    if row.status != "open":
        what = f"published as version {row.published_number}" if row.status == "published" else "discarded"
        raise Conflict(f"This draft was {what}. Make a new one to go on.", code="DRAFT_CLOSED")
    return row


def _check_revision(row: PolicyDraft, revision: int, source: str) -> None:
    if row.revision == revision:
        return
    raise Conflict(
        f"{row.saved_by} saved this draft at {row.saved_at:%Y-%m-%d %H:%M:%S} UTC, after you had opened it. Nothing "
        "was changed, and your text is still here. Look at the difference, then save again to put yours in its place.",
        code="DRAFT_CHANGED",
        detail={
            "revision": row.revision,
            "by": row.saved_by,
            "at": row.saved_at.isoformat(),
            "diff": difference(row.source, source, f"saved by {row.saved_by}", "yours"),
        },
    )


def _saved(actor: Actor, row: PolicyDraft) -> None:
    row.revision += 1
    row.saved_by, row.saved_by_id, row.saved_at = actor.name, actor.id, clock.now()
    row.save()


def _not_asked(row: PolicyDraft) -> None:
    row.asked_by, row.asked_by_id, row.asked_at, row.asked_reason = "", "", None, ""


def _required(reason: str) -> str:
    said = reason_of(reason, required=False)
    if not said:
        raise Invalid("Say why: the log and the history keep it.", code="REASON_REQUIRED", missing=["reason"])
    return said


def _name(text: str) -> str:
    name = unicodedata.normalize("NFC", " ".join(text.split()))
    if not name or len(name) > LONGEST_NAME or any(unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs") for c in name):
        raise Invalid(f"Give the draft a name of 1 to {LONGEST_NAME} visible characters.", code="NAME_INVALID")
    return name


def _record(actor: Actor, action: str, row: PolicyDraft, **more: str) -> None:
    audit_record(
        actor=actor,
        action=action,
        object_type="policy_draft",
        object_id=row.pk,
        detail={"name": row.name, "revision": row.revision, "based_on": row.based_on,
                "sha256": sha256_hex(row.source.encode("utf-8", "surrogatepass")), **more},
    )  # fmt: skip
