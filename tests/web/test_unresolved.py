"""The pages of unknown outcomes: the list, one call, its choices, and what links there."""

import re
from datetime import timedelta

import pytest

from approvals.web.story import OWNED
from audit.store import clock
from runs.models import Call, Dispatch, Event
from runs.services.reconciliation import reconciliation_decide
from tests.services.runs.test_compensating import POLICY, arguments
from tests.services.runs.test_reconciliation import (
    conclusive_at,
    look_up,
    lose,
    machine,
    operator,
    proven,
    shop,
    unknown,
)
from tests.support import factories
from tests.support.unknown import lost
from tests.support.world_fixtures import payments, world

__all__ = ["operator", "payments", "shop", "world"]
HTMX = {"HX-Request": "true"}


@pytest.fixture
def ola(operator, signed_in):
    return signed_in(operator)


def text(answer, status=200):
    assert answer.status_code == status, answer.content.decode()[:3000]
    return answer.content.decode()


def words(html):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html)).replace("&#x27;", "'").replace("&quot;", '"')


def page(client, call, status=200):
    return text(client.get(f"/unresolved/{call.id}/"), status)


def click(client, call, choice, **fields):
    form = {"choice": choice, "attempt": "1", "reason": "Looked at the provider's page."} | fields
    return client.post(f"/unresolved/{call.id}/decide/", form)


# -- the list ------------------------------------------------------------------------------------------------------


def test_an_empty_list_says_what_will_be_there(world, ola):
    html = words(text(ola.get("/unresolved/")))
    assert "Nothing is unknown" in html
    assert "appears here within seconds" in html


def test_unknown_calls_are_listed_oldest_first_with_all_that_identifies_them(world, ola):
    older, newer = lost(world), lost(world)
    Dispatch.objects.filter(call_id=newer.id, kind="look_up").update(created_at=clock.now() + timedelta(seconds=5))
    html = text(ola.get("/unresolved/"))
    assert html.index(f"/unresolved/{older.id}/") < html.index(f"/unresolved/{newer.id}/")
    told = words(html)
    assert "A$45.00" in told
    assert "Refund A$45.00" in told
    assert "being looked up" in told
    assert f"/runs/{older.run_id}/" in html
    assert f"/proposals/{older.proposal_id}/" in html
    assert '<span data-count="unresolved">2</span>' in html


def test_a_bad_row_does_not_hide_the_others(world, ola, owner_sql):
    bad, good = lost(world), lost(world)
    owner_sql("ALTER TABLE runs_call DISABLE TRIGGER runs_call_bound")
    owner_sql("UPDATE runs_call SET canonical = '\\x00' WHERE id = %s", [bad.id])
    html = text(ola.get("/unresolved/"))
    assert "which cannot be shown" in words(html)
    assert f"/unresolved/{good.id}/" in html
    damaged = words(page(ola, bad))
    assert "is not the one that was asked for" in damaged


def test_more_than_a_page_is_read_by_its_cursor(world, ola, monkeypatch):
    from runs.selectors import unresolved

    made = [str(lost(world).id) for _ in range(3)]
    monkeypatch.setattr(unresolved, "PAGE", 2)
    monkeypatch.setattr(unresolved.unresolved_page, "__kwdefaults__", {"after": "", "limit": 2})
    first = text(ola.get("/unresolved/"))
    more = re.search(r'href="(/unresolved/\?after=[^"]+)"', first).group(1)
    second = text(ola.get(more))
    found = [re.findall(r'href="/unresolved/([0-9a-f-]{36})/"', html) for html in (first, second)]
    assert [*found[0], *found[1]] == made
    assert "not one of ours" in text(ola.get("/unresolved/?after=nonsense"))


def test_only_operators_and_admins_find_it_in_the_navigation_and_every_role_reads_it(world, signed_in):
    call = lost(world)
    for role, offered in (("operator", True), ("admin", True), ("reviewer", False), ("auditor", False)):
        client = signed_in(factories.person(world.tenant, roles=[role]))
        html = text(client.get("/unresolved/"))
        assert ('data-count="unresolved"' in html) is offered
        one = page(client, call)
        assert ("Record: it happened" in one) is (role == "operator")
        if role != "operator":
            assert "takes the role operator" in words(one)
            assert "Ask the target now" not in one


def test_a_foreign_call_and_one_that_was_never_unknown_look_like_no_call_at_all(world, ola, signed_in):
    call, waiting = lost(world), world.held()
    stranger = signed_in(factories.person(factories.tenant(), roles=["operator"]))
    page(stranger, call, 404)
    page(ola, waiting, 404)


# -- one call ------------------------------------------------------------------------------------------------------


def test_the_page_says_what_is_known_and_calls_no_target(world, shop, ola):
    call = unknown(world, shop)
    visits = len(shop.target.visits)
    html = page(ola, call)
    told = words(html)
    assert len(shop.target.visits) == visits
    for part in (
        "Attempt 1",
        "its answer was awaited until",
        call.key,
        "Rita Reviewer approved",
        "Rule refund",
        "Amount",
    ):
        assert part in told
    assert "recognise our key" in told or "not recognised by the target" in told
    assert f"/proposals/{call.proposal_id}/" in html


def test_before_the_look_up_is_conclusive_the_page_says_from_when_on(world, shop, ola, stand_at):
    call = unknown(world, shop)
    at = conclusive_at(call)
    stand_at(at - timedelta(milliseconds=1))
    html = page(ola, call)
    assert "Record: it did not happen" not in html
    assert "Retry with the same key<" not in html
    assert f'data-deadline="{at.isoformat()}"' in html
    assert "proves nothing, until" in words(html)
    answer = click(ola, call, "did_not_happen")
    assert "can still take effect" in words(text(answer, 409))
    stand_at(at)
    look_up(world, call)
    html = page(ola, call)
    assert "Record: it did not happen" in html
    assert "asked: it shows nothing" in words(html)


def test_beside_retry_stand_its_window_and_what_it_does_not_cover(world, shop, ola, stand_at):
    call = proven(world, shop, stand_at)
    told = words(page(ola, call))
    assert "Left for that:" in told
    assert "its approval is over then" in told
    for risk in ("a whole machine that was frozen", "clock that was set back", "longer than it declared"):
        assert risk in told
    assert "does not recognise our key" in told


def test_a_target_that_enforces_the_key_is_said_to(world, shop, ola, stand_at):
    call = proven(world, shop, stand_at, idempotency={"enforced_by_target": True})
    told = words(page(ola, call))
    assert "The target itself recognises the key" in told
    assert "does not recognise our key" not in told


def test_where_the_approval_is_over_the_page_says_that_people_are_asked_anew(world, shop, ola, stand_at):
    call = unknown(world, shop)
    stand_at(clock.now() + timedelta(hours=1))
    look_up(world, call)
    html = page(ola, call)
    assert "people are asked anew" in words(html)
    answer = click(ola, call, "retry")
    assert answer.status_code == 302
    assert Call.objects.get(pk=call.id).state == "waiting"


def test_the_button_records_a_wish_and_the_answer_shows(world, shop, ola):
    call = unknown(world, shop)
    Dispatch.objects.filter(call_id=call.id, kind="look_up").update(not_before=clock.now() + timedelta(hours=1))
    answer = ola.post(f"/unresolved/{call.id}/ask/")
    assert answer.status_code == 302
    assert "asked now" in words(page(ola, call))
    look_up(world, call)
    told = words(page(ola, call))
    assert "it shows nothing under our key" in told
    assert "had the target asked" in told


def test_a_refused_click_keeps_what_was_typed_in_its_opened_form(world, shop, ola):
    call = unknown(world, shop)
    html = text(click(ola, call, "happened", reference="\u200b", reason="Seen <b>it</b>"), 422)
    assert "Give the provider&#x27;s own reference" in html
    assert "Seen &lt;b&gt;it&lt;/b&gt;" in html
    assert re.search(r'<details class="verb" open><summary class="button">It happened', html)
    html = text(click(ola, call, "compensate", tool="refund_order", arguments="{nonsense"), 422)
    assert "no JSON object" in html
    assert "{nonsense" in html


def test_it_happened_is_shown_afterwards_with_who_said_so(world, shop, ola):
    call = unknown(world, shop)
    assert click(ola, call, "happened", reference="re_\u202e881").status_code == 302
    html = page(ola, call)
    told = words(html)
    assert "Ola Brandt: it happened" in told
    assert "Looked at the provider's page." in told
    assert "\u202e" not in html
    assert ">U+202E</span>" in html
    assert "Record: it happened" not in html
    assert "Nothing is unknown" in words(text(ola.get("/unresolved/")))


def test_the_second_operator_reads_who_decided_and_when(world, shop, ola, operator, signed_in):
    call = unknown(world, shop)
    other = signed_in(factories.person(world.tenant, roles=["operator"]))
    click(ola, call, "happened", reference="re_1")
    html = words(text(click(other, call, "happened", reference="re_2"), 409))
    assert re.search(r"Ola Brandt decided at \d\d:\d\d:\d\d UTC: it happened", html)
    assert click(ola, call, "happened", reference="re_1").status_code == 302


def test_a_click_without_the_attempt_that_was_shown_changes_nothing(world, shop, ola):
    call = unknown(world, shop)
    for attempt in ("", "2", "x", "9" * 40):
        assert click(ola, call, "leave", attempt=attempt).status_code == 409
    assert not Event.objects.filter(run_id=call.run_id, kind="outcome_reconciled").exists()


def test_left_with_a_reason_it_stays_listed_and_says_so(world, ola):
    call = lost(world)
    assert click(ola, call, "leave", reason="The provider answers tomorrow.").status_code == 302
    assert "left it as it is. The provider answers tomorrow." in words(page(ola, call))
    assert f"/unresolved/{call.id}/" in text(ola.get("/unresolved/"))


def test_a_compensating_call_is_prepared_from_the_page_and_followed_there(world, shop, ola, stand_at):
    import json

    world.publish(POLICY)
    call = proven(world, shop, stand_at)
    world.admit("refund_order", lambda document: document.update(name="take_back"), host=shop.target.host)
    assert '<option value="take_back">' in page(ola, call)
    answer = click(ola, call, "compensate", tool="take_back", arguments=json.dumps(arguments(world)))
    assert answer.status_code == 302
    world.work(call)
    html = page(ola, call)
    assert f"{call.call_id}-made-good-1" in html
    assert "wait for its end" in words(html)
    made = Call.objects.get(run_id=call.run_id, call_id=f"{call.call_id}-made-good-1")
    prepared = words(text(ola.get(f"/proposals/{made.proposal_id}/")))
    assert "prepared by Ola Brandt" in prepared
    assert "Written by the agent, not checked" not in prepared


def test_a_late_answer_that_contradicts_the_decision_is_put_first(world, shop, ola, operator, stand_at):
    from runs.core.kinds import EventKind as K
    from tests.support.histories import add

    call = proven(world, shop, stand_at)
    click(ola, call, "did_not_happen")
    fence = machine(call).fence
    add(
        call.run_id,
        (K.LATE_RESULT_KEPT, {"call_id": call.call_id, "fence": fence, "outcome": "succeeded", "reference": "re_9"}),
    )
    told = words(page(ola, call))
    assert "A late answer of the target says that it happened (reference re_9)" in told


# -- what leads there ----------------------------------------------------------------------------------------------


def test_the_proposal_and_the_run_lead_to_it_and_tell_what_was_decided(world, shop, ola, operator, stand_at):
    call = unknown(world, shop)
    proposal = text(ola.get(f"/proposals/{call.proposal_id}/"))
    assert OWNED in words(proposal)
    assert f'href="/unresolved/{call.id}/"' in proposal
    assert f'href="/unresolved/{call.id}/"' in text(ola.get(f"/runs/{call.run_id}/"))
    click(ola, call, "happened", reference="re_1")
    told = words(text(ola.get(f"/proposals/{call.proposal_id}/")))
    assert "recorded by Ola Brandt after the outcome was unknown" in told
    assert "Ola Brandt" in words(text(ola.get(f"/runs/{call.run_id}/")))


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_no_page_approves_or_rejects_while_the_outcome_is_unknown(world, shop, signed_in, verdict):
    call = unknown(world, shop)
    client = signed_in(world.second_reviewer)
    html = text(client.get(f"/proposals/{call.proposal_id}/"))
    assert 'value="approve"' not in html
    form = {"verdict": verdict, "digest": call.digest, "round": "1", "reason": "No."}
    assert client.post(f"/proposals/{call.proposal_id}/decide/", form).status_code == 409
    assert world.look(call).state == "unknown"


def test_a_retry_that_is_lost_again_is_a_question_of_its_own(world, shop, ola, operator, stand_at):
    call = proven(world, shop, stand_at)
    reconciliation_decide(
        actor=operator.actor, unresolved_id=call.id, choice="retry", attempt=1, reason="Shows nothing."
    )
    lose(world, shop, call)
    told = words(page(ola, call))
    assert "Attempt 2" in told
    assert "sent again with the same key (attempt 1)" in told
    assert "Record: it did not happen" not in told
