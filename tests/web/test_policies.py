"""Pages of the policy: what is in force, drafts with findings, conflicts that keep the text, going back (S72, W3)."""

import re

import pytest

from approvals.selectors.policies import policy_head, policy_in_force
from approvals.selectors.policy_drafts import draft_of, drafts_open
from approvals.services import policy_draft as drafts
from tests.support import factories
from tests.support.approvals import ALLOWING, POLICY, world
from tests.support.policy_pages import draft, page, plain, send, text, typed

TEST = (
    "tests:\n  - {name: small, tool: refund_order, arguments: {order_id: ord_1, amount: 5}, "
    "state: {left: 9, currency: AUD}, expect: {effect: EFFECT}}\n"
)


@pytest.fixture
def acme(db):
    return world()


@pytest.fixture
def admin(acme, signed_in):
    return signed_in(acme.tenant.admin)


@pytest.fixture
def auditor(acme, signed_in):
    return signed_in(factories.person(acme.tenant, roles=["auditor"]))


def test_the_page_says_what_is_in_force_in_words_by_whom_and_why(acme, admin):
    row = draft(acme, ALLOWING)
    send(admin, row, "publish", reason="Ticket 12: trusted now.")
    shown = page(admin, "/policies/")
    assert "In force: version 2" in shown
    assert "every call of refund_order" in shown
    assert "Ticket 12: trusted now." in shown
    assert "What it changed" in shown


def test_where_nothing_was_published_the_page_says_that_nothing_is_allowed(db, signed_in):
    tenant = factories.tenant()
    assert "Until then every call is refused" in page(signed_in(tenant.admin), "/policies/")


def test_a_new_draft_is_opened_with_the_text_in_force(acme, admin):
    answer = admin.post("/policies/draft/", {"name": "Refunds before Christmas"})
    [row] = drafts_open(acme.tenant.id)
    assert answer.headers["Location"] == f"/policies/draft/{row.id}/"
    assert typed(admin.get(answer.headers["Location"])) == POLICY


def test_findings_stand_with_their_lines_and_the_text_stays_as_typed(acme, admin):
    row = draft(acme)
    wrong = POLICY.replace("effect: allow", "effect: alow") + "# ä < & >\n"
    answer = send(admin, row, "check", source=wrong)
    assert answer.status_code == 200
    assert "In the way:" in plain(answer)
    assert "line 3, column 48" in plain(answer)
    assert typed(answer) == wrong
    assert "Not saved yet." in plain(answer)
    assert draft_of(acme.tenant.id, row.id).source == POLICY


def test_findings_as_you_type_are_a_part_of_the_page_and_save_nothing(acme, admin):
    row = draft(acme)
    source = POLICY + "  - {id: later, tool: send_mail, effect: deny}\n"
    answer = admin.post(f"/policies/draft/{row.id}/check/", {"source": source}, headers={"HX-Request": "true"})
    body = answer.content.decode()
    assert answer.status_code == 200
    assert "<html" not in body
    assert "There is no tool send_mail" in text(answer)
    assert "later" in body
    named = source + "  - {id: typo, tool: refund_order, when: args.amount > 1 && args.ammount > 1, effect: deny}\n"
    answer = admin.post(f"/policies/draft/{row.id}/check/", {"source": named}, headers={"HX-Request": "true"})
    at = f'data-line="{named.count(chr(10))}" data-column="61"'
    assert at in answer.content.decode(), "to the name in the condition"
    assert draft_of(acme.tenant.id, row.id).source == POLICY


def test_a_text_with_findings_is_saved_all_the_same(acme, admin):
    row = draft(acme)
    assert send(admin, row, source="rules: [\r\n").status_code == 302
    assert draft_of(acme.tenant.id, row.id).source == "rules: [\n"
    assert "The rules appear here once the text is a policy" in page(admin, f"/policies/draft/{row.id}/")


def test_a_text_that_is_too_large_is_refused_in_words_and_not_lost(acme, admin):
    row = draft(acme)
    large = "# " + "ä" * 600_000
    answer = send(admin, row, source=large)
    assert answer.status_code == 413
    assert "The policy has 1,200,002 bytes" in plain(answer)
    assert typed(answer) == large


def test_the_second_who_saves_sees_the_difference_and_keeps_the_text(acme, admin):
    """S72."""
    row = draft(acme)
    other = factories.person(acme.tenant, roles=["admin"], name="Ada Okoye")
    drafts.policy_draft_save(actor=other.actor, draft_id=row.id, revision=1, source=POLICY + "# theirs\n")
    answer = send(admin, row, source=POLICY + "# mine\n")
    assert answer.status_code == 409
    assert "Ada Okoye saved this draft" in plain(answer)
    assert re.search(r"− *taken out: *# theirs", plain(answer))
    assert re.search(r"\+ *put in: *# mine", plain(answer))
    assert typed(answer) == POLICY + "# mine\n"
    assert draft_of(acme.tenant.id, row.id).source == POLICY + "# theirs\n"
    # The page now knows their revision, so saving again is meant.
    revision = re.search(r'name="revision" value="(\d+)"', answer.content.decode())
    assert revision is not None
    assert send(admin, row, source=POLICY + "# mine\n", revision=revision.group(1)).status_code == 302


def test_the_second_who_publishes_sees_what_came_before_and_says_that_it_is_meant_on_top(acme, admin):
    """S72."""
    row = draft(acme, POLICY + "# mine\n")
    acme.publish(POLICY + "# theirs\n")
    shown = page(admin, f"/policies/draft/{row.id}/")
    assert "published version 2" in shown
    answer = send(admin, row, "publish", reason="Now.")
    assert answer.status_code == 409
    assert typed(answer) == POLICY + "# mine\n"
    assert policy_in_force(acme.tenant.id).number == 2
    assert send(admin, row, "rebase").status_code == 302
    row = draft_of(acme.tenant.id, row.id)
    assert send(admin, row, "publish", reason="Now.").headers["Location"] == "/policies/"
    assert policy_in_force(acme.tenant.id).source == POLICY + "# mine\n"


def test_what_was_typed_last_is_what_is_published(acme, admin):
    row = draft(acme)
    assert send(admin, row, "publish", source=ALLOWING, reason="Now.").status_code == 302
    assert policy_in_force(acme.tenant.id).source == ALLOWING


def test_failing_tests_are_in_the_way_and_named(acme, admin):
    row = draft(acme, POLICY + TEST.replace("EFFECT", "allow"))
    shown = page(admin, f"/policies/draft/{row.id}/")
    assert "small : expected allow ; got ask 1 of finance, by refund ." in shown
    assert "0 of 1 tests pass · cannot be published as it is" in shown
    answer = send(admin, row, "publish", reason="Now.")
    assert answer.status_code == 422
    assert "1 of its 1 tests fail" in plain(answer)
    tests = page(admin, f"/policies/draft/{row.id}/tests/")
    assert "1 of 1 fail" in tests
    assert "fails" in tests


def test_a_test_is_taken_out_where_it_is_the_one_that_was_shown(acme, admin):
    row = draft(acme, POLICY + TEST.replace("EFFECT", "ask"))
    address = f"/policies/draft/{row.id}/tests/"
    assert admin.post(address, {"remove": "0", "was": "another", "revision": 1}).status_code == 422
    assert admin.post(address, {"remove": "0", "was": "small", "revision": 1}).status_code == 302
    assert draft_of(acme.tenant.id, row.id).source == POLICY


def test_a_test_is_made_of_a_call_that_was(acme, admin):
    held = acme.hold(4500)
    row = draft(acme)
    address = f"/policies/test-of/{held.id}/"
    assert '"amount": 4500' in page(admin, address)
    answer = admin.post(address, {"name": "Lamps are asked", "effect": "ask", "draft": str(row.id)})
    assert answer.headers["Location"] == f"/policies/draft/{row.id}/tests/"
    assert "passes" in page(admin, answer.headers["Location"])
    assert "ask finance, by refund" in page(admin, answer.headers["Location"])
    # The rule stood there before: what follows is the text as it was, then the test.
    assert draft_of(acme.tenant.id, row.id).source.startswith(POLICY)


def test_a_test_of_a_call_may_want_something_else_than_what_was(acme, admin):
    held = acme.hold(4500)
    answer = admin.post(f"/policies/test-of/{held.id}/", {"name": "x", "effect": "deny", "draft": ""})
    [row] = drafts_open(acme.tenant.id)
    assert answer.headers["Location"] == f"/policies/draft/{row.id}/tests/"
    assert "fails" in page(admin, answer.headers["Location"])


def test_a_proposal_offers_admins_to_make_a_test_of_it(acme, admin, signed_in):
    held = acme.hold(4500)
    link = f"/policies/test-of/{held.id}/"
    assert link in admin.get(f"/proposals/{held.id}/").content.decode()
    reviewer = signed_in(acme.mara)
    assert link not in reviewer.get(f"/proposals/{held.id}/").content.decode()
    assert reviewer.get(link).status_code == 403
    assert reviewer.post(link, {"name": "x", "effect": "ask", "draft": ""}).status_code == 403


def test_a_second_admin_is_asked_for_and_publishes(acme, admin, signed_in):
    assert admin.post("/policies/", {"needed": "yes"}).status_code == 302
    row = draft(acme, ALLOWING)
    answer = send(admin, row, "publish", reason="Now.")
    assert answer.status_code == 403
    assert "a second admin publishes" in plain(answer)
    assert typed(answer) == ALLOWING
    assert send(admin, row, "ask", reason="Before Christmas.").status_code == 302
    other = signed_in(factories.person(acme.tenant, roles=["admin"], name="Ada Okoye"))
    assert "Before Christmas." in page(other, f"/policies/draft/{row.id}/")
    assert send(other, row, "publish", reason="Read it.").status_code == 302
    assert "asked for by" in page(other, "/policies/")
    assert admin.post("/policies/", {"needed": "no"}).status_code == 302
    assert policy_head(acme.tenant.id).second_admin
    assert other.post("/policies/", {"needed": "no"}).status_code == 302
    assert not policy_head(acme.tenant.id).second_admin


def test_going_back_is_a_new_version_with_a_reason(acme, admin):
    acme.publish(ALLOWING)
    assert "Go back to it" in page(admin, "/policies/versions/1/")
    refused = admin.post("/policies/versions/1/", {"based_on": 2, "reason": ""})
    assert (refused.status_code, policy_in_force(acme.tenant.id).number) == (422, 2)
    assert admin.post("/policies/versions/1/", {"based_on": 2, "reason": "Too loose."}).status_code == 302
    assert (policy_in_force(acme.tenant.id).number, policy_in_force(acme.tenant.id).source) == (3, POLICY)
    assert "the text of version 1" in page(admin, "/policies/")


def test_two_versions_stand_beside_each_other_in_words_and_lines(acme, admin):
    acme.publish(POLICY.replace("count: 1", "count: 2"))
    shown = page(admin, "/policies/compare/?left=1&right=2")
    assert "ask 1 of finance" in shown
    assert "ask 2 of finance" in shown
    assert "put in:" in shown
    row = draft(acme, POLICY)
    assert "They are the same" in page(admin, f"/policies/compare/?left=1&right={row.id}")
    assert "From nothing to version 1" in page(admin, "/policies/compare/?left=0&right=1")


@pytest.mark.parametrize("left", ["9", "x", "4f1c9b52-0000-4000-8000-000000000000"])
def test_what_is_not_there_cannot_be_compared(acme, admin, left):
    assert admin.get(f"/policies/compare/?left={left}&right=1").status_code == 404


def test_an_auditor_reads_everything_and_changes_nothing(acme, auditor):
    row = draft(acme, ALLOWING)
    paths = ["/policies/", f"/policies/draft/{row.id}/", f"/policies/draft/{row.id}/tests/", "/policies/versions/1/"]
    for path in [*paths, "/policies/compare/?left=1&right=1"]:
        answer = auditor.get(path)
        assert answer.status_code == 200
        # The only forms left: the account's, and the choice of what to compare.
        main = answer.content.decode().partition("<main")[2]
        assert 'method="post"' not in main, path
    before = policy_head(acme.tenant.id)
    for verb in ("save", "discard", "ask", "publish", "rebase", "apply"):
        assert send(auditor, row, verb, source="x", reason="x", part="rules").status_code == 403
    assert auditor.post("/policies/", {"needed": "yes"}).status_code == 403
    assert auditor.post("/policies/draft/", {"name": "x"}).status_code == 403
    assert auditor.post("/policies/versions/1/", {"based_on": 1, "reason": "x"}).status_code == 403
    assert policy_head(acme.tenant.id) == before
    assert draft_of(acme.tenant.id, row.id) == row


@pytest.mark.parametrize("role", ["reviewer", "operator"])
def test_others_read_no_policies(acme, signed_in, role):
    client = signed_in(factories.person(acme.tenant, roles=[role]))
    row = draft(acme)
    for path in ("/policies/", f"/policies/draft/{row.id}/", "/policies/versions/1/", "/policies/compare/"):
        assert client.get(path).status_code == 403
    assert "/policies/" not in client.get("/").content.decode()


def test_a_session_that_ended_while_somebody_typed_loses_no_word(acme, client):
    row = draft(acme)
    answer = client.post(f"/policies/draft/{row.id}/", {"verb": "save", "source": "typed <for> hours\n", "revision": 1})
    assert answer.status_code == 401
    assert "typed <for> hours" in text(answer)
    assert draft_of(acme.tenant.id, row.id) == row
    assert client.get(f"/policies/draft/{row.id}/").status_code == 302


def test_a_closed_draft_can_only_be_read(acme, admin):
    row = draft(acme, ALLOWING)
    assert send(admin, row, "discard").status_code == 302
    shown = page(admin, f"/policies/draft/{row.id}/")
    assert "Discarded" in shown
    assert "Publish as version" not in shown
    assert send(admin, row, source="x").status_code == 409


def test_an_unknown_button_changes_nothing(acme, admin):
    row = draft(acme)
    answer = send(admin, row, "explode", source="typed")
    assert (answer.status_code, typed(answer)) == (422, "typed")
    assert draft_of(acme.tenant.id, row.id) == row


def test_text_from_a_policy_is_never_markup(acme, admin):
    row = draft(acme, POLICY + '  - {id: x, tool: get_order, effect: deny, message: "<script>alert(1)</script>"}\n')
    for path in (f"/policies/draft/{row.id}/", f"/policies/compare/?left=1&right={row.id}"):
        assert "<script>alert" not in admin.get(path).content.decode()
