"""A published version is in force on everybody's connection at once, and two who publish meet one by one (S72)."""

import threading
import time
from collections import Counter

from django.db import connections, transaction

from approvals.selectors.policies import policy_in_force, policy_versions
from approvals.selectors.policy_drafts import draft_of
from approvals.services import policy_draft as drafts
from approvals.services.judge import call_judge
from approvals.services.policy import policy_publish
from audit.core.refusal import Conflict, Forbidden
from tests.support import factories
from tests.support.approvals import DENYING, POLICY, STATE

BOUND_S = 2
"""Within which a version is in force everywhere; docs/roles/admin.md promises it."""


def test_workers_that_have_judged_before_judge_by_the_new_version_within_the_bound(acme):
    prepared = acme.prepare()
    warm, seen = threading.Barrier(3), {}

    def judged() -> int:
        with transaction.atomic():
            return call_judge(
                tenant_id=acme.tenant.id,
                tool_version_id=prepared.tool_version_id,
                canonical=prepared.canonical,
                state=STATE,
                requester=acme.requester(),
            ).policy_number

    def worker(name: int) -> None:
        try:
            assert judged() == 1
            warm.wait(60)
            while judged() == 1:
                time.sleep(0.01)
            seen[name] = time.monotonic()
        finally:
            connections.close_all()

    threads = [threading.Thread(target=worker, args=(name,), daemon=True) for name in range(2)]
    for thread in threads:
        thread.start()
    warm.wait(60)
    policy_publish(actor=acme.tenant.admin.actor, source=DENYING, based_on=1)
    published = time.monotonic()
    for thread in threads:
        thread.join(60)
    assert set(seen) == {0, 1}
    assert max(seen.values()) - published < BOUND_S


def test_of_many_who_publish_drafts_from_one_version_one_does_and_the_others_keep_their_texts(acme, race):
    """S72."""
    admins = [factories.person(acme.tenant, roles=["admin"]).actor for _ in range(8)]
    rows = [
        drafts.policy_draft_create(actor=admin, name=f"of {at}", source=f"{POLICY}# {at}\n")
        for at, admin in enumerate(admins)
    ]

    def publish(at: int) -> str:
        try:
            row = rows[at]
            drafts.policy_draft_publish(actor=admins[at], draft_id=row.id, revision=1, reason="Mine.")
        except Conflict as refusal:
            return refusal.code
        return "published"

    assert Counter(race(publish, 8)) == {"published": 1, "POLICY_CHANGED": 7}
    states = Counter(draft_of(acme.tenant.id, row.id).status for row in rows)
    assert states == {"published": 1, "open": 7}
    assert [draft_of(acme.tenant.id, row.id).source for row in rows] == [row.source for row in rows]
    assert len(policy_versions(acme.tenant.id)) == 2


def test_of_many_who_save_one_draft_one_does_and_the_others_are_told(acme, race):
    row = drafts.policy_draft_create(actor=acme.tenant.admin.actor, name="x")

    def save(at: int) -> str:
        try:
            source = f"{POLICY}# {at}\n"
            drafts.policy_draft_save(actor=acme.tenant.admin.actor, draft_id=row.id, revision=1, source=source)
        except Conflict as refusal:
            return refusal.code
        return "saved"

    assert Counter(race(save, 8)) == {"saved": 1, "DRAFT_CHANGED": 7}
    assert draft_of(acme.tenant.id, row.id).revision == 2


def test_a_text_that_is_changed_while_it_is_published_is_never_published_unasked(acme, race):
    """Two are needed: the asker changes the text at the moment in which the other publishes what was asked for."""
    drafts.policy_second_admin_set(actor=acme.tenant.admin.actor, needed=True)
    one, other = acme.tenant.admin.actor, factories.person(acme.tenant, roles=["admin"]).actor
    row = drafts.policy_draft_create(actor=one, name="x", source=POLICY + "# asked for\n")
    row = drafts.policy_draft_ask(actor=one, draft_id=row.id, revision=1, reason="Now.")

    def act(at: int) -> str:
        try:
            if at:
                drafts.policy_draft_save(actor=one, draft_id=row.id, revision=1, source=DENYING)
                return "saved"
            drafts.policy_draft_publish(actor=other, draft_id=row.id, revision=1, reason="Read it.")
        except (Conflict, Forbidden) as refusal:
            return refusal.code
        return "published"

    answers = race(act, 2)
    active = policy_in_force(acme.tenant.id)
    assert active is not None
    assert active.source != DENYING
    if answers[0] == "published":
        assert active.source == POLICY + "# asked for\n"
    else:
        assert (active.number, answers[1]) == (1, "saved")
    # Whatever came first, the text that was saved is not lost.
    if answers[1] == "saved":
        kept = draft_of(acme.tenant.id, row.id)
        assert (kept.source, kept.status) == (DENYING, "open")
