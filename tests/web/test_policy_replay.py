"""The panel of a replay on a draft's page, its own page, and the page of coverage."""

import re

import pytest

from access.services import agents
from approvals.models import PolicyReplay
from approvals.services.contract import contract_admit
from approvals.services.policy_draft import policy_draft_create, policy_draft_save
from approvals.services.replay import replay_ask
from runs.services.replay import replay_run
from tests.core.approvals.documents import read_document, refund_document
from tests.support import factories
from tests.support.approvals import POLICY, World, world

FREE = POLICY + "  - {id: gifts, tool: send_gift, effect: allow}\n"


def words(answer) -> str:
    """The text of a page without its marks."""
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


@pytest.fixture
def acme(db) -> World:
    return world()


@pytest.fixture
def admin(acme, signed_in):
    return signed_in(acme.tenant.admin)


@pytest.fixture
def draft(acme):
    return policy_draft_create(actor=acme.tenant.admin.actor, name="Gifts", source=POLICY)


def test_a_draft_is_replayed_from_its_page_watched_and_its_result_is_told(acme, admin, draft):
    page = admin.get(f"/policies/draft/{draft.id}/")
    assert "What would this text have said of calls that really were?" in words(page)
    answer = admin.post(f"/policies/draft/{draft.id}/replay/", {"days": "7"})
    assert (answer.status_code, answer["Location"]) == (302, f"/policies/draft/{draft.id}/#replay")
    row = PolicyReplay.objects.get()
    assert (row.draft_id, (row.until - row.since).days, row.source) == (draft.id, 7, POLICY)
    page = admin.get(f"/policies/draft/{draft.id}/")
    assert f'hx-get="/policies/replays/{row.pk}/panel/" hx-trigger="every 2s"' in page.content.decode()
    assert "Waits for a worker" in words(page)
    assert replay_run(replay_id=row.pk)
    part = admin.get(f"/policies/replays/{row.pk}/panel/")
    assert "hx-trigger" not in part.content.decode()
    assert "No verdict would change. There were no calls in these 7 days." in words(part)
    assert "<html" not in part.content.decode()


def test_a_result_names_transitions_sums_rejections_rules_and_what_is_left_out(acme, admin, draft):
    asked = replay_ask(actor=acme.tenant.admin.actor, source=POLICY, draft_id=draft.id)
    held = acme.hold()
    one = {
        "run_id": str(held.run_id), "call_id": held.call_id, "tool": "refund_order", "at": "2026-11-03T00:00:00+00:00",
        "proposal_id": str(held.id), "target": "payments/order/<b>9</b>", "amount": 2490, "currency": "AUD",
        "state": "rejected", "rejected": True, "from_rule": "refund", "to_rule": "small",
    }  # fmt: skip
    move = {"from": "ask", "to": "allow", "calls": 1212, "rejected": 11, "sums": {"AUD": 487150, "JPY": 900},
            "examples": [one], "rules": [{"from": "refund", "to": "small", "calls": 1212}]}  # fmt: skip
    left = {"missing": "state", "calls": 3, "rejected": 0, "sums": {}, "rules": [], "examples": [one]}
    result = {"same": {"allow": 40000}, "as_now": 7, "moves": [move], "left_out": [left]}
    PolicyReplay.objects.update(status="done", judged=41208, total=41208, result=result)
    page = admin.get(f"/policies/replays/{asked.id}/")
    said = words(page)
    for part in (
        "41,208 calls judged, production evaluator, no tool was called", "1,212", "A$4,871.50, ¥900",
        "11 of them had been rejected by people", "3 calls are left out", "40,000 calls would be judged as today",
        "Of 7 calls it was not kept which roles and groups", "refund → small : 1,212",
    ):  # fmt: skip
        assert part in said, (part, said)
    html = page.content.decode()
    assert f'href="/proposals/{held.id}/"' in html
    assert "payments/order/<b>" not in html
    policy_draft_save(actor=acme.tenant.admin.actor, draft_id=draft.id, revision=1, source=FREE)
    assert "Out of date. The draft was changed since" in words(admin.get(f"/policies/replays/{asked.id}/"))


def test_a_replay_is_cancelled_from_its_panel(acme, admin, draft):
    asked = replay_ask(actor=acme.tenant.admin.actor, source=POLICY, draft_id=draft.id)
    page = admin.post(f"/policies/replays/{asked.id}/cancel/", follow=True)
    assert "Cancelled" in words(page)
    assert PolicyReplay.objects.get().status == "cancelled"


def test_an_auditor_reads_a_replay_and_asks_for_none_and_a_reviewer_is_told_no(acme, signed_in, draft):
    asked = replay_ask(actor=acme.tenant.admin.actor, source=POLICY, draft_id=draft.id)
    auditor = signed_in(factories.person(acme.tenant, roles=["auditor"]))
    page = auditor.get(f"/policies/replays/{asked.id}/")
    assert page.status_code == 200
    assert "Cancel the replay" not in words(page)
    auditor.post(f"/policies/draft/{draft.id}/replay/", {"days": "7"})
    assert PolicyReplay.objects.count() == 1
    assert auditor.post(f"/policies/replays/{asked.id}/cancel/").status_code == 403
    reviewer = signed_in(acme.mara)
    for address in (f"/policies/replays/{asked.id}/", f"/policies/replays/{asked.id}/panel/", "/policies/coverage/"):
        assert reviewer.get(address).status_code == 403


def test_a_draft_that_is_no_policy_is_not_replayed_and_says_why(acme, admin):
    draft = policy_draft_create(actor=acme.tenant.admin.actor, name="Wrong", source="version: 1\nrules: [{id: x}]\n")
    page = admin.post(f"/policies/draft/{draft.id}/replay/", {"days": "7"}, follow=True)
    assert "The policy cannot be used" in words(page)
    assert not PolicyReplay.objects.exists()


GIFT = {"/name": "send_gift", "/title": "Send a gift", "/scopes": ["orders:read"], "/approval": "policy"}


@pytest.fixture
def gifts(acme):
    """A tool that the policy allows and asks nobody about."""
    contract_admit(actor=acme.tenant.admin.actor, document=refund_document(GIFT))
    acme.publish(FREE)


def test_coverage_says_what_becomes_of_every_tool_and_whom_nobody_asks_about_stands_out(acme, admin, gifts):
    said = words(admin.get("/policies/coverage/"))
    assert "What version 2, which is in force, says of 3 tools and 1 active agent" in said
    assert "1 tool with side effects is allowed for some agent, and no rule asks anybody about it." in said
    order = [said.index(name) for name in ("send_gift Send", "get_order ", "refund_order ")]
    assert order == sorted(order)
    assert "some: too-large refuses all others: refund asks 1 of finance" in said
    assert "allowed gifts allows support-agent" in said


def test_coverage_tells_agents_apart_by_scope_and_groups_those_that_are_alike(acme, admin, gifts):
    for number in range(7):
        factories.agent(acme.tenant, scopes=["orders:read"], name=f"reader-{number}")
    agents.agent_deactivate(actor=acme.tenant.admin.actor, agent_id=factories.agent(acme.tenant, name="gone").id)
    page = admin.get("/policies/coverage/", {"q": "refund"})
    said = words(page)
    assert "refused: scope missing lacks refunds:write reader-0 , reader-1" in said
    assert "and 2 more" in said
    assert "gone" not in said
    assert "get_order" not in said


NARROWED = [
    ({"unasked": "1"}, ["send_gift"]),
    ({"effects": "1"}, ["send_gift", "refund_order"]),
    ({"outcome": "allowed"}, ["send_gift", "get_order"]),
    ({"outcome": "depends"}, ["refund_order"]),
    ({"outcome": "denied"}, []),
    ({"q": "ORDER"}, ["get_order", "refund_order"]),
    ({"agent": "0b9f4b2e-9d4e-4a55-8a4c-1f0c5d1f6c11"}, []),
    ({"agent": "nonsense", "page": "x"}, []),
    ({"page": "2"}, []),
]


def test_coverage_is_narrowed(acme, admin, gifts):
    for query, tools in NARROWED:
        html = admin.get("/policies/coverage/", query).content.decode()
        assert re.findall(r'<h2 id="tool-[0-9]+"><a href="/tools/([a-z_]+)/"', html) == tools, query


def test_coverage_before_any_policy_says_that_everything_is_refused(db, signed_in):
    tenant = factories.tenant()
    contract_admit(actor=tenant.admin.actor, document=read_document())
    said = words(signed_in(tenant.admin).get("/policies/coverage/"))
    assert "No policy was published yet, so every call is refused." in said
