"""The list of runs: its filters in the address, and what is stuck standing first with a word why."""

import json
import re
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.store import clock
from runs.models import Dispatch, Run, Stop
from runs.selectors.listed import run_counts, runs_listed
from runs.selectors.runs import RunFilter
from runs.selectors.stuck import LATE_S, PEOPLE_S, UNCLAIMED_S, stuck_runs
from tests.support import factories
from tests.support.histories import add, allowed, claimed, new_run, propose, started


@pytest.fixture
def ola(acme):
    return factories.person(acme, roles=["operator"], name="Ola Brandt")


@pytest.fixture
def operator(ola, signed_in):
    return signed_in(ola)


@pytest.fixture
def made(acme):
    """made(title, **fields) is a run of acme's."""

    def make(title="A run", **fields):
        run_id = new_run(tenant_id=UUID(acme.id), **fields)
        Run.objects.filter(pk=run_id).update(title=title)
        return run_id

    return make


def text(answer, status=200):
    assert answer.status_code == status, answer.content
    return answer.content.decode()


def listed(html):
    return re.findall(r'id="row-([0-9a-f-]{36})"', html)


def first(html):
    """[(run, word)] of what stands above the list."""
    above = html.partition('id="stuck"')[2].partition("</section>")[0]
    return re.findall(r'id="stuck-([0-9a-f-]{36})".*?</span>([^<]+)</span>', above, re.DOTALL)


def ago(seconds):
    return clock.now() - timedelta(seconds=seconds)


def ready_since(run_id, seconds):
    propose(run_id)
    Dispatch.objects.filter(run_id=run_id).update(not_before=ago(seconds))


def sent(run_id, deadline):
    propose(run_id)
    add(run_id, allowed())
    started(claimed(run_id, "dispatch"), deadline)


def status(run_id, word, since):
    Run.objects.filter(pk=run_id).update(status=word, updated_at=since)


def stop(acme, **fields):
    told = {"reason": "looks wrong", "set_by": "x", "set_by_name": "Ola Brandt", "set_at": clock.now()}
    return Stop.objects.create(tenant_id=acme.id, **told, **fields)


# -- stuck -------------------------------------------------------------------------------------------------------------


def test_stuck_runs_stand_first_the_gravest_first_each_with_a_word_why(acme, operator, made):
    fine, late, unknown, unclaimed, people = (made() for _ in range(5))
    sent(late, ago(LATE_S + 60))
    status(unknown, "needs_reconciliation", ago(5))
    ready_since(unclaimed, UNCLAIMED_S + 60)
    status(people, "waiting_approval", ago(PEOPLE_S + 60))
    html = text(operator.get("/runs/"))
    assert first(html) == [
        (str(late), "Answer overdue"),
        (str(unknown), "Outcome unknown"),
        (str(unclaimed), "No worker takes it"),
        (str(people), "Waits for people"),
    ]
    assert 'Stuck <span data-count="stuck">4</span>' in html
    assert set(listed(html)) == {str(run) for run in (fine, late, unknown, unclaimed, people)}


def test_what_goes_on_by_itself_is_not_stuck(acme, ola, made):
    on_its_way, fresh, asked = made(), made(), made()
    sent(on_its_way, clock.now() + timedelta(seconds=60))
    ready_since(fresh, UNCLAIMED_S - 30)
    status(asked, "waiting_approval", ago(PEOPLE_S - 60))
    assert stuck_runs(ola.actor) == []


def test_a_row_whose_worker_went_away_is_stuck(ola, made):
    run = made()
    propose(run)
    claimed(run, "evaluate")
    assert stuck_runs(ola.actor) == []
    Dispatch.objects.filter(run_id=run).update(lease_until=ago(UNCLAIMED_S + 60))
    [one] = stuck_runs(ola.actor)
    assert (one.run_id, one.why, one.tool) == (run, "unclaimed", "refund_order")


@pytest.mark.parametrize("kind", ["tenant", "tool", "agent"])
def test_what_a_stop_holds_back_says_so_and_is_not_called_unclaimed(acme, ola, made, kind):
    run = made()
    propose(run)
    add(run, allowed())
    Dispatch.objects.filter(run_id=run, status="ready").update(not_before=ago(UNCLAIMED_S + 60))
    subject = {"tenant": "", "tool": "refund_order", "agent": str(Run.objects.get(pk=run).agent_id)}[kind]
    stop(acme, kind=kind, subject=subject)
    [one] = stuck_runs(ola.actor)
    assert (one.run_id, one.why, one.word) == (run, "held", "Held back by a stop")


def test_a_run_is_stuck_for_its_gravest_reason_alone(ola, made):
    run = made()
    sent(run, ago(LATE_S + 60))
    status(run, "needs_reconciliation", ago(PEOPLE_S))
    assert [one.why for one in stuck_runs(ola.actor)] == ["late"]


def test_of_many_that_wait_the_longest_are_there_behind_what_is_graver(ola, made, monkeypatch):
    monkeypatch.setattr("runs.selectors.stuck.MOST", 3)
    runs = [made() for _ in range(5)]
    for number, run in enumerate(runs):
        if number == 0:
            sent(run, ago(LATE_S + 60))
        status(run, "waiting_approval", ago(PEOPLE_S + 600 - number))
    # The one that has waited longest is told once, for what is graver, and takes nobody's place.
    assert [(one.run_id, one.why) for one in stuck_runs(ola.actor)] == [
        (runs[0], "late"),
        (runs[1], "people"),
        (runs[2], "people"),
    ]


def test_counts_of_states_end_and_say_that_there_are_more(ola, operator, made, monkeypatch):
    monkeypatch.setattr("audit.selectors.counted.COUNTED", 2)
    monkeypatch.setattr("runs.selectors.listed.COUNTED", 2)
    for _ in range(3):
        status(made(), "completed", ago(60))
    status(made(), "failed", ago(60))
    assert run_counts(ola.actor) == {"completed": 3, "failed": 1}
    listing = runs_listed(ola.actor)
    assert listing.total == 3
    told = json.loads(listing.counts)
    assert (told["all"], told["completed"], told["failed"], told["stuck"]) == ("2+", "2+", 1, 0)
    assert '<span data-count="completed">2+</span>' in text(operator.get("/runs/"))


def test_stuck_runs_of_another_organisation_are_not_there(acme, operator, ola):
    run = new_run(tenant_id=UUID(factories.tenant("globex").id))
    sent(run, ago(LATE_S + 60))
    assert stuck_runs(ola.actor) == []
    assert str(run) not in text(operator.get("/runs/?stuck=1"))


def test_a_member_without_a_role_sees_nothing_stuck(acme, signed_in, made):
    run = made()
    sent(run, ago(LATE_S + 60))
    assert str(run) not in text(signed_in(factories.person(acme, roles=[])).get("/runs/"))


def test_only_a_few_stand_first_and_a_link_leads_to_all_of_them(operator, made):
    runs = [made() for _ in range(10)]
    for number, run in enumerate(runs):
        status(run, "needs_reconciliation", ago(100 - number))
    html = text(operator.get("/runs/"))
    assert [run for run, _ in first(html)] == [str(run) for run in runs[:8]]
    assert re.search(r'href="\?stuck=1"[^>]*>all 10<', html)
    every = text(operator.get("/runs/?stuck=1"))
    assert [run for run, _ in first(every)] == [str(run) for run in runs]
    assert listed(every) == []


def test_what_stands_first_passes_the_filter_too(operator, made):
    one, other = made("needle"), made("hay")
    for run in (one, other):
        status(run, "needs_reconciliation", ago(5))
    assert [run for run, _ in first(text(operator.get("/runs/?q=needle")))] == [str(one)]


def test_nothing_stuck_says_so(operator, made):
    made()
    html = text(operator.get("/runs/?stuck=1"))
    assert "Nothing is stuck" in html
    assert re.search(r'id="stuck"[^>]* hidden', html)


# -- filters -----------------------------------------------------------------------------------------------------------


def test_runs_are_filtered_by_agent_tool_acting_for_and_age(acme, operator, made):
    by_agent, by_tool = made(), made()
    agent = Run.objects.get(pk=by_agent).agent_id
    propose(by_tool)
    acting, old = made(acting_user_name="Jon Hale"), uuid4()
    then = ago(3 * 86400)
    Run.objects.create(id=old, tenant_id=acme.id, agent_id=uuid4(), created_at=then, updated_at=clock.now())
    for query, found in (
        (f"agent={agent}", [by_agent]),
        ("tool=refund_order", [by_tool]),
        ("acting=jon+hale", [acting]),
        ("age=over-1d", [old]),
        ("age=7d", [by_agent, by_tool, acting, old]),
        ("age=1h", [by_agent, by_tool, acting]),
        ("age=over-7d", []),
        ("tool=no_such_tool", []),
        ("agent=nonsense", []),
        ("acting=Jon", []),
        (f"agent={agent}&tool=refund_order", []),
    ):
        assert set(listed(text(operator.get(f"/runs/?{query}")))) == {str(run) for run in found}, query


def test_the_filter_stays_in_the_form_the_tabs_and_the_address_of_the_next_page(operator, made):
    for _ in range(51):
        made("needle", acting_user_name="Jon Hale")
    html = text(operator.get("/runs/?q=needle&acting=Jon+Hale&age=1h"))
    assert 'value="needle"' in html
    assert 'name="acting" value="Jon Hale"' in html
    assert '<option value="1h" selected>' in html
    assert 'href="/runs/?state=ready&amp;acting=Jon+Hale&amp;age=1h&amp;q=needle"' in html
    more = re.search(r'hx-get="(/runs/\?[^"]*after=[^"]+)"', html).group(1).replace("&amp;", "&")
    assert "acting=Jon+Hale" in more
    assert len(listed(text(operator.get(more, headers={"HX-Request": "true"})))) == 1
    assert "Take every filter away" in html


def test_the_form_offers_the_agents_tools_and_people_of_the_organisation(acme, operator, made):
    agent = factories.agent(acme)
    made(acting_user_name="Jon Hale")
    html = text(operator.get("/runs/"))
    assert f'<option value="{agent.id}">' in html
    assert '<option value="Jon Hale">' in html


def test_the_list_costs_the_same_queries_however_many_runs_there_are(operator, made):
    def asked():
        with CaptureQueriesContext(connection) as queries:
            text(operator.get("/runs/"))
        return len(queries)

    sent(made(), ago(LATE_S + 60))
    operator.get("/runs/")
    few = asked()
    for _ in range(12):
        sent(made(), ago(LATE_S + 60))
        ready_since(made(), UNCLAIMED_S + 60)
    assert asked() == few


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (RunFilter(), "runs_run_recent"),
        (RunFilter(state="ready"), "runs_run_status"),
        (RunFilter(agent=str(uuid4())), "runs_run_agent"),
        (RunFilter(acting="Jon Hale"), "runs_run_acting"),
        (RunFilter(tool="refund_order"), "runs_call_tool"),
        (RunFilter(age="1h"), "runs_run_recent"),
    ],
)
def test_each_filter_has_its_index(ola, made, wanted, index, owner_sql):
    # To a table that nothing is known of every index is as good as the next one.
    known = (
        "SELECT pg_restore_relation_stats('schemaname', 'public', 'relname', %s::text, "
        "'relpages', 1, 'reltuples', %s::real)"
    )
    for table in ("runs_run", "runs_call"):
        owner_sql(known, [table, 1_000_000.0])
    run = made()
    propose(run)
    statements = []

    def remember(execute, statement, parameters, many, context):
        statements.append((statement, parameters))
        return execute(statement, parameters, many, context)

    with connection.execute_wrapper(remember):
        runs_listed(ola.actor, wanted)
    page = next(pair for pair in statements if "LIMIT 51" in pair[0])
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        cursor.execute("EXPLAIN " + page[0], page[1])
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert index in plan, plan
