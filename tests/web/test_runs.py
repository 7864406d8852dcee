"""The list of runs, one run with its timeline, and cancel: who sees what, and what the pages say."""

import json
import re
from html import unescape
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from runs.core.kinds import EventKind as K
from runs.models import Run
from tests.support import factories
from tests.support.histories import add, new_run, propose

NOBODYS = "6a2f41a3-c54c-4ad7-8d09-6f5d5a7ff2d1"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def operator(acme, signed_in):
    return signed_in(factories.person(acme, roles=["operator"], name="Ola Brandt"))


@pytest.fixture
def reviewer(acme, signed_in):
    return signed_in(factories.person(acme, roles=["reviewer"]))


@pytest.fixture
def run(acme):
    run_id = new_run(tenant_id=UUID(acme.id))
    propose(run_id)
    return run_id


@pytest.fixture
def long_run(acme):
    run_id = new_run(tenant_id=UUID(acme.id))
    for _ in range(249):
        add(run_id, (K.USER_STEERED, {"text": "on"}))
    return run_id


def places(html):
    """[first, last, how many] of each block, newest first."""
    return json.loads(unescape(re.search(r'data-blocks="([^"]*)"', html).group(1)))


def text(answer, status=200):
    assert answer.status_code == status, answer.content
    return answer.content.decode()


def titled(acme, title, **kwargs):
    run_id = new_run(tenant_id=UUID(acme.id), **kwargs)
    Run.objects.filter(pk=run_id).update(title=title)
    return run_id


def sequence(html):
    return [int(number) for number in re.findall(r'id="event-(\d+)"', html)]


# -- the list -----------------------------------------------------------------------------------------------------


def test_an_empty_list_says_what_will_be_there(operator):
    assert "No runs yet" in text(operator.get("/runs/"))


def test_a_run_is_listed_with_its_state_in_words(operator, run):
    html = text(operator.get("/runs/"))
    assert f"/runs/{run}/" in html
    assert ">Being judged</span>" in html
    assert 'Being judged <span data-count="running">1</span>' in html


def test_every_role_reads_runs_and_a_member_without_a_role_reads_none(acme, signed_in, run):
    for role in ("reviewer", "operator", "admin", "auditor"):
        assert f"/runs/{run}/" in text(signed_in(factories.person(acme, roles=[role])).get("/runs/"))
    nobody = signed_in(factories.person(acme, roles=[]))
    assert f"/runs/{run}/" not in text(nobody.get("/runs/"))
    text(nobody.get(f"/runs/{run}/"), 404)


def test_the_list_is_filtered_by_state_and_by_words(operator, acme):
    one, other = titled(acme, "close ticket 5512"), titled(acme, "open ticket 7")
    html = text(operator.get("/runs/?q=5512"))
    assert (f"/runs/{one}/" in html, f"/runs/{other}/" in html) == (True, False)
    assert f"/runs/{one}/" in text(operator.get("/runs/?state=ready"))
    assert "No run fits" in text(operator.get("/runs/?state=failed"))


@pytest.mark.parametrize(
    "query", ["state=no_such_state", "q=%00", "q=" + "x" * 5000, "q=%F0%9F", "after=nonsense", "after=%00"]
)
def test_a_strange_query_is_no_fault(operator, run, query):
    text(operator.get(f"/runs/?{query}"))


def test_a_page_mark_that_is_not_ours_says_so_and_lists_from_the_start(operator, run):
    html = text(operator.get("/runs/?after=nonsense"))
    assert "not one of ours" in html
    assert f"/runs/{run}/" in html


def test_more_than_a_page_is_loaded_by_its_cursor_and_nothing_comes_twice(operator, acme):
    made = {str(titled(acme, f"run {number}")) for number in range(60)}
    first = text(operator.get("/runs/"))
    more = re.search(r'hx-get="(/runs/\?after=[^"]+)"', first).group(1).replace("&amp;", "&")
    second = text(operator.get(more, headers=HTMX))
    assert "<html" not in second
    one, other = (set(re.findall(r'id="row-([0-9a-f-]{36})"', html)) for html in (first, second))
    assert one | other == made
    assert not one & other
    assert len(one) == 50


def test_the_body_of_the_list_alone_is_what_its_refresh_returns(operator, run):
    html = text(operator.get("/runs/", headers=HTMX))
    assert "<html" not in html
    assert 'id="list-body"' in html
    assert html.strip() in re.sub(
        r'data-now="[^"]+"', re.search(r'data-now="[^"]+"', html).group(), text(operator.get("/runs/"))
    )


# -- one run --------------------------------------------------------------------------------------------------------


def test_a_run_tells_its_history_newest_first_with_sequence_numbers(operator, run):
    html = text(operator.get(f"/runs/{run}/"))
    assert sequence(html) == [3, 2, 1]
    assert 'data-last="3"' in html
    assert "The agent asks for" in html
    assert "<code><bdi>refund_order</bdi></code>" in html


def test_the_title_tells_the_state(operator, run):
    assert "<title>A run · Being judged · Clearance</title>" in text(operator.get(f"/runs/{run}/"))


def test_a_title_that_hides_something_is_shown_with_its_escapes(operator, acme):
    run_id = titled(acme, "close\u202eticket <b>1</b>")
    html = text(operator.get(f"/runs/{run_id}/"))
    assert "\u202e" not in html
    assert "<b>1</b>" not in html
    assert ">U+202E</span>" in html


def test_the_raw_event_is_fetched_for_itself_and_is_text(operator, run):
    assert "call_proposed" not in text(operator.get(f"/runs/{run}/"))
    html = text(operator.get(f"/runs/{run}/events/raw/?seq=3"))
    assert "<html" not in html
    assert "&quot;kind&quot;: &quot;call_proposed&quot;" in html


@pytest.mark.parametrize("query", ["", "seq=0", "seq=4", "seq=x", "seq=-1", "seq=" + "9" * 30])
def test_an_event_that_is_not_there_is_nothing(operator, run, query):
    text(operator.get(f"/runs/{run}/events/raw/?{query}"), 404)


def test_a_long_history_ships_one_block_and_says_where_the_others_lie(operator, long_run):
    html = text(operator.get(f"/runs/{long_run}/"))
    assert sequence(html) == list(range(251, 200, -1))
    assert places(html) == [[201, 251, 51], [101, 200, 100], [1, 100, 100]]
    block = text(operator.get(f"/runs/{long_run}/events/?first=101&last=200"))
    assert sequence(block) == list(range(200, 100, -1))
    assert "<html" not in block


def test_a_link_to_an_event_opens_the_block_that_holds_it(operator, long_run):
    assert sequence(text(operator.get(f"/runs/{long_run}/?at=123"))) == list(range(200, 100, -1))


def test_a_history_is_filtered_by_groups_of_kinds_with_their_counts(operator, long_run):
    propose(long_run)
    html = text(operator.get(f"/runs/{long_run}/?kind=asked"))
    assert sequence(html) == [252]
    assert places(html) == [[1, 252, 1]]
    for group, count in (("people", 249), ("asked", 1), ("run", 2)):
        assert f'data-group="{group}">{count}<' in html
    assert 'data-group="sent"' not in html
    assert 'aria-current="true">Asked and judged' in html


def test_a_history_is_filtered_by_a_call_which_then_stands_first_among_the_calls(operator, acme):
    run_id = new_run(tenant_id=UUID(acme.id))
    for number in range(3):
        propose(run_id, f"step-{number}")
    html = text(operator.get(f"/runs/{run_id}/?call=step-0"))
    assert sequence(html) == [3]
    assert re.findall(r'<tr id="call-(step-\d)"', html)[0] == "step-0"
    assert f"/runs/{run_id}/?call=step-0" in html
    narrowed = text(operator.get(f"/runs/{run_id}/?call=step-0&kind=sent"))
    assert sequence(narrowed) == []
    assert 'id="timeline-empty">Nothing of this kind about this call.' in narrowed


def test_the_blocks_of_a_filtered_history_lie_side_by_side_and_hold_each_match_once(operator, acme):
    run_id = new_run(tenant_id=UUID(acme.id))
    for number in range(230):
        add(run_id, (K.USER_STEERED, {"text": "on"}), (K.PAUSE_ASKED, {}), (K.RESUME_ASKED, {})) if number % 3 else add(
            run_id, (K.USER_STEERED, {"text": "on"})
        )
    found = places(text(operator.get(f"/runs/{run_id}/?kind=people")))
    assert [count for *_, count in found] == [30, 100, 100]
    last = Run.objects.get(pk=run_id).seq
    assert [one[1] for one in found] == [last, *(one[0] - 1 for one in found[:-1])]
    assert found[-1][0] == 1
    shown = [
        seq
        for first, to, _ in found
        for seq in sequence(text(operator.get(f"/runs/{run_id}/events/?first={first}&last={to}&kind=people")))
    ]
    assert len(shown) == len(set(shown)) == 230


@pytest.mark.parametrize("query", ["kind=nonsense", "kind=other", "call=nobody", "call=%F0%9F", "kind=people"])
def test_a_strange_filter_of_the_history_shows_nothing_and_is_no_fault(operator, run, query):
    assert sequence(text(operator.get(f"/runs/{run}/?{query}"))) == []


@pytest.mark.parametrize("at", ["0", "-1", "x", "", "9" * 15, "9" * 40, "٣", "1"])
def test_a_strange_place_in_the_history_is_no_fault(operator, run, at):
    text(operator.get(f"/runs/{run}/", {"at": at}))


@pytest.mark.parametrize("query", ["", "first=1", "first=x&last=3", "first=-1&last=3"])
def test_a_block_without_its_ends_is_nothing(operator, run, query):
    text(operator.get(f"/runs/{run}/events/?{query}"), 404)


def test_the_page_costs_the_same_queries_however_long_the_history_and_however_many_the_calls(operator, acme, run):
    long = new_run(tenant_id=UUID(acme.id))
    for number in range(60):
        propose(long, f"step-{number}")
    for _ in range(60):
        add(long, (K.USER_STEERED, {"text": "on"}))

    def asked(path):
        operator.get(path)
        with CaptureQueriesContext(connection) as queries:
            text(operator.get(path))
        return len(queries)

    assert asked(f"/runs/{long}/") <= asked(f"/runs/{run}/") + 1  # the event that a kept state ends with
    assert asked(f"/runs/{long}/?kind=people") <= asked(f"/runs/{run}/?kind=asked") + 2


def test_all_calls_are_a_page_further(operator, acme):
    run_id = new_run(tenant_id=UUID(acme.id))
    for number in range(130):
        propose(run_id, f"step-{number}")
    html = text(operator.get(f"/runs/{run_id}/"))
    assert "All 130 calls" in html
    first = text(operator.get(f"/runs/{run_id}/calls/"))
    second = text(operator.get(f"/runs/{run_id}/calls/?after=step-99"))
    calls = [re.findall(r'<tr id="call-(step-\d+)"', page) for page in (first, second)]
    assert calls[0] + calls[1] == [f"step-{number}" for number in range(130)]
    text(operator.get(f"/runs/{run_id}/calls/?after=nobody"), 404)


def test_what_a_run_page_answers_stands_in_its_contract_panel(operator, run):
    html = " ".join(
        re.sub(r"<[^>]+>", " ", text(operator.get(f"/runs/{run}/")).partition('id="run-contract"')[2]).split()
    )
    for said in (
        "Definition Agent , by the agent's own word",
        "Last accepted event 3 at",
        "Unresolved nothing",
        "Next action Being judged: refund_order , digest dddd dddd , nothing authorises it yet",
        "Cancel not asked",
        "Its contract cannot be read, so nothing is sent by it.",
        "Budgets not yet",
    ):
        assert said in html, html


def test_a_foreign_run_looks_like_an_unknown_one(operator, signed_in):
    globex = factories.tenant("globex")
    foreign = new_run(tenant_id=UUID(globex.id))
    answers = [operator.get(f"/runs/{run_id}/") for run_id in (foreign, NOBODYS)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content
    assert str(foreign) not in text(operator.get("/runs/"))


# -- cancel ---------------------------------------------------------------------------------------------------------


def test_an_operator_is_offered_cancel_with_what_it_does(operator, run):
    html = text(operator.get(f"/runs/{run}/"))
    assert "Cancel this run" in html
    assert "Nothing new starts in this run" in html
    assert "is not undone" in html


def test_a_reviewer_is_told_why_cancel_is_not_offered_and_cannot_do_it(reviewer, run):
    html = text(reviewer.get(f"/runs/{run}/"))
    assert "Cancel this run" not in html
    assert "takes the role operator" in html
    refused = text(reviewer.post(f"/runs/{run}/cancel/"), 403)
    assert "takes the role operator" in refused
    assert "Missing: operator" in refused
    assert Run.objects.get(pk=run).status == "running"


def test_cancel_stops_the_run_and_the_page_says_so(operator, run):
    answer = operator.post(f"/runs/{run}/cancel/", {"reason": "wrong customer"}, follow=True)
    html = text(answer)
    assert answer.redirect_chain == [(f"/runs/{run}/", 302)]
    assert Run.objects.get(pk=run).status == "cancelled"
    assert "Cancelled: nothing new starts in this run." in html
    assert "wrong customer" in html
    assert "Cancel this run" not in html


def test_cancelling_twice_says_that_it_had_been_cancelled(operator, run):
    operator.post(f"/runs/{run}/cancel/")
    assert "had been cancelled before" in text(operator.post(f"/runs/{run}/cancel/", follow=True))


@pytest.mark.parametrize("method", ["get", "head", "put", "delete"])
def test_only_a_post_cancels(operator, run, method):
    assert getattr(operator, method)(f"/runs/{run}/cancel/").status_code == 405
    assert Run.objects.get(pk=run).status == "running"


def test_cancel_needs_a_csrf_token(acme, run):
    person = factories.person(acme, roles=["operator"])
    browser = Client()
    browser.post("/sign-in/", {"username": person.email, "password": person.password})
    browser.handler.enforce_csrf_checks = True
    text(browser.post(f"/runs/{run}/cancel/"), 403)
    assert Run.objects.get(pk=run).status == "running"


def test_a_foreign_run_cannot_be_cancelled_and_looks_like_an_unknown_one(operator):
    foreign = new_run(tenant_id=UUID(factories.tenant("globex").id))
    answers = [operator.post(f"/runs/{run_id}/cancel/") for run_id in (foreign, uuid4())]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content
    assert Run.objects.get(pk=foreign).status == "ready"


def test_cancel_without_a_session_asks_to_sign_in(run):
    answer = Client().post(f"/runs/{run}/cancel/")
    assert (answer.status_code, answer["Location"]) == (302, "/sign-in/")
    assert Run.objects.get(pk=run).status == "running"


def test_reading_changes_nothing(operator, run):
    before = Run.objects.values().get(pk=run)
    for method in (operator.get, operator.head):
        for path in (
            "/runs/",
            f"/runs/{run}/",
            f"/runs/{run}/?at=2",
            f"/runs/{run}/calls/",
            f"/runs/{run}/events/?first=1&last=3",
        ):
            assert method(path).status_code == 200
    assert Run.objects.values().get(pk=run) == before
