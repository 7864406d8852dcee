"""The form beside a policy's text and its buttons: what is written into the text, and when publishing is open (W3)."""

import html
import re

import pytest

from approvals.selectors.policy_drafts import draft_of
from tests.support import factories
from tests.support.approvals import ALLOWING, POLICY, world
from tests.support.policy_pages import draft, page, plain, send, typed


@pytest.fixture
def acme(db):
    return world()


@pytest.fixture
def admin(acme, signed_in):
    return signed_in(acme.tenant.admin)


def test_a_draft_without_a_name_is_refused_beside_its_form(acme, admin):
    answer = admin.post("/policies/draft/", {"name": " "})
    assert answer.status_code == 422
    assert "Give the draft a name" in plain(answer)


def publishing(answer):
    """Whether publishing is open, and what stands beside it."""
    body = answer.content.decode()
    found = re.search(r'<button id="publish"[^>]*>', body)
    words = re.search(r'<span class="note keep" id="summary"[^>]*>(.*?)</span>(?=\s*<)', body, re.DOTALL)
    assert found, body
    assert words, body
    return "disabled" not in found.group(), " ".join(html.unescape(re.sub(r"<[^>]+>", "", words.group(1))).split())


def test_publishing_is_closed_with_the_reason_while_something_is_in_the_way_and_opens_as_it_is_mended(acme, admin):
    row = draft(acme)
    assert publishing(admin.get(f"/policies/draft/{row.id}/")) == (True, "no tests")
    answer = send(admin, row, "check", source=POLICY.replace("effect: allow", "effect: alow"))
    is_open, words = publishing(answer)
    assert not is_open
    assert words.endswith("cannot be published as it is · Mend what is in the way, then press Save or Check.")
    assert 'value="save">Save' in answer.content.decode()
    # As it is typed the button follows.
    address = f"/policies/draft/{row.id}/check/"
    assert not publishing(admin.post(address, {"source": "rules: ["}))[0]
    typing = admin.post(address, {"source": POLICY})
    assert publishing(typing)[0]
    assert re.search(r'<button id="publish"[^>]*hx-swap-oob="true"', typing.content.decode())


def test_publishing_is_closed_until_a_draft_is_said_to_be_on_top_of_what_was_published_meanwhile(acme, admin):
    row = draft(acme, POLICY + "# mine\n")
    acme.publish(POLICY + "# theirs\n")
    answer = admin.get(f"/policies/draft/{row.id}/")
    assert publishing(answer) == (
        False, "no tests · Say first, at the top of the page, that it is meant on top of version 2.",
    )  # fmt: skip
    assert 'value="rebase"' in answer.content.decode()
    assert send(admin, row, "rebase").status_code == 302
    assert publishing(admin.get(f"/policies/draft/{row.id}/"))[0]


def test_where_a_second_admin_publishes_asking_is_the_strong_button(acme, admin, signed_in):
    admin.post("/policies/", {"needed": "yes"})
    row = draft(acme, ALLOWING)
    answer = admin.get(f"/policies/draft/{row.id}/")
    assert publishing(answer) == (False, "no tests · Another admin publishes it: press “Ask a second admin”.")
    assert 'class="primary" name="verb" value="ask"' in answer.content.decode()
    send(admin, row, "ask", reason="Before Christmas.")
    assert "You have asked for it" in publishing(admin.get(f"/policies/draft/{row.id}/"))[1]
    other = signed_in(factories.person(acme.tenant, roles=["admin"], name="Ada Okoye"))
    assert publishing(other.get(f"/policies/draft/{row.id}/")) == (True, "no tests")
    assert not publishing(send(other, row, "check", source=ALLOWING + "# more\n"))[0]


def test_a_rule_is_changed_in_the_form_and_comments_stay(acme, admin):
    source = "# ask Ines\n" + POLICY
    row = draft(acme, source)
    opened = send(admin, row, "open:rules:2")
    body = opened.content.decode()
    assert 'value="1 of finance"' in body
    assert 'value="15 min"' in body
    form = {
        "part": "rules", "index": "2", "was": "refund", "f-id": "refund", "f-tool": "refund_order", "f-effect": "ask",
        "f-approvers": "2 of finance", "f-expires_in_s": "30 min", "f-when": "", "f-message": "",
    }  # fmt: skip
    assert send(admin, row, "apply", **form).status_code == 302
    expected = source.replace("count: 1}], expires_in_s: 900", "count: 2}], expires_in_s: 1800")
    assert draft_of(acme.tenant.id, row.id).source == expected


def test_a_rule_with_tiers_and_a_limit_are_added_in_the_form(acme, admin):
    row = draft(acme)
    rule = {
        "part": "rules", "index": "", "was": "", "f-id": "tiered", "f-tool": "refund_order", "f-effect": "ask",
        "f-tier-0-up_to": "AUD 250.00", "f-tier-0-approvers": "1 of finance", "f-tier-1-approvers": "1 of leads",
        "before": "refund",
    }  # fmt: skip
    assert "Add to the text" in send(admin, row, "new:rules").content.decode()
    assert send(admin, row, "apply", **rule).status_code == 302
    row = draft_of(acme.tenant.id, row.id)
    limit = {
        "part": "limits", "index": "", "was": "", "f-id": "day", "f-tool": "refund_order", "f-per": "customer",
        "f-window": "24h", "f-amount": "AUD 500.00", "f-calls": "", "f-over": "deny",
    }  # fmt: skip
    assert send(admin, row, "apply", **limit).status_code == 302
    shown = page(admin, f"/policies/draft/{row.id}/")
    assert "up to A$250.00: 1 of finance · above: 1 of leads" in shown
    assert "calls of refund_order over A$500.00 for one customer in 24 hours" in shown


def test_terms_levels_and_freezes_are_written_by_the_form_and_nothing_else_is_touched(acme, admin):
    source = POLICY.replace("effect: deny\n", "effect: deny   # by hand\n") + "freeze:\n  # Ask Ines.\n" + (
        '  - {id: xmas, from: "2036-12-24T18:00:00+11:00", to: "2036-12-27T08:00:00+11:00", tools: ["*"]}\n'
    )  # fmt: skip
    row = draft(acme, source)
    body = send(admin, row, "open:rules:1").content.decode()
    assert re.search(r'name="f-authentication">.*?value="session" selected', body, re.DOTALL)
    form = {
        "part": "rules", "index": "1", "was": "too-large", "f-effect": "deny", "f-level": "overridable",
        "f-approvers": "1 of leads", "f-authentication": "fresh", "f-reasons": "Pay it by hand.\r\nAsk first.",
        "f-editable": "no", "f-rejections": "", "f-remind_at_percent": "", "f-escalate_to": "",
    }  # fmt: skip
    assert send(admin, row, "apply", **form).status_code == 302
    row = draft_of(acme.tenant.id, row.id)
    expected = source.replace("deny   # by hand\n", "deny   # by hand\n    level: overridable\n").replace(
        'by hand."\n', 'by hand."\n    approvers: [{group: leads, count: 1}]\n    authentication: fresh\n'
        '    reasons: [Pay it by hand., Ask first.]\n    editable: false\n'
    )  # fmt: skip
    assert row.source == expected
    assert 'value="2036-12-27T08:00:00+11:00"' in send(admin, row, "open:freeze:0").content.decode()
    form = {"part": "freeze", "index": "0", "was": "xmas", "f-to": "2036-12-28 08:00 +11:00", "f-tools": "refund_order"}
    assert send(admin, row, "apply", **form).status_code == 302
    expected = expected.replace('to: "2036-12-27', 'to: "2036-12-28').replace('["*"]', "[refund_order]")
    assert draft_of(acme.tenant.id, row.id).source == expected
    shown = page(admin, f"/policies/draft/{row.id}/")
    assert "deny, unless 1 of leads override it" in shown
    assert "until 2036-12-28 08:00" in shown


def test_a_freeze_that_ends_before_it_begins_is_said_at_its_field(acme, admin):
    row = draft(acme)
    assert "the first moment after it" in plain(send(admin, row, "new:freeze"))
    form = {"part": "freeze", "index": "", "was": "", "f-id": "xmas", "f-from": "2036-12-24 18:00 Z",
            "f-to": "2036-12-24 17:00 Z", "f-tools": "*"}  # fmt: skip
    answer = send(admin, row, "apply", **form)
    assert answer.status_code == 422
    assert "It would end before it begins." in plain(answer)
    assert send(admin, row, "apply", **form | {"f-to": "2036-12-24 19:00 Z"}).status_code == 302
    assert draft_of(acme.tenant.id, row.id).source == POLICY + (
        'freeze:\n  - id: xmas\n    from: "2036-12-24T18:00:00+00:00"\n    to: "2036-12-24T19:00:00+00:00"\n'
        '    tools: ["*"]\n'
    )


def test_what_the_form_cannot_understand_is_said_at_its_field_and_nothing_is_lost(acme, admin):
    row = draft(acme)
    form = {"part": "rules", "index": "2", "was": "refund", "f-id": "refund", "f-tool": "refund_order",
            "f-effect": "ask", "f-approvers": "whoever!"}  # fmt: skip
    answer = send(admin, row, "apply", source=POLICY + "# typed\n", **form)
    assert answer.status_code == 422
    assert "Write how many of which group" in plain(answer)
    assert 'value="whoever!"' in answer.content.decode()
    assert typed(answer) == POLICY + "# typed\n"


def test_a_form_that_was_opened_on_another_rule_changes_nothing(acme, admin):
    row = draft(acme)
    answer = send(admin, row, "remove", part="rules", index="1", was="refund")
    assert answer.status_code == 422
    assert "Another rule stands there now" in plain(answer)
    assert draft_of(acme.tenant.id, row.id).source == POLICY


def test_rules_are_moved_and_taken_out(acme, admin):
    row = draft(acme)
    assert send(admin, row, "up", part="rules", index="2", was="refund").status_code == 302
    row = draft_of(acme.tenant.id, row.id)
    assert row.source.index("id: refund,") < row.source.index("id: too-large")
    assert send(admin, row, "remove", part="rules", index="0", was="read-orders").status_code == 302
    assert "read-orders" not in draft_of(acme.tenant.id, row.id).source


@pytest.mark.parametrize("verb", ["open:rules:0", "apply"])
def test_the_form_asks_to_mend_a_broken_text_first(acme, admin, verb):
    answer = send(admin, draft(acme), verb, source="rules: [", part="rules", index="0", was="x")
    assert answer.status_code == 422
    assert "Mend the text, then open it again" in plain(answer)
    assert typed(answer) == "rules: ["
