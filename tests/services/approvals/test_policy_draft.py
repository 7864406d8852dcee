"""approvals/services/policy_draft.py: texts are kept, asked for and published by two, never lost (S72, W3)."""

from uuid import uuid4

import pytest

from access.services import people
from approvals.selectors.policies import policy_head, policy_in_force, policy_version, policy_versions
from approvals.selectors.policy_drafts import DraftRow, draft_of, drafts_open
from approvals.selectors.policy_look import policy_look
from approvals.services import policy_draft as drafts
from approvals.services.policy import policy_publish, policy_test
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound, Refusal, TooLarge
from audit.selectors.entries import EntryFilters, entries_page
from tests.support import factories
from tests.support.approvals import ALLOWING, DENYING, POLICY, asking, world

TESTED = POLICY + (
    "tests:\n"
    "  - {name: small ones are asked, tool: refund_order, arguments: {order_id: ord_1, amount: 5}, state: {left: 9, "
    "currency: AUD}, expect: {effect: ask, rule: refund}}\n"
)


def admin(acme, name="Ada Okoye"):
    return factories.person(acme.tenant, roles=["admin"], name=name).actor


def draft(acme, source=None, actor=None, **kwargs) -> DraftRow:
    return drafts.policy_draft_create(actor=actor or acme.tenant.admin.actor, name="Refunds", source=source, **kwargs)


def save(acme, row, source, actor=None, revision=None):
    return drafts.policy_draft_save(
        actor=actor or acme.tenant.admin.actor, draft_id=row.id, revision=revision or row.revision, source=source
    )


def publish(acme, row, actor=None, reason="Ticket 12."):
    return drafts.policy_draft_publish(
        actor=actor or acme.tenant.admin.actor, draft_id=row.id, revision=row.revision, reason=reason
    )


def ask(acme, row, actor=None):
    return drafts.policy_draft_ask(
        actor=actor or acme.tenant.admin.actor, draft_id=row.id, revision=row.revision, reason="Before Christmas."
    )


def test_a_draft_begins_with_the_text_in_force(acme):
    row = draft(acme)
    assert (row.source, row.based_on, row.revision, row.saved_by) == (POLICY, 1, 1, acme.tenant.admin.name)
    assert drafts_open(acme.tenant.id) == [row]


def test_where_nothing_is_in_force_a_draft_begins_with_a_text_that_allows_nothing(db):
    tenant = factories.tenant()
    row = drafts.policy_draft_create(actor=tenant.admin.actor, name="First")
    assert (row.based_on, policy_look(tenant.id, row.source).publishable) == (0, True)
    version = drafts.policy_draft_publish(actor=tenant.admin.actor, draft_id=row.id, revision=1, reason="The first.")
    assert (version.number, version.reason) == (1, "The first.")


@pytest.mark.parametrize("source", ["", "rules: [", "version: 7", "not a policy\n\t&x", asking(("nobody", 3))])
def test_a_text_with_findings_is_kept_as_it_was_typed(acme, source):
    row = save(acme, draft(acme), source)
    assert draft_of(acme.tenant.id, row.id).source == source
    assert not policy_look(acme.tenant.id, source).publishable
    with pytest.raises(Invalid):
        publish(acme, row)
    assert draft_of(acme.tenant.id, row.id).source == source
    assert policy_in_force(acme.tenant.id).number == 1


def test_a_text_of_a_mebibyte_is_kept_and_one_more_byte_is_refused_in_words(acme):
    row = draft(acme)
    whole = "#" + "x" * (1_048_576 - 1)
    assert save(acme, row, whole).source == whole
    with pytest.raises(TooLarge, match="1,048,577 bytes"):
        save(acme, row, whole + "y", revision=2)
    assert draft_of(acme.tenant.id, row.id).source == whole


def test_a_character_that_nothing_can_keep_is_refused_with_its_line(acme):
    with pytest.raises(Invalid, match="Line 2"):
        save(acme, draft(acme), "a\nb\0")


def test_line_ends_of_a_browser_are_those_of_a_file(acme):
    row = save(acme, draft(acme), ALLOWING.replace("\n", "\r\n"))
    assert row.source == ALLOWING
    assert (
        publish(acme, row).digest
        == policy_publish(actor=world().tenant.admin.actor, source=ALLOWING, based_on=1).digest
    )


def test_the_second_of_two_who_save_is_told_who_and_what_and_nothing_is_written_over(acme):
    """S72, for one draft."""
    ada = admin(acme)
    row = draft(acme)
    save(acme, row, POLICY + "# theirs\n", actor=ada)
    with pytest.raises(Conflict, match="Ada Okoye saved this draft") as caught:
        save(acme, row, POLICY + "# mine\n", revision=1)
    detail = caught.value.detail
    assert (caught.value.code, detail["revision"], detail["by"]) == ("DRAFT_CHANGED", 2, "Ada Okoye")
    assert "-# theirs" in detail["diff"]
    assert "+# mine" in detail["diff"]
    assert draft_of(acme.tenant.id, row.id).source == POLICY + "# theirs\n"
    assert save(acme, row, POLICY + "# mine\n", revision=2).revision == 3


def test_the_same_text_saved_again_changes_nothing(acme):
    row = draft(acme)
    assert save(acme, row, POLICY) == row


def test_the_second_of_two_who_publish_keeps_the_text_and_says_that_it_is_meant_on_top(acme):
    """S72, for two drafts from version 1."""
    mine, theirs = draft(acme, POLICY + "# mine\n"), draft(acme, POLICY + "# theirs\n")
    assert publish(acme, theirs).number == 2
    with pytest.raises(Conflict) as caught:
        publish(acme, mine)
    assert (caught.value.code, "+# theirs" in caught.value.detail["diff"]) == ("POLICY_CHANGED", True)
    kept = draft_of(acme.tenant.id, mine.id)
    assert (kept.status, kept.source) == ("open", POLICY + "# mine\n")
    rebased = drafts.policy_draft_rebase(actor=acme.tenant.admin.actor, draft_id=mine.id, revision=1)
    assert (rebased.based_on, rebased.source) == (2, kept.source)
    assert publish(acme, rebased).number == 3


def test_a_published_draft_is_closed_and_says_what_it_became(acme):
    row = draft(acme, ALLOWING)
    version = publish(acme, row, reason="Ticket 12.")
    assert (version.number, version.reason, version.asked_by) == (2, "Ticket 12.", "")
    assert draft_of(acme.tenant.id, row.id).published_number == 2
    assert drafts_open(acme.tenant.id) == []
    with pytest.raises(Conflict, match="published as version 2"):
        save(acme, row, "x")
    with pytest.raises(Conflict):
        publish(acme, row)


def test_what_was_not_seen_is_not_published(acme):
    row = draft(acme, ALLOWING)
    save(acme, row, DENYING, actor=admin(acme))
    with pytest.raises(Conflict) as caught:
        publish(acme, row)
    assert caught.value.code == "DRAFT_CHANGED"
    assert policy_in_force(acme.tenant.id).number == 1


def test_a_draft_that_was_written_on_while_it_was_published_stays_open_with_its_new_text(acme):
    """Between the look at the draft and the lock of the head somebody saves."""
    row = draft(acme, ALLOWING)
    save(acme, row, DENYING)
    policy_publish(actor=acme.tenant.admin.actor, source=ALLOWING, based_on=1, draft_id=row.id)
    kept = draft_of(acme.tenant.id, row.id)
    assert (kept.status, kept.source, policy_in_force(acme.tenant.id).source) == ("open", DENYING, ALLOWING)


def test_publishing_needs_a_reason(acme):
    with pytest.raises(Invalid) as caught:
        publish(acme, draft(acme, ALLOWING), reason="  ")
    assert caught.value.code == "REASON_REQUIRED"


def test_a_discarded_draft_can_be_read_and_nothing_else(acme):
    row = draft(acme, ALLOWING)
    drafts.policy_draft_discard(actor=acme.tenant.admin.actor, draft_id=row.id, revision=1)
    assert draft_of(acme.tenant.id, row.id).source == ALLOWING
    assert drafts_open(acme.tenant.id) == []
    with pytest.raises(Conflict, match="discarded"):
        save(acme, row, POLICY)


def test_a_policy_whose_own_tests_fail_is_not_published_and_says_which(acme):
    failing = TESTED.replace("effect: ask, rule: refund}}", "effect: allow}}")
    with pytest.raises(Invalid, match="1 of its 1 tests fail, the first of them small ones are asked") as caught:
        publish(acme, draft(acme, failing))
    assert caught.value.code == "TESTS_FAILED"
    assert caught.value.detail["tests"][0]["got"] == "ask 1 of finance, by refund"
    assert policy_in_force(acme.tenant.id).number == 1
    with pytest.raises(Invalid):  # not by the other way either
        policy_publish(actor=acme.tenant.admin.actor, source=failing, based_on=1)
    assert [result.passed for result in policy_test(actor=acme.tenant.admin.actor, source=failing)] == [False]


def test_a_policy_whose_tests_pass_is_published_with_their_number_in_the_log(acme):
    assert publish(acme, draft(acme, TESTED)).number == 2
    entry = entries_page(acme.tenant.id, EntryFilters(action="policy.published", verdict="ok"))[0]
    assert (entry.detail["tests"], entry.detail["reason"]) == (1, "Ticket 12.")


def test_with_two_needed_nobody_publishes_alone(acme):
    drafts.policy_second_admin_set(actor=acme.tenant.admin.actor, needed=True)
    row = draft(acme, ALLOWING)
    for refused in (lambda: publish(acme, row), lambda: publish(acme, ask(acme, row))):
        with pytest.raises(Forbidden) as caught:
            refused()
        assert caught.value.code == "SECOND_ADMIN_NEEDED"
    with pytest.raises(Forbidden):  # from a file neither
        policy_publish(actor=acme.tenant.admin.actor, source=ALLOWING, based_on=1)
    assert policy_in_force(acme.tenant.id).number == 1


def test_with_two_needed_another_admin_publishes_what_was_asked_for(acme):
    drafts.policy_second_admin_set(actor=acme.tenant.admin.actor, needed=True)
    row = ask(acme, draft(acme, ALLOWING))
    version = publish(acme, row, actor=admin(acme))
    assert (version.published_by, version.asked_by) == ("Ada Okoye", acme.tenant.admin.name)
    entry = entries_page(acme.tenant.id, EntryFilters(action="policy.published", verdict="ok"))[0]
    assert (entry.actor_name, entry.detail["asked_by"]) == ("Ada Okoye", acme.tenant.admin.name)


def test_with_two_needed_the_same_text_from_a_file_is_published_by_the_other_admin(acme):
    drafts.policy_second_admin_set(actor=acme.tenant.admin.actor, needed=True)
    row = ask(acme, draft(acme, ALLOWING))
    ada = admin(acme)
    with pytest.raises(Forbidden):
        policy_publish(actor=ada, source=ALLOWING + "# more\n", based_on=1)
    assert policy_publish(actor=ada, source=ALLOWING, based_on=1).number == 2
    assert draft_of(acme.tenant.id, row.id).status == "published"


def test_a_change_after_asking_takes_the_question_back(acme):
    drafts.policy_second_admin_set(actor=acme.tenant.admin.actor, needed=True)
    row = ask(acme, draft(acme, ALLOWING))
    changed = save(acme, row, DENYING)
    assert changed.asked_by == ""
    with pytest.raises(Forbidden):
        publish(acme, changed, actor=admin(acme))
    # Whoever changed it last may ask, and somebody else publishes.
    assert publish(acme, ask(acme, changed), actor=admin(acme, "Ben Ito")).number == 2


def test_an_admin_who_is_none_any_more_has_asked_for_nothing(acme):
    drafts.policy_second_admin_set(actor=acme.tenant.admin.actor, needed=True)
    leaver = factories.person(acme.tenant, roles=["admin"], name="Lea Ver")
    row = ask(acme, draft(acme, ALLOWING), actor=leaver.actor)
    people.member_change(actor=acme.tenant.admin.actor, membership_id=leaver.membership_id, roles=["reviewer"])
    with pytest.raises(Forbidden):
        publish(acme, row, actor=admin(acme))


def test_a_question_on_an_older_version_is_none_any_more(acme):
    row = ask(acme, draft(acme, ALLOWING))
    acme.publish(POLICY + "# newer\n")
    drafts.policy_second_admin_set(actor=acme.tenant.admin.actor, needed=True)
    with pytest.raises(Conflict):
        publish(acme, row, actor=admin(acme))
    rebased = drafts.policy_draft_rebase(actor=acme.tenant.admin.actor, draft_id=row.id, revision=1)
    assert rebased.asked_by == ""


def test_the_rule_of_two_ends_only_when_two_want_it(acme):
    one, other = acme.tenant.admin.actor, admin(acme)
    assert drafts.policy_second_admin_set(actor=one, needed=True)
    assert drafts.policy_second_admin_set(actor=one, needed=False)
    assert drafts.policy_second_admin_set(actor=one, needed=False), "asking twice is not two people"
    assert policy_head(acme.tenant.id).end_by == one.name
    assert not drafts.policy_second_admin_set(actor=other, needed=False)
    assert policy_head(acme.tenant.id).end_by == ""


def test_a_wish_to_end_the_rule_of_two_is_taken_back_by_wanting_it(acme):
    one, other = acme.tenant.admin.actor, admin(acme)
    drafts.policy_second_admin_set(actor=one, needed=True)
    drafts.policy_second_admin_set(actor=one, needed=False)
    drafts.policy_second_admin_set(actor=other, needed=True)
    assert drafts.policy_second_admin_set(actor=other, needed=False), "now the other one is the first to ask"


def test_rolling_back_is_a_new_version_with_the_old_text_and_a_reason(acme):
    acme.publish(ALLOWING)
    version = drafts.policy_roll_back(actor=acme.tenant.admin.actor, number=1, based_on=2, reason="Too loose.")
    assert (version.number, version.source, version.taken_from, version.reason) == (3, POLICY, 1, "Too loose.")
    assert version.digest == policy_version(acme.tenant.id, 1).digest
    assert [row.number for row in policy_versions(acme.tenant.id)] == [3, 2, 1]


def test_rolling_back_with_two_needed_asks_the_second_one(acme):
    acme.publish(ALLOWING)
    drafts.policy_second_admin_set(actor=acme.tenant.admin.actor, needed=True)
    row = drafts.policy_roll_back(actor=acme.tenant.admin.actor, number=1, based_on=2, reason="Too loose.")
    assert isinstance(row, DraftRow)
    assert policy_in_force(acme.tenant.id).number == 2
    version = publish(acme, row, actor=admin(acme))
    assert (version.number, version.taken_from, version.source) == (3, 1, POLICY)


@pytest.mark.parametrize(("number", "kind"), [(1, Invalid), (9, NotFound)])
def test_there_is_no_rolling_back_to_what_is_in_force_or_not_there(acme, number, kind):
    with pytest.raises(kind):
        drafts.policy_roll_back(actor=acme.tenant.admin.actor, number=number, based_on=1, reason="Why.")


def test_rolling_back_from_another_version_than_the_one_seen_is_a_conflict(acme):
    acme.publish(ALLOWING)
    acme.publish(DENYING)
    with pytest.raises(Conflict):
        drafts.policy_roll_back(actor=acme.tenant.admin.actor, number=1, based_on=2, reason="Too loose.")


def verbs(acme, actor, row):
    """Every verb of drafts, by name."""
    at = {"actor": actor, "draft_id": row.id, "revision": 1}
    return {
        "create": lambda: drafts.policy_draft_create(actor=actor, name="x"),
        "save": lambda: drafts.policy_draft_save(**at, source="x"),
        "rebase": lambda: drafts.policy_draft_rebase(**at),
        "discard": lambda: drafts.policy_draft_discard(**at),
        "ask": lambda: drafts.policy_draft_ask(**at, reason="x"),
        "publish": lambda: drafts.policy_draft_publish(**at, reason="x"),
        "roll back": lambda: drafts.policy_roll_back(actor=actor, number=1, based_on=1, reason="x"),
        "second": lambda: drafts.policy_second_admin_set(actor=actor, needed=True),
        "test": lambda: policy_test(actor=actor, source=POLICY),
    }


@pytest.mark.parametrize("role", ["reviewer", "operator", "auditor"])
def test_only_an_admin_does_any_of_it(acme, role):
    row = draft(acme, ALLOWING)
    for actor in (factories.person(acme.tenant, roles=[role]).actor, acme.actor):
        for verb in verbs(acme, actor, row).values():
            with pytest.raises(Forbidden):
                verb()
    assert draft_of(acme.tenant.id, row.id) == row


def test_a_foreign_draft_is_not_there(acme):
    """S62."""
    row = draft(acme, ALLOWING)
    stranger = world().tenant.admin.actor
    for name in ("save", "rebase", "discard", "ask", "publish"):
        with pytest.raises(NotFound):
            verbs(acme, stranger, row)[name]()
    with pytest.raises(NotFound):
        draft_of(stranger.tenant_id, row.id)
    with pytest.raises(NotFound):
        draft_of(acme.tenant.id, uuid4())


@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "a\u202eb"])
def test_a_name_that_nobody_could_read_is_refused(acme, name):
    with pytest.raises(Invalid) as caught:
        drafts.policy_draft_create(actor=acme.tenant.admin.actor, name=name)
    assert caught.value.code == "NAME_INVALID"


def test_open_drafts_are_bounded(acme, monkeypatch):
    monkeypatch.setattr(drafts, "LIMIT", 2)
    draft(acme)
    draft(acme)
    with pytest.raises(Refusal) as caught:
        draft(acme)
    assert caught.value.code == "TOO_MANY_DRAFTS"


def test_the_log_tells_of_drafts_without_their_text(acme):
    row = draft(acme, ALLOWING)
    ask(acme, row)
    drafts.policy_draft_discard(actor=acme.tenant.admin.actor, draft_id=row.id, revision=1)
    entries = entries_page(acme.tenant.id, EntryFilters())
    told = {entry.action: entry for entry in entries if entry.object_type == "policy_draft"}
    assert set(told) == {"policy.draft_saved", "policy.draft_asked", "policy.draft_discarded"}
    assert all("refund_order" not in str(entry.detail) for entry in told.values())
